"""Choices shared by page and files: the scale of a figure, and the start of its axes."""

import math
from collections.abc import Iterable, Sequence

from flashweir.charts.model import Plot

# A curve with more points has no markers, and a band in place of error bars.
FEW_POINTS = 24
# A matrix of positive values this far apart is coloured by their logarithm.
_WIDE = 100.0
# A log axis reaches so far below the smallest value for the sake of an interval.
_BELOW = 10.0


def wide(values: Iterable[float | None]) -> bool:
    """True if values are positive and so far apart that only their logarithms differ visibly in colour."""
    known = [value for value in values if value is not None and math.isfinite(value)]
    return bool(known) and min(known) > 0 and max(known) / min(known) >= _WIDE


def log_floor(chart: Plot) -> float | None:
    """Where a log axis of y ends below because ends of intervals lie lower or have no place on it; None if none do."""
    values = [value for series in chart.series for value in series.y]
    ends = [end for series in chart.series for end in (series.low or ()) if end is not None and math.isfinite(end)]
    there = [value for value in values if value is not None and math.isfinite(value) and value > 0]
    if chart.y.scale != "log" or not there:
        return None
    lowest = min(there) / _BELOW
    inside = [end for end in ends if end >= lowest]
    return None if len(inside) == len(ends) else 0.9 * min([*inside, lowest * _BELOW])


def log_top(chart: Plot) -> float:
    """The largest value of such an axis, ends of intervals included."""
    rows = [values for series in chart.series for values in (series.y, series.high or ())]
    return max(value for row in rows for value in row if value is not None and math.isfinite(value) and value > 0)


def starts_at_zero(values: Iterable[float | None], lows: Iterable[float]) -> bool:
    """True if an axis begins at zero: it is near in terms of the values, and nothing lies below."""
    known = [value for value in values if value is not None and math.isfinite(value)]
    least = min([*known, *lows], default=-1.0)
    return least >= 0 and (max(known, default=0.0) == 0 or least < max(known) / 2)


def floored(values: Sequence[float]) -> list[float]:
    """Values for a log axis: what is not above zero becomes half the least that is, so that it lies on the floor."""
    least = min((value for value in values if value > 0), default=1.0)
    return [value if value > 0 else least / 2 for value in values]
