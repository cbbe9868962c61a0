"""The specification of a sweep or comparison: what its directory holds, with paths that work inside a bundle."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from flashweir import api
from flashweir._native import ConfigError, FlashweirError
from flashweir.bundles import toml
from flashweir.bundles.contents import CODE, Contents, code_in, read_table
from flashweir.bundles.manifest import versions
from flashweir.importing.device import converted
from flashweir.notices import warn
from flashweir.sweeps import store
from flashweir.sweeps.points import Planned, Planner, Run, runs
from flashweir.sweeps.spec import Streams, SweepSpec, load
from flashweir.tenants import MIX
from flashweir.whole import STANDARD

SPECIFICATION = "sweep.toml"
COMMAND = f"flashweir sweep {SPECIFICATION} -o again"


def specify(directory: Path, contents: Contents, base: Path) -> SweepSpec:
    """Adds a sweep and the files of its specification, and checks that these are still what it ran.

    Args:
        directory: the sweep.
        contents: takes the files.
        base: the folder that paths of the specification start from.

    Raises:
        ConfigError: it has runs left, a file is not there or has changed, or runs need Python code.
    """
    meta = store.read_meta(directory)
    done = sum(1 for _ in store.rows(directory))
    if done < meta["runs"]:
        raise ConfigError(f"{directory}: {done:,} of {meta['runs']:,} runs are done: flashweir sweep --resume goes on")
    original = load(meta["spec"], base)
    if key := code_in(meta["spec"]):
        raise ConfigError(f"{directory}: {CODE.format(key=key)}")
    contents.add(SPECIFICATION, toml.dumps(_inside(meta, original, contents)))
    for file in (directory / "sweep.json", directory / "runs.jsonl", *store.parts(directory)):
        if file.is_file():
            contents.add_file(f"results/{file.name}", file)
    spec = load(contents.stage / SPECIFICATION)
    if (meta.get("version"), meta.get("build")) == (versions()["flashweir"], versions()["build"]):
        _check(directory, spec, contents)
    else:
        warn(
            f"{directory}: made by another build of flashweir: not checked whether its traces and devices are the same"
        )
    return spec


def _inside(meta: Mapping[str, Any], spec: SweepSpec, contents: Contents) -> dict[str, Any]:
    """The specification with the places of its files in the bundle."""
    table = {"name": meta["name"], **{key: value for key, value in meta["spec"].items() if key != "include"}}
    table["workloads"] = {name: _streams(streams, contents) for name, streams in spec.workloads.items()}
    # The folder of recorded traces is that of the bundle.
    table["traces"] = "traces" if contents.traces else None
    if spec.device is not None:
        table["device"] = _device(spec.device, contents)
    if any(axis.name == "device" for group in spec.groups for axis in group):
        axis = next(axis for group in spec.groups for axis in group if axis.name == "device")
        table["axes"] = {**table["axes"], "device": {
            str(label): {**settings, **({"device": _device(str(settings["device"]), contents)} if "device" in settings
                                        else {})}
            for label, settings in zip(axis.labels, axis.settings, strict=True)
        }}  # fmt: skip
    return table


def _streams(streams: Streams, contents: Contents) -> object:
    found = {}
    for name, one in streams.items():
        options = {key: value for key, value in one.items() if key not in ("name", "spec")}
        text = contents.workload(one["spec"])
        if name is None:
            return text
        found[name] = {"workload": text, **options} if options else text
    return found


def _device(text: str, contents: Contents) -> str:
    return contents.device(Path(converted(text))) if Path(text).is_file() else text


def _check(directory: Path, spec: SweepSpec, contents: Contents) -> None:
    """Plans every run as the bundle has it: its key says whether it is the run that the sweep has."""
    planned = {run.place: run for run in runs(spec)}
    planner = Planner()
    counts: dict[str, int] = {}
    for row in store.rows(directory):
        if row["key"] is None:
            continue
        where = f"{directory}: run {row['point']} of workload {row['workload']}"
        try:
            plan = planner.plan(planned[store.place_of(row)])
        except FlashweirError as error:
            raise ConfigError(f"{where}: {str(error).replace(f'{contents.stage}/', '')}") from error
        check_inside(plan, contents.stage, where)
        if plan.key != row["key"]:
            raise ConfigError(
                f"{where}: is another run now: a trace, mix or device file has changed since, or another one stands in "
                "its place: --base DIR names the folder that paths of the specification start from"
            )
        if row["result"] is not None and set(plan.traces) - counts.keys():
            counts |= _counted(plan.plan, json.loads(row["result"]))
    for trace in contents.traces.values():
        trace.requests = counts.get(str(contents.stage / trace.path))


def _counted(plan: Mapping[str, Any], result: Mapping[str, Any]) -> dict[str, int]:
    """Requests of each trace of a run, by path."""
    pairs = zip(plan["workloads"], result["workloads"], strict=False)
    return {one["path"]: said["trace"]["requests"] for one, said in pairs if "path" in one and "trace" in said}


def check_inside(plan: Planned, folder: Path, where: str) -> None:
    """Refuses a run that reads a trace outside of a bundle.

    Raises:
        ConfigError: it does.
    """
    check_paths(plan.traces, folder, where)


def check_paths(paths: Iterable[str], folder: Path, where: str) -> None:
    """Refuses traces outside of a bundle.

    Raises:
        ConfigError: one is.
    """
    for path in paths:
        if not _is_inside(path, folder):
            raise ConfigError(f"{where}: reads {path}: expected traces by their full names, without placeholders")


def _is_inside(path: str, folder: Path) -> bool:
    """True if a path lies in a folder, as it is written: a link there counts."""
    parts = Path(path).parts
    return ".." not in parts and parts[: len(folder.parts)] == folder.parts


def check_foreign(folder: Path) -> SweepSpec:
    """The specification of a bundle from anywhere; its runs read nothing outside of the bundle, and run no code.

    Raises:
        ConfigError: it is none, or would.
    """
    table = read_table(folder / SPECIFICATION)
    if "include" in table:
        raise ConfigError(f"{SPECIFICATION}: include: expected a specification that stands alone")
    if key := code_in(table):
        raise ConfigError(f"{SPECIFICATION}: {CODE.format(key=key)}")
    return load(folder / SPECIFICATION)


def foreign_runs(spec: SweepSpec, folder: Path) -> Iterator[Run]:
    """Runs of such a specification, each checked for files outside of the bundle.

    Raises:
        ConfigError: a run would read one.
    """
    for run in runs(spec):
        device = [run.spec["device"]] if run.spec["device"] else []
        check_texts([*device, *(one["spec"] for one in run.spec["workloads"])], folder)
        yield run


def check_texts(texts: Sequence[str], folder: Path) -> None:
    """Refuses devices and workloads that name a file outside of a bundle.

    Raises:
        ConfigError: one does.
    """
    presets = {preset["name"] for preset in api.presets()}
    for text in texts:
        if text in presets:
            continue
        path = text.removeprefix(MIX)
        inside = _is_inside(path, folder)
        if path == STANDARD or (path != text and not inside) or (Path(path).exists() and not inside):
            raise ConfigError(f"{text}: expected files of the bundle alone")
        if inside and path != text:
            _check_mix(Path(path), folder)


def _check_mix(mix: Path, folder: Path) -> None:
    tenants = read_table(mix).get("tenants")
    texts = [one.get("workload") for one in tenants.values() if isinstance(one, Mapping)] if isinstance(
        tenants, Mapping) else []  # fmt: skip
    for text in texts:
        if isinstance(text, str) and not text.startswith(MIX):
            there = (mix.parent / text).exists()
            check_texts([str(mix.parent / text) if there else text], folder)
