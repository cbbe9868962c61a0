"""Test of the write buffer: bytes that an idle drive acknowledges faster than it reads flash."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from flashweir.diagnosis.active import at_once
from flashweir.diagnosis.active.ratios import Span, Test, span_of
from flashweir.diagnosis.active.session import FLUSH, KIB, MIB, WRITE, Bench

if TYPE_CHECKING:
    from numpy.typing import NDArray

# The truth of the symptom: a buffer that takes fewer bytes is bad.
BAD_BYTES = 128 * KIB
_REPEATS = 5
# Bursts that fill no buffer are followed by larger ones, as far as there are addresses without data, and this many.
_FEW, _LARGEST = 2, 128 * MIB
# Bytes of a burst: as few as show a bad buffer, then more until the buffer is at most a quarter of the burst.
_BURSTS = (1 * MIB, 4 * MIB, 16 * MIB, 64 * MIB)
_ENOUGH = 0.25
# Requests of a burst are longer than a page, so that the link is faster than flash even on many dies, and all that a
# bad buffer takes is outstanding at once. More would wait for each other, and the jitter of hosts grows with the wait.
_LENGTH, _DEPTH = 16 * KIB, 8
# A full buffer takes writes as fast as flash: no burst that is this much faster than long writes in order filled it.
_FLASH = 0.6
# Where flash is as fast as the link, a full buffer shows at depth 1: writes take this many times an idle one.
_WAITS = 1.5
# Bytes that are written so, at least, and windows of so many writes.
_LONG_BURST, _WINDOWS, _WINDOW = 4 * MIB, 4, 32
# Requests that a burst must be ahead of its steady rate: less is jitter.
_AHEAD = 0.7


@dataclass
class Buffer:
    """Findings of the test."""

    size: Span
    """Bytes that it takes in."""
    at_least: bool
    """True if no burst filled it, so that `size` is a lower bound."""
    empties_s: float | None
    flush_waits: bool
    program_ns: float | None
    """Time of one write with its flush, where flushes wait."""
    test: Test
    reason: str


@dataclass
class _Drive:
    """The drive of the bursts, and values to compare with, ns."""

    bench: Bench
    high: float
    flash_ns: float
    """Latency of an idle flash read."""
    per_byte_ns: float
    """Time of a byte of long writes in order."""
    free: float
    """Address from which on nothing was written: bursts over data would run into merges on some drives."""
    end: float
    """Address up to which bursts may write: behind it is the place of those at once."""


def buffer(bench: Bench, high: float, flash: Span, per_byte: Span) -> Buffer:
    """Bursts of writes in order behind the first `high` bytes, each after a flush and a pause."""
    apart = bench.size - at_once.VOLUME * bench.small
    # A small drive has no place of its own for them.
    end = apart if apart - high >= (bench.size - high) / 2 else float(bench.size)
    drive = _Drive(bench, high, flash.value, per_byte.value, high, end)
    quick = _quicker(bench, high)
    size, filled, volume = Span(0.0, 0.0, float(bench.small)), True, float(_BURSTS[0])
    if quick.value >= 1:
        for volume in [min(burst, high / 8) for burst in _BURSTS]:
            size, filled = _bursts(drive, volume)
            if (filled and size.value <= _ENOUGH * volume) or volume >= high / 8:
                break
        larger = min(high / 2, _LARGEST, end - high)
        if not filled and larger > volume and (found := _bursts(drive, larger, _FEW))[1]:
            volume, (size, filled) = larger, found
    # Behind the bursts, as writes over data run into merges on some drives.
    once = at_once.in_order(bench, max(high, apart), bench.size, flash.value)
    # The next write was not taken in, and the last one may have been in the place of a write that left.
    counts: tuple[float, float, float] = (once.taken, max(once.low - 1, 0), once.high + 1)
    if once.taken < at_once.COUNT:
        # Fewer than a burst of longer requests resolves.
        size, filled = Span(*(float(count * bench.small) for count in counts)), True
    elif filled and quick.value >= 1 and size.low > 0 and size.high < BAD_BYTES:
        # Flash keeps up with the link at this length of writes, so that none waits; at the longer one it does not.
        counts = (size.value / bench.small, size.low / bench.small, size.high / bench.small)
    if counts[0] == once.taken and quick.value >= 1:
        least = float(once.taken * bench.small)
        size = Span(max(size.value, least), max(size.low, least), max(size.high, least + _LENGTH))
    waits, program = _flushes(bench, flash)
    empties = _empties(drive, volume, size.value) if filled and quick.value >= 1 else None
    value, least, most = (count * bench.small / BAD_BYTES for count in counts)
    test = Test("buffer", value, least, most, "good" if value >= 1 else "bad", 1.0, 1.0)
    return Buffer(size, not filled, empties, waits, program, test, _reason(size, quick, filled))


def _bursts(drive: _Drive, volume: float, repeats: int = _REPEATS) -> tuple[Span, bool]:
    """Bytes absorbed by bursts of so many bytes, and if they filled the buffer."""
    bursts = []
    for _ in range(repeats):
        if drive.free + volume > drive.end:
            drive.free = drive.high
        bursts.append(_burst(drive, volume, drive.free))
        drive.free += volume
    sizes = np.sort([taken for taken, _ in bursts])
    filled = sum(full for _, full in bursts) > repeats // 2
    if filled and np.median(sizes) < _ENOUGH * volume and not _fills(drive, volume):
        return Span(volume, volume, drive.bench.size), False
    inner = sizes[1:-1] if repeats > _FEW else sizes
    # A request more or less.
    low, high = max(0.0, inner[0] - _LENGTH / 2), inner[-1] + 1.5 * _LENGTH if filled else drive.bench.size
    return Span(float(np.median(sizes)), float(low), float(high)), filled


def _fills(drive: _Drive, volume: float) -> bool:
    """If writes one after the other come to wait, or the link is much faster than flash, so that a burst fills."""
    length = max(_LENGTH, drive.bench.small)
    idle = _idle(drive.bench, drive.high, length)
    volume = min(max(volume, _LONG_BURST), drive.high / 8)
    if idle.value < _FLASH * drive.per_byte_ns * length or idle.value > drive.flash_ns:
        return True
    count = int(volume // length)
    drive.bench.rest()
    issue, complete = drive.bench.call(WRITE, drive.bench.in_order(0, volume, length)(0, count), length, 1)
    # One write waits for a die, the next ones pass while it is free: windows of many dies, and hiccups are in few.
    taken = (complete - issue)[count // 2 :].astype(float)
    each = [float(window.mean()) for window in np.array_split(taken, max(1, min(_WINDOWS, len(taken) // _WINDOW)))]
    return float(np.median(each)) > _WAITS * idle.value


def _reason(size: Span, quick: Span, filled: bool) -> str:
    if quick.value < 1:
        return f"an idle drive acknowledges short writes no faster than flash reads ({quick.value:.2g} times as fast)"
    absorbed = f"after a flush and a pause it absorbs {size.value / KIB:,.0f} KiB"
    return absorbed if filled else f"{absorbed} and more: no burst filled it"


def _idle(bench: Bench, high: float, length: int) -> Span:
    """Latency of an idle write, ns."""
    taken = []
    for at in range(16):
        bench.rest(0.02)
        issue, complete = bench.call(WRITE, np.array([at * length % int(high)]), length, 1)
        taken.append(max(1, int(complete[0] - issue[0])))
    return span_of(np.array(taken))


def _quicker(bench: Bench, high: float) -> Span:
    """Latency of an idle flash read over that of an idle write. Jitter hides neither in the fastest tenth."""
    reads, _ = bench.read(0, high * 0.75, 64)
    writes = []
    for at in range(32):
        bench.rest(0.02)
        issue, complete = bench.call(WRITE, np.array([at * bench.small % int(high)]), bench.small, 1)
        writes.append(max(1.0, float(complete[0] - issue[0])))
    value = float(np.quantile(reads, 0.1) / np.quantile(writes, 0.1))
    return Span(value, value, value)


def _burst(drive: _Drive, volume: float, low: float, *, rest_s: float = 0.5, flush: bool = True) -> tuple[float, bool]:
    """Bytes absorbed by one burst, and if the burst filled the buffer."""
    bench = drive.bench
    bench.rest(rest_s, flush=flush)
    length = max(_LENGTH, bench.small)
    count = int(volume // length)
    issue, complete = bench.call(WRITE, bench.in_order(low, low + volume, length)(0, count), length, _DEPTH)
    ends = (np.sort(complete) - int(issue.min())).astype(float)
    if ends[0] > drive.flash_ns:
        return float(bench.small), True
    return absorbed(ends, length, drive.per_byte_ns * length)


def absorbed(ends: "NDArray[np.float64]", length: int, flash: float) -> tuple[float, bool]:
    """Bytes acknowledged ahead of flash, and if that filled: of a burst whose n-th write ended at `ends[n]`.

    In the second half the buffer is full, and writes end as flash takes them, one in `flash` ns. The burst is ahead of
    that rate by the buffer. A burst that is never ahead, or faster to the end, filled nothing.
    """
    count = len(ends)
    half = count // 2
    steady = max(float(ends[-1] - ends[half]) / (count - 1 - half), 1.0)
    # Dies end together: the rate of a few requests is inexact, so that of the fill counts, unless this is far slower.
    pace = steady if steady > flash / _FLASH else flash
    ahead = np.arange(1, count + 1) - ends / pace
    # One acknowledgement says nothing of the rate: the median of neighbours.
    most = float(np.median(np.lib.stride_tricks.sliding_window_view(ahead, 3), axis=1).max())
    if most < _AHEAD or steady < _FLASH * flash:
        return count * float(length), False
    # The first acknowledgement travels before flash has any part in it.
    return (most + min(1.0, float(ends[0]) / pace)) * length, True


def _flushes(bench: Bench, flash: Span) -> tuple[bool, float | None]:
    """If a flush waits for flash, and the time of one write with its flush."""
    taken, programs = [], []
    for at in range(8):
        bench.rest(0.05)
        ops = np.array([WRITE], np.uint8)
        issue, _ = bench.call(ops, np.array([at * bench.small]), bench.small, 1)
        flushed, complete = bench.call(FLUSH, np.array([0]), 0, 1)
        taken.append(float(complete[0] - flushed[0]))
        programs.append(float(complete[0] - issue[0]))
    wait = float(np.median(taken))
    return wait > flash.value, float(np.median(programs)) if wait > flash.value else None


def _empties(drive: _Drive, volume: float, size: float) -> float | None:
    """Shortest pause after which the full buffer takes 80% of its size again, s, without a flush; None if none does."""
    # Each burst leaves the buffer full for the next pause; before the first one others have flushed it.
    _burst(drive, volume, 0)
    for pause_s in (0.001, 0.004, 0.016, 0.064, 0.25, 1.0):
        taken, _ = _burst(drive, volume, 0, rest_s=pause_s, flush=False)
        if taken >= 0.8 * size:
            return pause_s
    return None
