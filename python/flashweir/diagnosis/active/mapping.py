"""Test of the mapping: random writes over half a discarded drive that was written in order, against writes in order."""

import math
from dataclasses import dataclass

import numpy as np

from flashweir.diagnosis.active.ratios import Span, Test, Verdict, judged, mean_of, measured, ratio, span_of
from flashweir.diagnosis.active.reads import Reads, map_cache
from flashweir.diagnosis.active.session import KIB, Bench, Course

_SIZES = tuple(size * KIB for size in (4, 8, 16, 32, 64, 256))
_LONG = 128 * KIB
# A page map in RAM saves 20% of the time where random writes have 0.8 of the throughput of writes in order.
_BAD, _GOOD = 0.75, 0.85
# Where reads miss the map cache, translation pages take spare, too, and each copied page changes them: less is enough.
_MISSES, _RANGES = 0.97, 0.92
# The largest page that drives have: a mapping unit up to this is the page, and no page map would do better.
_PAGE = 16 * KIB
# Random single pages keep dies no busier than this share where each address has its die (as many requests in a closed
# queue as dies: d / (2d - 1)): a ratio above it may be the dies', and needs the narrow range to be sure.
_STRIPED = 0.5
# Requests a second that fall by less from one size to the double one: each rewrites a unit of at least the double size.
_FLAT = 0.77
# Requests of a size, at least: fewer are the buffer's and not the drive's.
_FEWEST = 16
# The largest mapping unit; what is larger is a block.
_LARGEST = 64 * KIB
# Share of the drive that is written at random before its rate counts: logs of block maps are up to 28%.
_SOON, _LATE = 0.02, 0.3
# Collection over this share copies next to nothing however early it begins; merges copy whole blocks.
_NARROW = 1 / 8
# A range by which a fill of half the drive differs from a volume; writes that are slow at once show neither.
_NARROWER, _AT_ONCE = 3 / 8, 0.01
# Times of writes in order from which on something is done besides.
_SLOWER = 1.3


MERGED = "though half of the drive is free: whole blocks are merged"
COARSE = "smaller random writes rewrite all of it"
COLLECTION, EARLY = "collection, not the mapping", "collection starts early"


@dataclass
class Mapping:
    """Findings of the test."""

    unit: Span | None
    """Mapping unit, bytes; None if there is none in the range of sizes."""
    map_cache: Span | None
    """Bytes of the map cache; None if no range shows one."""
    length: int
    """Size of the random writes of this test and of the next: the mapping unit, as far as it is a page's."""
    clean: Span
    """Time of a byte of random writes without collection, ns."""
    long: Span
    """Time of a byte of long writes in order on a fresh drive, ns."""
    again: Span
    """Time of a byte of the same on a drive that is full and in order."""
    merges: bool
    """True if whole blocks are merged: collection is no separate thing then."""
    misses: bool
    """True if reads miss a map cache, so that the map is on flash."""
    coarse: bool
    """True if the mapping unit is larger than a page."""
    early: Test
    """Throughput before the drive was written once, last against first."""
    rewrite: Test
    """Throughput of rewriting all in order against a fresh drive."""
    verdict: Verdict
    reason: str
    tests: list[Test]


@dataclass
class _Measured:
    """Times of a byte, ns."""

    in_order: Span
    wide: Span
    narrow: Span
    narrow_late: Span
    begins_at_a_fill: bool
    """True if random writes slow down from a fill of the drive on, false if after a volume whatever the fill."""


def mapping(bench: Bench, found: Reads, buffer_bytes: float) -> Mapping:
    """Writes the drive about 4.5 times, and leaves it full and written in order."""
    half = bench.size / 2
    skip = min(buffer_bytes, bench.size / 64)
    in_order, at_random = by_size(bench, half, skip)
    ratios = {size: ratio(in_order[size], span) for size, span in at_random.items()}
    unit = unit_of(bench, found, ratios, at_random)
    # A knee beyond the largest unit is a block that is merged: smaller writes show it.
    length = unit if unit <= _LARGEST else bench.small
    ordered, wide, early, wide_begins = _half_at_random(bench, half, skip, length)
    narrow, narrow_late = _narrow(bench, skip, length)
    at_a_fill = wide_begins is not None and _at_a_fill(bench, length, wide_begins)
    long, again, rewrite = _rewrite(bench)
    cached, misses = map_cache(bench, bench.size)
    times = _Measured(ordered, wide, narrow, narrow_late, at_a_fill)
    merges, verdict, reason, tests = _verdict(bench, misses, times, unit, early, rewrite)
    spread = _around(unit, bench.small, ratios) if unit <= _LARGEST and not merges else None
    sized = [measured(f"mapping-{size // KIB}k", ratios[size]) for size in sorted(ratios)]
    clean = min((wide, narrow), key=lambda span: span.value)
    tests += [misses, *sized, early, rewrite]
    map_misses = misses.verdict == "bad"
    return Mapping(
        spread,
        cached,
        length,
        clean,
        long,
        again,
        merges,
        map_misses,
        COARSE in reason,
        early,
        rewrite,
        verdict,
        reason,
        tests,
    )


def by_size(bench: Bench, half: float, skip: float) -> tuple[dict[int, Span], dict[int, Span]]:
    """Half in order, further in order by size, then random over the half by size."""
    sizes = [size for size in _SIZES if size % bench.small == 0 and size >= bench.small]
    bench.discard()
    bench.pour(bench.in_order(0, half, _LONG), half, _LONG)
    in_order, at_random, low = {}, {}, half
    for size in sizes:
        volume = min(half, skip + max(bench.size / 40, _FEWEST * size))
        low = low if low + volume <= bench.size else half
        course = bench.pour(bench.in_order(low, low + volume, size), volume, size)
        in_order[size], low = span_of(course.per_byte(skip)), low + volume
    # Small writes take whole units: with those in order they could use up the free half.
    bench.discard()
    bench.pour(bench.in_order(0, half, _LONG), half, _LONG)
    for size in sizes[::-1]:
        volume = min(half, skip + max(bench.size / 40, _FEWEST * size))
        course = bench.pour(bench.at_random(0, half, size), volume, size)
        at_random[size] = mean_of(course.per_byte(skip))
    return in_order, at_random


def _half_at_random(bench: Bench, half: float, skip: float, length: int) -> tuple[Span, Span, Test, float | None]:
    """Time of a byte in order, then at random over half of a drive; of the latter the last against the first."""
    bench.discard()
    ordered = span_of(bench.pour(bench.in_order(0, half, length), half, length).per_byte(half / 8))
    volume = bench.size * 0.48
    course = bench.pour(bench.at_random(0, half, length), volume, length)
    soon = skip + bench.size * _SOON
    first = mean_of(course.per_byte(soon, max(bench.size * 0.16, soon + bench.size / 16)))
    last = mean_of(course.per_byte(volume - bench.size * 0.1))
    early = judged("collection-start", ratio(first, last), _BAD, _GOOD)
    return ordered, mean_of(course.per_byte(soon)), early, _begins(bench, course, ordered)


def _at_a_fill(bench: Bench, length: int, wide_begins: float) -> bool:
    """If random writes over a narrower range slow down later: at the same fill, as collection does.

    A log runs out after as many random writes, whatever the fill.
    """
    if wide_begins < _AT_ONCE:
        return False
    bench.discard()
    high = bench.size * _NARROWER
    ordered = span_of(bench.pour(bench.in_order(0, high, length), high, length).per_byte(high / 4))
    later = 0.5 - _NARROWER
    volume = bench.size * (wide_begins + 2 * later)
    begins = _begins(bench, bench.pour(bench.at_random(0, high, length), volume, length), ordered)
    return begins is None or begins > wide_begins + later / 2


def _narrow(bench: Bench, skip: float, length: int) -> tuple[Span, Span]:
    """The same over an eighth of the drive, at first and when logs of any size have run out."""
    bench.discard()
    high = bench.size * _NARROW
    bench.pour(bench.in_order(0, high, length), high, length)
    course = bench.pour(bench.at_random(0, high, length), bench.size * 0.4, length)
    soon = skip + bench.size * _SOON
    first = mean_of(course.per_byte(soon, max(bench.size * 0.12, soon + bench.size / 16)))
    return first, mean_of(course.per_byte(bench.size * _LATE))


def _begins(bench: Bench, course: Course, ordered: Span) -> float | None:
    """Share of the capacity that is written before two windows are slower than writes in order."""
    windows = course.per_byte(windows=48)
    slow = windows > ordered.value * _SLOWER
    both = np.flatnonzero(slow[:-1] & slow[1:])
    return float(both[0] / len(windows) * course.volume[-1] / bench.size) if len(both) else None


def _rewrite(bench: Bench) -> tuple[Span, Span, Test]:
    """Fills the drive in order twice. The first parts need no collection, even if discarded blocks are not erased."""
    bench.discard()
    fresh = bench.pour(bench.in_order(0, bench.size, _LONG), bench.size, _LONG).per_byte(bench.size / 32)
    again = bench.pour(bench.in_order(0, bench.size, _LONG), bench.size, _LONG).per_byte(bench.size / 2)
    quick = span_of(np.sort(fresh)[: max(3, len(fresh) // 4)])
    slow = mean_of(again)
    return quick, slow, judged("rewrite-in-order", ratio(quick, slow), _BAD, _GOOD)


def unit_of(bench: Bench, found: Reads, ratios: dict[int, Span], at_random: dict[int, Span]) -> int:
    """The knee: up to which size each random request takes the time of the smallest."""
    requests = {size: 1 / (span.value * size) for size, span in at_random.items()}
    unit = bench.small
    for size in sorted(requests)[1:]:
        if requests[size] < _FLAT ** math.log2(size / unit) * requests[unit]:
            break
        unit = size
    slower = ratios[bench.small].value < _GOOD
    if unit == bench.small and ratios[unit].value < _BAD:
        # A buffer joins neighbours on their way to a page, so that the knee is not sharp.
        unit = next((size for size in (2 * unit, 4 * unit) if size <= _PAGE and ratios[size].value >= _BAD), unit)
    # Drives that take few commands a second are flat too; they read no faster.
    commands = found.rate < 2 * requests[bench.small] * 1e9
    return unit if slower or not commands else bench.small


def _around(unit: int, small: int, ratios: dict[int, Span]) -> Span:
    """The unit, with one size more and less: a buffer joins neighbours, and a page may hold several units.

    Where the smallest writes are as fast at random as in order there is no unit above them.
    """
    sharp = unit == small and ratios[unit].low >= _GOOD
    return Span(float(unit), float(max(small, unit // 2)), float(unit if sharp else 2 * unit))


def _verdict(
    bench: Bench,
    misses: Test,
    times: _Measured,
    unit: int,
    early: Test,
    rewrite: Test,
) -> tuple[bool, Verdict, str, list[Test]]:
    """If blocks are merged, the verdict, its reason, and the tests that it is made of."""
    judge = judged("mapping", ratio(times.in_order, times.wide), _BAD, _GOOD)
    ranges = judged("mapping-range", ratio(times.narrow, times.wide), _BAD, _GOOD)
    logs = judged("mapping-logs", ratio(times.narrow, times.narrow_late), _BAD, _GOOD)
    tests = [judge, ranges, logs]
    # Over a narrow range, with most of the drive free, only a map by blocks is slow.
    narrow_is_fast = ratio(times.in_order, times.narrow_late).value >= _STRIPED and logs.verdict != "bad"
    at_a_fill = times.begins_at_a_fill
    share = f"random writes have {judge.ratio:.2f} of the throughput of writes in order"
    # Random writes of whole units need no copies; merged blocks are slow at any size below the block.
    coarse = _PAGE < unit <= _LARGEST and judge.ratio >= _STRIPED
    merged = f"{share} {MERGED}"
    # Collection that began early would copy nothing over so narrow a range.
    runs_out = judge.verdict != "good" and logs.ratio <= _BAD and logs.high < 1
    # The first condition that holds decides.
    cases: list[tuple[bool, Verdict, str]] = [
        (not bench.discards, "uncertain", f"the drive does not discard; {share}"),
        (runs_out, "bad", merged),
        (coarse, "bad", f"the mapping unit is about {unit // KIB} KiB: {COARSE}"),
        (
            misses.verdict == "bad" and (judge.ratio < _MISSES or ranges.ratio < _RANGES),
            "bad",
            f"{share}, and reads of a wide range miss the map cache",
        ),
        (judge.verdict == "good", "good", share),
        (
            narrow_is_fast and rewrite.verdict == "bad",
            "good",
            f"{share}, but those in order are slow, too: {COLLECTION}",
        ),
        (
            narrow_is_fast and early.verdict == "bad" and at_a_fill,
            "good",
            f"{share}, but over a narrow range they are as fast: {EARLY}",
        ),
        (at_a_fill and ranges.verdict != "good", "good", f"{share}, but only from a fill of the drive on: {EARLY}"),
        (
            not narrow_is_fast or early.verdict == "bad" or (judge.high < _STRIPED and ranges.verdict == "bad"),
            "bad",
            merged,
        ),
        (
            ranges.verdict == "good",
            "good",
            f"{share}, the same over a narrow range: addresses share dies unevenly, nothing more",
        ),
        (ranges.verdict == "bad", judge.verdict, share),
    ]
    verdict, reason = next((case[1:] for case in cases if case[0]), ("uncertain", share))
    merges = reason == merged or (not bench.discards and judge.verdict == "bad")
    return merges, verdict, reason, tests
