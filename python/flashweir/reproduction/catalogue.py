"""Papers and their experiments, as data: which sweep an experiment runs, what is picked from it, and held against what.

A folder of experiments holds one numbered folder a paper, and that one a folder for each experiment with `sweep.toml`,
`quick.toml` (the same, smaller) and `experiment.toml`. docs/reference/experiments.md describes them.
"""

import difflib
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from flashweir._native import ConfigError
from flashweir.reproduction.checks import Claim, Part, Value, read_claim, read_quantiles
from flashweir.reproduction.checks import read_value as _value
from flashweir.reproduction.curves import AnyCurve, Combination, Entry, Mean, Pick
from flashweir.reproduction.fields import Fields
from flashweir.reproduction.shipped import SHIPPED, is_installed
from flashweir.sweeps.derived import Expression
from flashweir.sweeps.include import read_toml

__all__ = ["Claim", "Drawing", "Experiment", "Paper", "Part", "Value", "experiment", "named", "paper", "papers"]
KINDS = ("lines", "points", "steps", "bars")


@dataclass(frozen=True)
class Drawing:
    """A figure of an experiment: which of its curves it shows, and how.

    `levels` are curves of a single value, drawn dashed over the whole axis, each in the colour of the curve in the same
    place of `curves`. `band` are two quantiles of the runs, drawn around each curve. `over` are curves whose values are
    the places of those in the same place of `curves`: one quantity against another.
    """

    name: str
    title: str
    curves: tuple[str, ...]
    x: str = ""
    y: str = ""
    kind: str = "lines"
    at: Mapping[str, Any] = field(default_factory=dict)
    note: str = ""
    scale: str = ""
    levels: tuple[str, ...] = ()
    band: tuple[float, float] | None = None
    over: tuple[str, ...] = ()


@dataclass(frozen=True)
class Experiment:
    """One experiment: a folder. `traces` is where the recorded traces of its runs are, if it has any.

    One with workloads that are `characterized`, by name, runs no sweep.
    """

    folder: Path
    title: str
    figures: tuple[str, ...]
    curves: Mapping[str, AnyCurve]
    values: tuple[Value, ...] = ()
    claims: tuple[Claim, ...] = ()
    plots: tuple[Drawing, ...] = ()
    traces: Path | None = None
    characterized: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The folder's name."""
        return self.folder.name

    @property
    def lacks(self) -> str:
        """Missing requirements of the experiment; empty if nothing is missing."""
        if self.traces is None or self.traces.is_dir():
            return ""
        place = "" if is_installed(self.traces) else f"in {os.path.normpath(self.traces)}, or "
        return f"{self.name}: needs recorded traces, which do not ship: expected them {place}in the folder of --traces"

    @property
    def checks(self) -> dict[str, Value | Claim]:
        """Values and claims by their identifiers, such as `figure-18/leads`; without claims that have no name."""
        every: list[Value | Claim] = [*self.values, *self.claims]
        return {f"{self.name}/{one.name}": one for one in every if one.name}

    def sweep(self, *, quick: bool) -> Path:
        """The spec of its runs."""
        return self.folder / ("quick.toml" if quick else "sweep.toml")


@dataclass(frozen=True)
class Paper:
    """A paper and its experiments, in the order of their numbers. `note` is what has to be said with every result."""

    name: str
    title: str
    folder: Path
    experiments: tuple[Experiment, ...]
    note: str = ""

    def of_figure(self, figure: str) -> list[Experiment]:
        """The experiments of a figure, given by its number or by the name of a folder.

        Raises:
            ConfigError: there is none.
        """
        found = [one for one in self.experiments if figure in (*one.figures, one.name)]
        if not found:
            numbers = dict.fromkeys(number for one in self.experiments for number in one.figures)
            raise ConfigError(f"--figure {figure}: not of {self.name}: expected one of {', '.join(numbers)}")
        return found


def papers(root: Path | None = None) -> list[Paper]:
    """The papers of a folder of experiments, in the order of their folders; of what ships if none is given.

    Raises:
        ConfigError: there is no such folder, it holds no paper, or a file in it is not what it should be.
    """
    folder = SHIPPED if root is None else root
    if not folder.is_dir():
        raise ConfigError(f"{folder}: expected a folder of experiments")
    found = [paper(path.parent) for path in sorted(folder.glob("*/paper.toml"))]
    if not found:
        raise ConfigError(f"{folder}: expected folders with a paper.toml")
    return found


def named(name: str, known: Sequence[Paper]) -> Paper:
    """The paper of a name.

    Raises:
        ConfigError: there is none.
    """
    for one in known:
        if one.name == name:
            return one
    names = [one.name for one in known]
    near = difflib.get_close_matches(name, names, 1)
    ending = f"; did you mean {near[0]}?" if near else ""
    raise ConfigError(f"{name}: no paper that is known: expected one of {', '.join(names)}{ending}")


def paper(folder: Path) -> Paper:
    """Reads a paper and its experiments."""
    fields = Fields(folder / "paper.toml", read_toml(folder / "paper.toml", "a paper in TOML"))
    name, title, note = fields.text("name"), fields.text("title"), fields.text("note", "")
    fields.done()
    found = sorted(map(experiment, (path.parent for path in folder.glob("*/experiment.toml"))), key=_natural)
    drawn: dict[str, str] = {}
    for one in found:
        for plot in one.plots:
            if drawn.setdefault(plot.name, one.name) != one.name:
                both = f"{one.name} and {drawn[plot.name]}"
                raise ConfigError(f"{folder}: {both} have a plot {plot.name}: expected a name of its own")
    return Paper(name, title, folder, tuple(found), note)


def experiment(folder: Path) -> Experiment:
    """Reads an experiment."""
    path = folder / "experiment.toml"
    fields = Fields(path, read_toml(path, "an experiment in TOML"))
    title = fields.text("title")
    figures = tuple(str(figure) for figure in fields.take("figures", list, []))
    recorded = fields.text("traces", "")
    traces = folder.resolve() / recorded if recorded else None
    characterized = Fields(path, fields.take("characterize", dict, {}), "characterize")
    workloads = {name: characterized.text(name) for name in list(characterized.table)}
    curves = {name: _curve(Fields(path, table, f"curves.{name}")) for name, table in fields.tables("curves")}
    values: list[Value] = []
    for group in fields.listed("values"):
        rows = group.listed("rows")
        values += [_value(Fields(path, {**group.table, **row.table}, row.where)) for row in rows]
    claims = tuple(read_claim(one) for one in fields.listed("claims"))
    plots = tuple(_drawing(one) for one in fields.listed("plots"))
    fields.done()
    found = Experiment(folder, title, figures, curves, tuple(values), claims, plots, traces, workloads)
    _check_names(path, found)
    return found


def _curve(fields: Fields) -> AnyCurve:
    if "value" in fields.table:
        expression = Expression(fields.where, fields.text("value"))
        fields.done()
        return Combination(expression)
    if "mean" in fields.table:
        mean = Mean(fields.text("mean"))
        fields.done()
        return mean
    each = tuple(str(axis) for axis in fields.take("each", list, []))
    pick = Pick(
        fields.text("y", ""),
        fields.text("x", ""),
        fields.take("at", dict, {}),
        each,
        fields.text("points", ""),
        fields.text("step", ""),
        fields.text("origin", ""),
        _entry(fields),
    )
    fields.done()
    if pick.entry is not None and (not pick.points or pick.x or pick.step or pick.origin):
        raise fields.wrong("entry", "expected with points, and without x, step and origin")
    if bool(pick.y) == bool(pick.points):
        raise fields.wrong(
            "", "expected one of y (a column), points (a list in the result), value (arithmetic) and mean (of a curve)"
        )
    return pick


def _entry(fields: Fields) -> Entry | None:
    table = fields.take("entry", dict)
    if table is None:
        return None
    inner = Fields(fields.path, table, f"{fields.where}.entry")
    entry = Entry(inner.text("x"), inner.text("y"), inner.text("weight", ""))
    inner.done()
    return entry


def _drawing(fields: Fields) -> Drawing:
    found = Drawing(
        fields.text("name"),
        fields.text("title"),
        tuple(str(name) for name in fields.take("curves", list, [], needed=True)),
        fields.text("x", ""),
        fields.text("y", ""),
        fields.text("kind", "lines"),
        fields.take("at", dict, {}),
        fields.text("note", ""),
        fields.text("scale", ""),
        tuple(str(name) for name in fields.take("levels", list, [])),
        read_quantiles(fields, "band"),
        tuple(str(name) for name in fields.take("over", list, [])),
    )
    fields.done()
    if found.scale not in ("", "linear", "log"):
        raise fields.wrong("scale", f"{found.scale!r}: expected linear or log")
    if found.kind not in KINDS:
        raise fields.wrong("kind", f"{found.kind!r}: expected one of {', '.join(KINDS)}")
    if len(found.levels) > len(found.curves):
        raise fields.wrong("levels", f"{len(found.levels)} of {len(found.curves)} curves: expected no more than curves")
    if found.kind == "bars" and (found.levels or found.band):
        raise fields.wrong("levels" if found.levels else "band", "expected with curves: bars have none")
    if found.over and (len(found.over) != len(found.curves) or found.kind == "bars" or found.levels or found.band):
        raise fields.wrong("over", "expected one for each of curves, and neither bars, levels nor a band")
    return found


def _check_names(path: Path, found: Experiment) -> None:
    """Every curve that is named has to be there, and to stand before what is worked out of it."""
    from flashweir.reproduction.verdicts import check_part

    before: list[str] = []
    for name, curve in found.curves.items():
        needs = curve.expression.names() if isinstance(curve, Combination) else ()
        for other in (curve.of,) if isinstance(curve, Mean) else needs:
            if other not in before:
                raise ConfigError(f"{path}: curves.{name}: {other} is no curve before it")
        before.append(name)
    uses = [(f"value {value.name}", value.of) for value in found.values]
    uses += [
        (f"twin of value {value.name}", name)
        for value in found.values
        if value.twin is not None
        for name in sorted(value.twin.names())
    ]
    uses += [(f"plot {plot.name}", curve) for plot in found.plots for curve in (*plot.curves, *plot.levels, *plot.over)]
    for claim in found.claims:
        for part in claim.parts:
            uses += [(f"claim {claim.where}", curve) for curve in (part.of, part.than) if curve is not None]
            uses += [(f"twin of {part.says!r}", name) for name in sorted(part.twin.names() if part.twin else ())]
            if wrong := check_part(part):
                raise ConfigError(f"{path}: claim {claim.where}: {wrong}")
    for where, curve_name in uses:
        if curve_name not in found.curves:
            raise ConfigError(f"{path}: {where}: {curve_name} is no curve of this experiment")


def _natural(one: Experiment) -> list[tuple[int, str]]:
    """Sorts figure-9 before figure-10."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", one.name)]
