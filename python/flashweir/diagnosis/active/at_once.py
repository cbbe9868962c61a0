"""Writes that an idle drive takes in before the first one waits for flash: all are made at the same time.

A buffer acknowledges them one after the other as fast as the link brings them. Once it is full nothing ends until a
program does: a gap. Programs that end before the buffer is full make room, and there is no gap, as no write waited.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from flashweir.diagnosis.active.session import WRITE, Bench

if TYPE_CHECKING:
    from numpy.typing import NDArray

COUNT = 64
"""Writes at once; twice as many as the least good buffer takes, since jitter makes gaps between the last ones."""
_REPEATS = 9
# Writes that show the pace of the link, and how many times their pace a gap is at least.
_FIRST, _GAP = 4, 3.0
# A wait for flash takes at least this share of a read.
_WAIT = 0.5


@dataclass
class AtOnce:
    """Findings."""

    taken: int
    """Writes before the first gap."""
    low: int
    high: int


def in_order(bench: Bench, high: float, flash_ns: float) -> AtOnce:
    """Short writes in order after a flush and a pause."""
    bursts = []
    for at in range(_REPEATS):
        bench.rest()
        low = at * COUNT * bench.small % int(high)
        bursts.append(_burst(bench, bench.in_order(low, low + COUNT * bench.small, bench.small)(0, COUNT)))
    return _gaps(np.array(bursts), flash_ns)


def _burst(bench: Bench, places: "NDArray[np.uint64]") -> "NDArray[np.float64]":
    """Ends of the writes, ns."""
    issue, complete = bench.call(WRITE, places, bench.small, COUNT)
    return np.sort(complete - int(issue.min())).astype(float)


def _gaps(ends: "NDArray[np.float64]", flash_ns: float) -> AtOnce:
    taken = first_gap(np.median(ends, axis=0), flash_ns)
    each = np.sort([first_gap(one, flash_ns) for one in ends])
    return AtOnce(taken, int(min(each[1], taken)), int(max(each[-2], taken)))


def first_gap(ends: "NDArray[np.float64]", flash_ns: float) -> int:
    """Writes before the first gap, of those that ended at `ends`; all if there is none."""
    if ends[0] > flash_ns:
        return 0
    steps = np.diff(ends)
    # The pace of so far, as jitter delays the first one as well.
    pace = (ends - ends[0]) / np.maximum(np.arange(len(ends)), 1)
    pace[:_FIRST] = np.median(steps[:_FIRST])
    gaps = np.flatnonzero(steps > np.maximum(_GAP * pace[:-1], _WAIT * flash_ns))
    return int(gaps[0]) + 1 if len(gaps) else len(ends)
