"""Fewer points for the same picture."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[Any]]

# A bin keeps up to five points: first, last, lowest, highest, and a gap.
_KEPT = 5
_MONOTONE_KEPT = 2
DIGITS = 6


class Curve(NamedTuple):
    """Points of a curve; None is a gap."""

    x: list[float]
    y: list[float | None]


def thin(
    x: Sequence[float],
    y: Sequence[float | None],
    limit: int = 400,
    *,
    log_x: bool = False,
    log_y: bool = False,
) -> Curve:
    """At most `limit` of the points of a curve that is given by ascending x, chosen so that the picture stays.

    The curve is cut into bins, of each of which the first, last, lowest and highest point stay, and a gap if there is
    one: what is drawn of a bin as wide as a pixel is then the same (Jugel et al., "M4: A Visualization-Oriented Time
    Series Data Aggregation", PVLDB 7(10), 2014, section 4). A curve that only rises or only falls is cut along its own
    length, so that steep and flat parts, tails included, lose equally little. Lengths are those on the axes as drawn
    (`log_x`, `log_y`). Takes 10 ms for 100,000 points.
    """
    import numpy as np

    if len(x) <= limit:
        return Curve(list(x), list(y))
    xs = np.asarray(x, dtype=float)
    ys = np.array([np.nan if value is None else value for value in y], dtype=float)
    there = np.flatnonzero(np.isfinite(ys))
    steps = np.diff(ys[there])
    monotone = there.size == ys.size and (bool(np.all(steps >= 0)) or bool(np.all(steps <= 0)))
    place = _drawn(xs, log_x)
    if monotone:
        place = place + np.concatenate([[0.0], np.cumsum(np.abs(np.diff(_drawn(ys, log_y))))])
    bins = max(1, limit // (_MONOTONE_KEPT if monotone else _KEPT))
    span = float(place[-1] - place[0])
    index = np.zeros(len(xs), dtype=int) if span <= 0 else ((place - place[0]) / span * bins).astype(int)
    index = np.minimum(index, bins - 1)
    starts = np.flatnonzero(np.concatenate([[True], np.diff(index) > 0]))
    ends = np.concatenate([starts[1:], [len(xs)]])
    kept = [starts, ends - 1]
    if not monotone:
        kept += [_extremes(ys, starts, ends), _extremes(-ys, starts, ends), _gaps(ys, index)]
    keep = np.unique(np.concatenate(kept))
    return Curve(xs[keep].tolist(), [None if np.isnan(value) else float(value) for value in ys[keep]])


def spread(x: Sequence[float], y: Sequence[float], limit: int) -> list[int]:
    """Positions of at most `limit` points of a cloud: one in each cell of a grid over it, so that its outline stays."""
    import math

    if len(x) <= limit:
        return list(range(len(x)))
    side = max(1, math.isqrt(limit))
    columns, rows = _cells(x, side), _cells(y, side)
    first: dict[tuple[int, int], int] = {}
    for position, cell in enumerate(zip(columns, rows, strict=True)):
        first.setdefault(cell, position)
    return sorted(first.values())


def rounded(value: float | None, digits: int = DIGITS) -> float | None:
    """A number with as many digits as a figure can show: half the bytes."""
    return None if value is None else float(f"{value:.{digits}g}")


def _cells(values: Sequence[float], side: int) -> list[int]:
    low, high = min(values), max(values)
    if high <= low:
        return [0] * len(values)
    return [min(int((value - low) / (high - low) * side), side - 1) for value in values]


def _drawn(values: "Array", log: bool) -> "Array":
    """Places on an axis from 0 to 1."""
    import numpy as np

    if log and bool(np.any(values > 0)):
        smallest = float(values[values > 0].min())
        values = np.log(np.maximum(values, smallest))
    finite = values[np.isfinite(values)]
    if not finite.size:
        return np.zeros(len(values))
    low, high = float(finite.min()), float(finite.max())
    return (values - low) / (high - low) if high > low else np.zeros(len(values))


def _extremes(values: "Array", starts: "Array", ends: "Array") -> "Array":
    """Where the lowest value of each bin is; a bin of gaps gives its first."""
    import numpy as np

    filled = np.where(np.isnan(values), np.inf, values)
    pairs = zip(starts.tolist(), ends.tolist(), strict=True)
    return np.array([start + int(np.argmin(filled[start:end])) for start, end in pairs])


def _gaps(values: "Array", index: "Array") -> "Array":
    """The first gap of each bin that has one."""
    import numpy as np

    gaps = np.flatnonzero(np.isnan(values))
    return gaps[np.unique(index[gaps], return_index=True)[1]]
