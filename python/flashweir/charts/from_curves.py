"""Figures whose author says what they show: curves that were measured, over an axis of words, numbers or sizes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from flashweir.charts.distributions import MAX_CURVES
from flashweir.charts.from_result import scale_for
from flashweir.charts.from_sweep import axis_of
from flashweir.charts.model import Axis, Bars, Plot, Scale, Series
from flashweir.charts.settings import AxisValues
from flashweir.charts.thin import rounded, thin
from flashweir.quantity import number_of

Style = Literal["line", "steps", "points"]
STYLES: Mapping[str, Style] = {"lines": "line", "steps": "steps", "points": "points"}
_POINTS = 400
# The place of an axis of numbers that stands behind all of them, and how far: a bound that is not there.
_UNBOUNDED, _BEHIND = "none", 0.08


@dataclass(frozen=True)
class Measured:
    """Label of a curve, its places as text, its values, and the ends of their intervals if they have any.

    With `level_of`, the name of a curve before it, it is a single value: a line as long as the axis.
    """

    label: str
    x: Sequence[str]
    y: Sequence[float]
    low: Sequence[float] | None = None
    high: Sequence[float] | None = None
    level_of: str | None = None


def lines(
    name: str,
    title: str,
    labels: tuple[str, str],
    curves: Sequence[Measured],
    *,
    style: Style = "line",
    scale: str = "",
    note: str = "",
) -> Plot:
    """Curves over an axis, at most twelve. Where a place is no number, the axis is one of words.

    Args:
        name: of the figure and its file.
        title: what stands above it.
        labels: of the axes, with their units.
        curves: in the order of the legend.
        style: how they are drawn; points, whatever it is, over words.
        scale: of the values, `linear` or `log`; what suits them if not given.
        note: a sentence below.
    """
    places = list(dict.fromkeys(place for one in curves if one.level_of is None for place in one.x))
    along, positions = _along(labels[0], places, name)
    series = [_series(one, style, positions) for one in curves]
    more = f"Shows the first {MAX_CURVES} of {len(curves)} curves." if len(curves) > MAX_CURVES else ""
    suits = scale_for([value for one in curves for value in one.y])
    drawn: Scale = "linear" if scale == "linear" else "log" if scale == "log" else suits
    axes = along, Axis(labels[1], drawn, from_zero=drawn == "linear")
    return Plot(name, title, *axes, series[:MAX_CURVES], note=" ".join(part for part in (note, more) if part))


def _along(label: str, places: Sequence[str], name: str) -> tuple[Axis, Mapping[str, float] | None]:
    """The axis, and where its places are on it; None where they are words."""
    numbers = {place: number for place in places if (number := number_of(place)) is not None}
    rest = [place for place in places if place not in numbers]
    if not numbers or rest not in ([], [_UNBOUNDED]):
        return Axis(label, "category"), None
    ascending = sorted(numbers, key=numbers.__getitem__)
    axis = axis_of(AxisValues(label, tuple(ascending), tuple(numbers[place] for place in ascending), (name,)))
    if not rest:
        return axis, numbers
    low, high = numbers[ascending[0]], numbers[ascending[-1]]
    last = high * (high / low) ** _BEHIND if axis.scale == "log" else high + (high - low) * _BEHIND
    last = last if last > high else high + (abs(high) or 1.0)
    ticks = axis.ticks or [(numbers[place], place) for place in ascending]
    return Axis(axis.label, axis.scale, [*ticks, (last, _UNBOUNDED)]), {**numbers, _UNBOUNDED: last}


def bars(name: str, title: str, label: str, parts: Sequence[tuple[str, Sequence[Measured]]], *, note: str = "") -> Bars:
    """Stacked bars: a row for each place of each curve, a part for each set of curves.

    Args:
        name: of the figure and its file.
        title: what stands above it.
        label: of the values' axis, with the unit.
        parts: name and curves of each part; a row that a part lacks counts as 0 there.
        note: a sentence below.
    """
    found = [(part, {_row(one.label, place): y for one in curves for place, y in zip(one.x, one.y, strict=True)})
             for part, curves in parts]  # fmt: skip
    rows = list(dict.fromkeys(row for _, values in found for row in values))
    shown = [(part, [float(f"{values.get(row, 0.0):.6g}") for row in rows]) for part, values in found]
    return Bars(name, title, Axis(label), rows, shown, note=note)


def _row(curve: str, place: str) -> str:
    return ", ".join(part for part in (place, curve) if part)


def _series(curve: Measured, style: Style, positions: Mapping[str, float] | None) -> Series:
    if positions is None:
        if curve.level_of is not None:
            return Series(curve.label, (), (), style="points", beside=curve.level_of)
        return Series(curve.label, curve.x, list(map(rounded, curve.y)), *_interval(curve), style="points")
    if curve.level_of is not None:
        ends = [min(positions.values()), max(positions.values())]
        return Series(curve.label, ends, [rounded(curve.y[0])] * 2 if curve.y else [None] * 2, beside=curve.level_of)
    numbers = [positions[place] for place in curve.x]
    if len(numbers) <= _POINTS:
        return Series(curve.label, numbers, list(map(rounded, curve.y)), *_interval(curve), style=style)
    kept = thin(numbers, curve.y, _POINTS)
    return Series(curve.label, [float(f"{value:.9g}") for value in kept.x], list(map(rounded, kept.y)), style=style)


def _interval(curve: Measured) -> tuple[list[float | None] | None, list[float | None] | None]:
    if curve.low is None or curve.high is None:
        return None, None
    return list(map(rounded, curve.low)), list(map(rounded, curve.high))
