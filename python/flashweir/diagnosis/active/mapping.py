"""Test of the mapping: writes with gaps, random writes over half a discarded drive, reads over ranges of all sizes."""

from dataclasses import dataclass

import numpy as np

from flashweir.diagnosis.active.ratios import Span, Test, Verdict, judged, mean_of, measured, ratio, span_of
from flashweir.diagnosis.active.reads import Reads, map_cache
from flashweir.diagnosis.active.session import KIB, Bench
from flashweir.diagnosis.active.strided import AS_FAST, MERGED_RATIO, Strided, in_streams, range_of, strided

_LONG = 128 * KIB
# A page map in RAM saves 20% of the time where random writes have 0.8 of the throughput of writes in order.
_BAD, _GOOD = 0.75, 0.85
# Where reads miss the map cache, translation pages take spare, too, and each copied page changes them: less is enough.
_MISSES = 0.97
# Shares of a drive between which the pass that fills it is behind any SLC cache, and has not used up any reserve.
_BEHIND, _AHEAD = 0.45, 0.7
# Share of the drive that is written at random before its rate counts.
_SOON = 0.02
# Reads of discarded addresses are faster than those of data by this, where discards have an effect.
_NOTHING, _READS = 0.8, 64

MERGED = "of the throughput of writes in order, though they leave whole blocks free: whole blocks are merged"
COARSE = "smaller random writes rewrite all of it"
EITHER = "whole blocks are merged, or a unit as large is rewritten, and writes in order copy nothing"
MERGED_TOO = "of that of streams in order: whole blocks are merged"


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
    unsure: bool
    """True if the tests contradict each other, so that what copies may be the map or collection."""
    by_misses: bool
    """True if the verdict is bad because of misses."""
    misses: bool
    """True if reads miss a map cache, so that the map is on flash."""
    frees: bool
    """True if reads of discarded addresses are fast, so that discards have an effect."""
    half: Test
    """Throughput of random writes over half of the drive, while the rest is free, against those with gaps, or against
    those in order over data if these are slower."""
    rewrite: Test
    """Throughput of rewriting all in order against a fresh drive."""
    copies: Test
    """Throughput of rewriting all in order against the middle of a pass that fills a discarded drive."""
    verdict: Verdict
    reason: str
    tests: list[Test]


def mapping(bench: Bench, found: Reads, buffer_bytes: float) -> Mapping:
    """Writes the drive about 5 times, and leaves it full and written in order."""
    half = bench.size / 2
    # Blocks that were never written need no erase: all of the drive is written once before anything is compared.
    bench.discard()
    bench.pour(bench.in_order(0, bench.size, _LONG), bench.size, _LONG)
    nothing = _nothing(bench)
    frees = nothing < _NOTHING * found.flash_ns.value
    gaps = strided(bench, found, range_of(bench), buffer_bytes, free=frees)
    ordered, wide = _half_at_random(bench, half, min(buffer_bytes, bench.size / 64), gaps.length)
    long, again, rewrite, copies = _rewrite(bench)
    # Reads would wait for what was written.
    bench.rest()
    cached, misses = map_cache(bench, bench.size, found.flash_ns.value - nothing if frees else None)
    judge = judged("mapping", ratio(ordered, wide), _BAD, _GOOD)
    clean = min((wide, gaps.per_byte[gaps.length]), key=lambda span: span.value)
    # Writes in order are slow as well behind a full SLC cache: no collection makes others slower then.
    slow = max(clean, again, key=lambda span: span.value)
    free = judged("collection-half", ratio(slow, wide), _BAD, _GOOD)
    seen = _Seen(judge, misses, gaps, rewrite, copies, frees=frees and bench.discards)
    streams = _confirmed(bench, seen.page) if seen.contradict() else None
    verdict, reason = _verdict(bench, seen, streams)
    sized = [measured(f"mapping-{size // KIB}k", gaps.ratios[size]) for size in sorted(gaps.ratios)]
    tests = [seen.over, *([streams] if streams else []), judge, misses, *sized, free, rewrite, copies]
    return Mapping(
        _around(gaps, gaps.unit) if gaps.unit and seen.sized(verdict, streams) else None,
        cached,
        gaps.length,
        clean,
        long,
        again,
        seen.merges(streams),
        seen.unsure(streams),
        verdict == "bad" and not seen.bad and streams is None,
        misses.verdict == "bad",
        frees,
        free,
        rewrite,
        copies,
        verdict,
        reason,
        tests,
    )


@dataclass
class _Seen:
    """Tests that may contradict each other."""

    judge: Test
    """Random writes over half of the drive against those in order."""
    misses: Test
    gaps: Strided
    rewrite: Test
    copies: Test
    frees: bool
    """True if discards have an effect."""

    @property
    def page(self) -> int:
        """Length of the writes with gaps that decides."""
        return self.gaps.page

    @property
    def coarse(self) -> bool:
        """If the unit seems to be larger than a page."""
        return self.gaps.unit is not None and self.gaps.unit > self.page

    @property
    def over(self) -> Test:
        """Writes with gaps of that length."""
        fast = AS_FAST if self.coarse else self.gaps.fast
        return judged("mapping-gaps", self.gaps.ratios[self.page], fast, fast)

    @property
    def bad(self) -> bool:
        """True if writes with gaps are slow."""
        return self.gaps.merges or self.coarse

    def contradict(self) -> bool:
        """If another test says otherwise than writes with gaps, or these are unsure.

        Gaps hide merges where a block lies on one die and writes in order keep one die busy; then random writes over
        half of a drive show them. Poor victims look like large units where rewriting in order copies, too; merges slow
        random writes down as well.
        """
        if not self.frees:
            return False
        if not self.bad:
            return self.judge.verdict == "bad" and self.misses.verdict != "bad"
        if self.coarse:
            return self.rewrite.verdict == "bad"
        return self.judge.verdict == "good"

    def steep(self) -> bool:
        """If writes of a page are as slow as rewriting such a unit makes them, or the unit before."""
        return self.over.ratio * (self.gaps.unit or 0) <= 2 * AS_FAST * self.page

    def either(self) -> bool:
        """If the map is bad, though it is not known if it merges blocks or has a large unit.

        Gaps and random writes are slow, and victims are not: these would copy in order as well.
        """
        slow = self.bad and self.over.high <= AS_FAST and self.judge.verdict == "bad"
        return slow and self.frees and self.copies.verdict == "good"

    def apart(self) -> bool:
        """If merges show without discards: writes in order keep their rate, as no victims are poor, and others do not.

        Poor victims copy in order as well, so that nothing is slow against that; those that find free blocks copy
        nothing with gaps.
        """
        slow = self.gaps.merges and self.over.ratio <= MERGED_RATIO and self.over.high <= AS_FAST
        return slow and self.judge.verdict == "bad" and self.rewrite.verdict == "good"

    def merges(self, streams: Test | None) -> bool:
        """If whole blocks are merged."""
        if streams is not None:
            return streams.verdict == "bad" and (self.gaps.merges or not self.bad)
        # Merges make random writes as slow as those with gaps, with discards and without.
        return self.gaps.merges and (self.frees or self.judge.verdict != "good")

    def sized(self, verdict: Verdict, streams: Test | None) -> bool:
        """If the mapping unit is known."""
        return not self.merges(streams) and not (self.bad and verdict != "bad")

    def unsure(self, streams: Test | None) -> bool:
        """If merges may be there all the same."""
        if streams is not None:
            return streams.verdict == "uncertain" or (self.gaps.merges and streams.verdict == "good")
        return self.bad and not self.frees and self.judge.verdict != "good" and not self.apart()


def _confirmed(bench: Bench, length: int) -> Test:
    """Writes with gaps once more, at the parallelism of those in order; leaves the drive full and in order."""
    test = judged("mapping-streams", in_streams(bench, range_of(bench), length), MERGED_RATIO, AS_FAST)
    bench.discard()
    bench.pour(bench.in_order(0, bench.size, _LONG), bench.size, _LONG)
    bench.rest()
    return test


def _nothing(bench: Bench) -> float:
    """Latency of reads of discarded addresses, ns: less than of others where discards have an effect."""
    bench.discard()
    nothing, _ = bench.read(0, bench.size, _READS)
    return span_of(nothing).value


def _half_at_random(bench: Bench, half: float, skip: float, length: int) -> tuple[Span, Span]:
    """Time of a byte in order, then at random over half of a drive."""
    bench.discard()
    ordered = span_of(bench.pour(bench.in_order(0, half, length), half, length).per_byte(half / 8))
    volume = bench.size * 0.48
    course = bench.pour(bench.at_random(0, half, length), volume, length)
    return ordered, mean_of(course.per_byte(skip + bench.size * _SOON))


def _rewrite(bench: Bench) -> tuple[Span, Span, Test, Test]:
    """Fills the drive in order twice. The first parts need no collection, even if discarded blocks are not erased.

    The middle of the first pass is behind any SLC cache, and has free blocks. If the second pass is slower than that,
    it copies, though all of each block that it overwrites is free.
    """
    bench.discard()
    course = bench.pour(bench.in_order(0, bench.size, _LONG), bench.size, _LONG)
    again = bench.pour(bench.in_order(0, bench.size, _LONG), bench.size, _LONG).per_byte(bench.size / 2)
    fresh = course.per_byte(bench.size / 32)
    quick = span_of(np.sort(fresh)[: max(3, len(fresh) // 4)])
    slow, late = mean_of(again), mean_of(course.per_byte(bench.size * _BEHIND, bench.size * _AHEAD))
    rewrite = judged("rewrite-in-order", ratio(quick, slow), _BAD, _GOOD)
    return quick, slow, rewrite, judged("copies-in-order", ratio(late, slow), _BAD, _GOOD)


def _around(gaps: Strided, unit: int) -> Span:
    """The unit, with one size more and less: a buffer joins neighbours, and a page may hold several units."""
    return Span(float(unit), float(unit // 2), float(unit if gaps.sharp else 2 * unit))


def _verdict(bench: Bench, seen: _Seen, streams: Test | None) -> tuple[Verdict, str]:
    """The verdict and its reason."""
    gaps, judge = seen.gaps, seen.judge
    share = f"writes with gaps have {seen.over.ratio:.2f}"
    of_order = "of the throughput of writes in order"
    random = f"random writes have {judge.ratio:.2f} {of_order}"
    again = "" if streams is None else f"; in several streams at once they have {streams.ratio:.2f} of it"
    coarse = seen.coarse
    said = streams.verdict if streams else "bad" if seen.bad else "good"
    # The first condition that holds decides.
    cases: list[tuple[bool, Verdict, str]] = [
        (not bench.discards, "uncertain", f"the drive does not discard; {random}"),
        (
            not seen.frees and not seen.apart() and not (coarse and seen.steep() and seen.over.verdict == "bad"),
            "uncertain",
            f"discards have no effect, so that merges and poor victims look alike; {share} {of_order}",
        ),
        (
            coarse and said == "bad" and seen.steep(),
            "bad",
            f"the mapping unit is about {(gaps.unit or 0) // KIB} KiB: {COARSE}",
        ),
        (seen.merges(streams) and seen.bad, "bad", f"{share} {MERGED}"),
        (
            said == "bad" and not seen.bad,
            "bad",
            f"{share} {of_order}, but in several streams at once {streams.ratio if streams else 0:.2f} {MERGED_TOO}",
        ),
        (said == "bad" and seen.either(), "bad", f"{share}, and {random}: {EITHER}"),
        (seen.bad or said == "uncertain", "uncertain", f"{share} {of_order}{again}, and {random}: the tests differ"),
        (
            seen.misses.verdict == "bad" and judge.ratio < _MISSES,
            "bad",
            f"{random}, and reads of a wide range miss the map cache",
        ),
    ]
    return next((case[1:] for case in cases if case[0]), ("good", f"{share} {of_order}{again}"))
