"""Units of time that suit the values: 3.59 s rather than 3,592,421 us."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

from flashweir.charts.model import Axis, Bars, Chart, Heat, Plot, Series

_UNITS = ((1e6, "s"), (1e3, "ms"), (1.0, "us"))
_UNIT = ", us"
_WORDS = " us"
# A linear axis takes the next unit from so many of the one below on, a log axis later: it shows small values too.
_LINEAR, _LOG = 1e4, 1e6
_NS = 1e-3


def duration(us: float) -> str:
    """A time in the unit that suits it, with three significant digits: `182 us`, `3.59 s`."""
    if not math.isfinite(us):
        return "-"
    size = abs(us)
    if 0 < size < 0.9995:  # noqa: PLR2004 - what is shown as less than 1
        return f"{us / _NS:.3g} ns"
    # 999.9 us would be shown as 1,000 us.
    scale, unit = next((known for known in _UNITS if size >= 0.9995 * known[0]), _UNITS[-1])
    value = us / scale
    return f"{value:,.0f} {unit}" if abs(value) >= 999.5 else f"{value:.3g} {unit}"  # noqa: PLR2004 - three digits


def unit_of_times(values: Iterable[float | None], *, log: bool = False) -> tuple[float, str]:
    """Microseconds in the unit of an axis with these values, and the unit."""
    known = [abs(value) for value in values if value is not None and math.isfinite(value)]
    largest = max(known, default=0.0)
    # A log axis has no zero: where all values are at least 1 of a unit, it is the one.
    smallest = min((value for value in known if value), default=0.0) if log else 0.0
    large = _LOG if log else _LINEAR
    return next((one for one in _UNITS[:-1] if largest >= one[0] / 1e3 * large or smallest >= one[0]), _UNITS[-1])


def scaled(chart: Chart) -> Chart:
    """The chart with its axes of microseconds in the unit that suits their values; as it is where that is us."""
    if isinstance(chart, Bars):
        return _bars(chart)
    if isinstance(chart, Heat):
        by, unit = unit_of_times(value for row in chart.values for value in row)
        if not chart.unit.endswith(_UNIT) or by == 1:
            return chart
        return replace(chart, unit=_named(chart.unit, unit), values=[_optional(row, by) for row in chart.values])
    return _plot(chart) if isinstance(chart, Plot) else chart


def _bars(chart: Bars) -> Bars:
    totals = [sum(row) for row in zip(*(values for _, values in chart.parts), strict=True)]
    found = _axis(chart.x, totals)
    if found is None:
        return chart
    by, axis = found
    return replace(chart, x=axis, parts=[(name, _divided(values, by)) for name, values in chart.parts])


def _plot(chart: Plot) -> Plot:
    ends = [end for one in chart.series for end in one.high or () if end is not None]
    ys = [value for one in chart.series for value in one.y if value is not None]
    x = _axis(chart.x, [value for one in chart.series for value in one.x if isinstance(value, float | int)])
    y = _axis(chart.y, ys if chart.y.scale == "log" else [*ys, *ends])
    if x is not None:
        by, axis = x
        chart = replace(chart, x=axis, series=[_along(one, by) for one in chart.series])
    if y is not None:
        by, axis = y
        chart = replace(chart, y=axis, series=[_up(one, by) for one in chart.series])
    return chart


def _axis(axis: Axis, values: Sequence[float]) -> tuple[float, Axis] | None:
    if not axis.label.endswith((_UNIT, _WORDS)) or axis.ticks:
        return None
    by, unit = unit_of_times(values, log=axis.scale == "log")
    return None if by == 1 else (by, replace(axis, label=_named(axis.label, unit)))


def _named(label: str, unit: str) -> str:
    return f"{label[: -len('us')]}{unit}"


def _along(one: Series, by: float) -> Series:
    return replace(one, x=[value if isinstance(value, str) else _part(value, by) for value in one.x])


def _up(one: Series, by: float) -> Series:
    ends = (None if row is None else _optional(row, by) for row in (one.low, one.high))
    return replace(one, y=_optional(one.y, by), low=next(ends), high=next(ends))


def _optional(values: Sequence[float | None], by: float) -> list[float | None]:
    return [None if value is None else _part(value, by) for value in values]


def _divided(values: Sequence[float], by: float) -> list[float]:
    return [_part(value, by) for value in values]


def _part(value: float, by: float) -> float:
    return float(f"{value / by:.9g}")
