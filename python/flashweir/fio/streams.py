"""Jobs as the streams of a run: where their files lie on the drive, when they begin, and a generator or table of each.

A generator of flashweir stands for a job that it describes exactly; any other job is written as a table of requests.
In a closed loop times only give the order: jobs enter in proportion to their `iodepth`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flashweir._native import ConfigError
from flashweir.fio import requests
from flashweir.fio.job import Job, Reader
from flashweir.fio.jobfile import Option, Section
from flashweir.fio.options import known
from flashweir.fio.values import READ, TRIM, WRITE

_COLUMNS = "time=time:ns,op=op,lba=offset:bytes,size=length:bytes"
OP_NAMES = ("read", "write", "trim", "flush")
# Time from turn to turn of a job with one outstanding request, ns.
_TURN = 1 << 20
_GRAIN = 1 << 20
_SECTOR = 512
_ALL = 100


@dataclass(frozen=True)
class Placed:
    """A job with the start of its file on the drive, its turn among those that wait for one another, and its start."""

    job: Job
    base: int
    phase: int
    start_ns: int


@dataclass(frozen=True)
class Plan:
    """All jobs of a file. `timed` is True of an open loop; `depth` is the most that its jobs keep outstanding."""

    jobs: tuple[Placed, ...]
    timed: bool
    depth: int
    ignored: tuple[str, ...]
    notes: tuple[str, ...]


def plan(file: str, sections: Sequence[Section], capacity: int | None) -> Plan:
    """The jobs of a file on a drive of so many bytes; None if no drive is known.

    Raises:
        ConfigError: an option has no counterpart or a wrong value.
    """
    jobs: list[tuple[Job, int]] = []
    ignored: dict[str, None] = {}
    notes: dict[str, None] = {}
    phase, phases = 0, dict[str, int]()
    for section in sections:
        options, without = known(section)
        ignored |= dict.fromkeys(one.name for one in without)
        if "stonewall" in options and jobs:
            phase = max(phases.values()) + 1
        own = phase
        if waits := options.get("wait_for"):
            if waits.value not in phases:
                raise waits.refused("expected the name of a job before it")
            own = max(own, phases[waits.value] + 1)
        found = Reader(section, options, capacity).jobs()
        phases[section.name] = own
        jobs += [(job, own) for job in found]
        notes |= dict.fromkeys(_notes(section, options, found[0]))
    timed = _check_loop(file, [job for job, _ in jobs])
    placed = _placed(jobs, timed=timed)
    depths: dict[int, int] = {}
    for one in placed:
        depths[one.phase] = depths.get(one.phase, 0) + one.job.depth
    if len(depths) > 1:
        notes["stonewall: jobs follow in order; the last requests of one may be outstanding as the next begins"] = None
    return Plan(tuple(placed), timed, max(depths.values()), tuple(sorted(ignored)), tuple(notes))


def _notes(section: Section, options: dict[str, Option], job: Job) -> list[str]:
    """Differences of a job from fio."""
    found = []
    if job.runtime_ns and not job.timed:
        found.append(f"[{section.name}] runtime: a closed loop ends by its number of requests: {job.total:,} bytes"
                     f"{f', at most {job.limit:,} requests' if job.limit else ''} instead")  # fmt: skip
    if job.thinktime_ns and any(job.rates):
        found.append(f"[{section.name}] thinktime: arrivals are those of the rate")
    elif job.thinktime_ns:
        found.append(f"[{section.name}] thinktime: requests arrive every {job.thinktime_ns / 1000:g} us, however long"
                     " those before take")  # fmt: skip
    if "randrepeat" in options and options["randrepeat"].value == "0":
        found.append(f"[{section.name}] randrepeat=0: random numbers repeat here, too; --seed draws others")
    return found


def _check_loop(file: str, jobs: list[Job]) -> bool:
    """True of an open loop.

    Raises:
        ConfigError: some jobs have times and others none.
    """
    timed = [job for job in jobs if job.timed]
    if timed and len(timed) < len(jobs):
        closed = next(job for job in jobs if not job.timed)
        raise ConfigError(f"{file}: [{closed.name}] has no rate and [{timed[0].name}] has one: expected rate_iops, rate"
                          " or thinktime in all jobs (open loop) or in none (iodepth, closed loop)")  # fmt: skip
    late = next((job for job in jobs if job.delay_ns and not job.timed), None)
    if late is not None:
        raise ConfigError(f"{file}: [{late.name}] startdelay: expected rate_iops, rate or thinktime with it: a closed"
                          " loop has no times")  # fmt: skip
    return bool(timed)


def _placed(jobs: list[tuple[Job, int]], *, timed: bool) -> list[Placed]:
    bases: dict[str, int] = {}
    ends: dict[str, int] = {}
    for job, _ in jobs:
        ends[job.file] = max(ends.get(job.file, 0), job.offset + job.extent)
    base = 0
    for file, end in ends.items():
        bases[file] = base
        base += -(-end // _GRAIN) * _GRAIN
    found: list[Placed] = []
    starts: dict[int, int] = {}
    for phase in sorted({phase for _, phase in jobs}):
        before = starts.get(phase, 0)
        mine = [job for job, own in jobs if own == phase]
        starts[phase + 1] = max(before + job.delay_ns + _lasts(job, timed=timed) for job in mine)
        found += [Placed(job, bases[job.file], phase, before + job.delay_ns) for job in mine]
    return found


def _lasts(job: Job, *, timed: bool) -> int:
    """Time from the start of a job to the end of its arrivals, ns; in a closed loop of its turns."""
    count = requests.most(job) if _generator(job, 0) is None else _count(job)
    if not timed:
        return count * _turn(job)
    if job.time_based and job.runtime_ns:
        return job.runtime_ns
    if any(job.rates[op] for op in job.ops):
        lasts = int(count * 1e9 / sum(job.rates[op] for op in job.ops if job.rates[op]))
    else:
        lasts = -(-count // job.thinktime_blocks) * job.thinktime_ns
    return min(lasts, job.runtime_ns) if job.runtime_ns else lasts


def _turn(job: Job) -> int:
    return max(_TURN // job.depth, 1)


def _count(job: Job) -> int:
    """Requests of a job that a generator stands for."""
    mean = sum(size * share for size, share in job.sizes[job.ops[0]].split) or job.sizes[job.ops[0]].low
    count = -(-job.total // int(mean))
    if job.timed and job.runtime_ns:
        timed = int(requests.by_time(job))
        count = timed if job.time_based else min(count, timed)
    return max(count if job.limit is None else min(count, job.limit), 1)


def workloads(found: Plan, file: str, folder: Callable[[], Path], seed: int) -> list[dict[str, Any]]:
    """The streams as the native module takes them; those without a generator become files in a folder of their own.

    Args:
        found: the jobs.
        file: name of the job file, of which the names of the files are made.
        folder: makes a folder.
        seed: of what is drawn.
    """
    alone = len(found.jobs) == 1
    streams = []
    names: dict[str, int] = {}
    for placed in found.jobs:
        job = placed.job
        names[job.name] = names.get(job.name, 0) + 1
        name = job.name if names[job.name] == 1 else f"{job.name}-{names[job.name]}"
        stream: dict[str, Any] = {"name": None if alone else name}
        spec = _generator(job, placed.base)
        if spec is not None:
            stream["spec"] = spec if found.timed or alone else f"{spec},period={_turn(job)}ns"
            if placed.start_ns and not alone:
                stream["start"] = f"{placed.start_ns}ns"
        else:
            stream |= {"spec": str(folder() / _plain(f"{file}[{name}]")), "columns": columns([placed])}
            write([placed], Path(stream["spec"]), seed, turns=not found.timed)
        streams.append(stream)
    return streams


def columns(jobs: Sequence[Placed]) -> str:
    """The columns of a table that `write` makes of jobs."""
    return _COLUMNS + (",handle=handle" if any(placed.job.handles for placed in jobs) else "")


def _plain(name: str) -> str:
    """A name for a file."""
    return "".join("_" if sign == "/" or not sign.isprintable() else sign for sign in name)[:200]


def write(jobs: list[Placed], file: Path, seed: int, *, turns: bool, closed: bool = False) -> None:
    """Writes the requests of jobs in the order of their times as a table.

    Args:
        jobs: whose requests they are.
        file: where to write them.
        seed: of what is drawn.
        turns: gives the requests of a closed loop times by their order among the jobs.
        closed: takes these times away again.
    """
    import numpy as np
    import polars as pl

    tables = []
    for placed in jobs:
        made = requests.requests(placed.job, seed)
        times = np.arange(len(made.time)) * _turn(placed.job) if turns else made.time
        tables.append(pl.DataFrame({
            "time": times + placed.start_ns,
            "op": pl.Series(made.op).replace_strict(dict(enumerate(OP_NAMES)), return_dtype=pl.String),
            "offset": made.offset + np.where(made.length > 0, placed.base, 0),
            "length": made.length,
            "handle": requests.handles(placed.job, made.op, seed),
        }))  # fmt: skip
    table = pl.concat(tables).sort("time", maintain_order=True)
    if not any(placed.job.handles for placed in jobs):
        table = table.drop("handle")
    if closed:
        table = table.with_columns(time=pl.lit(0, pl.Int64))
    table.write_parquet(file, compression="zstd", statistics=False)


def _generator(job: Job, base: int) -> str | None:
    """The spec of the generator that makes the same requests; None where there is none."""
    sizes = {job.sizes[op] for op in job.ops}
    size = job.sizes[job.ops[0]]
    kind = _kind(job)
    mixed = job.ops == (READ, WRITE)
    steps = (job.offset + base, job.span, *(one for one, _ in size.split), size.low)
    if len(job.handles) > 1 and WRITE in job.ops:
        return None
    if kind is None or len(sizes) > 1 or any(step % _SECTOR for step in steps) or job.trim_write:
        return None
    if (size.low != size.high and not size.split) or job.flush_at_end or (job.flush_every and mixed):
        return None
    if mixed and (not job.random or (job.timed and any(job.rates))):
        return None
    words = {"span": f"{job.extent}B", "offset": f"{job.offset + base}B", "count": str(_count(job)),
             "seed": str(1 + job.seed + job.clone)}  # fmt: skip
    words["size"] = "|".join(f"{one}B:{float(share):.12g}" for one, share in size.split) or f"{size.low}B"
    words |= _shares(job)
    if kind == "zipf":
        words["theta"] = f"{job.distribution.value:g}"
    if kind != "sequential":
        words["align"] = f"{job.align[job.ops[0]]}B"
    if job.flush_every and WRITE in job.ops:
        words["flush_every"] = str(job.flush_every + 1)
        words["count"] = str(_count(job) + (_count(job) - 1) // job.flush_every)
    words |= _arrivals(job) | ({"stream": str(job.handles[0])} if any(job.handles) else {})
    return f"{kind}:" + ",".join(f"{key}={value}" for key, value in words.items())


def _kind(job: Job) -> str | None:
    """The generator with a job's addresses."""
    if job.hole or job.sequence > 1 or any(job.percentage_random[op] < _ALL for op in job.ops):
        return None
    if not job.random:
        return "sequential" if len(job.ops) == 1 and not job.sizes[job.ops[0]].split else None
    if job.random_map or any(job.align[op] % _SECTOR for op in job.ops) or len({job.align[op] for op in job.ops}) > 1:
        return None
    if job.distribution.kind == "zipf" and job.distribution.center is None:
        return "zipf"
    return "random" if job.distribution.kind == "random" else None


def _shares(job: Job) -> dict[str, str]:
    if job.ops == (READ, WRITE):
        return {"write": f"{float(1 - job.read_share):.12g}"}
    return {"write": "1" if job.ops == (WRITE,) else "0"} | ({"trim": "1"} if job.ops == (TRIM,) else {})


def _arrivals(job: Job) -> dict[str, str]:
    rate = max(job.rates[op] for op in job.ops)
    if rate:
        return {"rate": f"{rate:.9g}"} if job.poisson else {"period": f"{max(round(1e9 / rate), 1)}ns"}
    if job.thinktime_ns:
        burst = {"burst": str(job.thinktime_blocks)} if job.thinktime_blocks > 1 else {}
        return {"period": f"{job.thinktime_ns}ns"} | burst
    return {}
