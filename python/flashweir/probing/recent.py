"""Buffer by reading back: bytes before the end of a burst whose reads need no flash."""

from typing import TYPE_CHECKING

import numpy as np

from flashweir.diagnosis.active.ratios import Span
from flashweir.diagnosis.active.session import KIB, MIB, READ, WRITE, Bench

if TYPE_CHECKING:
    from numpy.typing import NDArray

_LENGTH, _DEPTH = 128 * KIB, 8
# Reads below this share of one of flash needed none.
_NEEDED_NONE = 0.6
# Reads of a burst, and the share of them up to an address that needs no flash if all of these are buffered.
_COARSE, _FINE, _MOST = 96, 64, 0.85
# A buffer that is emptied when it is full holds any part of its size at the end of a burst. So ends differ by this
# share of what was found, until so many bursts in a row find no more; bursts are so many times as long as that.
_APART, _IN_VAIN, _MAX_BURSTS = 0.17, 6, 24
_TIMES, _SHORTEST = 6.0, 8 * MIB


def recently_written(bench: Bench, high: float, flash_ns: float) -> Span:
    """Bytes that the buffer holds at the end of bursts in order over the first `high` bytes; 0 of a drive without.

    Drives that read what waits in their buffer from there show it. The interval is that of the addresses read.
    """
    needs_ns = _NEEDED_NONE * flash_ns
    found = _burst(bench, high, np.geomspace(bench.small, high, _COARSE), needs_ns)
    if not found.high:
        return found
    coarse, vain = found.high / found.low > 1 + _APART / 2, 0
    for turn in range(_MAX_BURSTS):
        volume = min(high, max(_TIMES * found.high, _SHORTEST)) - (turn % 6 + 1) * max(_APART * found.high, _LENGTH)
        behind = np.linspace(found.low * 0.8, min(1.6 * found.high + 2 * bench.small, volume), _FINE)
        held = _burst(bench, volume, behind, needs_ns)
        if held.value > found.value or (coarse and held.value >= found.low):
            vain, coarse = 0 if held.value > found.high else vain + 1, False
            found = held
        else:
            vain += 1
        if vain >= _IN_VAIN:
            break
    return found


def _burst(bench: Bench, volume: float, behind: "NDArray[np.float64]", needs_ns: float) -> Span:
    """Bytes held at the end of one burst of about `volume` bytes, by reads so many bytes before its end."""
    bench.rest(0.5)
    count = max(1, int(volume // _LENGTH))
    volume = count * _LENGTH
    bench.call(WRITE, (np.arange(count) * _LENGTH).astype(np.uint64), _LENGTH, _DEPTH)
    behind = np.unique(behind // bench.small * bench.small)
    behind = behind[(behind >= bench.small) & (behind <= volume)]
    issue, complete = bench.call(READ, (volume - behind).astype(np.uint64), bench.small, 1)
    held = (complete - issue) < needs_ns
    up_to = np.cumsum(held) / np.arange(1, len(held) + 1)
    within = np.flatnonzero(held & (up_to >= _MOST))
    if not len(within):
        return Span(0.0, 0.0, 0.0)
    at = int(within[-1])
    low, high = float(behind[at]), float(behind[min(at + 1, len(behind) - 1)])
    return Span((low + high) / 2, low, high)
