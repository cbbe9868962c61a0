"""Path to a drive: time and jitter of requests that need no flash, and signs that there is none behind it.

An answer of the probe that depends on a time below these two is no better than a guess (`calibrated.py`).
"""

from dataclasses import dataclass

import numpy as np

from flashweir.diagnosis.active.medium import NOTHING, not_flash
from flashweir.diagnosis.active.ratios import Span, span_of
from flashweir.diagnosis.active.session import KIB, READ, WRITE, Bench, Course

_EQUAL = 64
_LONG = 128 * KIB
# Share of the filled addresses, from the first on, that are on flash: a buffer holds at most the last half of a fill.
ON_FLASH = 0.45


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
    flash, _ = bench.read(0, high * ON_FLASH, 192)
    read = span_of(flash)
    nothing = span_of(bench.read(high, bench.size, _EQUAL)[0])
    equal, _ = bench.call(READ, np.zeros(_EQUAL, np.uint64), bench.small, 1), None
    taken = np.sort((equal[1] - equal[0]).astype(float))
    rates = [
        1 / max(bench.read(0, high * ON_FLASH, count, depth)[1] / count, 1) for count, depth in ((192, 1), (2048, 32))
    ]
    writes = _idle_writes(bench)
    quick = min(float(np.median(writes)), nothing.value, read.value)
    jitter = float(np.quantile(taken, 0.95) - np.quantile(taken, 0.05))
    discards = nothing.value < NOTHING * read.value
    reason = not_flash(bench, high, read, discards=discards)
    return Path(quick, jitter, read, rates[1] / rates[0], discards, reason, filled)


def _idle_writes(bench: Bench) -> list[float]:
    taken = []
    for at in range(16):
        bench.rest(0.02)
        issue, complete = bench.call(WRITE, np.array([at * bench.small], np.uint64), bench.small, 1)
        taken.append(float(complete[0] - issue[0]))
    return taken
