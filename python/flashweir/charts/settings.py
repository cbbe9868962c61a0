"""The settings of a sweep: axes with their values, runs grouped by setting, and which part of them a figure shows."""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from flashweir.charts.order import ordered
from flashweir.quantity import number_of, shortened

if TYPE_CHECKING:
    import polars as pl

    from flashweir.statistics import Estimate

Setting = tuple[str, ...]
# The value of an axis that does not act on a workload: such a setting stands for every value.
NONE = "-"
# A cut through the settings that leaves less than this part of a figure's places is no use: then the rest is averaged.
_ENOUGH = 0.5
_SPARSE = 0.2
# Between the values of axes that are varied together.
_WITH = " / "
_USUAL = 0.8
_NAMED = 4


@dataclass(frozen=True)
class AxisValues:
    """An axis of a sweep that has at least two values: each as text, in order, and as a number if all are numbers.

    Axes that the sweep varies together (`zip`) are one, in several columns of the frame: its values are theirs, joined,
    and its numbers those of the first that has a number of its own for each.
    """

    name: str
    values: tuple[str, ...]
    numbers: tuple[float, ...] | None
    columns: tuple[str, ...]

    def of(self, row: Mapping[str, Any]) -> str:
        """The axis's value in a row of the frame."""
        return joined([text(row.get(name)) for name in self.columns])


@dataclass(frozen=True)
class Sweep:
    """Every setting with its metrics: `metrics[setting][metric]` has a value a seed. A setting has a text an axis.

    `seeds` counts a setting's runs without those that failed; `failed` and `runs` are of the whole sweep.
    """

    axes: tuple[AxisValues, ...]
    metrics: Mapping[Setting, Mapping[str, Sequence[float]]]
    seeds: Mapping[Setting, int]
    failed: int
    runs: int
    # Estimates of each setting, from the sweep's summary: the same in tables and figures.
    estimates: Mapping[Setting, Mapping[str, "Estimate"]]
    # True if its latency quantiles are those of all requests of all seeds.
    pooled: bool

    def estimate(self, settings: Sequence[Setting], metric: str) -> "Estimate | None":
        """A metric with its interval: as the summary has it of one setting, the mean of the runs of several."""
        from flashweir.statistics.summary import mean_of

        if len(settings) == 1 and (found := self.estimates.get(settings[0], {}).get(metric)):
            return found
        values = [value for setting in settings for value in self.metrics[setting].get(metric, ())]
        return mean_of(metric, values) if values else None

    def noted(self, parts: Iterable[str]) -> str:
        """The note of a figure: its parts, and the runs that failed."""
        failed = f"{self.failed} of {self.runs} runs failed and are left out." if self.failed else ""
        return " ".join(part for part in (*parts, failed) if part)

    def position(self, name: str) -> int:
        """Where an axis stands in a setting."""
        return [axis.name for axis in self.axes].index(name)

    def rank(self, position: int, value: str) -> int:
        """Where a value stands among those of its axis."""
        return -1 if value == NONE else self.axes[position].values.index(value)

    def sparse(self, names: Iterable[str], below: float = _SPARSE) -> bool:
        """True if most combinations of these axes' values were never run: settings drawn at random, not a grid."""
        positions = [self.position(name) for name in names]
        there = {tuple(setting[at] for at in positions) for setting in self.metrics}
        return len(there) < below * math.prod(len(self.axes[at].values) for at in positions)

    def label(self, setting: Setting, without: Iterable[str] = ()) -> str:
        """A setting as text: `gc.victim=fifo, workload=web`."""
        left_out = set(without)
        named = zip(self.axes, setting, strict=True)
        said = [(axis.name, value) for axis, value in named if axis.name not in left_out and value != NONE]
        return ", ".join(f"{name}={short(value)}" for name, value in said)


@dataclass(frozen=True)
class Cut:
    """A part of a sweep: for each combination of the axes shown, the settings behind it, and what a note has to say."""

    settings: Mapping[Setting, Sequence[Setting]]
    note: str
    averaged: bool


def collect(
    frame: "pl.DataFrame", meta: Mapping[str, Any], metrics: Sequence[str], estimated: Sequence[Sequence[str]] = ()
) -> Sweep:
    """Groups the runs of a frame that did not fail by setting.

    Args:
        frame: a row a run.
        meta: what the sweep was made of.
        metrics: those to gather.
        estimated: those of which a summary is made, by the summary they belong to.
    """
    names = [axis["name"] for axis in meta.get("axes", []) if axis["name"] in frame.columns]
    ok = frame.filter(frame["error"].is_null()) if "error" in frame.columns else frame
    columns = [ok[name].to_list() for name in names]
    settings = list(zip(*([text(value) for value in column] for column in columns), strict=True))
    settings = settings or [()] * ok.height
    grouped: dict[Setting, dict[str, list[float]]] = {}
    for setting in settings:
        grouped.setdefault(setting, {})
    for metric in metrics:
        for setting, value in zip(settings, ok[metric].to_list(), strict=True):
            if value is not None:
                grouped[setting].setdefault(metric, []).append(float(value))
    given = {axis["name"]: [text(value) for value in axis["values"]] for axis in meta.get("axes", [])}
    varied = [name for at, name in enumerate(names) if len({setting[at] for setting in grouped} - {NONE}) > 1]
    axes, kept = [], []
    for group in _together(varied, meta):
        positions = [names.index(name) for name in group]
        present = {tuple(setting[at] for at in positions) for setting in grouped}
        axes.append(_axis([given[name] for name in group], present, group))
        kept.append(positions)
    reduced = {_reduced(setting, kept): found for setting, found in grouped.items()}
    seeds = Counter(_reduced(setting, kept) for setting in settings)
    estimates: dict[Setting, dict[str, Estimate]] = {}
    for row, found in _summarized(frame, ok, names, estimated if grouped else ()):
        setting = tuple(axis.of(row) for axis in axes)
        estimates.setdefault(setting, {}).update(found)
    pooled = bool(getattr(frame, "pooled", False))
    return Sweep(tuple(axes), reduced, seeds, frame.height - ok.height, frame.height, estimates, pooled)


def _together(names: Sequence[str], meta: Mapping[str, Any]) -> list[list[str]]:
    """The axes by those that the sweep varies together, in the order of their first."""
    spec = meta.get("spec")
    zipped = spec.get("zip") if isinstance(spec, Mapping) else None
    # A spec is as its author wrote it; by now it has been accepted, or comes from elsewhere.
    lists = [group for group in zipped if isinstance(group, list | tuple)] if isinstance(zipped, list | tuple) else []
    first = {name: group[0] for group in lists for name in group if isinstance(name, str)}
    groups: dict[str, list[str]] = {}
    for name in names:
        groups.setdefault(first.get(name, name), []).append(name)
    return list(groups.values())


def _axis(given: Sequence[Sequence[str]], present: set[Setting], names: Sequence[str]) -> AxisValues:
    """An axis of one or more columns, of which `given` are the values in the order of the sweep."""
    there = {values for values in present if set(values) != {NONE}}
    listed = [values for values in zip(*given, strict=False) if values in there]
    values = list(dict.fromkeys([*listed, *sorted(there)]))
    name = _WITH.join(names)
    for place in range(len(names)):
        by_place = {one[place]: one for one in values}
        column = ordered(by_place)
        numbers = tuple(number for value in column if (number := number_of(value)) is not None)
        if len(column) == len(values) == len(numbers):
            return AxisValues(name, tuple(joined(by_place[value]) for value in column), numbers, tuple(names))
    return AxisValues(name, tuple(map(joined, values)), None, tuple(names))


def joined(values: Sequence[str]) -> str:
    """The values of axes that are varied together as one; none where no axis acts."""
    return NONE if set(values) == {NONE} else _WITH.join(values)


def _reduced(setting: Setting, kept: Sequence[Sequence[int]]) -> Setting:
    return tuple(joined([setting[at] for at in positions]) for positions in kept)


def _summarized(
    frame: "pl.DataFrame", ok: "pl.DataFrame", names: Sequence[str], estimated: Sequence[Sequence[str]]
) -> Iterator[tuple[Mapping[str, Any], dict[str, "Estimate"]]]:
    """Settings as they stand in summaries, with their estimates: of the sweep itself where the frame is one."""
    from flashweir.statistics import Estimate, summarize

    summary = getattr(frame, "summary", None)
    for metrics in estimated:
        if not metrics:
            continue
        for row in (summary(metrics) if callable(summary) else summarize(ok, metrics, by=names)).iter_rows(named=True):
            count = row["runs"] - row["failed"]
            yield (
                row,
                {
                    name: Estimate(row[name], row[f"{name} low"], row[f"{name} high"], count)
                    for name in metrics
                    if row[name] is not None
                },
            )


def text(value: object) -> str:
    """A value of an axis as people write it; the same for 4 and 4.0."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:  # noqa: PLR2004 - exact integers
        return str(int(value))
    return NONE if value is None else str(value)


def short(value: str) -> str:
    """A value without digits that nobody reads: 0.333333 for a third, 52.98ms for 52983169ns."""
    if _WITH in value:
        return _WITH.join(short(part) for part in value.split(_WITH))
    number = number_of(value)
    return f"{number:.6g}" if number is not None and "." in value and value[-1].isdigit() else shortened(value)


def cut(sweep: Sweep, shown: Sequence[str], limits: Mapping[str, Sequence[str]] | None = None) -> Cut:
    """The settings for a figure over the axes `shown`: the others stay at the values that most settings have.

    Where that leaves too little, as when each setting was drawn at random, the figure averages over the others.

    Args:
        sweep: the whole.
        shown: axes that the figure has, in the order of the keys it wants.
        limits: the values that are shown of an axis, if not all.
    """
    positions = [sweep.position(name) for name in shown]
    others = [at for at in range(len(sweep.axes)) if at not in positions]
    allowed = {sweep.position(name): {*values, NONE} for name, values in (limits or {}).items()}
    inside = [setting for setting in sweep.metrics if all(setting[at] in values for at, values in allowed.items())]
    notes = [_limited(sweep, name, values) for name, values in (limits or {}).items()]
    counts = Counter(tuple(setting[at] for at in others) for setting in inside)
    if not counts:
        return Cut({}, " ".join(notes), averaged=False)
    # Of combinations that are about as frequent (runs may have failed), the first in the order of the axes' values.
    wild = [combination for combination in counts if NONE in combination]
    whole = [combination for combination in counts if NONE not in combination] or wild
    often = {
        values: counts[values] + sum(counts[w] for w in wild if w != values and _fits(w, values)) for values in whole
    }
    frequent = max(often.values())
    usual = [combination for combination, count in often.items() if count >= _USUAL * frequent]
    fixed = min(usual, key=lambda values: [sweep.rank(at, value) for at, value in zip(others, values, strict=True)])
    places = {tuple(setting[at] for at in positions) for setting in inside}
    found: dict[Setting, list[Setting]] = {}
    averaged = frequent < _ENOUGH * len(places)
    for setting in inside:
        if averaged or _fits([setting[at] for at in others], fixed):
            found.setdefault(tuple(setting[at] for at in positions), []).append(setting)
    if others and averaged:
        names = ", ".join(sweep.axes[at].name for at in others)
        notes.append(f"Averaged over all settings of {names}.")
    elif others:
        pinned = [(sweep.axes[at].name, value) for at, value in zip(others, fixed, strict=True) if value != NONE]
        at_values = ", ".join(f"{name}={short(value)}" for name, value in pinned)
        complete = all(len(sweep.axes[at].values) == 1 for at in others)
        notes.append(f"At {at_values}{'.' if complete else '; other values of these are not shown.'}")
    return Cut(found, " ".join(notes), averaged)


def _fits(values: Sequence[str], fixed: Sequence[str]) -> bool:
    return all(value in (wanted, NONE) for value, wanted in zip(values, fixed, strict=True))


def _limited(sweep: Sweep, name: str, values: Sequence[str]) -> str:
    every = sweep.axes[sweep.position(name)].values
    shown = [short(value) for value in values]
    named = ", ".join(shown) if len(shown) <= _NAMED else f"{shown[0]} to {shown[-1]}"
    return f"Shows {len(values)} of {len(every)} values of {name}: {named}."


def evenly(values: Sequence[str], count: int) -> list[str]:
    """At most `count` of the values, the first and last among them."""
    if len(values) <= count:
        return list(values)
    if count <= 1:
        return [values[0]]
    return [values[round(place * (len(values) - 1) / (count - 1))] for place in range(count)]
