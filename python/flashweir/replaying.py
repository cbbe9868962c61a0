"""Replays of workloads to real and simulated drives."""

import json
import os
from typing import Any

from flashweir import _native
from flashweir._native import FlashweirError
from flashweir.api import Progress, as_json, as_native_progress
from flashweir.arguments import check_file, check_path, in_python
from flashweir.fio.resolving import file_of, in_words, jobs_as_trace
from flashweir.healthlogs.around import Health
from flashweir.importing import device
from flashweir.options import reading
from flashweir.options import target as option
from flashweir.options.option import as_spec, checked, declared
from flashweir.results.section import Section
from flashweir.settings import ANY_REQUEST
from flashweir.targets import Target, given
from flashweir.tenants import AnyPath

# A read, so that the target needs no permission.
_PROBE = f"{ANY_REQUEST},write=0,rate=1"


@declared
@in_python
def replay(
    trace: AnyPath,
    target: AnyPath | Target,
    *,
    timing: option.ReplayTiming = None,
    scale: option.Scale = 1.0,
    depth: option.Depth = None,
    engine: option.ReplayEngine = "io_uring",
    buffered: option.Buffered = False,
    only: option.Only = None,
    limit: option.Limit = None,
    wrap: option.Wrap = False,
    seed: option.Seed = 1,
    erase: option.Erase = None,
    size: option.Size = None,
    precondition: option.Precondition = "none",
    until_steady: option.UntilSteady = False,
    log: option.Log = None,
    dry_run: option.DryRun = False,
    format: reading.Format = None,
    columns: reading.Columns = None,
    skip_bad: reading.SkipBad = 0,
    hint: reading.Hint = None,
    health_before: option.HealthBefore = None,
    health_after: option.HealthAfter = None,
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
        progress: that of `simulate`, with the phases "trace", "precondition" (`done` in bytes) and "run".

    Returns:
        Counts, rates, latencies and lateness; docs/reference/result.md, "Replays", has the fields. `health`,
        unless it is a dry run: changes in the health logs (docs/reference/health.md), None without them.

    Raises:
        ConfigError: a setting that makes no replay.
        TraceError: the trace can't be read.
        DeviceError: the target can't be used, or may not be written.
        FlashweirError: the target failed, or `progress` stopped it; the log has what was done.
        KeyboardInterrupt: Ctrl-C; its message says what was done and where it is.
    """
    options = checked(replay, locals())
    check_path("trace", trace)
    check_path("erase", erase)
    named = {"trace": os.fspath(trace), "erase": erase and os.fspath(erase), "log": log and os.fspath(log)}
    spec: dict[str, Any] = {**as_spec(replay, options), "timing": timing or "original", **named}
    watch = Health(target, health_before, health_after)
    with given(target) as name:
        if (jobs := file_of(spec["trace"])) is not None:
            spec |= _of_jobs(jobs, {**spec, "timing": timing}, name)
        spec["target"] = asked = device.target(name)
        if spec["erase"] == name:
            spec["erase"] = asked
        with device.named(name, asked):
            text = in_words(_native.replay(as_json(spec), as_native_progress(progress)))
    done = json.loads(device.original(text, name, asked))
    return Section(done if dry_run else done | {"health": watch.end()})


def _of_jobs(file: str, spec: dict[str, Any], target: str) -> dict[str, Any]:
    """Trace, timing and depth of a job file of fio: one table of its requests."""
    size = _native.quantity(str(spec["size"])) if spec["size"] is not None else None
    capacity = int(size[0]) if size is not None else _size_of(target)
    path, read, plan = jobs_as_trace(file, {"format": spec["format"], "columns": spec["columns"]}, capacity, 0)
    if not plan.timed:
        closed = spec["timing"] in (None, "closed")
        read |= {"timing": spec["timing"] or "closed", "depth": spec["depth"] or (plan.depth if closed else None)}
    return {**read, "trace": path}


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
    check_file("log", log)
    return Section(json.loads(_native.replay_recover(os.fspath(log))))
