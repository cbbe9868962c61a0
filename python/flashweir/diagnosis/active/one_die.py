"""Reads that show one die: the time that a read holds it, and if a mapping unit is one of its pages."""

import numpy as np

from flashweir.diagnosis.active.session import READ, Bench

# Reads made together; the first ones show the way to the flash, the rest the time of a die.
_TRAIN, _FIRST = 8, 4
# A die is slower than the commands by at least this factor, or it does not show.
_APART = 1.25
# Two blocks lie on one die if their reads take this share of the time of reads of one block, or more: on two dies half.
_TOGETHER = 0.75
# A block more of a unit takes another read of the array if it takes this share of one.
_ANOTHER = 0.5
_UNITS = 16
# A block more of a unit needs another page if it takes this share of a first one: a page is read at once, and only its
# transfer takes longer. Reads of shorter units are compared: more of them, and their fastest quarter, without jitter.
_NEXT_PAGE, _MORE_UNITS, _QUICK = 0.8, 48, 0.25
# A read of flash takes at least this share of its latency, or reads do not show pages.
_SHOWS = 0.3


def alone(bench: Bench, at: int, length: int = 0) -> float:
    """Latency of an idle read whose map entry was just used, ns; of one block without a length."""
    taken = 0.0
    for _ in range(2):
        issue, complete = bench.call(READ, np.array([at], np.uint64), length or bench.small, 1)
        taken = float(complete[0] - issue[0])
    return taken


def train(bench: Bench, at: int, other: int) -> float:
    """Time from one read to the next, ns, of several that are made together at two addresses in turn."""
    _, complete = bench.call(READ, np.array([at, other] * (_TRAIN // 2), np.uint64), bench.small, _TRAIN)
    ends = np.sort(complete)
    return float(ends[-1] - ends[_FIRST - 1]) / (_TRAIN - _FIRST)


def several_pages(bench: Bench, unit: int, high: float) -> bool:
    """If a mapping unit has several pages, by reads of the first `high` bytes, which are on flash, and of nothing.

    The last addresses of the drive are discarded: what their reads take is not flash's. A page takes one read of the
    array, and each block of it a transfer; a unit of several pages takes a read for each.
    """
    units = bench.random.integers(0, int(high) // unit, _MORE_UNITS).astype(np.int64) * unit
    lengths = [count * bench.small for count in range(1, unit // bench.small + 1)]
    flash = [
        _quick([alone(bench, at, length) for at in units])
        - _quick([alone(bench, bench.size - unit, length) for _ in units])
        for length in lengths
    ]
    if flash[0] < _SHOWS * _quick([alone(bench, at) for at in units]):
        return False
    return float(np.diff(flash).max()) > _NEXT_PAGE * flash[0]


def _quick(times: list[float]) -> float:
    return float(np.quantile(times, _QUICK))


def is_page(bench: Bench, unit: int, high: float, *, discards: bool) -> bool:
    """If mapping units of so many bytes are pages, by reads of the first `high` bytes, which are on flash.

    All blocks of a page lie on one die, and one read of the array has all of them. A coarse unit lies on several dies,
    or takes a read for each of its pages. False where commands are as slow as dies, so that reads do not show it.

    `discards`: reads of discarded addresses, as the last ones are, need no flash.
    """
    units = bench.random.integers(int(high) // unit // 8, int(high) // unit * 3 // 4, _UNITS).astype(np.int64) * unit
    last = unit - bench.small
    hold = float(np.median([train(bench, at, at) for at in units]))
    if discards:
        empty = bench.size - bench.small
        command = float(np.median([train(bench, empty, empty) for _ in units]))
        if hold < _APART * command:
            return False
    if float(np.median([train(bench, at, at + last) for at in units])) < _TOGETHER * hold:
        return False
    counts = range(1, unit // bench.small + 1)
    times = [float(np.median([alone(bench, at, count * bench.small) for at in units])) for count in counts]
    return float(np.diff(times).max()) < _ANOTHER * hold
