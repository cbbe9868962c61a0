"""Runs a benchmark workload by workload; after each, its file is replaced by one that has that too."""

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from flashweir import _native, whole
from flashweir._native import ConfigError
from flashweir.api import as_json
from flashweir.arguments import check_path, in_python
from flashweir.benchmark import scores
from flashweir.benchmark.comparing import FORMAT, read
from flashweir.benchmark.naming import named
from flashweir.healthlogs.around import Health
from flashweir.importing import device
from flashweir.locks import Lock
from flashweir.options import bench as bench_option
from flashweir.options import target as option
from flashweir.options.option import checked, declared
from flashweir.targets import PREFIX, Target, file_of, given

SUITES, STATES = scores.SUITES, scores.STATES
Progress = Callable[[dict[str, Any]], bool | None]

# Fields that must be equal for a result to be continued.
_SAME = ("target", "size_bytes", "state", "scale", "seed", "version", "device_file_sha256")
# Fields of a workload's run, beside its grades.
_PLANNED = ("spec", "setup")
_NO_TRIM = "it knows no TRIM"


@declared
@in_python
def bench(
    target: str | Target,
    *,
    suites: Sequence[str] | None = None,
    state: bench_option.State = "empty",
    scale: bench_option.Scale = None,
    seed: option.Seed = 1,
    pts: bench_option.Pts = None,
    erase: option.Erase = None,
    name: bench_option.Name = None,
    health_before: option.HealthBefore = None,
    health_after: option.HealthAfter = None,
    output: str | os.PathLike[str] | None = None,
    resume: bool = False,
    progress: Progress | None = None,
    tell: Callable[[str, int, int], None] | None = None,
) -> dict[str, Any]:
    """Grades a drive by the writes of known workloads, made one after the other, or tests its steady state.

    Args:
        target: `sim:PRESET[,KEY=VALUE...]` or `sim:FILE.toml[,...]` for a simulated drive,
            `py:FILE.py:CLASS[,key=value...]` or an object for one in Python, else a block device or file, which is
            overwritten.
        suites: which of `SUITES`; the first five if not given.
        output: a file that has the result after each workload or test.
        resume: goes on with what is in that file; not with `pts`.
        progress: is called with states of the running workload; returning False stops; not with `pts`.
        tell: is called with the name of each workload or test before it, its number and how many there are.

    Returns:
        The result (docs/reference/cli.md), with `pts` that of steady-state tests; `health`, changes in the health logs
        (docs/reference/health.md), None without them.

    Raises:
        ConfigError: a setting, there is no room, or what is to be continued is of another drive, version or workload.
        DeviceError: the drive can't be used.
        FlashweirError: it failed, or was stopped.
    """
    checked(bench, locals())
    check_path("output", output)
    if pts is not None:
        _check_pts(suites, state, resume=resume, progress=progress)
    watch = Health(target, health_before, health_after)
    if pts is not None:
        from flashweir.benchmark.pts import run_pts

        chosen = [pts] if isinstance(pts, str) else list(pts)
        tests = None if "all" in chosen else chosen
        tested = run_pts(target, tests, scale=scale, seed=seed, erase=erase, name=name, output=output, begin=tell)
        return tested | {"health": watch.end()}
    with _locked(None if output is None else Path(output)), given(target) as drive:
        again = None if erase is None else os.fspath(erase)
        result = _graded(drive, suites, state, scale, seed, again, name, output, resume, progress, tell)
    return result | {"health": watch.end()}


def _check_pts(suites: object, state: str, *, resume: bool, progress: Progress | None) -> None:
    """Refuses options that steady-state tests don't have."""
    for option_, value in {"--suite": suites, "--resume": resume or None, "progress": progress}.items():
        if value is not None:
            raise ConfigError(f"{option_}: has no effect with --pts")
    if state != "empty":
        raise ConfigError(f"--state {state}: has no effect with --pts: each test purges the target")


@contextmanager
def _locked(output: Path | None) -> Iterator[None]:
    """Locks a result that is written: the lock is a file beside it, as the result itself is replaced each time."""
    if output is None or not output.parent.is_dir():
        yield
        return
    beside = output.with_name(f".{output.name}.lock")
    with Lock(beside, str(output)):
        try:
            yield
        finally:
            beside.unlink(missing_ok=True)


def _graded(
    target: str,
    suites: Sequence[str] | None,
    state: str,
    scale: float | None,
    seed: int,
    erase: str | None,
    name: str | None,
    output: str | os.PathLike[str] | None,
    resume: bool,
    progress: Progress | None,
    tell: Callable[[str, int, int], None] | None,
) -> dict[str, Any]:
    chosen = list(dict.fromkeys(scores.COUNTED if suites is None else suites))
    _check_settings(chosen, state, scale)
    called = named(target, name)
    asked_for = device.target(target)
    settings: dict[str, Any] = {"target": asked_for, "state": state, "seed": seed, "erase": erase}
    plan = _plan(settings, scale, chosen)
    # The name has to lead to the same drive for every workload.
    settings["drive"] = plan["drive"]
    digest = _digest(target)
    result: dict[str, Any] = {
        "format": FORMAT,
        "version": _native.__version__,
        "target": target,
        **called,
        "size_bytes": plan["size_bytes"],
        "state": state,
        "scale": plan["scale"],
        "seed": seed,
        "complete": False,
    }
    if digest is not None:
        result["device_file_sha256"] = digest
    done = {}
    if resume and output is not None and Path(output).exists():
        earlier = read(output)
        done = _kept(earlier, output, result, _plan(settings, plan["scale"], SUITES)["workloads"])
        if name is None and "name" in earlier:
            result["name"] = earlier["name"]
    wanted = plan["workloads"]
    finished = [*(one for one in done.values() if not any(_key(one) == _key(other) for other in wanted))]
    ours = False
    for number, workload in enumerate(wanted):
        if _key(workload) not in done:
            if tell is not None:
                tell(workload["name"], number + 1, len(wanted))
            # Data that the first workload left on the drive is ours, and no reason to refuse the second.
            asked = {**settings, "workload": workload, "ours": ours}
            text = _native.bench_run(as_json(asked), _listener(progress))
            ours = True
            if _digest(target) != digest:
                raise ConfigError(f"{target}: the file was changed during {workload['name']}; expected the same drive")
            done[_key(workload)] = json.loads(device.original(text, target, asked_for))
        finished.append(done[_key(workload)])
        _grade(result, finished, complete=number + 1 == len(wanted))
        if output is not None:
            _write(Path(output), result)
    return result


def _check_settings(chosen: Sequence[str], state: str, scale: float | None) -> None:
    for name in chosen:
        if name not in SUITES:
            raise ConfigError(f"--suite {name}: expected {', '.join(SUITES)} or all")
    if state not in STATES:
        raise ConfigError(f"--state {state}: expected {', '.join(STATES)}")
    if scale is not None and not 0 < scale <= 1:
        raise ConfigError(f"--scale {scale}: expected hundredths from 0.01 to 1")


def _plan(settings: Mapping[str, Any], scale: float | None, suites: Sequence[str]) -> dict[str, Any]:
    try:
        plan: dict[str, Any] = json.loads(_native.bench_plan(as_json({**settings, "scale": scale, "suites": suites})))
    except _native.DeviceError as error:
        if _NO_TRIM in str(error):
            # Opening refuses a target that is mounted, or in use otherwise: the reason to name first.
            _native.Session(as_json({name: settings[name] for name in ("target", "erase", "seed")}))
        raise
    return plan


def _digest(target: str) -> str | None:
    """SHA-256 of the file that describes a simulated drive; None of presets, which are of flashweir's version."""
    name = file_of(target) if target.startswith(PREFIX) else target.removeprefix("sim:").partition(",")[0]
    known = {preset["name"] for preset in json.loads(_native.presets())}
    if not target.startswith(("sim:", PREFIX)) or not name or name in known:
        return None
    try:
        return hashlib.sha256(Path(name).read_bytes()).hexdigest() if Path(name).is_file() else None
    except OSError as error:
        raise ConfigError(f"{target}: {error.strerror or error}; expected a file that can be read") from error


def _key(workload: Mapping[str, Any]) -> tuple[str, str]:
    return workload["suite"], workload["name"]


def _listener(progress: Progress | None) -> Callable[[str], bool | None] | None:
    if progress is None:
        return None
    return lambda state: progress(json.loads(state))


def _grade(result: dict[str, Any], workloads: Sequence[dict[str, Any]], *, complete: bool) -> None:
    result["workloads"] = list(workloads)
    result["suites"] = scores.of_suites(workloads)
    result["all"] = scores.of_all(result["suites"])
    result["complete"] = complete
    result["warnings"] = scores.warnings(workloads, result["scale"])


def _kept(
    found: Mapping[str, Any],
    path: str | os.PathLike[str],
    result: Mapping[str, Any],
    planned: Sequence[Mapping[str, Any]],
) -> dict[tuple[str, str], dict[str, Any]]:
    """The workloads of an earlier run, if it was of the same drive, settings and workloads."""
    for name in _SAME:
        has, expected = found.get(name, "none"), result.get(name, "none")
        if has != expected:
            raise ConfigError(f"--resume {path}: has {name} {has}, expected {expected}")
    plan = {_key(one): one for one in planned}
    for one in found["workloads"]:
        for name in _PLANNED:
            expected = plan.get(_key(one), {name: f"none, as there is no {one['name']}"})[name]
            if one[name] != expected:
                raise ConfigError(f"--resume {path}: {one['name']} has {name} {one[name]}, expected {expected}")
    return {_key(one): one for one in found["workloads"]}


def _write(path: Path, result: Mapping[str, Any]) -> None:
    whole.write(path, json.dumps(result, indent=1) + "\n")
