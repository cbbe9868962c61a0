"""Test of garbage collection: spare, amplification in steady state, a rewritten hot range, stalls."""

from dataclasses import dataclass

import numpy as np

from flashweir.diagnosis.active import greedy
from flashweir.diagnosis.active.buffer import Buffer
from flashweir.diagnosis.active.locality import locality
from flashweir.diagnosis.active.mapping import Mapping
from flashweir.diagnosis.active.ratios import Span, Test, Verdict, judged, mean_of, measured, ratio
from flashweir.diagnosis.active.reads import Reads, read_under_write
from flashweir.diagnosis.active.session import KIB, Bench, Course
from flashweir.diagnosis.active.stalls import latencies_of, stalls, tail_of

# Collection began: writes take this many times as long. The first victims hold 1 / (1 - e^-spare) pages for each that
# they free, over 2 even at twice the spare of any drive.
_BEGUN = 1.6
# Uniformly random writes until the rate is steady, in multiples of the drive; rates that differ by less are the same.
_FIRST, _LAST, _SAME = 1.25, 3.0, 0.04
_STEP = 0.25
# Steps of a window in which collection shows.
_STEPS = 8
_LONG = 128 * KIB
# A write of a page costs one program, a copied one also a read: this much more where the two times are unknown.
_COPY = Span(1.15, 1.0, 1.4)
# Greedy at the same spare saves a fifth of the time where this ratio, its time over the measured one, is 0.8.
_BAD, _GOOD = 0.75, 0.85
# Share of the extra time that remains when only a hot range of a drive in order is written: greedy leaves full blocks
# alone (0), a policy that does not look at valid pages moves them, too (1 and more).
_STAYS, _FALLS = 0.6, 0.3
# Hot ranges are this many times the buffer, which joins rewrites, and at most this share of the drive.
_BUFFERS, _WIDEST = 6, 0.5
# A discarded drive is written as fast as a fresh one, or, if discards have no effect, at first as slowly as before.
_IGNORED = 0.75
_COPIES = 1.2
# Reads have this many times the throughput of writes where flash and not the link limits these.
_FLASH = 2.0
# The largest spare of drives on sale: at less amplification than that of greedy there, both kinds of writes copy.
_MAX_SPARE = 0.5
# The largest page.
_PAGE = 16 * KIB
_FULL = "blocks are collected though others hold nothing valid"
_AHEAD = "pages are copied, though writes in order free whole blocks"
_NO_REFERENCE = (
    "discards have no effect, and writes in order do not keep their rate: none is known to be free of copies"
)
_MERGES_PERHAPS = "whole blocks may be merged, and nothing tells merges from collection"
MERGES_TOO = "whole blocks are merged, so that collection is no separate thing: amplification is that of both"


@dataclass
class Collection:
    """Findings of the test."""

    spare: Span | None
    amplification: Span | None
    stall_us: Span
    stall_share: Span
    verdict: Verdict
    reason: str
    tests: list[Test]
    ignores_discards: bool
    locality: list[Test]
    """Random writes in runs against others, where the map is on flash."""
    counted: bool
    """True if the amplification is from counters."""


def collection(bench: Bench, found: Reads, mapped: Mapping, buffered: Buffer) -> Collection:
    """Writes a drive that is full and in order up to 4 times at random."""
    length, held = mapped.length, buffered.size.value
    first = bench.pour(bench.at_random(0, bench.size, length), bench.size * _FIRST, length)
    steady, counted = _steady(bench, length, first)
    runs = locality(bench, length) if mapped.misses else []
    under, _ = read_under_write(bench, "read-under-collection", bench.size, found.flash_ns)
    stall_us, share = stalls(bench, mapped.clean)
    latencies = latencies_of(bench)
    ignored = _refilled(bench, mapped, steady, held) or (bench.discards and not mapped.frees)
    # Where discards do nothing, only writes in order are free of collection.
    in_order = ignored or not bench.discards
    before = mapped.again if in_order else mapped.clean
    slower = ratio(steady, before)
    copy = _copy_cost(found, buffered.program_ns)
    amplification = counted or _amplification(slower, copy)
    said: Span | None = counted or _unsure(
        amplification, slower, _Units(length, found, buffered.program_ns), in_order=in_order
    )
    # Any block is collected, unless nothing is copied: then writes in order are slow for another reason.
    slow = mapped.rewrite if in_order else mapped.copies
    poor = slow.verdict == "bad" and amplification.value > _COPIES
    spare = _spare_of_any(amplification) if poor else _spare(bench, first, before, buffered.size)
    tests = [measured("steady-random", ratio(before, steady)), under, *runs]
    if in_order and counted is None and said is not None:
        said = _against_order(said, steady, mapped, copy)
    if mapped.merges:
        return Collection(None, said, stall_us, share, "unknown", MERGES_TOO, tests, ignored, runs, counted is not None)
    stays, begun = _rewrites_hot(bench, length, (before, slower), spare, buffered.size)
    if poor and begun is not None:
        # Random writes began on a drive whose spare was used up by rewriting in order.
        spare = begun
    # Writes in order are slow as well if the time in excess of them is less than greedy needs at this spare.
    # A buffer of fewer pages than dies leaves some of them idle, and copies in these cost no time.
    busy = not held or held >= found.parallelism * _PAGE
    hidden = in_order and busy and held < bench.size / 16 and _hides(bench, found, before, amplification)
    found_spare, spare = spare, _possible(spare, said or amplification, known=not poor)
    ideal = greedy.greedy_span(spare)
    best = Span(1 + (ideal.value - 1) * copy.value, 1 + (ideal.low - 1) * copy.low, 1 + (ideal.high - 1) * copy.high)
    tail = tail_of(latencies, small=_BUFFERS * held <= len(latencies[0]) * bench.small)
    against = judged("collection", ratio(ideal, counted) if counted else ratio(best, slower), _BAD, _GOOD)
    fell = Span(1 - stays.value, 1 - stays.high, 1 - stays.low)
    falls = judged("collection-hot", fell, 1 - _STAYS, 1 - _FALLS)
    # Misses of a map cache begin there, too.
    early = not ignored and bench.discards and not mapped.misses and mapped.half.verdict == "bad"
    # No free block was found, or one with valid pages was preferred.
    copies = not in_order and poor
    facts = _Facts(against, falls, tail, spare, amplification, ideal, early, hidden, copies, found_spare)
    verdict, reason = _verdict(facts, mapped)
    if mapped.unsure:
        verdict, reason = "unknown", _MERGES_PERHAPS
    elif verdict != "bad" and said is None:
        verdict, reason = "unknown", _NO_REFERENCE
    tests += [against, falls, tail]
    known = said is not None and not mapped.unsure
    return Collection(
        spare if known else None, said, stall_us, share, verdict, reason, tests, ignored, runs, counted is not None
    )


def _against_order(said: Span, steady: Span, mapped: Mapping, copy: Span) -> Span | None:
    """Amplification against writes in order that may copy as well: up to that against the fastest of them.

    None unless writes in order keep their rate: else no write is known to be free of copies.
    """
    if mapped.rewrite.verdict != "good":
        return None
    most = 1 + max(ratio(steady, mapped.long).high - 1, 0.0) / copy.low
    return Span(said.value, said.low, max(said.high, most))


def _possible(spare: Span, amplification: Span, *, known: bool) -> Span:
    """The spare, no less than that of greedy, which copies least; with any victims, which copy more, it is larger.

    `known`: if collection looks for victims, so that the volume before it is the spare.
    """
    least = greedy.spare_of(amplification.high)
    any_victims = max(spare.high, _spare_of_any(amplification).high)
    if spare.value < least:
        return Span(greedy.spare_of(amplification.value), least, any_victims)
    return Span(spare.value, max(spare.low, least), spare.high if known else any_victims)


def _hides(bench: Bench, found: Reads, in_order: Span, amplification: Span) -> bool:
    """If writes in order are slow as well: random ones cost less beyond them than greedy takes at any spare.

    A link that is slower than flash would hide collection, too; it hides that reads are faster than programs.
    """
    if in_order.value * bench.small * found.rate < _FLASH * 1e9:
        return False
    return greedy.spare_of(amplification.high) > _MAX_SPARE


def fast_volume(course: Course, per_byte: float, slower: float) -> float | None:
    """Bytes before writes take `slower` times as long as `per_byte`, over two windows; None if they never do.

    The slowest step of a window is left out: a hiccup of the host is in one.
    """
    steps = np.diff(course.time_ns) / np.diff(course.volume)
    if len(steps) < _STEPS + _STEPS // 2:
        return None
    windows = np.lib.stride_tricks.sliding_window_view(steps, _STEPS)
    slow = (windows.sum(axis=1) - windows.max(axis=1)) / (_STEPS - 1) > slower * per_byte
    both = np.flatnonzero(slow[: -_STEPS // 2] & slow[_STEPS // 2 :])
    return float(course.volume[both[0] + _STEPS // 2]) if len(both) else None


def _spare(bench: Bench, course: Course, before: Span, held: Span) -> Span:
    """Share of the capacity that is written at random before collection begins."""
    grain = 3 * float(course.volume[1])
    begun = fast_volume(course, before.value, _BEGUN)
    most = float(course.volume[-1])
    if begun is None:
        return Span(most / bench.size, (most - grain) / bench.size, 2 * most / bench.size)
    late = fast_volume(course, before.value, 1.3 * _BEGUN) or begun
    # Writes that the buffer held when collection began were acknowledged before.
    taken, most = min(held.value, begun / 2), min(held.high, begun)
    low, high = min(begun, late) - most - grain, max(begun, late) - taken + grain
    begun -= taken
    return Span(max(begun, grain / 2) / bench.size, max(low, grain / 4) / bench.size, high / bench.size)


def _steady(bench: Bench, length: int, first: Course) -> tuple[Span, Span | None]:
    """Time of a byte once two quarters of the drive take the same, ns; and the last one's amplification by counters."""
    volume = bench.size * _STEP
    last = mean_of(first.per_byte(bench.size * (_FIRST - _STEP)))
    done, counted = _FIRST, None
    while done < _LAST:
        counts = bench.counters.read()
        now = mean_of(bench.pour(bench.at_random(0, bench.size, length), volume, length).per_byte(0))
        counted = bench.counters.amplification(counts)
        done += _STEP
        if abs(now.value / last.value - 1) < _SAME:
            return Span((now.value + last.value) / 2, min(now.low, last.low), max(now.high, last.high)), counted
        last = now
    return last, counted


def _copy_cost(found: Reads, program_ns: float | None) -> Span:
    """Cost of a copied page over that of a written one."""
    if not program_ns:
        return _COPY
    cost = 1 + min(0.6, found.flash_ns.value / program_ns)
    return Span(cost, max(1.0, cost - 0.1), cost + 0.1)


def _amplification(slower: Span, copy: Span) -> Span:
    low = 1 + max(slower.low - 1, 0) / copy.high
    return Span(1 + max(slower.value - 1, 0) / copy.value, low, 1 + max(slower.high - 1, 0) / copy.low)


@dataclass
class _Units:
    """Size of the random writes, and times of flash."""

    length: int
    found: Reads
    program_ns: float | None


def _unsure(amplification: Span, slower: Span, units: _Units, *, in_order: bool) -> Span:
    """The interval where several mapping units may share a page.

    A copied page is then read from as many pages, and where nothing but writes in order is free of collection a short
    write may program a page of its own: the time of both is no amplification.
    """
    share = max(1.0, _PAGE / units.length)
    read = units.found.flash_ns.value / units.program_ns if units.program_ns else _COPY.high - 1
    most = slower.low / share if in_order else slower.low
    low = 1 + max(most - 1, 0.0) / (1 + share * min(read, 0.6))
    return Span(amplification.value, min(amplification.low, low), amplification.high)


def _refilled(bench: Bench, mapped: Mapping, steady: Span, held: float) -> bool:
    """Discards and fills the drive in order; true if it is at first as slow as before, so that discards do nothing."""
    bench.discard()
    filled = bench.pour(bench.in_order(0, bench.size, _LONG), bench.size, _LONG)
    begin = mean_of(filled.per_byte(min(held, bench.size / 16), bench.size / 8))
    ignored = ratio(begin, mapped.long).low > 1 / _IGNORED and begin.value > _IGNORED * steady.value
    if ignored or not mapped.frees:
        # Pages that were copied meanwhile lie among those of this pass: another one brings them into order.
        bench.pour(bench.in_order(0, bench.size, _LONG), bench.size, _LONG)
    return ignored


def _rewrites_hot(
    bench: Bench, length: int, times: tuple[Span, Span], spare: Span, held: Span
) -> tuple[Span, Span | None]:
    """Rewrites a range of a drive in order as large as the spare, or wider if the buffer would hold that.

    Returns the share of the extra time that is left: 0 that of greedy, 1 that of first in first out; and the share of
    the capacity that was written before collection began, if it began.
    """
    before, slower = times
    share = min(max(0.03, min(0.25, spare.value), _BUFFERS * held.value / bench.size), _WIDEST)
    # The spare is used up, then the range is written four times more.
    unused, volume = bench.size * min(spare.high, 0.5), bench.size * min(4 * share, 1.0)
    course = bench.pour(bench.at_random(0, bench.size * share, length), unused + volume, length)
    rest = ratio(mean_of(course.per_byte(unused + volume / 4)), before)
    extra = max(slower.value - 1, 0.05)
    # Of greedy and of first in first out, by their closed forms.
    least = min(0.6, (greedy.hot(spare.value, share) - 1) / max(greedy.greedy(spare.value) - 1, 0.05))
    most = (greedy.hot_in_order(spare.value, share) - 1) / max(greedy.in_order(spare.value) - 1, 0.05)
    begun = fast_volume(course, before.value, _BEGUN)
    left = [((one - 1) / extra - least) / (most - least) for one in (rest.value, rest.low, rest.high)]
    return Span(*left), None if begun is None else _around(bench, course, begun, held)


def _around(bench: Bench, course: Course, begun: float, held: Span) -> Span:
    """Spare as share of the capacity, of a volume after which collection begins."""
    grain = 3 * float(course.volume[1])
    low = max(begun - min(held.high, begun) - grain, grain / 4)
    begun = max(begun - min(held.value, begun / 2), grain / 2)
    return Span(begun / bench.size, low / bench.size, (begun + grain) / bench.size)


def _spare_of_any(amplification: Span) -> Span:
    """Spare of a drive that collects any block: each holds the mean share of valid pages."""
    spares = [1 / max(value - 1, 0.2) for value in (amplification.value, amplification.high, amplification.low)]
    return Span(spares[0], spares[1] / 2, spares[2] * 2)


@dataclass
class _Facts:
    """Evidence of the verdict."""

    against: Test
    falls: Test
    tail: Test
    spare: Span
    amplification: Span
    ideal: Span
    early: bool
    hidden: bool
    copies: bool
    """True if rewriting in order copies, though it frees whole blocks."""
    measured: Span
    """Spare as the volume before collection has shown it."""


def _verdict(facts: _Facts, mapped: Mapping) -> tuple[Verdict, str]:
    """Poor victims, little spare, or early collection."""
    against, falls = facts.against, facts.falls
    share = f"amplification is about {facts.amplification.value:.1f}, that of greedy at {100 * facts.spare.value:.1f}%"
    share += f" spare {facts.ideal.value:.1f}"
    left = 1 - falls.ratio
    hot = f"{share}; with only a small range rewritten {100 * left:.0f}% of its time is left: victims are poor"
    slow = f"rewriting in order has {mapped.copies.ratio:.2f} of the throughput of filling a discarded drive"
    half = f"random writes over half of the drive have {mapped.half.ratio:.2f} of the throughput of others"
    order = f"rewriting in order has {mapped.rewrite.ratio:.2f} of the throughput of the fastest writes"
    least = 1 - falls.high
    # The first condition that holds decides.
    cases: list[tuple[bool, Verdict, str]] = [
        (facts.early, "bad", f"{half}, though the rest is free: pages are copied without need"),
        (facts.copies, "bad", f"{slow}: {_AHEAD}"),
        (
            facts.hidden and (left >= _STAYS or facts.amplification.value < _COPIES),
            "bad",
            f"random writes take hardly longer than those in order, so that those copy as well: {_FULL}",
        ),
        (falls.verdict == "good", "good", f"{share}, and a small range is rewritten without copying the rest"),
        (left >= _STAYS and least > _FALLS and mapped.rewrite.verdict == "bad", "bad", f"{order}: {_FULL}"),
        (facts.spare.low > _MAX_SPARE, "uncertain", f"{share}: more spare than drives have, as with very few blocks"),
        (
            facts.measured.value < facts.spare.low,
            "unknown",
            (
                f"amplification is about {facts.amplification.value:.1f}, less than that of greedy at the"
                f" {100 * facts.measured.value:.1f}% spare that was found: the spare is not known"
            ),
        ),
        (against.verdict == "bad", "bad", hot),
        (
            facts.tail.ratio <= _BAD,
            "bad",
            f"{hot}, and stalls come in groups: even ones had {facts.tail.ratio:.2f} of the 99th percentile",
        ),
    ]
    good = f"{hot}, but cost random writes less than a fifth"
    return next((case[1:] for case in cases if case[0]), ("good", good))
