"""Runs the sweeps of experiments, one after the other, in one directory that can be gone on with.

A run that several experiments have in common is run once: it is known by its content (`sweeps.points`), and the later
sweep takes it from the earlier one's directory. While the last runs of a sweep go on, those of the next begin (`pool`).
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flashweir._native import FlashweirError
from flashweir.assumptions import of_sweep
from flashweir.reproduction import character
from flashweir.reproduction.catalogue import Experiment
from flashweir.reproduction.pool import Pool
from flashweir.sweeps import runner, store
from flashweir.sweeps.frame import SweepFrame, read
from flashweir.sweeps.points import Planned, Planner, count_runs, runs
from flashweir.sweeps.runner import MakeBackend, Progress, State
from flashweir.sweeps.spec import SweepSpec, load


class Measured:
    """An experiment whose sweep has run, or whose workloads were characterized: its rows; results on demand."""

    def __init__(self, experiment: Experiment, rows: list[dict[str, Any]], axes: list[str], directory: Path) -> None:
        self.experiment, self.rows, self.axes, self._directory = experiment, rows, axes, directory
        # Names of recorded traces with the reports of their reading.
        self.traces: list[tuple[str, Mapping[str, Any] | None]] = []
        self._results: dict[store.Place, str] | None = None

    @classmethod
    def of_sweep(cls, experiment: Experiment, frame: SweepFrame) -> "Measured":
        """Runs of a sweep, as measurements of the experiment."""
        measured = cls(experiment, frame.to_dicts(), frame.axes, frame.directory or Path())
        if experiment.traces is not None:
            measured.traces += of_sweep(frame)
        return measured

    @property
    def failed(self) -> list[str]:
        """Why runs gave no result."""
        return [str(row["error"]) for row in self.rows if row["error"] is not None]

    def result_of(self, row: Mapping[str, Any]) -> Mapping[str, Any]:
        """The whole result of a row; they are read from the directory when the first is asked for."""
        if self._results is None:
            found = store.rows(self._directory)
            self._results = {store.place_of(one): one["result"] for one in found if one["result"] is not None}
        result: dict[str, Any] = json.loads(self._results.get(store.place_of(row), "{}"))
        return result


@dataclass(frozen=True)
class _Planned:
    experiment: Experiment
    spec: SweepSpec
    directory: Path
    runs: Sequence[Planned]

    @property
    def keys(self) -> frozenset[str]:
        return frozenset(one.key for one in self.runs)


def run(
    experiments: Sequence[Experiment],
    directory: Path,
    backend: MakeBackend,
    *,
    quick: bool = False,
    progress: Progress | None = None,
    done: Callable[[Measured], None] | None = None,
) -> list[Measured]:
    """Runs what is not there yet.

    Args:
        experiments: in this order.
        directory: gets a folder for each experiment; what a stopped call has left there is gone on with.
        backend: makes what runs the runs, for all sweeps together.
        quick: run the smaller version.
        progress: is called with the state of all experiments together.
        done: is called with each experiment as its runs have ended.

    Raises:
        ConfigError: a sweep can't be read.
        FlashweirError: `progress` stopped it, or another process writes to the directory.
    """
    planner = Planner()
    swept = [one for one in experiments if not one.characterized]
    planned = [_plan(one, directory, planner, quick=quick) for one in swept]
    total = _Total(sum(count_runs(one.spec) for one in planned), progress)
    found: list[Measured] = []
    for experiment in experiments:
        if experiment.characterized:
            found.append(Measured(experiment, list(character.rows(experiment.characterized)), [], directory))
            if done is not None:
                done(found[-1])
    pool = Pool(backend, [one.runs for one in planned], _ready(planned))
    try:
        for place, one in enumerate(planned):
            one.directory.parent.mkdir(parents=True, exist_ok=True)
            state = runner.execute(
                one.spec,
                one.directory,
                pool.for_a_sweep,
                resume=True,
                reuse=tuple(_sources(one, planned[:place])),
                progress=total.tell,
            )
            total.add(state)
            found.append(Measured.of_sweep(one.experiment, read(one.directory)))
            if done is not None:
                done(found[-1])
    finally:
        pool.close()
    return found


def _plan(experiment: Experiment, directory: Path, planner: Planner, *, quick: bool) -> _Planned:
    spec = load(experiment.sweep(quick=quick))
    name = f"{experiment.name}-quick" if quick else experiment.name
    folder = directory / experiment.folder.parent.name / name
    return _Planned(experiment, spec, folder, list(_planned(spec, planner)))


def _planned(spec: SweepSpec, planner: Planner) -> Iterator[Planned]:
    for run_ in runs(spec):
        try:
            yield planner.plan(run_)
        except FlashweirError:
            # Its row will say why.
            continue


def _ready(planned: Sequence[_Planned]) -> set[str]:
    """Keys of the runs that an earlier call has left results of."""
    folders = [one.directory for one in planned if one.directory.is_dir()]
    return runner.known_keys([place for folder in folders for place in (folder, *store.earlier(folder))])


def _sources(wanting: _Planned, earlier: Sequence[_Planned]) -> Iterator[Path]:
    """Directories of the experiments before that have runs in common with this one, as few as give all of them."""
    left = set(wanting.keys)
    for one in earlier:
        if left & one.keys:
            left -= one.keys
            yield one.directory


class _Total:
    """The state of all sweeps together."""

    def __init__(self, total: int, progress: Progress | None) -> None:
        self._before = State(total)
        self._progress = progress

    def tell(self, state: State) -> bool | None:
        before = self._before
        together = State(
            before.total,
            before.ready + state.ready,
            before.done + state.done,
            before.failed + state.failed,
            before.elapsed_s + state.elapsed_s,
        )
        return None if self._progress is None else self._progress(together)

    def add(self, state: State) -> None:
        before = self._before
        before.ready += state.ready
        before.done += state.done
        before.failed += state.failed
        before.elapsed_s += state.elapsed_s
