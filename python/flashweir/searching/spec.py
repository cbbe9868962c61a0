"""Specs of searches: those of sweeps, with goals, constraints, prices and life (docs/reference/search.md)."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from flashweir import _native
from flashweir._native import ConfigError
from flashweir.names import hint
from flashweir.quantity import kind_of, number_of, unit_of
from flashweir.searching.costs import BYTES, USD, Prices, read_prices
from flashweir.searching.formulas import Constraint, Goal, read_constraints, read_goals
from flashweir.searching.sampler import Ranks, Space
from flashweir.sweeps import spec as sweeps
from flashweir.sweeps.axes import Label
from flashweir.sweeps.include import read_toml, with_included
from flashweir.sweeps.recorded import TracesMissingError
from flashweir.sweeps.spec import SweepSpec

KEYS = ("goals", "constraints", "prices", "life")
LIFE = ("life.tbw", "life.years", "life.dwpd", "life.write_amplification", "life.cost_per_tbw")
LIFE_OPTIONS = ("years", "temperature", "cycles", "cell", "block_cycles", "retention_days", "ecc", "per_day",
                "tolerance", "full")  # fmt: skip
# Steps of a range between plain numbers, and how far whole numbers go one by one.
_STEPS, _ONE_BY_ONE = 32, 64
_LOG_FROM = 10.0
# Several numbers of a result by name need that the run has them.
_OPEN = "streams."


@dataclass(frozen=True)
class SearchSpec:
    """A search: a sweep whose grid holds the designs, and what is wanted of them."""

    sweep: SweepSpec
    goals: Sequence[Goal]
    constraints: Sequence[Constraint]
    prices: Prices | None
    life: Mapping[str, Any]

    @cached_property
    def space(self) -> Space:
        """A dimension for each group of axes; in an order if the labels of its first are numbers."""
        groups = self.sweep.groups
        return Space(
            tuple(len(group[0].labels) for group in groups),
            tuple(all(number_of(label) is not None for label in group[0].labels) for group in groups),
        )

    @cached_property
    def known(self) -> frozenset[str]:
        """Names that follow from the keys of a drive, before it runs."""
        return frozenset((*_keys(), *BYTES, *USD, *(axis.name for axis in self.sweep.axes)))

    @cached_property
    def needs_life(self) -> bool:
        """True if a goal or constraint takes numbers of a life."""
        names = [name for goal in self.goals for name in goal.expression.names()]
        names += [name for one in self.constraints for name in one.names()]
        return any(name in LIFE for name in names)

    def is_known(self, names: Sequence[str]) -> bool:
        """True if all names follow from the keys."""
        return all(name in self.known for name in names)

    def labels(self, ranks: Ranks) -> dict[str, Label]:
        """The setting of each axis."""
        return {axis.name: axis.labels[rank]
                for group, rank in zip(self.sweep.groups, ranks, strict=True) for axis in group}  # fmt: skip

    def number(self, ranks: Ranks) -> int:
        """Number of a design: its place in the grid."""
        found = 0
        for size, rank in zip(self.space.sizes, ranks, strict=True):
            found = found * size + rank
        return found


def load(given: str | Path | Mapping[str, Any]) -> SearchSpec:
    """Reads a spec from a TOML file or a mapping. Paths in a file are relative to its folder.

    Raises:
        ConfigError: the file can't be read, a key is unknown, or a value is not what it should be.
    """
    if isinstance(given, Mapping):
        return _read(with_included(dict(given), Path()), "search", Path())
    path = Path(given)
    table = read_toml(path, "a search in TOML")
    try:
        return _read(with_included(table, path.parent, (path.resolve(),)), path.stem, path.parent)
    except (ConfigError, TracesMissingError) as error:
        raise type(error)(f"{path}: {error}") from error


def _read(table: Mapping[str, Any], name: str, folder: Path) -> SearchSpec:
    for key in table:
        if key not in (*sweeps.KEYS, *KEYS):
            raise ConfigError(f"{key}: unknown key{hint(key, (*sweeps.KEYS, *KEYS))}")
    goals = read_goals(table.get("goals"))
    constraints = read_constraints(table.get("constraints", []))
    prices = read_prices(table.get("prices"))
    life = _life(table.get("life", {}))
    rest = {key: value for key, value in table.items() if key not in KEYS}
    if "axes" in rest:
        rest["axes"] = _spread(rest["axes"], "axes")
    swept = replace(sweeps.load({"name": name, **rest}, folder), source=dict(table))
    if not swept.groups:
        raise ConfigError("axes: expected at least one axis, the keys that are searched")
    spec = SearchSpec(swept, goals, constraints, prices, life)
    _check_names(spec)
    return spec


def _life(given: object) -> dict[str, Any]:
    if not isinstance(given, Mapping):
        raise ConfigError(f"life: {given!r}: expected a table")
    for key in given:
        if key not in LIFE_OPTIONS:
            raise ConfigError(f"life.{key}: unknown key{hint(key, LIFE_OPTIONS)}")
    return dict(given)


def _spread(value: object, where: str) -> object:
    """Axes in which a range without steps has some: whole numbers one by one, sizes and times doubled, else 33."""
    if not isinstance(value, Mapping):
        return value
    if not {"from", "to"} <= set(value):
        return {key: _spread(inner, f"{where}.{key}") for key, inner in value.items()}
    if set(value) - {"from", "to", "scale"}:
        return value
    first, last = value["from"], value["to"]
    start, end = number_of(first), number_of(last)
    if start is None or end is None or not start < end:
        raise ConfigError(f"{where}: {first!r} to {last!r}: expected two numbers, sizes or times, the smaller first")
    if "scale" not in value and kind_of(unit_of(first)):
        return {**value, "factor": 2} if start > 0 else value
    if isinstance(first, int) and isinstance(last, int) and last - first < _ONE_BY_ONE:
        return {"from": first, "to": last, "step": 1}
    scale = value.get("scale", "log" if start > 0 and end >= _LOG_FROM * start else "linear")
    return {"from": first, "to": last, "count": _STEPS + 1, "scale": scale}


def _check_names(spec: SearchSpec) -> None:
    """Goals and constraints have to name what there is: better found now than after a hundred runs."""
    sweep = spec.sweep
    names = [*spec.known, *sweeps.known_columns(), *LIFE, *sweep.derived]
    taken = [(f"goals.{goal.name}", goal.expression.names()) for goal in spec.goals]
    taken += [(f"constraints: {one.text}", one.names()) for one in spec.constraints]
    for where, used in taken:
        for name in used:
            if name not in names and not name.startswith(_OPEN):
                raise ConfigError(f"{where}: {name} is no key, metric, cost or life{hint(name, names)}")
            if spec.prices is None and name in (*USD, "life.cost_per_tbw"):
                raise ConfigError(f"{where}: {name}: expected [prices], such as flash_per_gib = 0.08")
        if not used:
            raise ConfigError(f"{where}: expected the name of a key or metric in it")
    known = [one.text for one in spec.constraints if not one.names()]
    if known:
        raise ConfigError(f"constraints: {known[0]}: expected the name of a key or metric in it")
    if spec.life and not spec.needs_life:
        raise ConfigError("life: expected a goal or constraint with one of " + ", ".join(LIFE))
    if len(sweep.workloads) == 1 and (some := [goal.name for goal in spec.goals if goal.over != "mean"]):
        raise ConfigError(f"goals.{some[0]}.over: expected several workloads for it")


def _keys() -> list[str]:
    return [key["name"] for key in json.loads(_native.schema())["x-keys"]]
