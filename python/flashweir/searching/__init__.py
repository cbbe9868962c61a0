"""Finds drives that are best for given workloads under constraints (docs/guide/find-a-drive.md)."""

import os
import shutil
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from flashweir._native import ConfigError, FlashweirError
from flashweir.arguments import in_python
from flashweir.budget import read_budget
from flashweir.searching.evaluation import Design, Evaluator, refuse_all
from flashweir.searching.lives import Lives
from flashweir.searching.outcome import Search
from flashweir.searching.runs import Runs
from flashweir.searching.sampler import Ranks, Sampler
from flashweir.searching.spec import SearchSpec, load
from flashweir.sweeps import Progress, State, backend_for
from flashweir.sweeps.points import seeds_of

__all__ = ["Design", "Search", "search"]

AnyPath = str | os.PathLike[str]
DEFAULT_BUDGET = 100
DEFAULT_BATCH = 4


@in_python
def search(
    spec: AnyPath | Mapping[str, Any],
    directory: AnyPath | None = None,
    *,
    budget: int | str = DEFAULT_BUDGET,
    seed: int = 1,
    batch: int = DEFAULT_BATCH,
    on: str = "local",
    resume: bool = False,
    force: bool = False,
    threads: int | None = None,
    memory_bytes: int | None = None,
    progress: Progress | None = None,
) -> Search:
    """Searches the designs of a grid that are best for several goals under constraints, without running all of it.

    Args:
        spec: a TOML file or a mapping: a sweep with goals, constraints and prices (docs/reference/search.md).
        directory: where runs and the front go and stay; a sweep's directory.
        budget: designs to run, or a time such as `"10min"`. The same number and seed find the same.
        seed: of the sampler; workloads have the seeds of the spec.
        batch: designs that run at a time, before the next are chosen.
        on: as of `sweep`.
        resume: go on in a directory that holds runs.
        force: begin anew in such a directory; what it holds is put aside in a folder of it, `earlier-N`.
        threads: as of `sweep`.
        memory_bytes: likewise.
        progress: called with a `State` as runs end; returning False stops the search.

    Raises:
        ConfigError: the spec, the directory or an argument is not what it should be, or no design may run.
        FlashweirError: `progress` stopped the search. Finished runs are kept in `directory`.
    """
    if not isinstance(spec, Mapping | str | os.PathLike):
        raise ConfigError(f"spec: {spec!r}: expected a TOML file or a mapping")
    count, limit_s = read_budget(budget)
    if count == 0:
        raise ConfigError("budget: 0: expected at least 1 design")
    for name, value in (("seed", seed), ("batch", batch)):
        least = 1 if name == "batch" else 0
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value < 1 << 63:
            raise ConfigError(f"{name}: {value!r}: expected a whole number from {least}")
    read = load(spec if isinstance(spec, Mapping) else Path(spec))
    backend = backend_for(on, threads=threads, memory_bytes=memory_bytes, keeps_traces=True)
    folder = Path(tempfile.mkdtemp(prefix="flashweir-search-")) if directory is None else Path(directory)
    try:
        with Runs(read.sweep, folder, backend, resume=resume, force=force) as runs:
            lives = Lives(folder, read.life, threads or len(os.sched_getaffinity(0)))
            loop = _Loop(read, Evaluator(read, runs, lives), seed, batch, progress)
            found = loop.run(count, limit_s, None if directory is None else folder)
        if directory is not None:
            found.write_front(folder)
    finally:
        if directory is None:
            shutil.rmtree(folder, ignore_errors=True)
    return found


class _Loop:
    """Batches of designs until the budget or the space is used up."""

    def __init__(
        self, spec: SearchSpec, evaluator: Evaluator, seed: int, batch: int, progress: Progress | None
    ) -> None:
        self._spec, self._evaluator, self._seed, self._batch = spec, evaluator, seed, batch
        self._sampler = Sampler(spec.space, [goal.sign for goal in spec.goals], evaluator.known, seed)
        self._runs = sum(len(seeds_of(spec.sweep, name)) for name in spec.sweep.workloads)
        self._progress, self._began, self._state = progress, time.monotonic(), State(total=0)

    def run(self, budget: int | None, limit_s: float | None, directory: Path | None) -> Search:
        """Evaluates `budget` designs; no batch begins later than after `limit_s` seconds, but the first."""
        found: list[Design] = []
        while budget is None or len(found) < budget:
            if found and limit_s is not None and time.monotonic() - self._began >= limit_s:
                break
            left = None if budget is None else budget - len(found)
            designs = self._next(found, left)
            if not designs:
                break
            self._state.total = self._runs * (len(found) + len(designs) if budget is None else budget)
            found += self._evaluator.evaluate(designs, len(found) + 1, self._tell)
        if not found:
            refuse_all(self._evaluator)
        spec = self._spec
        return Search(
            name=spec.sweep.name,
            goals={goal.name: goal.direction for goal in spec.goals},
            constraints=[one.text for one in spec.constraints],
            found=found,
            shown=self._evaluator.shown,
            runs=self._runs * len(found),
            refused=dict(sorted(self._evaluator.refused.items())),
            excluded=self._evaluator.excluded,
            grid=spec.space.count,
            seed=self._seed,
            directory=directory,
        )

    def _next(self, found: Sequence[Design], left: int | None) -> list[Ranks]:
        if not found:
            dimensions = len(self._spec.space.sizes)
            first = max(self._batch, 2 * dimensions + 2)
            return self._sampler.first(first if left is None else min(first, left))
        count = self._batch if left is None else min(self._batch, left)
        return self._sampler.suggest([self._evaluator.seen(one) for one in found], count)

    def _tell(self, done: int, failed: int) -> None:
        state = self._state
        state.done += done
        state.failed += failed
        state.elapsed_s = time.monotonic() - self._began
        if self._progress is not None and self._progress(state) is False:
            raise FlashweirError(f"stopped: {state.done:,} of {state.total:,} runs done")
