"""Replays of workloads to real and simulated drives."""

import json
import os
from typing import Any, Literal

from flashweir import _native
from flashweir._native import FlashweirError
from flashweir.api import Progress, as_json, as_native_progress
from flashweir.arguments import check, in_python
from flashweir.fio.resolving import file_of, in_words, jobs_as_trace
from flashweir.importing import device
from flashweir.result import Section
from flashweir.targets import Target, given
from flashweir.tenants import AnyPath

_PROBE = "random:span=4KiB,size=512B,count=1,write=0,rate=1"


@in_python
def replay(
    trace: AnyPath,
    target: AnyPath | Target,
    *,
    timing: Literal["original", "asap", "closed"] | None = None,
    scale: float = 1.0,
    depth: int | None = None,
    engine: Literal["io_uring", "sync"] = "io_uring",
    buffered: bool = False,
    only: str | None = None,
    limit: int | None = None,
    wrap: bool = False,
    seed: int = 1,
    erase: AnyPath | None = None,
    size: int | str | None = None,
    precondition: Literal["none", "snia", "random"] = "none",
    until_steady: bool = False,
    log: AnyPath | None = None,
    dry_run: bool = False,
    format: str | None = None,
    columns: str | None = None,
    skip_bad: int = 0,
    progress: Progress | None = None,
) -> Section:
    """Replays a workload to a block device, a file or a simulated drive, with every request timed.

    Due times are absolute: a request that is late does not make the next one late. Ctrl-C stops a replay, and the log
    has what was done.

    Args:
        trace: a trace file, a generator spec such as `"random:rate=1000,count=10000"`, or `"fio:FILE"`, a job file of
            fio (docs/reference/fio.md).
        target: a block device, a file, `"sim:PRESET[,KEY=VALUE...]"`, `"py:FILE.py:CLASS[,key=value...]"`, or an
            object of such a class (docs/guide/drive-in-python.md).
        timing: `"original"`, at the trace's times; `"asap"`, as fast as the target takes requests; `"closed"`, with
            `depth` of them outstanding. Without it the original times, or `"closed"` for a job file without rates, with
            its `iodepth`.
        scale: factor on the trace's times: 0.5 is twice as fast.
        depth: maximum number of outstanding requests: 256 at original times (on simulated drives any number), 64 with
            `"asap"`, 1 with `"closed"`.
        engine: I/O interface for real drives: `"io_uring"`, or `"sync"`, one system call after the other.
        buffered: uses the page cache, for file systems that can't do without it.
        only: only these operations, such as `"read,write"`.
        limit: only so many requests.
        wrap: folds addresses beyond the target into it, instead of refusing them.
        seed: of the written data, of preconditioning, and of a simulated drive.
        erase: the name of the target once more: it may be written though it holds data, unless it is in use.
        size: of a file that is made, bytes or text such as `"1GiB"`.
        precondition: writes before the replay: `"snia"`, twice the capacity in order; `"random"`, all of it once in
            random order.
        until_steady: repeats it in rounds until the rate is steady, 25 at most.
        log: Parquet file with a row for every request.
        dry_run: returns the plan, and does nothing.
        format: the trace format, where detection is wrong.
        columns: describes any other table, as in `trace_info`.
        skip_bad: maximum number of unreadable lines.
        progress: that of `simulate`, with the phases "trace", "precondition" (`done` in bytes) and "run".

    Returns:
        Counts, rates, latencies and lateness; docs/reference/result.md, "Replays", has the fields.

    Raises:
        ConfigError: a setting that makes no replay.
        TraceError: the trace can't be read.
        DeviceError: the target can't be used, or may not be written.
        FlashweirError: the target failed, or `progress` stopped it; the log has what was done.
        KeyboardInterrupt: Ctrl-C; its message says what was done and where it is.
    """
    check({"trace": trace, "erase": erase, "log": log, "seed": seed, "depth": depth, "limit": limit})
    spec: dict[str, Any] = {
        "trace": os.fspath(trace),
        "timing": timing or "original",
        "scale": scale,
        "depth": depth,
        "engine": engine,
        "buffered": buffered,
        "only": only,
        "limit": limit,
        "wrap": wrap,
        "seed": seed,
        "erase": erase and os.fspath(erase),
        "size": size,
        "precondition": precondition,
        "until_steady": until_steady,
        "log": log and os.fspath(log),
        "dry_run": dry_run,
        "format": format,
        "columns": columns,
        "skip_bad": skip_bad,
    }
    check({name: value for name, value in spec.items() if name not in ("size", "scale")})
    with given(target) as name:
        if (jobs := file_of(spec["trace"])) is not None:
            spec |= _of_jobs(jobs, {**spec, "timing": timing}, name)
        spec["target"] = asked = device.target(name)
        if spec["erase"] == name:
            spec["erase"] = asked
        with device.named(name, asked):
            text = in_words(_native.replay(as_json(spec), as_native_progress(progress)))
    return Section(json.loads(device.original(text, name, asked)))


def _of_jobs(file: str, spec: dict[str, Any], target: str) -> dict[str, Any]:
    """Trace, timing and depth of a job file of fio: one table of its requests."""
    size = _native.quantity(str(spec["size"])) if spec["size"] is not None else None
    capacity = int(size[0]) if size is not None else _size_of(target)
    path, reading, plan = jobs_as_trace(file, {"format": spec["format"], "columns": spec["columns"]}, capacity, 0)
    if not plan.timed:
        closed = spec["timing"] in (None, "closed")
        reading |= {"timing": spec["timing"] or "closed", "depth": spec["depth"] or (plan.depth if closed else None)}
    return {**reading, "trace": path}


def _size_of(target: str) -> int | None:
    """Bytes of a target; None if it can't be said before the replay."""
    probe = {"trace": _PROBE, "target": device.target(target), "dry_run": True}
    try:
        return int(json.loads(_native.replay(as_json(probe)))["target"]["size_bytes"])
    except (FlashweirError, KeyError, TypeError):
        return None


@in_python
def recover_log(log: AnyPath) -> Section:
    """Makes a log of what a killed replay left: `log`, or `log` with `.part` behind it.

    Returns:
        `log`, its name, and `requests`, how many it has.

    Raises:
        ConfigError: there is nothing to recover.
        TraceError: what is there is no journal of a log.
    """
    return Section(json.loads(_native.replay_recover(os.fspath(log))))
