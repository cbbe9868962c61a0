"""The loop of a search: batches of designs until the budget or the space is used up."""

import time
from collections.abc import Sequence
from pathlib import Path

from flashweir._native import FlashweirError
from flashweir.searching.evaluation import Design, Evaluator, refuse_all
from flashweir.searching.outcome import Search
from flashweir.searching.sampler import Ranks, Sampler
from flashweir.searching.spec import SearchSpec
from flashweir.sweeps import Progress, State
from flashweir.sweeps.points import seeds_of


class Loop:
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
            workloads=self._evaluator.workloads,
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
