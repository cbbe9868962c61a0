"""Test of a map on flash: the same random writes in steady state, in runs that need one translation page each.

A page map in RAM takes the same time for both. Collection finds blocks as full as before, because each range is
written as often, so that the difference is the map's.
"""

from typing import TYPE_CHECKING

import numpy as np

from flashweir.diagnosis.active.ratios import Span, Test, judged, mean_of, measured, ratio
from flashweir.diagnosis.active.session import MIB, WRITE, Bench

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

# A page map in RAM saves 20% of the time where runs take 0.8 of it.
_BAD, _GOOD = 0.75, 0.85
# Bytes of the range of a run, of one translation page, and writes of a run, each to a mapping unit of its own: a buffer
# would join two of one unit.
_RANGE, _RUN = 1 * MIB, 24
# Runs before the measured ones: blocks fill with runs, so that copies need few translation pages as well.
_VOLUME, _SKIP, _STEADY = 1.25, 1.0, 0.25
# Requests by which percentiles are compared, and their depths.
_TAIL, _DEPTHS = 16_384, (1, 8)


def locality(bench: Bench, unit: int) -> list[Test]:
    """Time and 99th percentile of runs against those of uniformly random writes on the same drive.

    Writes are short, whatever the mapping unit, `unit` bytes: each needs an entry of the map.
    """
    length = bench.small
    random, runs = bench.at_random(0, bench.size, length), _runs(bench, length, unit)
    steady = mean_of(bench.pour(random, bench.size * _STEADY, length).per_byte(bench.size * _STEADY / 4))
    before = [_tail(bench, random, length, depth) for depth in _DEPTHS]
    course = bench.pour(runs, bench.size * _VOLUME, length)
    after = [_tail(bench, runs, length, depth) for depth in _DEPTHS]
    tails = sorted(one / max(other, 1.0) for one, other in zip(after, before, strict=True))
    # The percentile has to be better at each depth: one alone is chance.
    return [
        judged("mapping-locality", ratio(mean_of(course.per_byte(bench.size * _SKIP)), steady), _BAD, _GOOD),
        measured("mapping-locality-tail", Span(tails[-1], tails[0], tails[-1])),
    ]


def _tail(bench: Bench, places: "Callable[[int, int], NDArray[np.uint64]]", length: int, depth: int) -> float:
    count = min(_TAIL, int(bench.size // length // 4))
    issue, complete = bench.call(WRITE, places(0, count), length, depth)
    return float(np.quantile((complete - issue).astype(float), 0.99))


def _runs(bench: Bench, length: int, unit: int) -> "Callable[[int, int], NDArray[np.uint64]]":
    """Offsets of runs, each at random in one range, at most one in a unit; the ranges at random as well."""
    wide = max(unit, min(_RANGE, bench.size // 4) // unit * unit)
    ranges, units, within = bench.size // wide, wide // unit, max(1, unit // length)

    def places(_: int, count: int) -> "NDArray[np.uint64]":
        run = min(_RUN, units)
        runs = -(-count // run)
        first = np.repeat(bench.random.integers(0, ranges, runs) * wide, run)[:count]
        chosen = np.argsort(bench.random.random((runs, units)), axis=1)[:, :run].ravel()[:count]
        return (first + chosen * unit + bench.random.integers(0, within, count) * length).astype(np.uint64)

    return places
