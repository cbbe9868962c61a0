"""The requests of a job, as fio makes them: columns of operations, offsets in bytes, lengths and times."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from flashweir._native import ConfigError
from flashweir.fio.blocks import drawn
from flashweir.fio.job import Job
from flashweir.fio.values import FLUSH, READ, TRIM, WRITE
from flashweir.fio.walk import walked

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# Requests that are held in memory at a time.
MAX_REQUESTS = 1 << 25
_NS = 10**9


@dataclass
class Columns:
    """Requests: times in ns (0 in a closed loop), operations, offsets in the job's file and lengths in bytes."""

    time: "NDArray[np.int64]"
    op: "NDArray[np.uint8]"
    offset: "NDArray[np.int64]"
    length: "NDArray[np.int64]"


def requests(job: Job, seed: int) -> Columns:
    """All requests of a job, flushes included.

    Raises:
        ConfigError: they are too many to be held.
    """
    import numpy as np

    rng = np.random.default_rng([seed, job.seed, job.clone, *job.name.encode()])
    count = most(job)
    ops, times = _schedule(job, count, rng)
    if _is_simple(job):
        size = job.sizes[job.ops[0]].low
        columns = Columns(times, ops, _offsets(job, ops, rng), np.full(len(ops), size, np.int64))
    else:
        kept, offsets, lengths = walked(job, ops, rng)
        columns = Columns(times[:kept], ops[:kept], offsets, lengths)
    columns.offset += job.offset
    return _with_flushes(job, columns)


def handles(job: Job, op: "NDArray[np.uint8]", seed: int) -> "NDArray[np.uint8]":
    """Placement handles of a job's requests: writes have one, as fio's `fdp_fill_dspec_data` chooses it; others 0."""
    import numpy as np

    found = np.zeros(len(op), np.uint8)
    writes = np.flatnonzero(op == WRITE)
    if job.handles:
        # A generator of its own: what else is drawn stays as it is without handles.
        rng = np.random.default_rng([seed, job.seed, job.clone, *job.name.encode(), len(job.handles)])
        some = len(job.handles)
        turn = np.arange(len(writes)) % some if job.handles_in_turn else rng.integers(some, size=len(writes))
        found[writes] = np.array(job.handles, np.uint8)[turn]
    return found


def most(job: Job) -> int:
    """The largest number of reads, writes and discards that a job can make: exact with one size."""
    smallest = min(job.sizes[op].low for op in job.ops)
    by_bytes = -(-job.total // smallest)
    count = int(by_time(job)) + 1 if job.timed and job.time_based and job.runtime_ns else by_bytes
    count = count if job.limit is None else min(count, job.limit)
    if count > MAX_REQUESTS:
        raise ConfigError(
            f"job {job.name}: {count:,} requests; expected at most {MAX_REQUESTS:,}: set number_ios or io_size, "
            "or norandommap=1, which needs no memory"
        )
    return max(count, 1)


def by_time(job: Job) -> float:
    """Requests that arrive in `runtime`."""
    seconds = job.runtime_ns / _NS
    if any(job.rates[op] for op in job.ops):
        return seconds * sum(job.rates[op] for op in _directions(job))
    return (job.runtime_ns // job.thinktime_ns + 1) * job.thinktime_blocks


def _directions(job: Job) -> tuple[int, ...]:
    """Operations with a share of the requests."""
    if job.ops == (READ, WRITE):
        return (READ,) * (job.read_share > 0) + (WRITE,) * (job.read_share < 1)
    return job.ops


def _schedule(job: Job, count: int, rng: "np.random.Generator") -> "tuple[NDArray[np.uint8], NDArray[np.int64]]":
    """Operations and times; with rates each operation keeps its own, as in fio."""
    import numpy as np

    directions = _directions(job)
    rated = any(job.rates[op] for op in job.ops)
    if rated and len(directions) > 1 and not job.trim_write:
        whole = [_arrivals(job.rates[op], count, rng, poisson=job.poisson) for op in directions]
        times = np.concatenate(whole)
        ops = np.repeat(np.array(directions, np.uint8), [len(one) for one in whole])
        order = np.argsort(times, kind="stable")[:count]
        times, ops = times[order], ops[order]
    else:
        if job.trim_write:
            ops = np.where(np.arange(count) % 2 == 0, TRIM, WRITE).astype(np.uint8)
        elif len(directions) > 1:
            ops = np.where(rng.random(count) < float(job.read_share), READ, WRITE).astype(np.uint8)
        else:
            ops = np.full(count, directions[0], np.uint8)
        if rated:
            rate = min(job.rates[op] for op in job.ops)
            times = _arrivals(rate, count, rng, poisson=job.poisson)
        else:
            times = np.arange(count, dtype=np.int64) // job.thinktime_blocks * job.thinktime_ns
    if job.timed and job.runtime_ns:
        inside = times < job.runtime_ns
        times, ops = times[inside], ops[inside]
    return ops, times


def _arrivals(rate: float, count: int, rng: "np.random.Generator", *, poisson: bool) -> "NDArray[np.int64]":
    import numpy as np

    if poisson:
        return np.cumsum(rng.exponential(_NS / rate, count)).astype(np.int64)
    regular: NDArray[np.int64] = np.floor(np.arange(count) * (_NS / rate)).astype(np.int64)
    return regular


def _is_simple(job: Job) -> bool:
    """True if all requests have one size and addresses don't depend on those before them."""
    sizes = {job.sizes[op] for op in job.ops}
    one = len(sizes) == 1 and len({size.low for size in sizes} | {size.high for size in sizes}) == 1
    aligned = len({job.align[op] for op in job.ops}) == 1
    plain = job.sequence == 1 and all(job.percentage_random[op] == 100 for op in job.ops)  # noqa: PLR2004 - percent
    return one and aligned and plain and not job.hole and (not job.random_map or job.total <= job.span * 64)


def _offsets(job: Job, ops: "NDArray[np.uint8]", rng: "np.random.Generator") -> "NDArray[np.int64]":
    """Offsets of requests of one size."""
    import numpy as np

    size, align = job.sizes[job.ops[0]].low, job.align[job.ops[0]]
    count = len(ops)
    # The write after a trim has its address.
    drawn_count = -(-count // 2) if job.trim_write else count
    if job.random:
        blocks = max((job.span - max(size - align, 0)) // align, 1)
        found = (_mapped(blocks, drawn_count, rng) if job.random_map
                 else drawn(job.distribution, drawn_count, blocks, align, rng)) * align  # fmt: skip
    elif job.trim_write:
        found = np.arange(drawn_count, dtype=np.int64) % job.steps * size
    else:
        found = np.empty(count, np.int64)
        for op in set(job.ops):
            mine = ops == op
            found[mine] = np.arange(int(mine.sum())) % job.steps * size
    return np.repeat(found, 2)[:count] if job.trim_write else found


def _mapped(blocks: int, count: int, rng: "np.random.Generator") -> "NDArray[np.int64]":
    """Every block once in random order, as fio's map of random blocks has it; then all of them again."""
    import numpy as np

    passes = []
    while count > 0:
        some = min(count, blocks)
        passes.append(rng.choice(blocks, size=some, replace=False) if some < blocks else rng.permutation(blocks))
        count -= some
    return np.concatenate(passes).astype(np.int64) if passes else np.empty(0, np.int64)


def _with_flushes(job: Job, columns: Columns) -> Columns:
    """A flush after every so many writes and, if asked for, at the end."""
    import numpy as np

    count = len(columns.op)
    where = np.empty(0, np.int64)
    if job.flush_every and WRITE in job.ops:
        writes = np.cumsum(columns.op == WRITE)
        due = (columns.op == WRITE) & (writes % job.flush_every == 0)
        where = np.flatnonzero(due) + 1
        where = where[where < count]
    if job.flush_at_end and WRITE in job.ops and count:
        where = np.append(where, count)
    if not len(where):
        return columns
    before = np.minimum(where, count - 1)
    return Columns(
        np.insert(columns.time, where, columns.time[before]),
        np.insert(columns.op, where, FLUSH),
        np.insert(columns.offset, where, 0),
        np.insert(columns.length, where, 0),
    )
