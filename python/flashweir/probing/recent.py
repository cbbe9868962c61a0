"""Size of the write buffer by reading back: bytes at the end of a burst of writes whose reads need no flash."""

from typing import TYPE_CHECKING

import numpy as np

from flashweir.diagnosis.active.ratios import Span
from flashweir.diagnosis.active.session import KIB, MIB, READ, WRITE, Bench

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Length and queue depth of the writes of a burst.
_LENGTH, _DEPTH = 128 * KIB, 8
# Reads that take less than this share of a flash read are hits in the buffer.
_HIT = 0.6
# Share of hits among the reads up to an address from which on all of these are buffered.
_MIN_HITS = 0.85
# Reads after the first burst, at distances in geometric steps; reads after each later burst, in equal steps.
_COARSE, _FINE = 96, 64
# A burst is this many times as long as the size found so far, and at least so many bytes.
_TIMES, _MIN_BURST = 6.0, 8 * MIB
# A buffer that is only emptied when full holds anything up to its size at the end of a burst. Bursts therefore end at
# several places, this share of the size found apart, and the largest size counts.
_APART, _PLACES = 0.17, 6
# The search ends after so many bursts in a row without a larger size, and after so many in all.
_NO_LARGER, _MAX_BURSTS = 6, 24


def recently_written(bench: Bench, high: float, flash_ns: float) -> Span:
    """Bytes that the buffer holds at the end of bursts of sequential writes over the first `high` bytes.

    0 if no read is a hit: the drive has no buffer, or reads only from flash. `flash_ns`: latency of a flash read. The
    interval has all sizes for which the farthest hit is one, and the next address read a miss.
    """
    hit_ns = _HIT * flash_ns
    found = _burst(bench, high, np.geomspace(bench.small, high, _COARSE), hit_ns)
    if not found.high:
        return found
    is_coarse, without_larger = found.high / found.low > 1 + _APART / 2, 0
    for turn in range(_MAX_BURSTS):
        shift = (turn % _PLACES + 1) * max(_APART * found.high, _LENGTH)
        volume = min(high, max(_TIMES * found.high, _MIN_BURST)) - shift
        distances = np.linspace(found.low * 0.8, min(1.6 * found.high + 2 * bench.small, volume), _FINE)
        held = _burst(bench, volume, distances, hit_ns)
        if held.value > found.value or (is_coarse and held.value >= found.low):
            without_larger = 0 if held.value > found.high else without_larger + 1
            found, is_coarse = held, False
        else:
            without_larger += 1
        if without_larger >= _NO_LARGER:
            break
    return _whole_blocks(found, bench.small)


def _whole_blocks(found: Span, small: int) -> Span:
    """Sizes between a hit at `low` bytes before the end and a miss at `high`, of blocks of `small` bytes."""
    high = max(found.low, found.high - small)
    return Span((found.low + high) / 2, found.low, high)


def _burst(bench: Bench, volume: float, distances: "NDArray[np.float64]", hit_ns: float) -> Span:
    """Bytes held at the end of one burst of about `volume` bytes, by reads at these distances before its end."""
    bench.rest(0.5)
    count = max(1, int(volume // _LENGTH))
    volume = count * _LENGTH
    bench.call(WRITE, (np.arange(count) * _LENGTH).astype(np.uint64), _LENGTH, _DEPTH)
    distances = np.unique(distances // bench.small * bench.small)
    distances = distances[(distances >= bench.small) & (distances <= volume)]
    issue, complete = bench.call(READ, (volume - distances).astype(np.uint64), bench.small, 1)
    hits = (complete - issue) < hit_ns
    share = np.cumsum(hits) / np.arange(1, len(hits) + 1)
    held = np.flatnonzero(hits & (share >= _MIN_HITS))
    if not len(held):
        return Span(0.0, 0.0, 0.0)
    last = int(held[-1])
    low, high = float(distances[last]), float(distances[min(last + 1, len(distances) - 1)])
    return Span((low + high) / 2, low, high)
