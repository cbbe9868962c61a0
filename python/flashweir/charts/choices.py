"""Choices for the figures of a sweep: along which axis, what is a curve, and which axis has the colours."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from flashweir.charts.distributions import MAX_CURVES
from flashweir.charts.facets import other_axes
from flashweir.charts.model import Series
from flashweir.charts.settings import NONE, AxisValues, Cut, Setting, Sweep, evenly

_LEGIBLE, _ALONG, _RANGES = 6, 200, 40
Shown = tuple[AxisValues, list[str], dict[str, list[str]]]


def policies(sweep: Sweep, meta: Mapping[str, Any]) -> AxisValues | None:
    """The axis whose values have a colour each: the one that is compared, or else the shortest one of words."""
    for axis in sweep.axes:
        if meta.get("compare") in axis.columns:
            return axis
    words = [axis for axis in sweep.axes if axis.numbers is None and "workload" not in axis.columns]
    return min(words, key=lambda axis: len(axis.values), default=None)


def longest(sweep: Sweep) -> list[str]:
    """Names of the two axes with most values."""
    return [axis.name for axis in sorted(sweep.axes, key=lambda axis: -len(axis.values))[:2]]


def chosen(sweep: Sweep, meta: Mapping[str, Any]) -> Shown | None:
    """The axis to draw along, those whose combinations are curves, and the values shown where there are too many."""
    if not sweep.axes:
        return None
    along = max(sweep.axes, key=lambda axis: (axis.numbers is not None, len(axis.values)))
    rest = [axis for axis in sweep.axes if axis is not along]
    # First what the author compares, then words, then short axes: those make curves that can be distinguished.
    rest.sort(key=lambda axis: (meta.get("compare") not in axis.columns, axis.numbers is not None, len(axis.values)))
    curves: list[str] = []
    limits: dict[str, list[str]] = {}
    count = 1
    for axis in rest:
        if count * len(axis.values) <= MAX_CURVES:
            curves.append(axis.name)
            count *= len(axis.values)
    left_out = [axis for axis in rest if axis.name not in curves and not sweep.sparse([along.name, axis.name])]
    if other_axes(sweep, [along.name, *curves]):
        # Figures for each of their settings show all of them.
        left_out = []
    if left_out and _LEGIBLE // count > 1:
        # A few values of one more axis say more than one.
        curves.append(left_out[0].name)
        limits[left_out[0].name] = evenly(left_out[0].values, _LEGIBLE // count)
    order = [axis.name for axis in sweep.axes]
    if len(along.values) > _ALONG and not (along.numbers and sweep.sparse(axis.name for axis in sweep.axes)):
        limits[along.name] = evenly(along.values, _ALONG)
    return along, sorted(curves, key=order.index), limits


def ranges(along: AxisValues, part: Cut) -> list[tuple[float | str, list[str]]]:
    """Places along an axis with the values behind each: one, but many where settings were drawn at random."""
    if along.numbers is None:
        return [(value, [value]) for value in along.values]
    if not part.averaged or len(along.values) <= _ALONG:
        return [(number, [value]) for number, value in zip(along.numbers, along.values, strict=True)]
    each = -(-len(along.values) // _RANGES)
    found: list[tuple[float | str, list[str]]] = []
    for start in range(0, len(along.values), each):
        numbers = along.numbers[start : start + each]
        middle = float(f"{sum(numbers) / len(numbers):.6g}")
        found.append((middle, list(along.values[start : start + each])))
    return found


def in_colour(
    curve: Series, of: Setting, combinations: Sequence[Setting], names: Sequence[str], coloured: AxisValues | None
) -> Series:
    """The curve in the colour of its policy; those of one policy differ by their dashes."""
    if coloured is None or coloured.name not in names:
        return curve
    at = names.index(coloured.name)
    if of[at] == NONE:
        return curve
    rest = list(dict.fromkeys(tuple(one[:at]) + tuple(one[at + 1 :]) for one in combinations))
    return replace(curve, turn=coloured.values.index(of[at]), variant=rest.index(of[:at] + of[at + 1 :]))
