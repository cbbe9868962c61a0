"""Writes with gaps against writes in order: the cost of the map without that of collection.

A pass writes every fourth request's worth of a range, in order; the next passes write what lies between. What one pass
wrote is overwritten by one later pass, in the same order, so that a page map frees whole blocks and copies nothing,
whatever it chooses as victims. A map by blocks has to copy what a pass left out, and a mapping unit above the length
of the requests is rewritten by each of them.
"""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from flashweir.diagnosis.active.one_die import is_page, several_pages
from flashweir.diagnosis.active.ratios import Span, mean_of, ratio
from flashweir.diagnosis.active.session import KIB, Bench

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from flashweir.diagnosis.active.reads import Reads

    Places = Callable[[int, int], NDArray[np.uint64]]

SIZES = tuple(size * KIB for size in (4, 8, 16, 32, 64, 256))
PAGE = 16 * KIB
"""A mapping unit up to this is taken for the page unless reads show several pages; a larger one if reads show that."""
LARGEST_UNIT = 64 * KIB
"""The largest mapping unit; what is larger is a block."""
_STRIDE = 4
_LONG = 128 * KIB
# A unit of twice the length, or a copy for each write, takes at least twice the time of writes in order, a page map the
# same time: the border is the geometric mean.
AS_FAST = math.sqrt(0.5)
# A map by blocks that has the pages of a pass copies three for each of them, and is at most this fast; one that has all
# pages of a block in any order copies one for each, and reads it and erases two blocks.
_IN_PART, MERGED_RATIO = 0.3, 0.5
# Share of the drive that is written, and the writes before the measured ones: logs of block maps are up to 28%.
_RANGE, _SETTLE = 3 / 8, 0.4
# Where discards may do nothing, passes stay within chunks: blocks that are written in part are few then. A chunk is
# this many buffers, so that the buffer joins no neighbours.
_CHUNK, _BUFFERS = 0.01, 8
_SHARE, _FEWEST = 1 / 40, 16
# Buffers that are emptied when full swing with their size.
_CYCLES = 3
# Requests a second that fall by less from one size to the double one: each rewrites a unit of at least the double size.
_FLAT = 0.77


# Streams that are written at the same time: in order they keep as many dies busy as with gaps, where a block lies on
# one die, and page maps write them as one.
_STREAMS = (1, 4, 8)


@dataclass
class Strided:
    """Findings."""

    ratios: dict[int, Span]
    """Throughput of requests with gaps over that in order, by their length."""
    per_byte: dict[int, Span]
    """Time of a byte with gaps, ns, by length."""
    unit: int | None
    """Mapping unit, bytes; None if no length up to 64 KiB is as fast as in order, so that blocks are merged."""
    fast: float
    """Ratio from which on writes of a page with gaps are as fast as those in order."""
    page: int
    """Bytes up to which a mapping unit is a page."""

    @property
    def merges(self) -> bool:
        """True if whole blocks are merged."""
        return self.unit is None

    @property
    def length(self) -> int:
        """Length of random writes that rewrite no more than themselves: the unit, if that may be a page's."""
        return min(self.ratios) if self.unit is None else min(self.unit, LARGEST_UNIT)

    @property
    def sharp(self) -> bool:
        """True if the shortest requests are as fast as in order, so that no unit lies above them."""
        least = min(self.ratios)
        return self.unit == least and self.ratios[least].low >= AS_FAST


def strided(bench: Bench, found: "Reads", high: float, held: float, *, free: bool) -> Strided:
    """Writes addresses up to `high` about three times.

    Args:
        bench: the drive.
        found: its reads.
        high: bytes of the range.
        held: bytes that the buffer takes in.
        free: if what lies behind is free.
    """
    bench.discard()
    bench.pour(bench.in_order(0, high, _LONG), high, _LONG)
    lengths = [size for size in SIZES if size % bench.small == 0 and size >= bench.small]
    skip = min(held, high / 8)
    # In order over data, as the others are.
    least = max(bench.size * _SHARE, min(_CYCLES * held, high / 4))
    page = max(PAGE, bench.small)
    # The length that decides is measured over a whole turn of passes.
    volumes = {size: skip + (high if size == page else max(least, _FEWEST * size)) for size in lengths}
    ordered = {
        size: mean_of(bench.pour(bench.in_order(0, high, size), volume, size).per_byte(skip))
        for size, volume in volumes.items()
    }
    within = min(high, max(high * _CHUNK, _BUFFERS * held))
    chunk = high if free else within
    gaps = {page: _settled(bench, high, page, chunk)}
    fast = AS_FAST
    if free and _IN_PART <= ordered[page].value / gaps[page].value < AS_FAST:
        # Poor victims may be blocks that are written in part: there are few of them then.
        gaps[page], fast = _settled(bench, high, page, within), MERGED_RATIO
    for size in [size for size in lengths if size != page]:
        if size == LARGEST_UNIT and ordered[page].value / gaps[page].value < AS_FAST:
            # A log takes some writes of any length before blocks are merged.
            gaps[size] = _settled(bench, high, size, chunk)
            continue
        course = bench.pour(places(bench, high, size, chunk), volumes[size], size)
        gaps[size] = mean_of(course.per_byte(skip))
    ratios = {size: ratio(ordered[size], gaps[size]) for size in lengths}
    unit = _unit(bench, found, ratios, gaps, fast)
    if unit is not None and unit > page:
        bench.rest()
        page = unit if is_page(bench, unit, high, discards=free) else page
    elif free and unit is not None and _sharp(ratios, unit):
        bench.rest()
        page = unit // 2 if several_pages(bench, unit, high) else page
    return Strided(ratios, gaps, unit, fast, page)


def _sharp(ratios: dict[int, Span], unit: int) -> bool:
    """If all shorter requests are surely slower than in order, so that the unit is no chance."""
    below = [size for size in ratios if size < unit]
    return bool(below) and all(ratios[size].high < AS_FAST for size in below)


def in_streams(bench: Bench, high: float, length: int) -> Span:
    """Throughput of writes with gaps over that in order, up to `high` bytes, in several streams, each after a turn.

    As many streams as are fastest in order: fewer keep fewer dies busy, more run out of log blocks. In order comes
    after gaps: what is still free from before does not favour it.
    """
    bench.discard()
    most = max(_STREAMS)
    apart = {most: _apart(bench, high, length, most)}
    joined = {streams: _joined(bench, high, length, streams) for streams in _STREAMS}
    best = min(joined, key=lambda streams: joined[streams].value)
    if best not in apart:
        apart[best] = _apart(bench, high, length, best)
    return ratio(joined[best], apart[best])


def _apart(bench: Bench, high: float, length: int, streams: int) -> Span:
    """Time of a byte with gaps in so many streams, ns."""
    share = _share_of(high, length, streams)
    settle, turn = bench.size * _SETTLE, float(share * streams)
    gaps = [places(bench, share, length, share) for _ in range(streams)]
    return mean_of(bench.pour(_together(bench, gaps, share, length), settle + turn, length).per_byte(settle))


def _joined(bench: Bench, high: float, length: int, streams: int) -> Span:
    """Time of a byte in order in so many streams, ns."""
    share = _share_of(high, length, streams)
    turn = float(share * streams)
    ordered = [bench.in_order(0, share, length) for _ in range(streams)]
    return mean_of(bench.pour(_together(bench, ordered, share, length), 2 * turn, length).per_byte(turn))


def _share_of(high: float, length: int, streams: int) -> int:
    """Bytes of the range of a stream."""
    return max(1, int(high) // streams // (_STRIDE * length)) * _STRIDE * length


def _together(bench: Bench, streams: "list[Places]", share: int, length: int) -> "Places":
    """Offsets of streams in turn, each in its own range of `share` bytes, from a random place of its order on."""
    phases = bench.random.integers(0, share // length, len(streams))

    def offsets(first: int, count: int) -> "NDArray[np.uint64]":
        number = first + np.arange(count)
        found = np.empty(count, np.uint64)
        for stream, (order, phase) in enumerate(zip(streams, phases, strict=True)):
            mine = np.flatnonzero(number % len(streams) == stream)
            if len(mine):
                at = int(number[mine[0]]) // len(streams) + int(phase)
                found[mine] = order(at, len(mine)) + np.uint64(stream * share)
        return found

    return offsets


def _settled(bench: Bench, high: float, length: int, chunk: float) -> Span:
    """Time of a byte over a whole turn of passes, once logs have run out, ns."""
    settle = bench.size * _SETTLE
    return mean_of(bench.pour(places(bench, high, length, chunk), settle + high, length).per_byte(settle))


def range_of(bench: Bench) -> float:
    """Bytes of the range on a drive that can be discarded."""
    return bench.size * _RANGE


def places(bench: Bench, high: float, length: int, chunk: float) -> "Places":
    """Offsets up to `high`: chunk after chunk, each in passes that write one place of every four.

    The order within four places is random, and stays: a constant stride would meet some dies only, where each address
    has its die.
    """
    fours = max(1, int(high) // length // _STRIDE)
    whole = min(fours, max(1, int(chunk) // length // _STRIDE))
    fours = fours // whole * whole
    orders = bench.random.permuted(np.tile(np.arange(_STRIDE), (fours, 1)), axis=1)

    def offsets(first: int, count: int) -> "NDArray[np.uint64]":
        at = (first + np.arange(count)) % (fours * _STRIDE)
        base, within = at // (whole * _STRIDE) * whole, at % (whole * _STRIDE)
        four, turn = base + within % whole, within // whole
        found: NDArray[np.uint64] = ((four * _STRIDE + orders[four, turn]) * length).astype(np.uint64)
        return found

    return offsets


def _unit(bench: Bench, found: "Reads", ratios: dict[int, Span], gaps: dict[int, Span], fast: float) -> int | None:
    """The shortest length from which on gaps cost nothing, or up to which each request takes the time of one."""
    fits = [size for size in sorted(ratios) if size <= LARGEST_UNIT]
    page = max(PAGE, bench.small)
    # A page map that is fast at the length of a page is so above it.
    is_page = ratios[page].value >= AS_FAST
    # Poor victims cost all lengths the same; a unit above the page costs those of 64 KiB half as much or less.
    is_page |= ratios[page].value >= fast and ratios[LARGEST_UNIT].value < ratios[page].value / AS_FAST
    slow = [size for size in fits if (not is_page if size == page else ratios[size].value < AS_FAST)]
    slow = [size for size in slow if size <= page or not is_page]
    longer = [size for size in fits if not slow or size > slow[-1]]
    if not longer:
        return None
    # Without a buffer writes in order rewrite the unit as well: requests of all lengths below it take the same time.
    requests = {size: 1 / (gaps[size].value * size) for size in fits}
    knee = bench.small
    for size in fits[1:]:
        if requests[size] < _FLAT ** math.log2(size / knee) * requests[knee]:
            break
        knee = size
    # Drives that take few commands a second are flat, too; they read no faster.
    commands = found.rate < 2 * requests[bench.small] * 1e9
    return longer[0] if commands else max(longer[0], knee)
