"""Tests by reads: latency of one flash read, map cache, parallelism, reads behind writes."""

from dataclasses import dataclass

import numpy as np

from flashweir.diagnosis.active.ratios import Span, Test, Verdict, measured, ratio, span_of
from flashweir.diagnosis.active.session import DEPTH, KIB, MIB, READ, WRITE, Bench

# Reads of one measurement of latency.
_READS = 192
# A range this small has its translation page in any cache.
_NARROW = 64 * KIB
# A miss of the map cache costs one read more, so it makes a read at most about twice as long; a cache of data far more.
_MISS, _DATA, _SEEN = 1.2, 2.6, 1.05
# Share of a read of flash and its transfer that a miss adds at least, where reads of nothing show the rest of the way.
_ARRAY = 0.35
# Reads before those of one size that are measured, and places of one size, at most.
_LOADED, _PLACES = 2048, 8
# Logical space to the entry of a page map: 4 bytes for 4 KiB.
_SPACE_TO_MAP = 1024


@dataclass
class Reads:
    """Findings of the tests by reads."""

    flash_ns: Span
    """Latency of an idle short read of data that lies on flash."""
    rate: float
    """Short reads a second at the depth of the tests."""
    tests: list[Test]
    parallelism: float = 1.0
    """Reads at the depth of the tests in the time of one: dies that work at the same time, at least."""


def reads(bench: Bench, high: float) -> Reads:
    """Reads the addresses up to `high`, which hold data on flash."""
    latencies, _ = bench.read(0, high, _READS)
    flash = span_of(latencies)
    tests = []
    rates = {}
    for depth in (1, 2, 4, 8, 16, DEPTH):
        _, took = bench.read(0, high, 16 * _READS if depth > 1 else 4 * _READS, depth)
        rates[depth] = (16 if depth > 1 else 4) * _READS / max(took, 1) * 1e9
    tests.append(measured("parallelism-read", _near(rates[DEPTH] / rates[1])))
    return Reads(flash, rates[DEPTH], tests, rates[DEPTH] / rates[1])


def write_parallelism(bench: Bench, high: float) -> Test:
    """Throughput of writes in order at the depth of the tests against depth 1."""
    volume = 8 * MIB if high >= 256 * MIB else high / 32
    rates = [
        span_of(bench.pour(bench.in_order(0, high, bench.small), volume, bench.small, depth).per_byte(volume / 4))
        for depth in (1, DEPTH)
    ]
    return measured("parallelism-write", ratio(rates[0], rates[1]))


def read_under_write(bench: Bench, name: str, high: float, flash: Span) -> tuple[Test, float]:
    """Mean latency of reads among four times as many random writes, against idle ones; and the longest, ns."""
    count = 2048
    places = bench.at_random(0, high, bench.small)(0, count)
    ops = np.where(np.arange(count) % 5 == 0, READ, WRITE).astype(np.uint8)
    issue, complete = bench.call(ops, places, bench.small, 8)
    taken = (complete - issue)[ops == READ].astype(float)
    return measured(name, ratio(span_of(taken), flash)), float(taken.max())


def map_cache(bench: Bench, high: float, flash_ns: float | None = None) -> tuple[Span | None, Test]:
    """Idle reads over ranges, each a quarter of the one before: the knee, and the widest against the narrowest.

    `flash_ns`: time of a read that is flash's and not the way's, None if it is not known.
    """
    ranges = [high]
    while ranges[-1] / 4 > _NARROW:
        ranges.append(ranges[-1] / 4)
    means = []
    for wide in ranges:
        # Each size at several places: some flash is faster than other, as that of an SLC cache. Narrow ranges leave
        # out the first addresses: the last writes went there and may still be in a buffer.
        loaded = min(_LOADED, 2 * int(wide // bench.small))
        places = min(_PLACES, _LOADED // loaded)
        lows = [0.0] if wide == high else high / 4 + (high / 2 - wide) * np.arange(places) / max(places - 1, 1)
        latencies = []
        for low in lows:
            bench.read(low, low + wide, loaded)
            latencies.append(bench.read(low, low + wide, 2 * _READS // len(lows))[0])
        means.append(span_of(np.concatenate(latencies)))
    excess = ratio(means[0], means[-1])
    if not means[-1].value:
        excess = Span(1.0, 0.9, 1.1)
    least = _MISS if flash_ns is None else min(_MISS, 1 + _ARRAY * flash_ns / max(means[-1].value, 1.0))
    misses = excess.low > _SEEN and least <= excess.value <= _DATA
    verdict: Verdict = "bad" if misses else "uncertain" if excess.value > _MISS else "good"
    test = Test("map-cache", excess.value, excess.low, excess.high, verdict)
    if not misses:
        return None, test
    middle = (means[0].value + means[-1].value) / 2
    # At twice the space that the cache covers every second read misses.
    knee = next((at for at, mean in enumerate(means) if mean.value < middle), len(ranges) - 1)
    size = ranges[knee] / _SPACE_TO_MAP
    return Span(size, size / 2, size * 4), test


def _near(value: float, share: float = 0.05) -> Span:
    return Span(value, value * (1 - share), value * (1 + share))
