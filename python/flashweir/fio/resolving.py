"""Puts the streams of a job file in the place of `fio:FILE` among the workloads of a run, or makes a table of them."""

import atexit
import json
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flashweir import _native
from flashweir._native import ConfigError
from flashweir.arguments import on_command_line
from flashweir.notices import say, warn
from flashweir.settings import ANY_REQUEST
from flashweir.tenants import FIO, AnyPath

if TYPE_CHECKING:
    from flashweir.fio.streams import Plan

_BEYOND_NAME = ("name", "spec")


class NoDrive(ConfigError):
    """The drive that a job file would run on can't be made."""


@dataclass
class Resolved:
    """Workloads without `fio:`, and the settings of the drive that job files ask for."""

    workloads: list[dict[str, Any]]
    settings: dict[str, Any] = field(default_factory=dict)


# Tables that were written for this process: the names of their jobs by path, and what was made of a file's options.
_named: dict[str, str] = {}
_made: dict[tuple[object, ...], Any] = {}
_said: set[str] = set()


def file_of(workload: object) -> str | None:
    """The job file of a workload; None of all others."""
    if isinstance(workload, str) and workload.startswith(FIO):
        return workload.removeprefix(FIO)
    return None


def resolve(
    workloads: Sequence[Mapping[str, Any]],
    device: object = None,
    settings: Mapping[str, object] | None = None,
    seed: int | None = None,
) -> Resolved:
    """Workloads of a run with the streams of job files in the place of their names.

    `settings` of the result are `host.mode` and `host.queue_depth`, which those of the caller overrule.

    Raises:
        NoDrive: the settings make no drive.
        ConfigError: a job file can't be read or used.
    """
    given = [dict(one) for one in workloads]
    if not any(file_of(one.get("spec")) for one in given):
        return Resolved(given)
    capacity = _capacity(device, settings or {})
    found = Resolved([])
    modes: dict[bool, str] = {}
    depth = 0
    for one in given:
        file = file_of(one.get("spec"))
        if file is None:
            found.workloads.append(one)
            continue
        plan, streams = _streams(file, capacity, seed)
        if one.get("name") is not None or len(given) > 1:
            streams = [_single(file, streams, one)]
        elif options := [key for key in one if key not in _BEYOND_NAME]:
            raise ConfigError(f"{FIO}{file}: {options[0]}: expected no option with a whole job file")
        found.workloads += streams
        modes.setdefault(plan.timed, file)
        depth += plan.depth
    if len(modes) > 1:
        raise ConfigError(f"{FIO}{modes[True]} has rates and {FIO}{modes[False]} has none: expected one kind")
    found.settings = {"host.mode": "open"} if True in modes else {"host.mode": "closed", "host.queue_depth": depth}
    return found


def draws(workloads: Sequence[Mapping[str, Any]]) -> bool:
    """True if one of the workloads is a table of requests that were drawn here."""
    return any(one.get("spec") in _named for one in workloads)


def in_words(text: str) -> str:
    """A text of the native module in which tables are called by the names of their jobs."""
    for path, name in _named.items() if "flashweir-fio-" in text else ():
        text = text.replace(path, json.dumps(name)[1:-1])
    return text


def as_trace(
    workload: AnyPath, reading: Mapping[str, Any], capacity: int | None = None
) -> tuple[AnyPath, dict[str, Any]]:
    """A workload as a trace with the options to read it: all jobs of a job file in one table; any other as it is.

    Args:
        workload: a trace, a generator or `fio:FILE`.
        reading: `format`, `columns` and more, of which a job file has none.
        capacity: what percentages are of; None if there is no drive.

    Raises:
        ConfigError: a job file can't be read or used.
    """
    file = file_of(workload)
    if file is None:
        return workload, dict(reading)
    return jobs_as_trace(file, reading, capacity)[:2]


def jobs_as_trace(
    file: str, reading: Mapping[str, Any], capacity: int | None, seed: int = 0
) -> tuple[str, dict[str, Any], "Plan"]:
    """All requests of a job file as one table, the options to read it, and the plan."""
    from flashweir.fio import streams

    for name in ("format", "columns"):
        if reading.get(name) is not None:
            raise ConfigError(f"--{name} {reading[name]}: has no effect with {FIO}{file}")
    plan, key = _plan(file, capacity)
    path = _made.get((key, seed, "table"))
    if path is None:
        path = _made[key, seed, "table"] = str(_folder() / Path(file).name)
        streams.write(list(plan.jobs), Path(path), seed, turns=not plan.timed, closed=not plan.timed)
        _named[path] = f"{FIO}{file}"
    return path, {**reading, "columns": streams.columns(plan.jobs)}, plan


def _streams(file: str, capacity: int, seed: int | None) -> "tuple[Plan, list[dict[str, Any]]]":
    from flashweir.fio import streams

    plan, key = _plan(file, capacity)
    if (key, seed) not in _made:
        _made[key, seed] = streams.workloads(plan, Path(file).name, _folder, seed or 0)
        for placed, stream in zip(plan.jobs, _made[key, seed], strict=True):
            if "columns" in stream:
                _named[stream["spec"]] = f"{FIO}{file}[{placed.job.name}]"
    return plan, [dict(stream) for stream in _made[key, seed]]


def _plan(file: str, capacity: int | None) -> "tuple[Plan, tuple[object, ...]]":
    """The plan of a job file as it is now, and what it depends on; says once what is not as in fio."""
    from flashweir.fio import streams
    from flashweir.fio.jobfile import read

    sections = read(file)
    key = (file, capacity, tuple((section.name, *section.options.values()) for section in sections))
    if key not in _made:
        _made[key] = streams.plan(file, sections, capacity)
    plan: Plan = _made[key]
    ignored = f"ignored: {', '.join(plan.ignored)}"
    for note in (*plan.notes, *((ignored,) if plan.ignored and on_command_line() else ())):
        line = f"{FIO}{file}: {note}"
        if on_command_line() and line not in _said:
            _said.add(line)
            say(f"note: {line}")
        elif not on_command_line():
            warn(line)
    return plan, key


def _single(file: str, streams: Sequence[Mapping[str, Any]], one: Mapping[str, Any]) -> dict[str, Any]:
    """The one stream of a job file that is a tenant among others."""
    if len(streams) > 1:
        raise ConfigError(f"{FIO}{file}: {len(streams)} jobs; expected one in a tenant: give the file as the workload")
    return {**streams[0], **{key: value for key, value in one.items() if key != "spec"}}


def _capacity(device: object, settings: Mapping[str, object]) -> int:
    spec = {"workloads": [{"name": None, "spec": ANY_REQUEST}], "device": device, "overrides": dict(settings)}
    try:
        plan = json.loads(_native.plan(json.dumps(spec)))
    except ConfigError as error:
        raise NoDrive(str(error)) from error
    capacity = _native.quantity(str(plan["config"]["capacity"]))
    return 0 if capacity is None else int(capacity[0])


def _folder() -> Path:
    """A new folder that lasts as long as the process."""
    made = Path(tempfile.mkdtemp(prefix="flashweir-fio-"))
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return made
