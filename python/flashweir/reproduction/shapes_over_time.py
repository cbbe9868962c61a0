"""Checks of curves over time, or over the number of an event: peaks that come again, and two that change places."""

import math
from collections.abc import Sequence
from itertools import pairwise, permutations

from flashweir.reproduction.curves import Curve, pairs
from flashweir.reproduction.shapes import Finding, number

# A peak stands out from its surroundings by this share of the way from the end of the curve to its highest point.
_PROMINENT = 0.05
# The end of a curve, against which its peaks are held: its last quarter.
_END = 0.75


def peaks(curve: Curve, smooth: float = 0.0) -> list[tuple[float, float]]:
    """Places and heights of a curve's peaks, in their order; a curve that starts high starts with one.

    Args:
        curve: at least a few points.
        smooth: the share of the curve's length over which it is averaged first.
    """
    import numpy as np
    from scipy.signal import find_peaks  # type: ignore[import-untyped]

    y = _smoothed(curve, smooth)
    end = float(np.mean(y[int(len(y) * _END) :]))
    # Values before the first point count as lower, so that the first point may be a peak.
    padded = np.concatenate(([min(end, float(y.min()))], y, [float(y.min())]))
    found, _ = find_peaks(padded, prominence=_PROMINENT * max(float(y.max()) - end, 0.0) or None)
    places = [int(at) - 1 for at in found if 0 < at <= len(y)]
    # Reads the names of all points, so once for all peaks.
    x = curve.x
    return [(x[at], float(y[at])) for at in places]


def peaks_that_flatten(curve: Curve, *, least: int = 3, smooth: float = 0.0, slack: float = 0.0) -> Finding:
    """At least `least` peaks are higher than all of the last quarter; none rises above the one before by `slack`."""
    found = _outstanding(curve, smooth)
    ok = len(found) >= least and all(after <= before * (1 + slack) for (_, before), (_, after) in pairwise(found))
    return Finding(ok, f"{len(found)} peaks, {_said(found)}; {number(_end(curve, smooth))} at the end")


def higher_first_peak(curve: Curve, other: Curve, *, smooth: float = 0.0) -> Finding:
    """Its first peak is higher than the other's."""
    one, two = peaks(curve, smooth), peaks(other, smooth)
    if not one or not two:
        return Finding(False, f"{len(one)} and {len(two)} peaks")
    return Finding(one[0][1] > two[0][1], f"{number(one[0][1])} against {number(two[0][1])}")


def more_periods(curve: Curve, other: Curve, *, smooth: float = 0.0) -> Finding:
    """It has more peaks than the other that are higher than anything in its last quarter."""
    one, two = len(_outstanding(curve, smooth)), len(_outstanding(other, smooth))
    return Finding(one > two, f"{one} peaks above all that comes last, against {two}")


def _outstanding(curve: Curve, smooth: float) -> list[tuple[float, float]]:
    """The peaks that are higher than anything in the last quarter."""
    y = _smoothed(curve, smooth)
    last = float(y[int(len(y) * _END) :].max())
    return [(place, height) for place, height in peaks(curve, smooth) if height > last]


def roles_swap(family: Sequence[Curve], *, high: float, low: float, share: float = 0.0) -> Finding:
    """Of two of these curves one is at `high` or above while the other is at `low` or below, and later they swap.

    At least one pair does, and at least this `share` of all pairs.
    """
    best: tuple[float, str] | None = None
    full = [(one, other, at) for one, other in permutations(family, 2) for at in _times(one, other, high, low)[:1]]
    for one, other, first in full:
        later = [at for at in _times(other, one, high, low) if at > first]
        if later and (best is None or later[0] < best[0]):
            best = later[0], f"{_holds(one, other, first)}; {_holds(other, one, later[0])}"
    count = len({frozenset((one.label, other.label)) for one, other, _ in full if _swap(one, other, high, low)})
    every = len(family) * (len(family) - 1) // 2
    said = f"; {count} of {every} pairs do"
    return Finding(
        best is not None and count >= share * every,
        (best[1] if best else f"no two of {len(family)} change places") + said,
    )


def mean_where(
    family: Sequence[Curve], others: Sequence[Curve], *, least: float, above: float = -math.inf, below: float = math.inf
) -> Finding:
    """Where the others are at `above` or more and at `below` or less, these curves are `least` or more on average."""
    found = [
        y
        for curve, other in pairs(family, others)
        for y, level in zip(curve.y, other.y, strict=False)
        if above <= level <= below
    ]
    if not found:
        return Finding(False, "nowhere")
    mean = sum(found) / len(found)
    return Finding(mean >= least, f"{number(mean)} on average in {len(found)} places")


def _holds(one: Curve, other: Curve, at: int) -> str:
    held = f"{one.label} holds {number(one.y[at])} and {other.label} {number(other.y[at])}"
    return f"{held} at {number(one.x[at])}"


def _swap(one: Curve, other: Curve, high: float, low: float) -> bool:
    return bool(_times(one, other, high, low)) and bool(_times(other, one, high, low))


def _times(one: Curve, other: Curve, high: float, low: float) -> list[int]:
    return [at for at, (a, b) in enumerate(zip(one.y, other.y, strict=False)) if a >= high and b <= low]


def _smoothed(curve: Curve, share: float):  # type: ignore[no-untyped-def]  # noqa: ANN202 - a numpy array
    import numpy as np

    y = np.asarray(curve.y, dtype=float)
    width = max(1, round(len(y) * share))
    if width == 1:
        return y
    # Windows are cut off at the ends, not filled with zeros.
    sums = np.convolve(y, np.ones(width), mode="same")
    return sums / np.convolve(np.ones(len(y)), np.ones(width), mode="same")


def _end(curve: Curve, smooth: float) -> float:
    y = _smoothed(curve, smooth)
    return float(y[int(len(y) * _END) :].mean())


def _said(found: Sequence[tuple[float, float]], most: int = 5) -> str:
    heights = ", ".join(f"{number(height)} at {place:,.0f}" for place, height in found[:most])
    return heights + (" ..." if len(found) > most else "")
