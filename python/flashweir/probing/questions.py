"""Questions that the engine does not ask: mapping unit, map cache, destaging, suspension, link, SLC cache.

The tests are those of `flashweir diagnose --active`. No key of a device file has these answers yet.
"""

from dataclasses import asdict, dataclass

import numpy as np

from flashweir.diagnosis.active.buffer import Buffer, buffer
from flashweir.diagnosis.active.ratios import Span, Test, rounded, span_of
from flashweir.diagnosis.active.reads import Reads, map_cache, reads
from flashweir.diagnosis.active.session import READ, WRITE, Bench, Course
from flashweir.diagnosis.active.strided import strided
from flashweir.probing.cells import Cells
from flashweir.probing.fill import knee
from flashweir.probing.path import ON_FLASH, Path
from flashweir.probing.recent import recently_written

# Drives are asked within this many bytes, so that a large one takes minutes.
MAX_BYTES = 256 << 20
_SURE, _LIKELY, _BELOW, _GUESS = 0.9, 0.6, 0.5, 0.3
# A cache of cells with one bit is at least this much faster than what lies behind it.
_SLC = 1.5
# A knee of the first fill is the buffer's up to this many times the volume at which the buffer is full.
_BUFFERED = 1.35
# Reads that wait for less than this share of a program overtake it; those that wait for more than the other do not.
_OVERTAKE, _WAIT = 0.2, 0.45


@dataclass
class Answer:
    """An answer as the JSON has it."""

    key: str
    value: object
    sure: float
    how: str
    showed_by: str

    def to_dict(self) -> dict[str, object]:
        """The fields."""
        return asdict(self)


def asked(bench: Bench, path: Path, high: float) -> tuple[list[Answer], Buffer, Span]:
    """Answers of a drive whose first `high` bytes are written; its buffer by bursts; its size by reading back."""
    found = reads(bench, high * ON_FLASH)
    held = buffer(bench, high, found.flash_ns, span_of(path.filled.per_byte(high / 2)))
    read_back = recently_written(bench, high, found.flash_ns.value)
    buffered = read_back.high or (0.0 if held.at_least else held.size.value)
    answers = [slc_cache(path.filled, high, buffered), *_destaging(held)]
    answers += [_suspension(bench, high, held, found.flash_ns), _link(bench, held)]
    cached, misses = map_cache(bench, high)
    size = 0 if cached is None else int(cached.value)
    sure = _LIKELY if cached else (_GUESS if misses.verdict == "uncertain" else _LIKELY)
    answers.append(
        Answer("map_cache_bytes", size, sure, _none("no read missed", size), "idle reads over ranges of several sizes")
    )
    answers.append(_unit(bench, high, found, held, misses))
    return answers, held, read_back


def host_read(cells: Cells) -> Answer:
    """Latency of one short read, with all that is on its way."""
    value = rounded(cells.host_read_ns)
    how = "median of idle reads of flash, commands and link included"
    return Answer("host_read_ns", value, _SURE, how, "reads of 4 KiB one at a time")


def _unit(bench: Bench, high: float, found: Reads, held: Buffer, misses: Test) -> Answer:
    gaps = strided(bench, found, high, held.size.value, free=True)
    shown = gaps.unit is not None
    how = "writes with gaps below this size take longer than in order, or as long as this"
    how = how if shown else "no size up to 64 KiB is as fast as writes in order"
    showed = "writes with gaps of 4 to 256 KiB, against those in order"
    # The smallest writes are as fast at random as in order: there is no unit above them. A larger one may be a page's.
    sure = _GUESS if not shown else _SURE if gaps.sharp else _LIKELY
    if shown and (held.at_least or held.size.value > high / 8):
        sure, how = _BELOW, f"{how}; but the buffer takes in as much as was written"
    elif shown and misses.verdict != "good":
        # Each short write may change a translation page, too.
        sure, how = _BELOW, f"{how}, or misses of the map cache do"
    return Answer("mapping_unit_bytes", gaps.unit, sure, how, showed)


def _none(text: str, size: float) -> str:
    return "half of the latencies are longer by one read" if size else text


def slc_cache(filled: Course, high: float, buffered: float) -> Answer:
    """Size of an SLC cache by the knee of a first fill of `high` bytes that a buffer of so many does not explain."""
    showed = "the first fill, in order"
    found = knee(filled)
    if found is None or found.slower < _SLC:
        how = f"{high / 1e6:,.0f} MB are written as fast to their end: none is smaller"
        return Answer("slc_cache_bytes", 0, _LIKELY, how, showed)
    how = f"writes in order fall to 1/{found.slower:.2g} of their rate after {found.volume / 1e6:,.1f} MB"
    # The buffer is destaged while it fills: it is full after more than its size.
    buffer_full = buffered / (1 - 1 / found.slower)
    if found.volume <= _BUFFERED * buffer_full + 2 * found.grain:
        return Answer("slc_cache_bytes", 0, _BELOW, f"{how}, when the buffer is full", showed)
    return Answer("slc_cache_bytes", int(found.volume - buffer_full), _LIKELY, how, showed)


def _destaging(held: Buffer) -> list[Answer]:
    showed = "bursts of writes after pauses of 1 ms to 1 s, without a flush"
    none = held.size.value == 0
    if none or held.at_least:
        why = "there is no buffer" if none else "no burst filled the buffer"
        idle = Answer("buffer_empties_s", None, 0.0, why, showed)
    else:
        how = "shortest pause after which it takes a burst again"
        how = how if held.empties_s is not None else "a second does not empty it: it is emptied when full"
        idle = Answer("buffer_empties_s", held.empties_s, _LIKELY, how, showed)
    flush = "a flush after one write takes longer than a read" if held.flush_waits else "a flush takes no flash time"
    return [idle, Answer("flush_waits", held.flush_waits, _SURE, flush, "single writes, each with a flush")]


def _suspension(bench: Bench, high: float, held: Buffer, flash: Span) -> Answer:
    """If reads wait for programs, by reads among many outstanding writes that fill the buffer."""
    key, showed = "reads_overtake_programs", "reads one at a time among writes that keep all dies busy"
    if not held.program_ns:
        return Answer(key, None, 0.0, "flushes do not wait, so that the time of a program is not known", showed)
    count = 4096
    ops = np.where(np.arange(count) % 16 == 0, READ, WRITE).astype(np.uint8)
    bench.pour(bench.at_random(0, high, bench.small), min(2 * held.size.value, high / 4), bench.small)
    issue, complete = bench.call(ops, bench.at_random(0, high, bench.small)(0, count), bench.small, 64)
    waited = (float(np.median((complete - issue)[ops == READ])) - flash.value) / held.program_ns
    overtakes = waited < _OVERTAKE
    sure = _LIKELY if overtakes or waited > _WAIT else _GUESS
    return Answer(key, overtakes, sure, f"the median read waits for {max(waited, 0):.2f} of a program", showed)


def _link(bench: Bench, held: Buffer) -> Answer:
    """Time of a command and of a byte on the link, by idle writes that the buffer takes."""
    key, showed = "link", "idle writes of 4 to 64 KiB, each after a pause"
    sizes = [bench.small * (1 << step) for step in range(5)]
    if held.size.value < 2 * sizes[-1]:
        return Answer(key, None, 0.0, "the buffer does not take writes of 64 KiB without flash", showed)
    medians = []
    for size in sizes:
        taken = []
        for at in range(8):
            bench.rest(0.02)
            issue, complete = bench.call(WRITE, np.array([at * size], np.uint64), size, 1)
            taken.append(float(complete[0] - issue[0]))
        medians.append(float(np.median(taken)))
    if max(medians) <= 1:
        return Answer(key, {"command_ns": 0.0, "mb_s": None}, _LIKELY, "no time passes", showed)
    slope, begin = np.polyfit(sizes, medians, 1)
    away = float(np.abs(np.polyval((slope, begin), sizes) - medians).max())
    value = {"command_ns": rounded(max(float(begin), 0.0)), "mb_s": rounded(1e3 / slope) if slope > 0 else None}
    straight = slope > 0 and away < 0.1 * medians[-1]
    how = "latency over size is a line" if straight else f"latency over size is no line: {away / 1e3:.2g} us away"
    return Answer(key, value, _LIKELY if straight else _GUESS, how, showed)
