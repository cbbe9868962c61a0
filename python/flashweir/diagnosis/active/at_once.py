"""Writes that an idle drive takes in before the first one waits for flash: all are made at the same time.

A buffer acknowledges them one after the other as fast as the link brings them. Once it is full nothing ends until a
program does: a gap. Programs that end before the buffer is full make room, and there is no gap, as no write waited.

An erase, a merge or a collection stalls the drive as well, but where a block ends, whatever the buffer holds. Bursts
begin at random places of a block, so that stalls come after any number of writes, and a full buffer after the same.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from flashweir.diagnosis.active.session import WRITE, Bench

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

COUNT = 64
"""Writes at once; twice as many as the least good buffer takes, since jitter makes gaps between the last ones."""
_REPEATS = 12
VOLUME = 2 * COUNT * _REPEATS
"""Writes of all bursts and before them, at most."""
# Quantile of the ends of all bursts that shows a gap: where three quarters of them have it, it is no stall.
_STALLED = 0.25
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


def in_order(bench: Bench, low: float, high: float, flash_ns: float) -> AtOnce:
    """Short writes in order from `low` to `high` and again, each burst after a flush and a pause."""
    bursts = []
    at = int(low)
    for _ in range(_REPEATS):
        before = int(bench.random.integers(0, COUNT))
        if at + (before + COUNT) * bench.small > high:
            at = int(low)
        if before:
            bench.call(WRITE, _from(bench, at)(0, before), bench.small, COUNT)
        bench.rest()
        bursts.append(_burst(bench, _from(bench, at + before * bench.small)(0, COUNT)))
        at += (before + COUNT) * bench.small
    return _gaps(np.array(bursts), flash_ns)


def _from(bench: Bench, low: int) -> "Callable[[int, int], NDArray[np.uint64]]":
    return bench.in_order(low, low + COUNT * bench.small, bench.small)


def _burst(bench: Bench, places: "NDArray[np.uint64]") -> "NDArray[np.float64]":
    """Ends of the writes, ns."""
    issue, complete = bench.call(WRITE, places, bench.small, COUNT)
    return np.sort(complete - int(issue.min())).astype(float)


def _gaps(ends: "NDArray[np.float64]", flash_ns: float) -> AtOnce:
    """The gap that three quarters of the bursts have. Jitter moves ends of single writes, hardly a quantile of all."""
    taken = first_gap(np.quantile(ends, _STALLED, axis=0), flash_ns)
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
