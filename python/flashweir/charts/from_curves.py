"""Figures whose author says what they show: curves that were measured, over an axis of words, numbers or sizes."""

from collections.abc import Mapping, Sequence
from typing import Literal

from flashweir.charts.distributions import MAX_CURVES
from flashweir.charts.from_result import scale_for
from flashweir.charts.from_sweep import axis_of
from flashweir.charts.model import Axis, Bars, Plot, Scale, Series
from flashweir.charts.settings import AxisValues
from flashweir.charts.thin import rounded, thin
from flashweir.quantity import number_of

# What a curve is called, its places as text, and its values.
Measured = tuple[str, Sequence[str], Sequence[float]]
Style = Literal["line", "steps", "points"]
STYLES: Mapping[str, Style] = {"lines": "line", "steps": "steps", "points": "points"}
_POINTS = 400


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
    places = list(dict.fromkeys(place for _, x, _ in curves for place in x))
    numbers = [number_of(place) for place in places]
    known = [number for number in numbers if number is not None]
    if len(known) < len(places):
        along = Axis(labels[0], "category")
        series = [Series(label, x, list(map(rounded, y)), style="points") for label, x, y in curves]
    else:
        ascending = sorted(zip(known, places, strict=True))
        values = AxisValues(
            labels[0], tuple(text for _, text in ascending), tuple(number for number, _ in ascending), (name,)
        )
        along = axis_of(values)
        series = [_series(one, style) for one in curves]
    more = f"Shows the first {MAX_CURVES} of {len(curves)} curves." if len(curves) > MAX_CURVES else ""
    suits = scale_for([value for _, _, y in curves for value in y])
    drawn: Scale = "linear" if scale == "linear" else "log" if scale == "log" else suits
    axes = along, Axis(labels[1], drawn, from_zero=drawn == "linear")
    return Plot(name, title, *axes, series[:MAX_CURVES], note=" ".join(part for part in (note, more) if part))


def bars(name: str, title: str, label: str, parts: Sequence[tuple[str, Sequence[Measured]]], *, note: str = "") -> Bars:
    """Stacked bars: a row for each place of each curve, a part for each set of curves.

    Args:
        name: of the figure and its file.
        title: what stands above it.
        label: of the values' axis, with the unit.
        parts: name and curves of each part; a row that a part lacks counts as 0 there.
        note: a sentence below.
    """
    found = [(part, {_row(curve, place): y for curve, x, ys in curves for place, y in zip(x, ys, strict=True)})
             for part, curves in parts]  # fmt: skip
    rows = list(dict.fromkeys(row for _, values in found for row in values))
    shown = [(part, [float(f"{values.get(row, 0.0):.6g}") for row in rows]) for part, values in found]
    return Bars(name, title, Axis(label), rows, shown, note=note)


def _row(curve: str, place: str) -> str:
    return ", ".join(part for part in (place, curve) if part)


def _series(curve: Measured, style: Style) -> Series:
    label, x, y = curve
    numbers = [number_of(place) or 0.0 for place in x]
    if len(numbers) <= _POINTS:
        return Series(label, numbers, list(map(rounded, y)), style=style)
    kept = thin(numbers, y, _POINTS)
    return Series(label, [float(f"{value:.9g}") for value in kept.x], list(map(rounded, kept.y)), style=style)
