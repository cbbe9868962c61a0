"""The functions of the package: each makes one call to the native module and wraps what comes back."""

import json
import math
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from flashweir import _native
from flashweir._native import ConfigError
from flashweir.allocators import as_native, use_allocator
from flashweir.arguments import MAX_WHOLE, check_path, in_python, is_utf8, on_command_line, place, plain
from flashweir.external import given, split
from flashweir.fio.resolving import as_trace, in_words, resolve
from flashweir.importing.device import imported, note
from flashweir.options import reading, run
from flashweir.options.option import as_spec, checked, declared
from flashweir.result import RequestLog, Result
from flashweir.results.section import Section
from flashweir.settings import chosen
from flashweir.tenants import AnyPath, Tenant, tenant

Workload = AnyPath | Mapping[str, Tenant] | Sequence[AnyPath]
Progress = Callable[[dict[str, Any]], bool | None]
# The file of a drive that was given as a mapping.
_DEVICE = "device.json"
# Digits of numbers that may be longer than 64 bits.
_LONG = re.compile(r"\d{19}")


@declared
@in_python
def simulate(
    workload: Workload,
    device: AnyPath | Mapping[str, Any] | None = None,
    *,
    seed: run.Seed = None,
    verify: run.Verify = False,
    latency_parts: run.Breakdown = False,
    requests: run.Requests = False,
    save_state: run.SaveState = None,
    timeline: run.Timeline = None,
    timeline_from: run.TimelineFrom = None,
    timeline_to: run.TimelineTo = None,
    samples: run.Samples = None,
    explain: run.Explain = None,
    activity: run.Activity = False,
    power_cut: run.PowerCut = None,
    format: reading.Format = None,
    columns: reading.Columns = None,
    skip_bad: reading.SkipBad = 0,
    hint: reading.Hint = None,
    wrap: run.Wrap = False,
    warmup: run.Warmup = None,
    allocator: run.ChannelAllocator = None,
    model: run.Model = None,
    windows: run.Windows = False,
    alone: run.Alone = False,
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
    options = checked(simulate, locals())
    check_path("device", device)
    if not (allocator is None or isinstance(allocator, str) or callable(allocator)):
        raise ConfigError(f"allocator: {allocator!r}: expected a function, or FILE.py:FUNCTION")
    workloads = _workloads(workload)
    settings, functions = split(chosen(set, overrides))
    if allocator is not None:
        use_allocator(settings, functions)
    scratch = Path(tempfile.mkdtemp(prefix="flashweir-"))
    log: Path | None = None
    if requests:
        log = scratch / "requests.parquet" if requests is True else Path(requests)
    try:
        name = device_name(device, scratch)
        jobs = resolve(workloads, name, settings, seed)
        spec = {
            "workloads": jobs.workloads,
            "device": name,
            "overrides": {**jobs.settings, **settings},
            **as_spec(simulate, {**options, "requests": log}),
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


@declared
@in_python
def trace_info(
    path: AnyPath,
    *,
    format: reading.Format = None,
    columns: reading.Columns = None,
    skip_bad: reading.SkipBad = 0,
    hint: reading.Hint = None,
    progress: Progress | None = None,
) -> Section:
    """Reads a whole trace and says what it holds: format and what was assumed, counts, sizes, span, duration.

    Of `mix:FILE` it says how many requests each tenant and all together have, and when (docs/reference/mix.md).

    `progress` is that of `simulate`, with the phase "trace". Ctrl-C stops the reading.

    Raises:
        TraceError: the trace can't be read.
        FlashweirError: `progress` stopped it.
    """
    options = checked(trace_info, locals())
    check_path("trace", path)
    path, options = as_trace(path, options)
    return Section(json.loads(_native.trace_info(os.fspath(path), as_json(options), as_native_progress(progress))))


@declared
@in_python
def trace_convert(
    source: AnyPath,
    target: AnyPath,
    *,
    to: reading.To = None,
    format: reading.Format = None,
    columns: reading.Columns = None,
    skip_bad: reading.SkipBad = 0,
    hint: reading.Hint = None,
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
    options = checked(trace_convert, locals())
    check_path("trace", source)
    check_path("output", target)
    source, options = as_trace(source, options)
    return Section(
        json.loads(
            _native.trace_convert(os.fspath(source), os.fspath(target), as_json(options), as_native_progress(progress))
        )
    )


@declared
@in_python
def trace_generate(spec: str, target: AnyPath, *, to: reading.To = None, progress: Progress | None = None) -> Section:
    """Writes a generator's requests as a trace: in format `to`, or what the suffix of `target` says.

    `progress` and Ctrl-C are as in `trace_convert`.

    Returns `workload` (the complete spec), `requests`, `written_as`, and `not_written` as `trace_convert` does.

    Raises:
        TraceError: the spec can't be understood, or the target not written.
        FlashweirError: `progress` stopped it.
    """
    options = checked(trace_generate, locals())
    check_path("output", target)
    if not isinstance(spec, str):
        raise ConfigError(f"spec: {spec!r}: expected a generator such as random:count=100000")
    return Section(
        json.loads(_native.trace_generate(spec, os.fspath(target), as_json(options), as_native_progress(progress)))
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
        note(str(name))
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
        text = json.dumps(value, allow_nan=False, default=_as_number)
    except (TypeError, ValueError) as error:
        _check_numbers(value, "a setting")
        raise ConfigError(f"a setting that is no number, text or list: {error}") from error
    if "\\ud" in text:
        _check_texts(value, "")
    if _LONG.search(text):
        _check_numbers(value, "a setting")
    return text


def _as_number(value: object) -> object:
    number = plain(value)
    if number is value:
        raise TypeError(f"{type(value).__name__}")
    return number


def _check_numbers(given: object, where: str) -> None:
    """Refuses numbers that are not finite or longer than 64 bits, and what is no setting at all, by their keys."""
    value = plain(given)
    if isinstance(value, float) and not math.isfinite(value):
        raise ConfigError(f"{where}: {value}: expected a finite number")
    if isinstance(value, int) and not -(2**63) <= value <= MAX_WHOLE:
        raise ConfigError(f"{where}: a whole number of {value.bit_length()} bits: expected at most 64")
    if isinstance(value, list | tuple):
        for part in value:
            _check_numbers(part, where)
    elif isinstance(value, Mapping):
        for name, part in value.items():
            option = isinstance(name, str) and on_command_line()
            _check_numbers(part, f"--{name.replace('_', '-')}" if option else str(name))
    elif value is not None and not isinstance(value, str | int | float):
        raise ConfigError(f"{where}: {value!r}: expected a number, a text or a list")


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
