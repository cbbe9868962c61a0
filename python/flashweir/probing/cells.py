"""Page and times of flash, by reads and writes whose difference in time is one part of the drive.

Reads of the same address wait for one die: made together, they end one after the other at the time that a read holds
its die. That is the array alone where a die reads on while data is transferred, and array and transfer where it does
not. A read of data in the buffer, or of discarded addresses, needs no flash, so the rest of a read's latency is its
transfer. Nothing of this depends on where the drive puts its pages, which on drives with one write frontier changes
with each write.
"""

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from flashweir.diagnosis.active.one_die import alone, train
from flashweir.diagnosis.active.session import FLUSH, KIB, READ, WRITE, Bench
from flashweir.probing.path import ON_FLASH

if TYPE_CHECKING:
    from numpy.typing import NDArray

_REPEATS = 32
# Addresses whose page is looked at.
_PLACES = 12
_LARGEST_PAGE = 64 * KIB
# Reads by which a latency is found.
_READS = 5
# A die is slower than the commands by at least this factor, or it does not show.
_APART = 1.25
# Share of a read without its command that holds the die, from which on the transfer holds it as well.
_ALL = 0.95
# A step of latency over size is a second page if it has this share of a read of the die.
_STEP = 0.5
# Pairs of addresses that are read at the same time, and those of them whose waits agree, within this share, at least.
_PAIRS, _FEWEST, _ALIKE = 64, 2, 0.1
# Growth of latency with size below this share of a read is no transfer.
_GROWS = 0.03
# A read without flash is faster than one of flash by this much.
_NOTHING = 0.8
# The drive has come to rest when reads are no faster after another pause.
_SETTLED, _PAUSES = 0.97, 16
_WRITES = 12


@dataclass
class Cells:
    """Findings; None where no request shows it."""

    host_read_ns: float
    """Latency of an idle short read of flash, as the host sees it."""
    nothing_ns: float | None
    """Latency of a read that needs no flash."""
    die_ns: float | None
    """Time from one read of a die to the next."""
    read_ns: float | None
    """Time of a read of the array; with its transfer if `transfer_ns` is None."""
    transfer_ns: float | None
    """Time of a page between die and controller; None if it was not separated from the rest."""
    page: int | None
    """Bytes that lie on one die together, or that one read of the array returns."""
    agree: float
    """Share of the addresses that show this page."""
    stepped: bool
    """True if the latency over the size of a read has steps, which are pages."""
    program_ns: float | None
    """A write of a page through to flash, without commands and link, with its transfer."""
    spread: float
    """Range of nine of ten equal reads, as a share of their median."""
    parts: float
    """Share of a read that is the smaller of array and transfer: how far these may be exchanged."""
    distinguished: bool = False
    """True if pairs of reads, or their growth with size, have shown which of both is the array."""


def measured(bench: Bench, high: float, unit: int | None, *, discards: bool, waits: bool, buffered: bool) -> Cells:
    """Asks a drive whose addresses up to `high` are written; `unit`: its mapping unit, if known."""
    if discards:
        bench.discard()
        unit = _lone_unit(bench, high) or unit
        bench.discard()
    # Neighbours are written together.
    bench.pour(bench.in_order(0, high, 128 * KIB), high, 128 * KIB)
    places = bench.at_random(high / 8, high * ON_FLASH, bench.small)(0, _REPEATS)
    _settle(bench, places)
    single = np.array([alone(bench, at) for at in places])
    host = float(np.median(single))
    spread = float(np.quantile(single, 0.95) - np.quantile(single, 0.05)) / max(host, 1.0)
    empty = bench.size - 2 * _LARGEST_PAGE
    nothing, command = _without_flash(bench, host, empty, discards=discards)
    hold = float(np.median([train(bench, at, at) for at in places]))
    die = hold if hold > _APART * command and hold > 0 else None
    sizes = _by_size(bench, places)
    link = _by_size(bench, np.array([empty])) if discards and nothing is not None else np.zeros(len(sizes))
    # The first two blocks are of one page, unless that is of one block.
    grows = float(np.diff(sizes - link)[0]) if nothing is not None and discards else 0.0
    read, transfer = _parts(host, nothing, die, grows)
    distinguished = False
    if die is not None and read is not None and transfer is not None:
        distinguished = _are_distinguished(bench, places, (read, transfer), die, host, command)
    page, agree, stepped = None, 0.0, False
    if die is not None and (read is None or read > die / 2):
        run, agree = _together(bench, places[:_PLACES], (die + max(command, die / 2)) / 2)
        first = _first_step(sizes, die, bench.small)
        # Reads of one page's units may each take a read of the array: only steps below the unit are pages.
        # A lone step behind the first block is a transfer: of pages of one block each block would be a step.
        stepped = first is not None and unit is not None and bench.small < first < min(unit, run or unit)
        page = first if stepped else run
    if read is not None and transfer is not None and page is not None and page > bench.small:
        distinguished = distinguished or _is_transfer(grows, read, transfer)
    whole = page or unit or bench.small
    if transfer is not None and grows > transfer / 2:
        # Only what is asked for is transferred.
        transfer *= whole / bench.small
    program = None if buffered and not waits else _program(bench, high, max(whole, unit or 0), buffered=buffered)
    if program is not None and unit and page and unit > page:
        program /= unit / page
    total = host - (nothing or 0.0)
    parts = 0.0 if read is None or transfer is None else min(read, total - read) / max(total, 1.0)
    return Cells(host, nothing, die, read, transfer, page, agree, stepped, program, spread, parts, distinguished)


def _lone_unit(bench: Bench, high: float) -> int | None:
    """Mapping unit of a discarded drive: bytes that are no longer empty once one block is written.

    None if an empty address reads no faster than that block, as one that stays in a buffer.
    """
    place = int(high) // 2 // _LARGEST_PAGE * _LARGEST_PAGE + _LARGEST_PAGE
    bench.call(WRITE, np.array([place], np.uint64), bench.small, 1)
    bench.rest()

    def latency(at: int) -> float:
        return float(np.median([alone(bench, at) for _ in range(_READS)]))

    there, empty = latency(place), latency(place + 4 * _LARGEST_PAGE)
    if empty >= _NOTHING * there:
        return None
    length = bench.small
    for step in (-bench.small, bench.small):
        near = place + step
        while abs(near - place) <= _LARGEST_PAGE and latency(near) > (there + empty) / 2:
            near += step
            length += bench.small
    return None if length & (length - 1) else length


def _are_distinguished(
    bench: Bench, places: "NDArray[np.uint64]", parts: tuple[float, float], die: float, host: float, command: float
) -> bool:
    """If reads have shown that the first of both parts is the array, and the second the transfer.

    The interval of reads of one die is the longer of both where its array works during a transfer. The second of two
    reads of one channel and two dies waits for a transfer alone: if transfers made the interval, no pair would wait
    for the shorter time. That holds where the second of two reads of one address waits for the interval; a drive that
    lets it go before has other waits.
    """
    array, transfer = parts
    # Where commands or the link are as slow as a transfer, they explain the wait.
    if array < die or transfer < _APART * command or abs(transfer - array) < 2 * _ALIKE * array:
        return False
    same = float(np.median([_both(bench, at, at) for at in places])) - host
    if same < (1 - _ALIKE) * die:
        return False
    pairs = bench.random.choice(places, (_PAIRS, 2))
    waits = np.array([_both(bench, left, right) - host for left, right in pairs if left != right])
    return int((np.abs(waits - transfer) < _ALIKE * transfer).sum()) >= _FEWEST


def _is_transfer(grows: float, array: float, transfer: float) -> bool:
    """If one more block of a page takes the time of a transfer, and not that of the array."""
    return abs(grows - transfer) < _ALIKE * transfer and abs(transfer - array) >= 2 * _ALIKE * array


def _both(bench: Bench, left: int, right: int) -> float:
    """Time of two reads made together, whose map entries were just used."""
    taken = 0.0
    for _ in range(2):
        issue, complete = bench.call(READ, np.array([left, right], np.uint64), bench.small, 2)
        taken = float(complete.max() - issue.min())
    return taken


def _settle(bench: Bench, places: "NDArray[np.uint64]") -> None:
    """Waits until reads do not wait for what was written."""
    before = float("inf")
    for _ in range(_PAUSES):
        bench.rest()
        now = float(np.mean([alone(bench, at) for at in places]))
        if now >= _SETTLED * before:
            return
        before = now


def _without_flash(bench: Bench, host: float, empty: int, *, discards: bool) -> tuple[float | None, float]:
    """Latency of a read that needs no flash, and the time from one such read to the next."""
    found = []
    for at in range(_REPEATS // 2):
        place = empty - at * bench.small
        if not discards:
            bench.call(WRITE, np.array([place], np.uint64), bench.small, 1)
        issue, complete = bench.call(READ, np.array([place], np.uint64), bench.small, 1)
        found.append((float(complete[0] - issue[0]), train(bench, place, place)))
    latency, interval = (float(np.median(column)) for column in zip(*found, strict=True))
    return (latency, interval) if latency < _NOTHING * host else (None, 0.0)


def _parts(host: float, nothing: float | None, die: float | None, grows: float) -> tuple[float | None, float | None]:
    """Times of the array and of a transfer. The array's is with the transfer if that is None."""
    if nothing is None:
        return die, None
    total = host - nothing
    by_size = grows > _GROWS * total
    if die is None or die > total * (2 - _ALL):
        # Commands are slower than dies, or something else is.
        return (total - grows, grows) if by_size and grows < total else (total, None)
    rest = total - die
    if die >= _ALL * total:
        return total, None
    if by_size and abs(grows - die) < abs(grows - rest):
        return rest, die
    return die, rest


def _together(bench: Bench, places: "NDArray[np.uint64]", limit: float) -> tuple[int | None, float]:
    """Bytes around an address whose reads wait for its die, and the share of addresses that agree."""
    lengths: Counter[int] = Counter()
    for place in places.tolist():
        length = bench.small
        for step in (-bench.small, bench.small):
            near = place + step
            while abs(near - place) <= _LARGEST_PAGE and train(bench, place, near) > limit:
                near += step
                length += bench.small
        lengths[length] += 1
    length, count = lengths.most_common(1)[0]
    if length & (length - 1) or length > _LARGEST_PAGE:
        return None, 0.0
    return length, count / lengths.total()


def _by_size(bench: Bench, places: "NDArray[np.uint64]") -> "NDArray[np.float64]":
    """Latency of reads of 1, 2, 3... blocks from aligned addresses on."""
    starts = (places.astype(np.int64) // _LARGEST_PAGE * _LARGEST_PAGE).tolist()[:8]
    counts = range(1, _LARGEST_PAGE // bench.small // 2 + 2)
    return np.array([np.median([alone(bench, at, count * bench.small) for at in starts]) for count in counts])


def _first_step(sizes: "NDArray[np.float64]", die: float, small: int) -> int | None:
    """Bytes up to the first step of latency over size."""
    growth = np.diff(sizes)
    steps = np.flatnonzero(growth > float(np.median(growth)) + _STEP * die)
    first = int(steps[0] + 1) * small if len(steps) else None
    return None if first is None or first & (first - 1) else first


def _program(bench: Bench, high: float, whole: int, *, buffered: bool) -> float | None:
    """Time of a whole page to flash, without commands and the link, ns."""
    through = []
    # Addresses behind the fill hold no data. Overwrites would make pages invalid and lead to collections.
    first = -int(-high // _LARGEST_PAGE) * _LARGEST_PAGE
    for at in range(_WRITES):
        bench.rest(0.05)
        place = np.array([first + at * _LARGEST_PAGE], np.uint64)
        issue, written = bench.call(WRITE, place, whole, 1)
        _, flushed = bench.call(FLUSH, np.zeros(1, np.uint64), 0, 1)
        again, empty = bench.call(FLUSH, np.zeros(1, np.uint64), 0, 1)
        command = float(empty[0] - again[0])
        through.append(float(flushed[0] - written[0]) - command if buffered else float(written[0] - issue[0]) - command)
    taken = float(np.median(through))
    return taken if taken > 0 else None
