"""Test of the mapping: writes with gaps, random writes over half a discarded drive, reads over ranges of all sizes."""

from dataclasses import dataclass

import numpy as np

from flashweir.diagnosis.active.ratios import Span, Test, Verdict, judged, mean_of, measured, ratio, span_of
from flashweir.diagnosis.active.reads import Reads, map_cache
from flashweir.diagnosis.active.session import KIB, Bench
from flashweir.diagnosis.active.strided import Strided, range_of, strided

_LONG = 128 * KIB
# A page map in RAM saves 20% of the time where random writes have 0.8 of the throughput of writes in order.
_BAD, _GOOD = 0.75, 0.85
# Where reads miss the map cache, translation pages take spare, too, and each copied page changes them: less is enough.
_MISSES = 0.97
# Share of the drive that is written at random before its rate counts.
_SOON = 0.02
# Reads of discarded addresses are faster than those of data by this, where discards have an effect.
_NOTHING, _READS = 0.8, 64

MERGED = "of the throughput of writes in order, though they leave whole blocks free: whole blocks are merged"
COARSE = "smaller random writes rewrite all of it"


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
    frees: bool
    """True if reads of discarded addresses are fast, so that discards have an effect."""
    half: Test
    """Throughput of random writes over half of the drive, while the rest is free, against those with gaps, or against
    those in order over data if these are slower."""
    rewrite: Test
    """Throughput of rewriting all in order against a fresh drive."""
    verdict: Verdict
    reason: str
    tests: list[Test]


def mapping(bench: Bench, found: Reads, buffer_bytes: float) -> Mapping:
    """Writes the drive about 5 times, and leaves it full and written in order."""
    half = bench.size / 2
    # Blocks that were never written need no erase: all of the drive is written once before anything is compared.
    bench.discard()
    bench.pour(bench.in_order(0, bench.size, _LONG), bench.size, _LONG)
    frees = _frees(bench, found)
    gaps = strided(bench, found, range_of(bench), buffer_bytes, free=frees)
    ordered, wide = _half_at_random(bench, half, min(buffer_bytes, bench.size / 64), gaps.length)
    long, again, rewrite = _rewrite(bench)
    # Reads would wait for what was written.
    bench.rest()
    cached, misses = map_cache(bench, bench.size)
    judge = judged("mapping", ratio(ordered, wide), _BAD, _GOOD)
    verdict, reason, tests = _verdict(bench, misses, judge, gaps)
    spread = None if gaps.unit is None else _around(bench, gaps, gaps.unit)
    sized = [measured(f"mapping-{size // KIB}k", gaps.ratios[size]) for size in sorted(gaps.ratios)]
    clean = min((wide, gaps.per_byte[gaps.length]), key=lambda span: span.value)
    # Writes in order are slow as well behind a full SLC cache: no collection makes others slower then.
    slow = max(clean, again, key=lambda span: span.value)
    free = judged("collection-half", ratio(slow, wide), _BAD, _GOOD)
    tests += [judge, misses, *sized, free, rewrite]
    return Mapping(
        spread,
        cached,
        gaps.length,
        clean,
        long,
        again,
        gaps.merges,
        misses.verdict == "bad",
        frees,
        free,
        rewrite,
        verdict,
        reason,
        tests,
    )


def _frees(bench: Bench, found: Reads) -> bool:
    """If discards have an effect, as far as reads of discarded addresses are faster."""
    bench.discard()
    nothing, _ = bench.read(0, bench.size, _READS)
    return span_of(nothing).value < _NOTHING * found.flash_ns.value


def _half_at_random(bench: Bench, half: float, skip: float, length: int) -> tuple[Span, Span]:
    """Time of a byte in order, then at random over half of a drive."""
    bench.discard()
    ordered = span_of(bench.pour(bench.in_order(0, half, length), half, length).per_byte(half / 8))
    volume = bench.size * 0.48
    course = bench.pour(bench.at_random(0, half, length), volume, length)
    return ordered, mean_of(course.per_byte(skip + bench.size * _SOON))


def _rewrite(bench: Bench) -> tuple[Span, Span, Test]:
    """Fills the drive in order twice. The first parts need no collection, even if discarded blocks are not erased."""
    bench.discard()
    fresh = bench.pour(bench.in_order(0, bench.size, _LONG), bench.size, _LONG).per_byte(bench.size / 32)
    again = bench.pour(bench.in_order(0, bench.size, _LONG), bench.size, _LONG).per_byte(bench.size / 2)
    quick = span_of(np.sort(fresh)[: max(3, len(fresh) // 4)])
    slow = mean_of(again)
    return quick, slow, judged("rewrite-in-order", ratio(quick, slow), _BAD, _GOOD)


def _around(bench: Bench, gaps: Strided, unit: int) -> Span:
    """The unit, with one size more and less: a buffer joins neighbours, and a page may hold several units."""
    return Span(float(unit), float(max(bench.small, unit // 2)), float(unit if gaps.sharp else 2 * unit))


def _verdict(bench: Bench, misses: Test, judge: Test, gaps: Strided) -> tuple[Verdict, str, list[Test]]:
    """The verdict, its reason, and the test that it is made of."""
    page = gaps.page
    over = judged("mapping-gaps", gaps.ratios[page], gaps.fast, gaps.fast)
    share = f"writes with gaps have {over.ratio:.2f}"
    random = f"random writes have {judge.ratio:.2f} of the throughput of writes in order"
    # The first condition that holds decides.
    cases: list[tuple[bool, Verdict, str]] = [
        (not bench.discards, "uncertain", f"the drive does not discard; {random}"),
        (gaps.merges, "bad", f"{share} {MERGED}"),
        (
            gaps.unit is not None and gaps.unit > page,
            "bad",
            f"the mapping unit is about {(gaps.unit or 0) // KIB} KiB: {COARSE}",
        ),
        (
            misses.verdict == "bad" and judge.ratio < _MISSES,
            "bad",
            f"{random}, and reads of a wide range miss the map cache",
        ),
    ]
    good = f"{share} of the throughput of writes in order"
    verdict, reason = next((case[1:] for case in cases if case[0]), ("good", good))
    return verdict, reason, [over]
