"""Stalls of short random writes in steady state, and their tail against that of greedy."""

from typing import TYPE_CHECKING

import numpy as np

from flashweir.diagnosis.active.ratios import Span, Test, measured
from flashweir.diagnosis.active.session import WRITE, Bench

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Greedy collects less often, so that its 99th percentile lies at a lower quantile of the drive's latencies, but at none
# below 0.95. If the two differ by more than this, the drive's percentile is a stall that greedy would not have.
_OFTENEST, CLIFF = 5.0, 0.85
# A write stalls if it takes this many times the mean without collection.
_STALL = 10.0
# The least relative error.
_FLOOR = 0.01


def latencies_of(bench: Bench) -> list["NDArray[np.float64]"]:
    """Latencies of random writes in steady state, ns, one at a time and several."""
    count = min(16_384, int(bench.size // bench.small // 2))
    found = []
    for depth in (1, 8):
        issue, complete = bench.call(WRITE, bench.at_random(0, bench.size, bench.small)(0, count), bench.small, depth)
        found.append((complete - issue).astype(float))
    return found


def cliff_of(latencies: list["NDArray[np.float64]"], oftener: float) -> Test:
    """99th percentile of greedy over the drive's, which collects so many times as often: the smaller of the ratios.

    Of every hundred writes with greedy one is among the longest where it is `oftener` of the drive's.
    """
    before = 1 - 0.01 * min(max(oftener, 1.0), _OFTENEST)
    found = [float(np.quantile(one, before) / max(np.quantile(one, 0.99), 1.0)) for one in latencies]
    return measured("collection-tail", Span(min(found), (1 - _FLOOR) * min(found), (1 + _FLOOR) * max(found)))


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
