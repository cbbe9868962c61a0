"""Measured curves: what an experiment picks out of its runs, and what it works out of several picks.

A *family* is a list of curves that differ in the axes named by `each`. A curve without an `x` is a single point. Runs
of the same place but another seed, or another value of an axis that nobody names, are averaged; each one's own value is
kept beside, so that what is worked out of several curves is also known for each run.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from typing import Any

from flashweir._native import ConfigError
from flashweir.charts.order import ordered
from flashweir.charts.settings import text
from flashweir.quantity import number_of
from flashweir.sweeps.derived import Expression

Row = Mapping[str, Any]
# Maximum difference of two numbers that count as equal.
_HAIR = 1e-9
# The place of an axis of numbers that lies beyond all of them: a bound that is not there.
UNBOUNDED = "none"
# The whole result of a row.
ResultOf = Callable[[Row], Mapping[str, Any]]
# Identity of a run among those of one place (the seed, and axes that nobody names), and the value of each run.
Runs = Mapping[tuple[str, ...], float]


@dataclass(frozen=True)
class Curve:
    """Values over an axis, in its order, ascending where its places are numbers.

    `of` are the settings that tell it from the others of its family, `missing` counts the runs that should be in it and
    gave no value. `runs` has the runs of each place, where a place is of several.
    """

    of: Mapping[str, str]
    names: tuple[str, ...]
    y: tuple[float, ...]
    missing: int = 0
    runs: tuple[Runs, ...] = ()

    @property
    def x(self) -> tuple[float, ...]:
        """The places as numbers (bytes, ns, plain), infinite where unbounded; their ranks where they are words."""
        return numbers_of(self.names) or tuple(map(float, range(len(self.names))))

    @property
    def label(self) -> str:
        """Label within its family: `FAST, 8 channels`; empty if it is the only one."""
        return ", ".join(value if number_of(value) is None else f"{axis}={value}" for axis, value in self.of.items())

    @cached_property
    def _places(self) -> dict[str, int]:
        """Place of each name as it is written, the first one of a name that comes twice."""
        return {name: place for place, name in reversed(list(enumerate(self.names)))}

    def cut(self, start: object = None, end: object = None, only: Sequence[str] = ()) -> "Curve":
        """The curve from one place of its axis to another, both included; of these only some, if they are named."""
        low = -math.inf if start is None else _number(start)
        high = math.inf if end is None else _number(end)
        kept = [at for at, value in enumerate(self.x) if low - abs(low) * _HAIR <= value <= high + abs(high) * _HAIR]
        kept = [at for at in kept if not only or any(same(self.names[at], name) for name in only)]
        runs = tuple(self.runs[at] for at in kept) if self.runs else ()
        return replace(self, names=tuple(self.names[at] for at in kept), y=tuple(self.y[at] for at in kept), runs=runs)

    def at(self, name: object) -> float | None:
        """The value at a place, given as text or number; None if there is none."""
        place = self.place(name)
        return None if place is None else self.y[place]

    def runs_at(self, name: object) -> Runs:
        """The runs of a place, given as text or number; none where it is of one run alone."""
        place = self.place(name)
        return {} if place is None or not self.runs else self.runs[place]

    def place(self, name: object) -> int | None:
        """Where a place stands; of a curve without an axis its only one."""
        if self.names == ("",):
            return 0
        exact = self._places.get(name) if isinstance(name, str) else None
        if exact is not None:
            return exact
        return next((place for place, own in enumerate(self.names) if same(own, name)), None)


Family = Sequence[Curve]


@dataclass(frozen=True)
class Entry:
    """Fields of a table that are its place, its value, and its weight among those of its place."""

    x: str
    y: str
    weight: str = ""


@dataclass(frozen=True)
class Pick:
    """Runs and numbers of a family of curves: `y` is a column, or `points` a list in the result.

    `at` fixes axes to a value or to some values. Over a list, x counts its entries, from `origin` (else 0) in units of
    `step` (else 1), which are paths in the result, as `points` is. With a `*` in the path, each member of the list
    there has a curve of its own. Of a list of tables, `entry` says what is taken; those of one place are averaged, of
    all runs.
    """

    y: str = ""
    x: str = ""
    at: Mapping[str, Any] = field(default_factory=dict)
    each: tuple[str, ...] = ()
    points: str = ""
    step: str = ""
    origin: str = ""
    entry: Entry | None = None

    @property
    def axes(self) -> set[str]:
        """The axes that it names."""
        return {*self.at, *self.each, *([self.x] if self.x else [])}

    def family(self, rows: Sequence[Row], result_of: ResultOf, axes: Sequence[str] = ()) -> list[Curve]:
        """Its curves, in the order of the rows. `axes` are all that the rows have, those included that it names."""
        groups: dict[tuple[str, ...], list[Row]] = {}
        for row in rows:
            if all(matches(row.get(axis), wanted) for axis, wanted in self.at.items()):
                groups.setdefault(tuple(text(row.get(axis)) for axis in self.each), []).append(row)
        settings = [(dict(zip(self.each, key, strict=True)), found) for key, found in groups.items()]
        if not self.points:
            apart = [axis for axis in axes if axis not in self.axes or self._has_several(axis)]
            return [self._of_columns(of, found, [*apart, "seed"]) for of, found in settings]
        if self.entry is not None:
            return [self._of_entries(of, found, result_of, self.entry) for of, found in settings]
        return [curve for of, found in settings for curve in self._listed(of, found, result_of)]

    def _has_several(self, axis: str) -> bool:
        """True if a curve's point may be of runs with several values of an axis, out of a list in `at`."""
        return isinstance(self.at.get(axis), list) and axis != self.x and axis not in self.each

    def _of_columns(self, of: Mapping[str, str], rows: Sequence[Row], apart: Sequence[str]) -> Curve:
        values: dict[str, list[float]] = {}
        runs: dict[str, dict[tuple[str, ...], float]] = {}
        missing = 0
        for row in rows:
            value = row.get(self.y)
            if row.get("error") is not None or not isinstance(value, int | float):
                missing += 1
                continue
            name = text(row[self.x]) if self.x else ""
            values.setdefault(name, []).append(float(value))
            runs.setdefault(name, {})[tuple(text(row.get(column)) for column in apart)] = float(value)
        means = {name: sum(values[name]) / len(values[name]) for name in ordered(values)}
        several = any(len(one) > 1 for one in runs.values())
        kept = tuple(runs[name] for name in means) if several else ()
        return Curve(of, tuple(means), tuple(means.values()), missing, kept)

    def _listed(self, of: Mapping[str, str], rows: Sequence[Row], result_of: ResultOf) -> list[Curve]:
        good = [row for row in rows if row.get("error") is None]
        if len(good) < len(rows):
            return [Curve(of, (), (), len(rows) - len(good))]
        result = result_of(good[0])
        before, star, after = self.points.partition(".*.")
        if not star:
            return [self._list_at(of, result, self.points)]
        name = before.rpartition(".")[2].removesuffix("s")
        every = range(len(within(result, before) or ()))
        return [self._list_at({**of, name: str(at)}, result, f"{before}.{at}.{after}") for at in every]

    def _of_entries(self, of: Mapping[str, str], rows: Sequence[Row], result_of: ResultOf, entry: Entry) -> Curve:
        """The weighted mean of the entries of each place, over all rows."""
        sums: dict[str, tuple[float, float]] = {}
        missing = 0
        for row in rows:
            found = within(result_of(row), self.points) if row.get("error") is None else None
            if not isinstance(found, list):
                missing += 1
                continue
            for one in found:
                numbers = [within(one, path) for path in (entry.x, entry.y, entry.weight) if path]
                if not all(isinstance(number, int | float) for number in numbers):
                    missing += 1
                    continue
                x, y, weight = (*numbers, 1)[:3]
                total, weights = sums.get(text(x), (0.0, 0.0))
                sums[text(x)] = (total + y * weight, weights + weight)
        names = tuple(name for name in ordered(sums) if sums[name][1])
        return Curve(of, names, tuple(sums[name][0] / sums[name][1] for name in names), missing)

    def _list_at(self, of: Mapping[str, str], result: Mapping[str, Any], path: str) -> Curve:
        values = within(result, path)
        step = within(result, self.step) if self.step else 1
        origin = within(result, self.origin) if self.origin else 0
        if not (isinstance(values, list) and isinstance(step, int | float) and isinstance(origin, int | float)):
            return Curve(of, (), (), 1)
        points = [(f"{origin + at * step:.9g}", float(value)) for at, value in enumerate(values) if value is not None]
        return Curve(of, tuple(x for x, _ in points), tuple(y for _, y in points))


@dataclass(frozen=True)
class Combination:
    """Arithmetic over other families, place by place: `stealing / synchronized`.

    The family with most axes in `each` leads: of the others each curve is taken that agrees with its settings. A family
    without an x has one value for all places.
    """

    expression: Expression

    def family(self, known: Mapping[str, Family]) -> list[Curve]:
        """Its curves; a place that one of the families lacks, or where there is no value, is missing."""
        names = list(dict.fromkeys(self.expression.names()))
        lead = max(names, key=lambda name: (_width(known[name]), _length(known[name])))
        return [self._curve(curve, lead, [name for name in names if name != lead], known) for curve in known[lead]]

    def _curve(self, curve: Curve, lead: str, others: Sequence[str], known: Mapping[str, Family]) -> Curve:
        partners = {name: _partner(curve, known[name]) for name in others}
        missing = curve.missing + sum(1 if other is None else other.missing for other in partners.values())
        points: list[tuple[str, float, Runs]] = []
        for name, y in zip(curve.names, curve.y, strict=True):
            values = {other: None if found is None else found.at(name) for other, found in partners.items()}
            value = self.expression.value({lead: y, **values})
            if value is not None:
                runs = {other: found.runs_at(name) for other, found in partners.items() if found is not None}
                points.append((name, value, self._runs({lead: curve.runs_at(name), **runs})))
        lost = 0 if missing else len(curve.names) - len(points)
        runs_of = tuple(runs for _, _, runs in points) if all(runs for _, _, runs in points) else ()
        return Curve(
            curve.of, tuple(name for name, _, _ in points), tuple(y for _, y, _ in points), missing + lost, runs_of
        )

    def _runs(self, runs: Mapping[str, Runs]) -> Runs:
        """The expression for each run that all have: those of the same seed."""
        shared = [run for run in next(iter(runs.values())) if all(run in one for one in runs.values())]
        found = {run: self.expression.value({name: one[run] for name, one in runs.items()}) for run in shared}
        return {run: value for run, value in found.items() if value is not None}


@dataclass(frozen=True)
class Mean:
    """The mean over all points of all curves of another family, as a single point."""

    of: str

    def family(self, known: Mapping[str, Family]) -> list[Curve]:
        """One curve; with the mean of each run that all points have."""
        curves = known[self.of]
        values = [y for curve in curves for y in curve.y]
        missing = sum(curve.missing for curve in curves)
        if not values:
            return [Curve({}, (), (), missing + 1)]
        runs = [one for curve in curves for one in curve.runs]
        shared = [run for run in runs[0] if all(run in one for one in runs)] if len(runs) == len(values) else []
        means = {run: sum(one[run] for one in runs) / len(runs) for run in shared}
        return [Curve({}, ("",), (sum(values) / len(values),), missing, (means,) if means else ())]


AnyCurve = Pick | Combination | Mean


def measured(
    wanted: Mapping[str, AnyCurve], rows: Sequence[Row], result_of: ResultOf, axes: Sequence[str] = ()
) -> dict[str, list[Curve]]:
    """Every family of an experiment. Combinations and means take families that stand before them.

    Args:
        wanted: by name.
        rows: a row a run.
        result_of: gives the whole result of a row.
        axes: the columns of the rows that are axes.
    """
    known: dict[str, list[Curve]] = {}
    for name, one in wanted.items():
        known[name] = one.family(rows, result_of, axes) if isinstance(one, Pick) else one.family(known)
    return known


def point(family: Family, at: Mapping[str, Any]) -> float | None:
    """The one value of a family at these settings, `x` among them under any name; None if there is none.

    Raises:
        ConfigError: several curves fit.
    """
    found = _place(family, at)
    return None if found is None else found[0].y[found[1]]


def runs_of(family: Family, at: Mapping[str, Any]) -> Runs:
    """The runs behind `point`; none where it is of one run alone."""
    found = _place(family, at)
    return {} if found is None or not found[0].runs else found[0].runs[found[1]]


def _place(family: Family, at: Mapping[str, Any]) -> tuple[Curve, int] | None:
    """The one curve of these settings and where on it they are."""
    curves = [curve for curve in family if all(axis not in at or same(own, at[axis]) for axis, own in curve.of.items())]
    if len(curves) > 1:
        raise ConfigError(f"{dict(at)}: {len(curves)} curves fit, {curves[0].label!r} and others: expected one")
    if not curves or curves[0].missing:
        return None
    (curve,) = curves
    places = [value for axis, value in at.items() if axis not in curve.of]
    if not places:
        return (curve, 0) if len(curve.y) == 1 else None
    place = None if curve.names == ("",) else curve.place(places[0])
    return None if place is None else (curve, place)


def numbers_of(names: Sequence[str]) -> tuple[float, ...]:
    """Places as numbers, infinite where unbounded; empty if others than that are words."""
    bounded = [number_of(name) for name in names if name != UNBOUNDED]
    if not bounded or any(number is None for number in bounded):
        return ()
    return tuple(math.inf if name == UNBOUNDED else number_of(name) or 0.0 for name in names)


def within(result: Mapping[str, Any], path: str) -> Any:  # noqa: ANN401 - any JSON value
    """Value at a dotted path of a result, in which a number is a place in a list: `channels.0.gc`; else None."""
    value: Any = result
    for part in path.split("."):
        if isinstance(value, Mapping):
            value = value.get(part)
        elif isinstance(value, list) and part.isdecimal() and int(part) < len(value):
            value = value[int(part)]
        else:
            return None
    return value


def same(one: object, other: object) -> bool:
    """True if two values of an axis are equal: 4 and 4.0, 1MiB and 1024KiB."""
    left, right = number_of(text(one)), number_of(text(other))
    if left is not None and right is not None:
        return abs(left - right) <= _HAIR * max(abs(left), abs(right))
    return text(one) == text(other)


def pairs(family: Family, others: Family) -> Iterator[tuple[Curve, Curve]]:
    """Curves of two families that agree in every axis that both have."""
    for curve, other in product(family, others):
        if all(same(curve.of[axis], value) for axis, value in other.of.items() if axis in curve.of):
            yield curve, other


def _number(value: object) -> float:
    found = number_of(value)
    return math.nan if found is None else found


def matches(value: object, wanted: object) -> bool:
    """True if a value of an axis is the wanted one, or one of a list."""
    return any(same(value, one) for one in wanted) if isinstance(wanted, list) else same(value, wanted)


def _partner(curve: Curve, family: Family) -> Curve | None:
    found = [other for _, other in pairs([curve], family)]
    return found[0] if len(found) == 1 else None


def _width(family: Family) -> int:
    return max((len(curve.of) for curve in family), default=0)


def _length(family: Family) -> int:
    return max((len(curve.y) for curve in family), default=0)
