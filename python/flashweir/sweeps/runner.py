"""The one loop behind every sweep, wherever its runs are run: plan, run what is not there yet, write each result."""

import json
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from flashweir import _native
from flashweir._native import ConfigError, FlashweirError
from flashweir.machine import machine
from flashweir.sweeps import rows
from flashweir.sweeps.backend import Backend, Outcome
from flashweir.sweeps.local import free_memory_bytes
from flashweir.sweeps.points import Planned, Planner, Run, count_points, count_runs, runs
from flashweir.sweeps.spec import SweepSpec
from flashweir.sweeps.store import FORMAT, Store, earlier, parts, read_lines, read_meta, read_part

# Time between checks for a request to stop and reports of progress, while waiting for results.
PATIENCE_S = 0.2
# Rows are written so many at a time, and at the latest after this time: each write waits for the disk.
BATCH = 500
WRITE_S = 0.05
# Fields that two sweeps must share for the rows of one to be rows of the other.
LAYOUT = ("axes", "workloads", "seeds", "derived", "expressions")


@dataclass
class State:
    """Progress of a sweep. `ready` counts the runs that existed when it began or came from earlier sweeps."""

    total: int
    ready: int = 0
    done: int = 0
    failed: int = 0
    elapsed_s: float = 0.0

    @property
    def rate(self) -> float | None:
        """Runs a second; None before the first."""
        return self.done / self.elapsed_s if self.done and self.elapsed_s > 0 else None

    @property
    def left_s(self) -> float | None:
        """Seconds left at this rate; None before the first run has ended."""
        return (self.total - self.ready - self.done) / self.rate if self.rate else None


Progress = Callable[[State], bool | None]
MakeBackend = Callable[[], Backend]


def execute(
    spec: SweepSpec,
    directory: Path,
    backend: MakeBackend,
    *,
    resume: bool = False,
    force: bool = False,
    reuse: tuple[Path, ...] = (),
    progress: Progress | None = None,
) -> State:
    """Runs a sweep into its directory.

    Killed at any time, it can be resumed and loses at most the runs of its last 0.05 s.

    Args:
        spec: the sweep.
        directory: made if it is not there.
        backend: makes what runs the runs; not called if nothing is left to run.
        resume: go on where an earlier call with this directory stopped, and try failed runs again. If the sweep or the
            engine has changed, the earlier results are put aside and serve what is the same.
        force: put what the directory holds aside and run everything anew.
        reuse: directories of other sweeps whose results serve as well.
        progress: is called as results come in, at least five times a second; returning False stops the sweep.

    Raises:
        ConfigError: the directory holds a sweep and `resume` is not given, or `reuse` names no sweep.
        FlashweirError: another process writes there, or `progress` stopped the sweep.
    """
    if directory.exists() and not directory.is_dir():
        raise ConfigError(f"{directory}: expected a directory for the sweep, or a new name for one")
    for other in reuse:
        read_meta(other)
    began = time.monotonic()
    state = State(total=count_runs(spec))
    planner = Planner()
    with Store(directory, spec.columns) as store:
        meta = describe(spec)
        if store.keys and force and not resume:
            store.put_aside()
        if store.keys:
            if not resume:
                raise ConfigError(
                    f"{directory}: holds a sweep already: --resume goes on with it, --force puts it aside, "
                    "-o names another directory"
                )
            if _is_same(store, meta, spec, planner):
                store.drop_failed()
            else:
                store.put_aside()
        store.write_meta(meta)
        sources = [*(() if force else earlier(directory)), *reuse]
        if sources:
            _take_over(store, spec, planner, sources)
        state.ready = len(store.keys)
        _run_rest(spec, store, planner, backend, _Reporter(state, began, progress))
    return state


class _Reporter:
    """Keeps the state and tells it."""

    def __init__(self, state: State, began: float, progress: Progress | None) -> None:
        self.state, self._began, self._progress = state, began, progress

    def tell(self) -> None:
        self.state.elapsed_s = time.monotonic() - self._began
        if self._progress is not None and self._progress(self.state) is False:
            done, total = self.state.ready + self.state.done, self.state.total
            raise FlashweirError(f"stopped: {done:,} of {total:,} runs done and kept: --resume goes on")


class _Writer:
    """Writes finished rows, those of a short time together."""

    def __init__(self, store: Store, state: State) -> None:
        self._store, self._state = store, state
        self._rows: list[dict[str, Any]] = []
        self._due = time.monotonic()

    @property
    def patience_s(self) -> float:
        """Time that may pass before something is to be done again."""
        return min(PATIENCE_S, max(0.0, self._due - time.monotonic())) if self._rows else PATIENCE_S

    @property
    def is_full(self) -> bool:
        """True if no more rows should come before these are written."""
        return len(self._rows) >= BATCH

    def add(self, row: dict[str, Any]) -> None:
        """Takes a row, which is written soon."""
        if not self._rows:
            self._due = time.monotonic() + WRITE_S
        self._rows.append(row)

    def write(self, *, soon: bool) -> None:
        """Writes what it has if it is time; without `soon` at once."""
        if not self._rows or (soon and not self.is_full and time.monotonic() < self._due):
            return
        try:
            self._store.append(self._rows)
        except FlashweirError:
            # They are not tried again on a disk that is full.
            self._rows = []
            raise
        self._state.done += len(self._rows)
        self._state.failed += sum(row["error"] is not None for row in self._rows)
        self._rows = []


def _run_rest(spec: SweepSpec, store: Store, planner: Planner, make_backend: MakeBackend, reporter: _Reporter) -> None:
    writer = _Writer(store, reporter.state)
    todo = _todo(spec, store, planner)
    backend: Backend | None = None
    running, more = 0, True
    reporter.tell()
    try:
        while more or running:
            submitted: list[Planned] = []
            room = 1 if backend is None else backend.room
            while more and len(submitted) < room and not writer.is_full:
                item = next(todo, None)
                if item is None:
                    more = False
                elif isinstance(item, Planned):
                    submitted.append(item)
                else:
                    writer.add(item)
            if submitted:
                backend = backend or make_backend()
                backend.submit(submitted)
                running += len(submitted)
            if backend is not None and running:
                outcomes = backend.collect(writer.patience_s)
                running -= len(outcomes)
                for outcome in outcomes:
                    writer.add(_row_of(spec, outcome))
            writer.write(soon=more or running > 0)
            reporter.tell()
    finally:
        try:
            writer.write(soon=False)
        finally:
            if backend is not None:
                backend.close()


def _row_of(spec: SweepSpec, outcome: Outcome) -> dict[str, Any]:
    planned, result, error = outcome
    if result is None:
        return rows.failed(spec, planned.run, planned.key, str(error))
    return rows.finished(spec, planned.run, planned.key, result)


def _todo(spec: SweepSpec, store: Store, planner: Planner) -> Iterator[Planned | dict[str, Any]]:
    """Missing runs, and rows of those that make no drive."""
    for run in runs(spec):
        if run.place not in store.keys:
            try:
                yield planner.plan(run)
            except FlashweirError as error:
                yield rows.failed(spec, run, None, error)


def _is_same(store: Store, meta: dict[str, Any], spec: SweepSpec, planner: Planner) -> bool:
    """True if the existing rows are rows of this sweep, made by this engine."""
    if not (store.directory / "sweep.json").exists():
        return False
    if not has_layout(read_meta(store.directory), meta):
        return False
    left = dict(store.keys)
    for run in runs(spec):
        if not left:
            return True
        if run.place in left:
            key = left.pop(run.place)
            if run.place in store.failed:
                continue
            try:
                if planner.plan(run).key != key:
                    return False
            except FlashweirError:
                return False
    return not left


def has_layout(before: dict[str, Any], meta: dict[str, Any]) -> bool:
    """True if rows under the description `before` have the columns and the numbers of points that `meta` describes."""
    # Through JSON, since that is what the other has gone through.
    now = json.loads(json.dumps(meta))
    return all(before.get(name) == now[name] for name in LAYOUT)


def _take_over(store: Store, spec: SweepSpec, planner: Planner, sources: list[Path]) -> None:
    """Writes the rows that other sweeps have results for."""
    files = _files(sources)
    # Lines that are no full part yet are few and are kept; parts are read twice instead.
    kept = {file: list(results_in(file)) for file in files if file.suffix != ".parquet"}
    known = {key for file in files for key, _ in kept.get(file) or results_in(file)}
    wanted: dict[str, list[Run]] = {}
    for item in _todo(spec, store, planner):
        if isinstance(item, Planned) and item.key in known:
            wanted.setdefault(item.key, []).append(item.run)
    batch: list[dict[str, Any]] = []
    for file in files:
        for key, result in kept.get(file) or results_in(file):
            batch += [rows.finished(spec, run, key, result) for run in wanted.pop(key, [])]
            if len(batch) >= BATCH:
                store.append(batch)
                batch = []
    if batch:
        store.append(batch)


def known_keys(sources: Iterable[Path]) -> set[str]:
    """Keys of the runs that sweeps have results for, by their directories."""
    return {key for file in _files(sources) for key, _ in results_in(file)}


def _files(sources: Iterable[Path]) -> list[Path]:
    return [file for source in sources for file in [*parts(source), source / "runs.jsonl"]]


def results_in(file: Path) -> Iterator[tuple[str, str]]:
    """Keys and results, as JSON text, in a file of a sweep."""
    for row in read_part(file) if file.suffix == ".parquet" else read_lines(file):
        if row["key"] is not None and row["result"] is not None:
            yield row["key"], row["result"]


def describe(spec: SweepSpec) -> dict[str, Any]:
    """Contents of `sweep.json`: the spec, and the versions that made the results."""
    return {
        "format": FORMAT,
        "name": spec.name,
        "spec": spec.source,
        "axes": [{"name": axis.name, "values": list(axis.labels)} for axis in spec.axes],
        "workloads": list(spec.workloads),
        "zipped": [[axis.name for axis in group] for group in spec.groups if len(group) > 1],
        "seeds": list(spec.seeds),
        "points": count_points(spec),
        "runs": count_runs(spec),
        "derived": list(spec.derived),
        "expressions": {name: expression.text for name, expression in spec.derived.items()},
        "metrics": list(spec.metrics),
        "compare": spec.compare,
        "baseline": spec.baseline,
        "version": _native.__version__,
        "build": _native.__build__,
        "git_commit": _git_commit(),
        "machine": {**machine(), "free_memory_bytes": free_memory_bytes()},
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        **spec.about,
    }


def _git_commit() -> str | None:
    """The commit of the folder in which the sweep is started, with `+` if it has changes; None outside of git."""
    try:
        commit = _git("rev-parse", "HEAD")
        return commit + ("+" if _git("status", "--porcelain", "--untracked-files=no") else "")
    except (OSError, subprocess.SubprocessError):
        return None


def _git(*args: str) -> str:
    done = subprocess.run(["git", *args], capture_output=True, text=True, timeout=10, check=True)  # noqa: S603, S607
    return done.stdout.strip()
