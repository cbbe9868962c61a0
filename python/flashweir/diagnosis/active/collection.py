"""Test of garbage collection: spare, amplification in steady state, a rewritten hot range, stalls."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from flashweir.diagnosis.active import greedy
from flashweir.diagnosis.active.buffer import Buffer
from flashweir.diagnosis.active.mapping import EARLY, Mapping
from flashweir.diagnosis.active.ratios import Span, Test, Verdict, judged, mean_of, measured, ratio
from flashweir.diagnosis.active.reads import Reads, read_under_write
from flashweir.diagnosis.active.session import KIB, WRITE, Bench, Course

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Collection began: writes take this many times as long. The first victims hold 1 / (1 - e^-spare) pages for each that
# they free, over 2 even at twice the spare of any drive.
_BEGUN = 1.6
# Uniformly random writes until the rate is steady, in multiples of the drive; rates that differ by less are the same.
_FIRST, _LAST, _SAME = 1.25, 3.0, 0.04
_STEP = 0.25
_LONG = 128 * KIB
# A write of a page costs one program, a copied one also a read: this much more where the two times are unknown.
_COPY = Span(1.15, 1.0, 1.4)
# Greedy at the same spare saves a fifth of the time where this ratio, its time over the measured one, is 0.8.
_BAD, _GOOD = 0.75, 0.85
# Share of the extra time that remains when only a hot range of a drive in order is written: greedy leaves full blocks
# alone (below 0.2), a policy that does not look at valid pages moves them, too (1 and more).
_STAYS, _FALLS = 0.6, 0.35
_COPIES = 1.2
# A write stalls if it takes this many times the mean without collection.
_STALL = 10.0
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


def collection(bench: Bench, found: Reads, mapped: Mapping, buffered: Buffer) -> Collection:
    """Writes a drive that is full and in order up to 4 times at random."""
    length, before = mapped.length, mapped.clean
    first = bench.pour(bench.at_random(0, bench.size, length), bench.size * _FIRST, length)
    steady = _steady(bench, length, first)
    slower = ratio(steady, before)
    under = read_under_write(bench, "read-under-collection", bench.size, found.flash_ns)
    stall_us, share = _stalls(bench, before)
    copy = _copy_cost(found, buffered.program_ns)
    amplification = _amplification(slower, copy)
    # Any block is collected, unless nothing is copied: then writes in order are slow for another reason.
    poor = mapped.rewrite.verdict == "bad" and amplification.value > _COPIES
    spare = _spare_of_any(amplification) if poor else _spare(bench, first, before, buffered.size.value)
    tests = [measured("steady-random", ratio(before, steady)), under[0]]
    if mapped.merges:
        return Collection(None, amplification, stall_us, share, "unknown", MERGES_TOO, tests)
    stays = _rewrites_hot(bench, length, before, slower, spare)
    ideal = greedy.greedy_span(spare)
    best = Span(1 + (ideal.value - 1) * copy.value, 1 + (ideal.low - 1) * copy.low, 1 + (ideal.high - 1) * copy.high)
    against = judged("collection", ratio(best, slower), _BAD, _GOOD)
    falls = judged("collection-hot", Span(1 - stays.value, 1 - stays.high, 1 - stays.low), 1 - _STAYS, 1 - _FALLS)
    verdict, reason = _verdict(against, falls, mapped, spare, amplification, ideal)
    return Collection(spare, amplification, stall_us, share, verdict, reason, [*tests, against, falls])


def fast_volume(course: Course, per_byte: float, slower: float) -> float | None:
    """Bytes before writes take `slower` times as long as `per_byte`, over two windows; None if they never do."""
    steps = np.diff(course.time_ns) / np.diff(course.volume)
    slow = np.convolve(steps, np.full(3, 1 / 3), "valid") > slower * per_byte
    both = np.flatnonzero(slow[:-1] & slow[1:])
    return float(course.volume[both[0] + 1]) if len(both) else None


def _spare(bench: Bench, course: Course, before: Span, held: float) -> Span:
    """Share of the capacity that is written at random before collection begins."""
    grain = 3 * float(course.volume[1])
    begun = fast_volume(course, before.value, _BEGUN)
    most = float(course.volume[-1])
    if begun is None:
        return Span(most / bench.size, most / bench.size, 2 * most / bench.size)
    late = fast_volume(course, before.value, 1.3 * _BEGUN) or begun
    # Writes that the buffer held when collection began were acknowledged before.
    held = min(held, begun / 2)
    begun, late = begun - held, late - held
    low, high = min(begun, late) - grain, max(begun, late) + grain
    return Span(max(begun, grain / 2) / bench.size, max(low, grain / 4) / bench.size, high / bench.size)


def _steady(bench: Bench, length: int, first: Course) -> Span:
    """Time of a byte once two quarters of the drive take the same, ns."""
    volume = bench.size * _STEP
    last = mean_of(first.per_byte(bench.size * (_FIRST - _STEP)))
    done = _FIRST
    while done < _LAST:
        now = mean_of(bench.pour(bench.at_random(0, bench.size, length), volume, length).per_byte(0))
        done += _STEP
        if abs(now.value / last.value - 1) < _SAME:
            return Span((now.value + last.value) / 2, min(now.low, last.low), max(now.high, last.high))
        last = now
    return last


def _copy_cost(found: Reads, program_ns: float | None) -> Span:
    """Cost of a copied page over that of a written one."""
    if not program_ns:
        return _COPY
    cost = 1 + min(0.6, found.flash_ns.value / program_ns)
    return Span(cost, max(1.0, cost - 0.1), cost + 0.1)


def _amplification(slower: Span, copy: Span) -> Span:
    low = 1 + max(slower.low - 1, 0) / copy.high
    return Span(1 + max(slower.value - 1, 0) / copy.value, low, 1 + max(slower.high - 1, 0) / copy.low)


def _rewrites_hot(bench: Bench, length: int, before: Span, slower: Span, spare: Span) -> Span:
    """Share of the extra time that is left on a drive in order, of which a range as large as the spare is rewritten."""
    share = min(0.25, max(0.03, spare.value))
    bench.discard()
    bench.pour(bench.in_order(0, bench.size, _LONG), bench.size, _LONG)
    # The spare is used up, then the range is written four times more.
    unused, volume = bench.size * min(spare.high, 0.5), bench.size * 4 * share
    course = bench.pour(bench.at_random(0, bench.size * share, length), unused + volume, length)
    rest = ratio(mean_of(course.per_byte(unused + volume / 4)), before)
    extra = max(slower.value - 1, 0.05)
    return Span((rest.value - 1) / extra, (rest.low - 1) / extra, (rest.high - 1) / extra)


def _spare_of_any(amplification: Span) -> Span:
    """Spare of a drive that collects any block: each holds the mean share of valid pages."""
    spares = [1 / max(value - 1, 0.2) for value in (amplification.value, amplification.high, amplification.low)]
    return Span(spares[0], spares[1] / 2, spares[2] * 2)


def _stalls(bench: Bench, before: Span) -> tuple[Span, Span]:
    """Longest write and share of the time in stalls, of short random writes one after the other."""
    bench.rest(0.01)
    count = min(8192, int(bench.size // bench.small // 8))
    places = bench.at_random(0, bench.size, bench.small)
    longest, lost, took = [], [], []
    for _ in range(4):
        issue, complete = bench.call(WRITE, places(0, count // 4), bench.small, 1)
        taken = (complete - issue).astype(float)
        stalled = taken[taken > _STALL * before.value * bench.small]
        longest.append(taken.max() / 1e3)
        lost.append(stalled.sum())
        took.append(float(complete.max() - issue.min()))
    shares = np.array(lost) / np.maximum(np.array(took), 1.0)
    share = float(np.sum(lost) / max(np.sum(took), 1.0))
    return _of_four(np.array(longest), float(np.max(longest))), _of_four(shares, share)


def _of_four(values: "NDArray[np.float64]", value: float) -> Span:
    return Span(value, float(values.min()), float(values.max()))


def _verdict(
    against: Test, falls: Test, mapped: Mapping, spare: Span, amplification: Span, ideal: Span
) -> tuple[Verdict, str]:
    """Poor victims, little spare, or early collection."""
    share = f"amplification is about {amplification.value:.1f}, that of greedy at {100 * spare.value:.1f}% spare "
    share += f"{ideal.value:.1f}"
    left = 1 - falls.ratio
    # Without any spare greedy is slow in order, too, but leaves full blocks alone while a hot range is written.
    if mapped.rewrite.verdict == "bad" and left > _FALLS:
        slow = f"rewriting in order has {mapped.rewrite.ratio:.2f} of the throughput of a fresh drive"
        return "bad", f"{slow}: blocks are collected though others hold nothing valid"
    if mapped.early.verdict == "bad" or mapped.reason.endswith(EARLY):
        return "bad", "collection starts while the drive has room, before as much was written as it holds"
    if against.ratio >= _GOOD or (left < _FALLS and against.verdict != "bad"):
        return "good", share
    hot = f"{share}; with only a small range rewritten {100 * max(left, 0):.0f}% of its time is left"
    if left >= _STAYS or (left > _FALLS and against.verdict == "bad"):
        return "bad", f"{hot}: victims are poor"
    if left <= _FALLS:
        return "good", f"{hot}: victims are good"
    return "uncertain", hot
