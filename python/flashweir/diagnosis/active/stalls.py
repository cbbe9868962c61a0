"""Stalls of short random writes in steady state, and their tail against that of even stalls."""

from typing import TYPE_CHECKING

import numpy as np

from flashweir.diagnosis.active.ratios import Span, Test, measured
from flashweir.diagnosis.active.session import WRITE, Bench

if TYPE_CHECKING:
    from numpy.typing import NDArray

_DEPTHS = (1, 8)
# Rarer stalls are above the 99th percentile.
_RARE = 0.01
# A write stalls if it takes this many times the mean without collection.
_STALL = 10.0
# The least relative error.
_FLOOR = 0.01


def latencies_of(bench: Bench) -> list["NDArray[np.float64]"]:
    """Latencies of random writes in steady state, ns, one at a time and several."""
    count = min(16_384, int(bench.size // bench.small // 2))
    found = []
    for depth in _DEPTHS:
        issue, complete = bench.call(WRITE, bench.at_random(0, bench.size, bench.small)(0, count), bench.small, depth)
        found.append((complete - issue).astype(float))
    return found


def tail_of(latencies: list["NDArray[np.float64]"], *, small: bool) -> Test:
    """99th percentile of the drive with even stalls over its own: the smaller ratio of the depths of `latencies_of`.

    All victims of greedy hold about the same number of valid pages, so that its stalls are equally long and equally far
    apart. Other victims free now a few pages and now many, and stalls come in groups. The even stalls are as long as
    those that take half of the stalled time of single writes, and as many as take all of it. A write waits for those
    that begin among as many writes as are outstanding.

    Args:
        latencies: of writes one at a time and of several, ns.
        small: if the buffer is small against these writes; else its own cycles are among them, and the ratio is 1.
    """
    single = latencies[0]
    stalled = np.sort(np.maximum(single - np.median(single), 0.0))
    total = np.cumsum(stalled)
    if not small or total[-1] <= 0:
        return measured("collection-tail", Span(1.0, 1 - _FLOOR, 1 + _FLOOR))
    stall = float(stalled[np.searchsorted(total, total[-1] / 2)])
    often = float(stalled.mean()) / stall
    found = []
    for depth, taken in zip(_DEPTHS, latencies, strict=True):
        # Stalls that one write in a hundred meets.
        met = np.floor(depth * often) + (depth * often % 1 > _RARE)
        rest = max(float(taken.mean()) - depth * often * stall, 0.0)
        found.append((rest + met * stall) / max(float(np.quantile(taken, 0.99)), 1.0))
    least = float(min(found))
    return measured("collection-tail", Span(least, (1 - _FLOOR) * least, (1 + _FLOOR) * float(max(found))))


def stalls(bench: Bench, before: Span) -> tuple[Span, Span]:
    """Longest write and share of the time in stalls, of short random writes one after the other."""
    bench.rest(0.01)
    count = min(8192, int(bench.size // bench.small // 8))
    places = bench.at_random(0, bench.size, bench.small)
    longest, lost, took = [], [], []
    for _ in range(4):
        issue, complete = bench.call(WRITE, places(0, count // 4), bench.small, 1)
        taken = (complete - issue).astype(float)
        stalled = taken[taken > _STALL * before.value * bench.small]
        longest.append(taken.max() / 1e3)
        lost.append(stalled.sum())
        took.append(float(complete.max() - issue.min()))
    shares = np.array(lost) / np.maximum(np.array(took), 1.0)
    share = float(np.sum(lost) / max(np.sum(took), 1.0))
    most = float(np.max(longest))
    # Of none in so many writes there may be three.
    unseen = 3 * _STALL * before.value * bench.small / max(float(np.sum(took)), 1.0)
    return _of_four(np.array(longest), most, _FLOOR * most), _of_four(shares, share, unseen)


def _of_four(values: "NDArray[np.float64]", value: float, least: float) -> Span:
    """A value with the smallest and the largest of four, and at least so much wide."""
    low, high = min(float(values.min()), value), max(float(values.max()), value)
    return Span(value, max(0.0, min(low, value - least)), max(high, value + least))
