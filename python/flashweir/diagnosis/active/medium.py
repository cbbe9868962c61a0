"""Signs that a target is no flash: a file, memory, or a limit of the rate before the drive.

Flash that is hidden by a slow link or by slow commands still shows in one of these: reads of data that lies in the
buffer or was discarded are faster than others, or overwriting at random slows down as collection begins. A target that
shows neither has no flash. A limit of the rate lets a single request pass at once that it would delay among others,
and slows reads down after a burst of them; a link does neither.
"""

import numpy as np

from flashweir.diagnosis.active.ratios import Span
from flashweir.diagnosis.active.session import DEPTH, KIB, READ, WRITE, Bench

NOTHING = 0.7
"""Share of a read below which a read of discarded addresses needed no flash."""
# Shorter reads come from memory.
_MEMORY_NS = 5_000
# Rates and latencies that differ by less are the same.
_ALIKE = 0.08
# A read alone takes less than this share of the time between two of many at a time.
_AT_ONCE = 0.7
# Reads fall to this share of their first rate: flash reads do not.
_FALLS = 0.67
_READS, _REPEATS, _WINDOWS = 8192, 24, 64
_LONG = 128 * KIB
# Random overwrites, in multiples of the drive.
_OVERWRITES = 1.5
# Reads and writes of a target without flash have rates within this factor.
_FACTOR = 3.0


def not_flash(bench: Bench, high: float, read: Span, *, discards: bool) -> str:
    """Reason why the target is no flash, or has something else before it; empty if it may be flash.

    Args:
        bench: the target, written up to `high`.
        high: bytes.
        read: latency of an idle short read, ns.
        discards: if reads of discarded addresses are faster than others.
    """
    if read.value < _MEMORY_NS:
        return f"a read takes {read.value / 1e3:.2g} us, as from memory"
    if limited := _limited(bench, high):
        return limited
    if discards or _buffered_reads(bench, high) < 1 - _ALIKE:
        return ""
    return _no_history(bench)


def _limited(bench: Bench, high: float) -> str:
    """A limit of the rate before the drive, by reads alone: what is read has nothing to wait for in the drive."""
    for length, count in ((bench.small, _READS), (_LONG, int(min(_READS, max(256, high // _LONG))))):
        bench.rest(1.0)
        alone = []
        for _ in range(_REPEATS):
            bench.rest(0.02, flush=False)
            issue, complete = bench.call(READ, bench.at_random(0, high, length)(0, 1), length, 1)
            alone.append(float(complete[0] - issue[0]))
        issue, complete = bench.call(READ, bench.at_random(0, high, length)(0, count), length, DEPTH)
        # Windows of equal numbers of reads: stalls of the host are in few of them.
        ends = np.sort(complete)[:: max(1, count // _WINDOWS)].astype(float)
        each = np.diff(ends) / max(1, count // _WINDOWS)
        first, last = float(np.median(each[: _WINDOWS // 16])), float(np.median(each[len(each) // 2 :]))
        rate = f"{1e9 / max(last, 1.0):,.0f} a second"
        if length == bench.small and first < _FALLS * last:
            return f"reads fall to {rate} after a burst of them: a limit before the drive"
        if float(np.median(alone)) < _AT_ONCE * last:
            text = f"{length // KIB} KiB reads, {DEPTH} at a time, end at {rate}, though one alone takes less"
            return f"{text} than the time between two of them: a limit before the drive"
    return ""


def _buffered_reads(bench: Bench, high: float) -> float:
    """Latency of reads of what was just written, as a share of that of reads of old data."""
    fresh, old = [], []
    for place in bench.at_random(0, high, bench.small)(0, _REPEATS):
        issue, complete = bench.call(READ, np.array([place], np.uint64), bench.small, 1)
        old.append(float(complete[0] - issue[0]))
        bench.call(WRITE, np.array([place], np.uint64), bench.small, 1)
        issue, complete = bench.call(READ, np.array([place], np.uint64), bench.small, 1)
        fresh.append(float(complete[0] - issue[0]))
    return float(np.median(fresh)) / max(float(np.median(old)), 1.0)


def _no_history(bench: Bench) -> str:
    """Random overwrites of a full target that never slow down, as fast as writes in order and about as reads."""
    bench.pour(bench.in_order(0, bench.size, _LONG), bench.size, _LONG)
    volume = bench.size / 8
    ordered = _per_byte(bench, in_order=True, volume=volume)
    course = bench.pour(bench.at_random(0, bench.size, bench.small), bench.size * _OVERWRITES, bench.small)
    early, late = (
        float(np.median(course.per_byte(skip, skip + volume)))
        for skip in (volume / 4, bench.size * _OVERWRITES - volume)
    )
    again = _per_byte(bench, in_order=True, volume=volume)
    _, took = bench.read(0, bench.size, _READS, DEPTH)
    reading = max(took, 1.0) / _READS / bench.small
    same = max(ordered, early, late, again) < (1 + 2 * _ALIKE) * min(ordered, early, late, again)
    if same and 1 / _FACTOR < late / reading < _FACTOR:
        return "random overwrites of a full target never slow down, and are as fast as writes in order: no flash erases"
    return ""


def _per_byte(bench: Bench, *, in_order: bool, volume: float) -> float:
    places = (bench.in_order if in_order else bench.at_random)(0, bench.size, bench.small)
    return float(np.median(bench.pour(places, volume, bench.small).per_byte(volume / 4)))
