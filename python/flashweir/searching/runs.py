"""Runs of a search: rows of a sweep's directory, of which each is made once."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from flashweir._native import ConfigError, FlashweirError
from flashweir.assumptions import of_workloads
from flashweir.sweeps import rows
from flashweir.sweeps.points import Planned, Planner, Run
from flashweir.sweeps.runner import PATIENCE_S, MakeBackend, describe, has_layout, results_in
from flashweir.sweeps.spec import SweepSpec
from flashweir.sweeps.store import Store, earlier, parts, read_meta

if TYPE_CHECKING:
    from flashweir.sweeps.backend import Backend

Row = dict[str, Any]


class Runs:
    """Makes runs and keeps them; a context manager. Results of the same directory are taken where they are there."""

    def __init__(
        self, spec: SweepSpec, directory: Path, make_backend: MakeBackend, *, resume: bool, force: bool
    ) -> None:
        """Opens the directory; nothing is run yet. `traces` has the workloads of runs with reports of their reading.

        Raises:
            ConfigError: it holds runs, and neither `resume` nor `force` is given.
            FlashweirError: another process writes there, or a file is damaged.
        """
        if directory.exists() and not directory.is_dir():
            raise ConfigError(f"{directory}: expected a directory for the search, or a new name for one")
        self.spec, self.planner = spec, Planner()
        self._make_backend = make_backend
        self._backend: Backend | None = None
        self._store = Store(directory, spec.columns)
        self._known: dict[str, str] = {}
        self.traces: dict[str, list[dict[str, Any]]] = {}
        try:
            self._open(resume=resume, force=force)
        except BaseException:
            self._store.__exit__()
            raise

    def _open(self, *, resume: bool, force: bool) -> None:
        store, meta = self._store, describe(self.spec)
        if store.keys and not (resume or force):
            raise ConfigError(
                f"{store.directory}: holds runs already: --resume goes on with them, --force puts them aside, "
                "-o names another directory"
            )
        if store.keys:
            before = read_meta(store.directory)
            is_same = has_layout(before, meta) and all(before.get(name) == meta[name] for name in ("version", "build"))
            if is_same and not force:
                store.drop_failed()
            else:
                store.put_aside()
        sources = [] if force else [store.directory, *earlier(store.directory)]
        for file in (file for source in sources for file in [*parts(source), source / "runs.jsonl"]):
            self._known.update(results_in(file))
        store.write_meta(meta)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._backend is not None:
            self._backend.close()
        self._store.__exit__()

    def rows(self, runs: Sequence[Run], progress: Callable[[int, int], None]) -> list[tuple[Row, Planned | None]]:
        """Makes runs that are not there.

        Args:
            runs: at different places of the grid.
            progress: called with runs that were made or taken, and those of them that failed.

        Returns:
            Of each run its row, with the result as JSON text in `result`, and its plan, None where it makes no drive.
        """
        found: dict[tuple[int, int], tuple[Row, Planned | None]] = {}
        waiting: dict[str, list[Planned]] = {}
        for run in runs:
            try:
                planned = self.planner.plan(run)
            except FlashweirError as error:
                found[run.place] = self._kept(rows.failed(self.spec, run, None, error)), None
                continue
            if planned.key in self._known:
                row = rows.finished(self.spec, run, planned.key, self._known[planned.key])
                found[run.place] = self._kept(row), planned
            else:
                waiting.setdefault(planned.key, []).append(planned)
        progress(len(found), sum(row["error"] is not None for row, _ in found.values()))
        self._make([same[0] for same in waiting.values()], waiting, found, progress)
        return [found[run.place] for run in runs]

    def _make(
        self,
        todo: list[Planned],
        waiting: dict[str, list[Planned]],
        found: dict[tuple[int, int], tuple[Row, Planned | None]],
        progress: Callable[[int, int], None],
    ) -> None:
        """Runs the first of each key, whose result is that of the others, too."""
        under_way = 0
        while todo or under_way:
            if todo:
                backend = self._backend = self._backend or self._make_backend()
                room = max(1, backend.room) if under_way == 0 else backend.room
                batch, todo = todo[:room], todo[room:]
                backend.submit(batch)
                under_way += len(batch)
            assert self._backend is not None  # noqa: S101 - something was submitted
            outcomes = self._backend.collect(PATIENCE_S)
            under_way -= len(outcomes)
            for planned, result, error in outcomes:
                if result is not None:
                    self._known[planned.key] = result
                made = [
                    (rows.failed(self.spec, one.run, one.key, str(error)) if result is None
                     else rows.finished(self.spec, one.run, one.key, result), one)
                    for one in waiting.pop(planned.key)
                ]  # fmt: skip
                for row, one in made:
                    found[one.run.place] = self._kept(row), one
                progress(len(made), sum(row["error"] is not None for row, _ in made))
            progress(0, 0)

    def _kept(self, row: Row) -> Row:
        """The row, after it is in the directory."""
        place = row["point"], row["seed"]
        if row["workload"] not in self.traces and row.get("result") is not None:
            read = of_workloads(json.loads(row["result"]))
            self.traces[row["workload"]] = [{"workload": name, "trace": trace} for name, trace in read]
        if place not in self._store.keys:
            self._store.append([row])
        elif self._store.keys[place] != row["key"]:
            raise ConfigError(f"{self._store.directory}: a workload has changed since: --force begins anew")
        return row
