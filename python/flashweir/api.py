"""The functions of the package: each makes one call to the native module and wraps what comes back."""

import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from flashweir import _native
from flashweir._native import ConfigError
from flashweir.allocators import Allocator, as_native
from flashweir.arguments import check, in_python, is_utf8, place
from flashweir.external import given, split
from flashweir.fio.resolving import as_trace, in_words, resolve
from flashweir.importing.device import imported
from flashweir.result import RequestLog, Result, Section
from flashweir.settings import chosen
from flashweir.tenants import AnyPath, Tenant, tenant

Workload = AnyPath | Mapping[str, Tenant] | Sequence[AnyPath]
Progress = Callable[[dict[str, Any]], bool | None]
# The file of a drive that was given as a mapping.
_DEVICE = "device.json"


@in_python
def simulate(
    workload: Workload,
    device: AnyPath | Mapping[str, Any] | None = None,
    *,
    seed: int | None = None,
    verify: bool = False,
    latency_parts: bool = False,
    requests: bool | AnyPath = False,
    timeline: AnyPath | None = None,
    timeline_from: str | None = None,
    timeline_to: str | None = None,
    explain: str | None = None,
    activity: bool | str = False,
    power_cut: int | str | Sequence[str] | None = None,
    format: str | None = None,
    columns: str | None = None,
    skip_bad: int = 0,
    wrap: bool = False,
    warmup: str | None = None,
    allocator: Allocator | str | None = None,
    model: AnyPath | None = None,
    windows: bool = False,
    alone: bool = False,
    progress: Progress | None = None,
    set: Mapping[str, object] | None = None,
    **overrides: object,
) -> Result:
    """Runs a workload through a simulated drive.

    The GIL is released while the drive runs; Ctrl-C stops it.

    Args:
        workload: a trace file, a generator spec such as `"random:span=1GiB,count=100000"`, or `"mix:FILE"`; a mapping
            of names to traces and generators makes streams, and so does a sequence; `"fio:FILE"` is a job file of
            fio, with `host.mode` and `host.queue_depth` (docs/reference/fio.md). One may be a mapping too, with its
            `workload` and options: `{"web": {"workload": "a.csv", "time_scale": "1/100"}, "db": "random:rate=100"}`
            (docs/reference/mix.md).
        device: a preset's name, the path of a TOML or JSON file, or a configuration as a mapping (such as
            `Result.config`). `None` is the default drive.
        seed: replaces every seed that the workload and the drive draw from.
        verify: checks that every read returns the last write.
        latency_parts: keeps account of where latencies go, for `Result.latency_parts`: queue, buffer, mapping, waits by
            cause, bus, flash. Without events a run takes a tenth to a third longer then.
        requests: True keeps a log of every request for `Result.requests`; a path writes it there as Parquet.
        timeline: where to write a Perfetto trace of what every die and bus did.
        timeline_from: leaves out of it what was before this time of the run, such as `"1.5s"`.
        timeline_to: leaves out of it what comes after this time.
        explain: a percentile such as `"p99.9"`: adds `explain` to the result, for each operation what its slowest
            requests waited for, which commands and whose, with examples (docs/reference/result.md). Implies
            `latency_parts`.
        activity: True adds `activity` to the result: what each channel did over time. A window of simulated time such
            as `"10ms..20ms"`, of which either end may be left out, looks closer at that.
        power_cut: adds `power_cuts` to the result: what would be lost if power failed at these times of the run, as
            `"1.5s"` or several of them, or at so many times drawn uniformly over it with `seed` (see
            docs/concepts/power-loss.md). The run itself goes on as it would without.
        format: the trace format, where detection is wrong.
        columns: describes any other table, as `"time=3:us,op=1,lba=4:bytes,size=5:bytes"`.
        skip_bad: maximum number of unreadable lines.
        wrap: folds addresses beyond the drive into it, instead of refusing them.
        warmup: method that finds the warm-up, which the result leaves out: `"mser-5"`, `"steady"` or `"requests=N"`
            (see docs/concepts/warm-up.md). The result then has `warmup`, the removed part, and `series`.
        allocator: assigns channels to tenants, for `tenants.channels=external`, which it implies: a function that is
            called once a window with its features and returns channels by tenant, or `"FILE.py:FUNCTION"` (see
            docs/guide/allocators.md).
        model: the model of `tenants.channels=learned`, made by `flashweir train-allocator`; `None` is the shipped one.
        windows: adds to `allocation` the features of each window of requests, and the channels of its tenants.
        alone: runs each of several streams alone, too, on the same preconditioned drive, and adds to the result
            its latency there (`alone_latency_us`), its `slowdown` among the others, and their `fairness`.
        progress: is called up to ten times a second with `phase` ("precondition", "run", or "alone", then with the
            name of the `tenant`), `done`, `total` (None for traces), `fraction` (how much of the phase is done; None
            for pipes) and `elapsed_s`. Returning False stops the run.
        set: keys of the drive by their dotted names: `{"gc.victim": "fifo", "page": "16KiB"}`. Sizes and times may
            be text, and a policy a function: `{"gc.victim": pick}` (docs/guide/python-policies.md).
        overrides: the same as keyword arguments: `channels=4`, `gc={"victim": "fifo"}`, `gc__victim="fifo"`.

    Returns:
        The result; its fields are those of `flashweir simulate --json`.

    Raises:
        ConfigError: a key, value or combination that makes no drive; a `warmup` that is no method or leaves nothing; a
            `power_cut` that is no time, lies beyond the end of the run, or that the drive can't be held against.
        TraceError: the workload can't be read or does not fit the drive.
        FlashweirError: the run failed, or `progress` stopped it.
        KeyboardInterrupt: Ctrl-C; its message says what was done.
    """
    check({"seed": seed, "verify": verify, "latency_parts": latency_parts, "requests": requests, "timeline": timeline,
           "timeline_from": timeline_from, "timeline_to": timeline_to, "explain": explain, "format": format,
           "columns": columns, "skip_bad": skip_bad, "wrap": wrap, "warmup": warmup, "model": model,
           "windows": windows, "alone": alone, "device": device})  # fmt: skip
    if not (allocator is None or isinstance(allocator, str) or callable(allocator)):
        raise ConfigError(f"allocator: {allocator!r}: expected a function, or FILE.py:FUNCTION")
    workloads = _workloads(workload)
    settings, functions = split(chosen(set, overrides))
    scratch = Path(tempfile.mkdtemp(prefix="flashweir-"))
    log: Path | None = None
    if requests:
        log = scratch / "requests.parquet" if requests is True else Path(requests)
    if allocator is not None:
        settings.setdefault("tenants.channels", "external")
    try:
        name = device_name(device, scratch)
        jobs = resolve(workloads, name, settings, seed)
        spec = {
            "workloads": jobs.workloads,
            "device": name,
            "overrides": {**jobs.settings, **settings},
            "seed": seed,
            "verify": verify,
            "latency_parts": latency_parts,
            "windows": windows,
            "model": model and place(model),
            "requests": log and place(log),
            "timeline": timeline and place(timeline),
            "timeline_from": timeline_from,
            "timeline_to": timeline_to,
            "explain": explain,
            "activity": activity,
            "power_cut": power_cut,
            "format": format,
            "columns": columns,
            "skip_bad": skip_bad,
            "wrap": wrap,
            "warmup": warmup,
            "alone": alone,
        }
        native = None if allocator is None else as_native(allocator)
        with given(functions):
            text = in_words(_native.simulate(as_json(spec), as_native_progress(progress), None, native))
    except ConfigError as error:
        shutil.rmtree(scratch)
        name_device(error, scratch)
        raise
    except BaseException:
        shutil.rmtree(scratch)
        raise
    if log is None or log.parent != scratch:
        shutil.rmtree(scratch)
        return Result(text, None if log is None else RequestLog(log.absolute()))
    return Result(text, RequestLog(log, scratch))


def presets() -> list[Section]:
    """The drives that have a name: hardware and thresholds, each with its source."""
    return [Section(preset) for preset in json.loads(_native.presets())]


def schema() -> dict[str, Any]:
    """Every key of a drive as JSON Schema, with defaults and units."""
    found: dict[str, Any] = json.loads(_native.schema())
    return found


def refusals() -> list[Section]:
    """Combinations of keys that make no drive, each with its reason."""
    return [Section(refusal) for refusal in json.loads(_native.refusals())]


def renamed() -> list[Section]:
    """Names of keys, values, presets and result fields that have changed: `kind`, `old` and `new` of each."""
    return [Section(name) for name in json.loads(_native.renamed())]


@in_python
def trace_info(
    path: AnyPath,
    *,
    format: str | None = None,
    columns: str | None = None,
    skip_bad: int = 0,
    progress: Progress | None = None,
) -> Section:
    """Reads a whole trace and says what it holds: format and what was assumed, counts, sizes, span, duration.

    Of `mix:FILE` it says how many requests each tenant and all together have, and when (docs/reference/mix.md).

    `progress` is that of `simulate`, with the phase "trace". Ctrl-C stops the reading.

    Raises:
        TraceError: the trace can't be read.
        FlashweirError: `progress` stopped it.
    """
    options = {"format": format, "columns": columns, "skip_bad": skip_bad}
    check({"trace": path, **options})
    path, options = as_trace(path, options)
    return Section(json.loads(_native.trace_info(os.fspath(path), as_json(options), as_native_progress(progress))))


@in_python
def trace_convert(
    source: AnyPath,
    target: AnyPath,
    *,
    to: str | None = None,
    format: str | None = None,
    columns: str | None = None,
    skip_bad: int = 0,
    progress: Progress | None = None,
) -> Section:
    """Writes a trace in another format: `to`, or what the suffix of `target` says.

    The target appears when it is complete, and not at all if Ctrl-C or `progress`, which is that of `trace_info`, stops
    it. Returns what was read, as `trace_info` counts it; `written_as`; and in `not_written` how many flushes and
    discards were left out because the target format has no such operation.

    Raises:
        TraceError: the source can't be read, or the target not written.
        FlashweirError: `progress` stopped it.
    """
    given = {"to": to, "format": format, "columns": columns, "skip_bad": skip_bad}
    check({"trace": source, "output": target, **given})
    source, given = as_trace(source, given)
    options = as_json(given)
    return Section(
        json.loads(_native.trace_convert(os.fspath(source), os.fspath(target), options, as_native_progress(progress)))
    )


@in_python
def trace_generate(spec: str, target: AnyPath, *, to: str | None = None, progress: Progress | None = None) -> Section:
    """Writes a generator's requests as a trace: in format `to`, or what the suffix of `target` says.

    `progress` and Ctrl-C are as in `trace_convert`.

    Returns `workload` (the complete spec), `requests`, `written_as`, and `not_written` as `trace_convert` does.

    Raises:
        TraceError: the spec can't be understood, or the target not written.
        FlashweirError: `progress` stopped it.
    """
    check({"output": target, "to": to})
    if not isinstance(spec, str):
        raise ConfigError(f"spec: {spec!r}: expected a generator such as random:count=100000")
    return Section(
        json.loads(_native.trace_generate(spec, os.fspath(target), as_json({"to": to}), as_native_progress(progress)))
    )


def as_native_progress(progress: Progress | None) -> Callable[[str], bool | None] | None:
    """A progress function as the native module calls it: with JSON text."""
    return None if progress is None else lambda state: progress(json.loads(state))


def _workloads(workload: Workload) -> list[dict[str, Any]]:
    if isinstance(workload, (str, os.PathLike)):
        return [tenant(None, workload, "workload")]
    if isinstance(workload, Mapping):
        return [tenant(str(name), given, f"workload {name}") for name, given in workload.items()]
    if not isinstance(workload, Sequence):
        raise ConfigError(
            f"workload: {workload!r}: expected a trace file, a generator such as random:count=100000, "
            "or a mapping or list of them"
        )
    return [tenant(None, given, "workload") for given in workload]


def device_name(device: AnyPath | Mapping[str, Any] | None, scratch: Path) -> object:
    """A name or path for the native module, which reads mappings from a file."""
    if device is None:
        return None
    if not isinstance(device, Mapping):
        name = place(device)
        drive = imported(name) if isinstance(name, str) else None
        if drive is None:
            return name
        device = drive.settings
    file = scratch / _DEVICE
    file.write_text(as_json(device.to_dict() if isinstance(device, Section) else device), encoding="utf-8")
    return str(file)


def name_device(error: ConfigError, scratch: Path) -> None:
    """Names the file of a device that was given as a mapping what the caller calls it."""
    error.args = (str(error).replace(str(scratch / _DEVICE), "device"),)


def as_json(value: object) -> str:
    """Settings as the native module takes them."""
    try:
        text = json.dumps(value, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ConfigError(f"a setting that is no number, text or list: {error}") from error
    if "\\ud" in text:
        _check_texts(value, "")
    return text


def _check_texts(value: object, where: str) -> None:
    """Refuses texts that are none: bytes of a command line or of a file's name that are not UTF-8."""
    parts: Iterable[tuple[object, object]] = ()
    if isinstance(value, Mapping):
        parts = value.items()
    elif isinstance(value, list | tuple):
        parts = ((where, part) for part in value)
    elif isinstance(value, str) and not is_utf8(value):
        raise ConfigError(f"{where}: {value!r}: expected a text in UTF-8")
    for name, part in parts:
        _check_texts(name, where)
        _check_texts(part, str(name))
