"""Path to a drive: time and jitter of requests that need no flash, and signs that there is none behind it.

An answer of the probe that depends on a time below these two is no better than a guess (`calibrated.py`).
"""

from dataclasses import dataclass

import numpy as np

from flashweir.diagnosis.active.ratios import Span, span_of
from flashweir.diagnosis.active.session import DEPTH, FLUSH, KIB, MIB, READ, WRITE, Bench, Course

_EQUAL = 64
# Shorter reads come from memory.
_MEMORY_NS = 5_000
# Flash reads faster than it programs: a target whose rates of both differ by less, short and long, has a throttle.
_ALIKE = 0.08
# Reads of nothing are faster than reads of flash by this much, unless discards do nothing.
_NOTHING = 0.7
_LONG = 128 * KIB


@dataclass
class Path:
    """Findings."""

    overhead_ns: float
    """Latency of the fastest kind of idle request: link, driver and firmware."""
    jitter_ns: float
    """Range in which nine of ten equal requests lie."""
    read: Span
    """Latency of an idle read of flash, ns."""
    parallel: float
    """Rate of reads with many outstanding requests over that with one."""
    discards: bool
    """If reads of discarded addresses are faster than reads of flash."""
    not_flash: str
    """Reason why the target has no flash; empty if it may have."""
    filled: Course
    """Course of the first fill."""

    @property
    def resolution_ns(self) -> float:
        """Times below this do not show."""
        return self.overhead_ns + self.jitter_ns


def measured(bench: Bench, high: float) -> Path:
    """Fills addresses up to `high` in order, and reads and writes there and behind them."""
    bench.discard()
    filled = bench.pour(bench.in_order(0, high, _LONG), high, _LONG)
    bench.rest()
    flash, _ = bench.read(0, high * 0.75, 192)
    read = span_of(flash)
    nothing = span_of(bench.read(high, bench.size, _EQUAL)[0])
    equal, _ = bench.call(READ, np.zeros(_EQUAL, np.uint64), bench.small, 1), None
    taken = np.sort((equal[1] - equal[0]).astype(float))
    rates = [1 / max(bench.read(0, high * 0.75, count, depth)[1] / count, 1) for count, depth in ((192, 1), (2048, 32))]
    writes = _idle_writes(bench)
    quick = min(float(np.median(writes)), nothing.value, read.value)
    jitter = float(np.quantile(taken, 0.95) - np.quantile(taken, 0.05))
    discards = nothing.value < _NOTHING * read.value
    reason = _reason(bench, high, read, synced=_synced(bench), discards=discards)
    return Path(quick, jitter, read, rates[1] / rates[0], discards, reason, filled)


def _idle_writes(bench: Bench) -> list[float]:
    taken = []
    for at in range(16):
        bench.rest(0.02)
        issue, complete = bench.call(WRITE, np.array([at * bench.small], np.uint64), bench.small, 1)
        taken.append(float(complete[0] - issue[0]))
    return taken


def _synced(bench: Bench) -> float:
    """Time of a short write and its flush, ns."""
    taken = []
    for at in range(8):
        bench.rest(0.02)
        issue, _ = bench.call(WRITE, np.array([at * bench.small], np.uint64), bench.small, 1)
        _, complete = bench.call(FLUSH, np.zeros(1, np.uint64), 0, 1)
        taken.append(float(complete[0] - issue[0]))
    return float(np.median(taken))


def _reason(bench: Bench, high: float, read: Span, *, synced: float, discards: bool) -> str:
    if read.value < _MEMORY_NS:
        return f"a read takes {read.value / 1e3:.2g} us, as from memory"
    ratios = []
    for length, volume in ((bench.small, min(high / 16, 8 * MIB)), (_LONG, min(high / 2, 64 * MIB))):
        places = bench.at_random(0, high, length)
        course = bench.pour(places, volume, length)
        begin = bench.session.now_ns
        bench.call(READ, places(0, max(2, int(volume // length))), length, DEPTH)
        reading = (bench.session.now_ns - begin) / max(2, int(volume // length)) / length
        ratios.append(float(np.median(course.per_byte(volume / 2))) / max(reading, 1e-9))
    if all(abs(one - 1) < _ALIKE for one in ratios):
        return "reads and writes, short and long, have the same rates: a limit before the drive"
    if not discards and synced < read.value and ratios[0] < 1 + _ALIKE:
        return "a write with its flush takes no longer than a read, and random writes are as fast as reads"
    return ""
