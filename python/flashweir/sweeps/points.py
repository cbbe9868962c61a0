"""The runs of a sweep, one after the other: nothing of the grid is held in memory."""

import hashlib
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from flashweir import _native
from flashweir._native import FlashweirError
from flashweir.fio.resolving import NoDrive, file_of, resolve
from flashweir.importing.device import converted
from flashweir.settings import flat
from flashweir.sweeps.axes import Label
from flashweir.sweeps.options import RUN_OPTIONS
from flashweir.sweeps.spec import PLACEHOLDER, Streams, SweepSpec
from flashweir.tenants import texts

_SHARES = ("op_ratio", "op_raw")
# Options of a run that are part of its identity.
_OPTIONS = tuple(RUN_OPTIONS)


@dataclass(frozen=True)
class Run:
    """One run: where it stands in the grid, and what to run. The grid's runs are numbered `point`, then seed."""

    point: int
    seed: int
    workload: str
    axes: Mapping[str, Label | None]
    spec: Mapping[str, Any]

    @property
    def place(self) -> tuple[int, int]:
        """Identity of the run within its sweep."""
        return self.point, self.seed


class Content(NamedTuple):
    """A file as it was when it was read: what the system says of it, and a hash."""

    state: tuple[int, int, int]
    digest: str


@dataclass(frozen=True)
class Planned:
    """A run that is known to make a drive: its identity, resolved settings, and what it takes."""

    run: Run
    key: str
    plan: Mapping[str, Any]
    contents: Mapping[str, "Content"]

    @property
    def traces(self) -> list[str]:
        """Paths of the traces among its workloads."""
        return list(self.contents)


def count_points(spec: SweepSpec) -> int:
    """Number of points of the grid; each is run with every seed of its workload."""
    return sum(_points_of(spec, streams) for streams in spec.workloads.values())


def count_runs(spec: SweepSpec) -> int:
    """Number of runs of the grid."""
    return sum(_points_of(spec, streams) * len(seeds_of(spec, name)) for name, streams in spec.workloads.items())


def seeds_of(spec: SweepSpec, workload: str) -> Sequence[int]:
    """The seeds that a workload runs with."""
    return spec.seeds[:1] if workload in spec.once else spec.seeds


def _points_of(spec: SweepSpec, streams: Streams) -> int:
    return math.prod(map(len, _choices(spec, streams)))


def runs(spec: SweepSpec) -> Iterator[Run]:
    """All runs: workloads outermost, then the groups of axes in their order, seeds innermost."""
    grid = ((name, ranks) for name, streams in spec.workloads.items() for ranks in product(*_choices(spec, streams)))
    for point, (name, ranks) in enumerate(grid):
        first = _first_run(spec, point, name, ranks)
        for seed in seeds_of(spec, name):
            yield _seeded(first, seed)


def run_at(spec: SweepSpec, point: int) -> Run:
    """The run of a point with the first seed, as `runs` has it, without going through those before it."""
    return next(runs_at(spec, point))


def runs_at(spec: SweepSpec, point: int) -> Iterator[Run]:
    """The runs of a point with all seeds of its workload."""
    left = point
    for name, streams in spec.workloads.items():
        choices = _choices(spec, streams)
        count = math.prod(map(len, choices))
        if left < count:
            ranks: list[int | None] = []
            for some in reversed(choices):
                left, rank = divmod(left, len(some))
                ranks.insert(0, some[rank])
            first = _first_run(spec, point, name, ranks)
            for seed in seeds_of(spec, name):
                yield _seeded(first, seed)
            return
        left -= count
    raise IndexError(point)


def point_of(spec: SweepSpec, workload: str, ranks: Sequence[int]) -> int:
    """The point of a workload and a rank for each group of axes; ranks that do not act there make no difference."""
    first = 0
    for name, streams in spec.workloads.items():
        choices = _choices(spec, streams)
        if name == workload:
            place = 0
            for some, rank in zip(choices, ranks, strict=True):
                place = place * len(some) + (0 if some[0] is None else rank)
            return first + place
        first += math.prod(map(len, choices))
    raise KeyError(workload)


def _first_run(spec: SweepSpec, point: int, name: str, ranks: Sequence[int | None]) -> Run:
    axes: dict[str, Label | None] = {}
    chosen: dict[str, Any] = {}
    for group, rank in zip(spec.groups, ranks, strict=True):
        for axis in group:
            axes[axis.name] = None if rank is None else axis.labels[rank]
            chosen |= {} if rank is None else axis.settings[rank]
    settings = over(over(spec.settings, spec.set_for.get(name, {})), chosen)
    device = settings.pop("device", spec.device)
    device = device and converted(str(device))
    workloads = [{key: _filled(value, settings) for key, value in one.items()} | {"name": stream}
                 for stream, one in spec.workloads[name].items()]  # fmt: skip
    overrides = {key: value for key, value in settings.items() if key not in spec.placeholders}
    seed = spec.seeds[0]
    run = {"workloads": workloads, "device": device, "overrides": overrides, "seed": seed, **spec.run}
    return Run(point, seed, name, axes, run)


def _seeded(run: Run, seed: int) -> Run:
    return _with_jobs(replace(run, seed=seed, spec={**run.spec, "seed": seed}))


def _with_jobs(run: Run) -> Run:
    """The run with the streams of fio's job files, if it has any."""
    if not any(file_of(one["spec"]) for one in run.spec["workloads"]):
        return run
    spec = dict(run.spec)
    try:
        jobs = resolve(spec["workloads"], spec["device"], spec["overrides"], run.seed)
    except NoDrive:
        # Planning says what is wrong with the drive.
        return run
    return replace(run, spec={**spec, "workloads": jobs.workloads, "overrides": {**jobs.settings, **spec["overrides"]}})


def over(base: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Settings over others. Of capacity, blocks and over-provisioning two are given: those below give way."""
    kept = {
        key: value for key, value in base.items() if not (key in _SHARES and any(share in above for share in _SHARES))
    }
    given = {"capacity": ("capacity",), "blocks": ("blocks_per_unit",), "share": _SHARES}
    sets = {name: any(key in above for key in keys) for name, keys in given.items()}
    if all(sets[name] or any(key in kept for key in keys) for name, keys in given.items()) and not all(sets.values()):
        # Alone, a capacity makes blocks follow; blocks, or a share where blocks are given, make the capacity follow.
        order = ("blocks", "share") if sets["capacity"] else ("capacity", "share")
        yields = next(name for name in order if not sets[name])
        kept = {key: value for key, value in kept.items() if key not in given[yields]}
    return kept | dict(above)


def _choices(spec: SweepSpec, streams: Streams) -> list[Sequence[int | None]]:
    """Possible ranks of each group of axes; nothing where it only fills placeholders of other workloads."""
    used = {name for one in streams.values() for text in texts(one) for name in PLACEHOLDER.findall(text)}
    idle = spec.placeholders - used
    found: list[Sequence[int | None]] = []
    for group in spec.groups:
        acts = any(set(settings) - idle for axis in group for settings in axis.settings)
        found.append(range(len(group[0].labels)) if acts else [None])
    return found


def _filled(value: Any, values: Mapping[str, object]) -> Any:  # noqa: ANN401 - an option of a workload
    if not isinstance(value, str):
        return value
    return PLACEHOLDER.sub(lambda found: _as_text(values[found[1]]), value)


def _as_text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


class Planner:
    """Plans runs, and remembers what the traces hold that they read."""

    def __init__(self) -> None:
        self._contents: dict[str, Content] = {}

    def plan(self, run: Run) -> Planned:
        """Resolves a run's settings and identifies it by what they are, not by how they were given.

        Two runs have the same key if engine, configuration, workloads (a trace by its content), seed and options of
        the run are the same: then they have the same result. A mix is what its tenants are. Of a run that draws
        nothing, such as a recorded trace on most drives, the seed does not count.

        Raises:
            FlashweirError: the run makes no drive, or its workload can't be read.
        """
        plan = json.loads(_native.plan(json.dumps(run.spec)))
        contents = {one["path"]: self.content(one["path"]) for one in plan["workloads"] if "path" in one}
        workloads = []
        for stream in plan["workloads"]:
            content = contents[stream["path"]].digest if "path" in stream else stream["workload"]
            workloads.append({"name": stream["name"], "content": content, "options": stream["options"]})
        identity = {
            "engine": f"{_native.__version__}+{_native.__build__}",
            "config": plan["config"],
            "workloads": workloads,
            # A run that draws no random numbers is the same under every seed.
            "seed": plan["seed"] if plan["seeded"] else None,
            "options": {name: run.spec.get(name) for name in _OPTIONS if run.spec.get(name)},
        }
        text = json.dumps(identity, sort_keys=True, separators=(",", ":"))
        return Planned(run, hashlib.blake2b(text.encode(), digest_size=16).hexdigest(), plan, contents)

    def digest(self, path: str) -> str:
        """The content of a file, as a hash."""
        return self.content(path).digest

    def content(self, path: str) -> Content:
        """A file's state and hash; read once for as long as the file does not change.

        Raises:
            FlashweirError: it can't be read, or changes while it is read.
        """
        state = file_state(path)
        known = self._contents.get(path)
        if known is None or known.state != state:
            try:
                with open(path, "rb") as file:  # noqa: PTH123 - file_digest takes what open gives
                    known = Content(state, hashlib.file_digest(file, "blake2b").hexdigest()[:32])
            except OSError as error:
                raise FlashweirError(f"{path}: {error.strerror}") from error
            if file_state(path) != state:
                raise FlashweirError(f"{path}: changed while it was read")
            self._contents[path] = known
        return known


def file_state(path: str) -> tuple[int, int, int]:
    """Identity of a file under its name: inode, size and time of change.

    Raises:
        FlashweirError: there is none.
    """
    try:
        status = Path(path).stat()
    except OSError as error:
        raise FlashweirError(f"{path}: {error.strerror}") from error
    return status.st_ino, status.st_size, status.st_mtime_ns


def resolved(planned: Planned) -> dict[str, Any]:
    """The run with its drive and tenants spelled out, without preset, device file or mix, and the contents meant."""
    workloads = [
        {"name": one["name"], "spec": one["spec"], **one["options"]}
        | ({"content": planned.contents[one["path"]].digest} if "path" in one else {})
        for one in planned.plan["workloads"]
    ]
    return {
        **planned.run.spec,
        "workloads": workloads,
        "device": None,
        "overrides": flat(planned.plan["config"]),
    }
