"""Requests of jobs whose addresses depend on those before: several sizes, sequences, holes, shares of random ones.

The rules are those of fio's io_u.c: `get_next_block`, `get_next_buflen` and `mark_random_map`.
"""

import functools
import itertools
from typing import TYPE_CHECKING

from flashweir.fio.blocks import drawn
from flashweir.fio.job import Job, Sizes
from flashweir.fio.values import TRIM, WRITE

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_CHUNK = 1 << 14
_ALL = 100


class _Draws:
    """Random numbers, drawn many at a time."""

    def __init__(self, job: Job, rng: "np.random.Generator") -> None:
        self._job = job
        self._rng = rng
        self._uniform: list[float] = []
        self._blocks: dict[int, list[int]] = {}

    def uniform(self) -> float:
        """A number from 0 to 1."""
        if not self._uniform:
            self._uniform = self._rng.random(_CHUNK).tolist()
        return self._uniform.pop()

    def offset(self, op: int) -> int:
        """A random offset, of the operation's alignment."""
        align = self._job.align[op]
        left = self._blocks.get(align)
        if not left:
            blocks = max((self._job.span - max(self._job.sizes[op].low - align, 0)) // align, 1)
            left = drawn(self._job.distribution, _CHUNK, blocks, align, self._rng).tolist()
            self._blocks[align] = left
        return left.pop() * align


class _Map:
    """The blocks that were hit in this pass over the range."""

    def __init__(self, job: Job) -> None:
        self.unit = min(job.sizes[op].low for op in job.ops)
        self._blocks = max(job.span // self.unit, 1)
        self._hit = bytearray(self._blocks)

    def free(self, offset: int) -> int:
        """The offset, or that of the next block that is free; all are after the last one."""
        block = min(offset // self.unit, self._blocks - 1)
        found = self._hit.find(0, block)
        found = self._hit.find(0) if found < 0 else found
        if found < 0:
            self._hit = bytearray(self._blocks)
            return offset
        return offset if found == block else found * self.unit

    def take(self, offset: int, length: int) -> int:
        """Marks a request, which ends before the next block that was hit; returns its length."""
        block = offset // self.unit
        count = -(-length // self.unit)
        busy = self._hit.find(1, block, block + count)
        count = count if busy < 0 else max(busy - block, 1)
        count = max(min(count, self._blocks - block), 1)
        self._hit[block : block + count] = b"\1" * min(count, self._blocks - block)
        return min(length, count * self.unit)


def walked(
    job: Job, ops: "NDArray[np.uint8]", rng: "np.random.Generator"
) -> "tuple[int, NDArray[np.int64], NDArray[np.int64]]":
    """Offsets and lengths of as many requests as the job's bytes have room for; the number of them comes first."""
    import numpy as np

    draws, hits = _Draws(job, rng), _Map(job) if job.random_map else None
    position, last = [0, 0, 0], [0, 0, 0]
    offsets: list[int] = []
    lengths: list[int] = []
    left, countdown = job.total, 1
    for op in ops.tolist():
        if left <= 0 and not (job.timed and job.time_based):
            break
        repeats = job.trim_write and op == WRITE
        is_random = job.random and not repeats
        if is_random:
            countdown -= 1
            is_random = countdown == 0
            countdown = countdown or job.sequence
            share = job.percentage_random[op]
            is_random = is_random and (share == _ALL or draws.uniform() * _ALL < share)
        if repeats:
            offset, length = offsets[-1], lengths[-1]
        else:
            offset = _next(job, op, position, last, draws, hits, is_random=is_random)
            length = _length(job.sizes[op], job.span - offset, draws)
            if is_random and hits is not None:
                length = hits.take(offset, length)
        position[op], last[op] = offset + length, offset
        if job.trim_write and not job.random:
            position[TRIM] = position[op]
        offsets.append(offset)
        lengths.append(length)
        left -= length
    return len(offsets), np.array(offsets, np.int64), np.array(lengths, np.int64)


def _next(
    job: Job, op: int, position: list[int], last: list[int], draws: _Draws, hits: _Map | None, *, is_random: bool
) -> int:
    """The next offset. What goes on from the request before begins anew at the end of the range."""
    if is_random:
        offset = draws.offset(op)
        return offset if hits is None else hits.free(offset)
    if job.random and job.identical:
        return last[op]
    offset = position[op] + (job.hole if position[op] else 0)
    if offset >= job.span or (job.to_the_end and offset + job.sizes[op].low > job.span):
        return draws.offset(op) if job.random else 0
    return offset


def _length(sizes: Sizes, room: int, draws: _Draws) -> int:
    """A length that fits, as fio draws them."""
    if sizes.low == sizes.high or room <= sizes.low:
        return sizes.low
    while True:
        share = draws.uniform()
        if sizes.split:
            length = next((size for size, end in _ends(sizes) if share <= end and size <= room), sizes.low)
        else:
            length = int(sizes.low + sizes.high * share)
            if not sizes.unaligned:
                length -= length % sizes.low
            length = min(length, sizes.high)
        if length <= room:
            return length


@functools.cache
def _ends(sizes: Sizes) -> tuple[tuple[int, float], ...]:
    """Sizes with the ends of their shares on the line from 0 to 1."""
    ends = itertools.accumulate(share for _, share in sizes.split)
    return tuple((size, float(end)) for (size, _), end in zip(sizes.split, ends, strict=True))
