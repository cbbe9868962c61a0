"""Searches and grids of a problem, and the hypervolume that each dominates."""

import statistics
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import flashweir
from flashweir.searching.evaluation import Design, Evaluator
from flashweir.searching.lives import Lives
from flashweir.searching.runs import Runs
from flashweir.searching.sampler import spans_far
from flashweir.searching.spec import SearchSpec, load
from flashweir.searching.volume import hypervolume
from flashweir.statistics.pareto import undominated
from flashweir.sweeps import backend_for
from research.searching.grids import grid

PROBLEMS = Path(__file__).parent / "problems"
SEEDS = (1, 2, 3, 4, 5)
BUDGET = 48
# The reference lies so far beyond the worst of the best known front, as a share of its range.
_REFERENCE = 1.1


@dataclass(frozen=True)
class Outcome:
    """Dominated hypervolume of one problem as shares of that of the best known front."""

    problem: str
    designs: int
    runs: int
    grid: float
    searches: tuple[float, ...]

    @property
    def median(self) -> float:
        """The median over seeds."""
        return statistics.median(self.searches)

    @property
    def gain(self) -> float:
        """The median over the grid, less 1."""
        return self.median / self.grid - 1 if self.grid else float("inf")


def measured(path: Path, budget: int) -> Outcome:
    """A grid of at most `budget` designs, and searches of as many with each seed."""
    spec = load(path)
    with tempfile.TemporaryDirectory(prefix="flashweir-") as folder:
        by_hand = _grid(spec, Path(folder), budget)
        found = [
            flashweir.search(path, folder, budget=len(by_hand), seed=seed, resume=True, threads=1).found
            for seed in SEEDS
        ]
    every = [by_hand, *found]
    volumes = _volumes(spec, every)
    runs = len(by_hand) * len(spec.sweep.workloads) * len(spec.sweep.seeds)
    return Outcome(path.stem, spec.space.count, runs, volumes[0], tuple(volumes[1:]))


def _grid(spec: SearchSpec, folder: Path, budget: int) -> list[Design]:
    with Runs(spec.sweep, folder, backend_for("local", threads=1), resume=True, force=False) as runs:
        evaluator = Evaluator(spec, runs, Lives(folder, spec.life, 1))
        chosen = grid(spec.space, budget, lambda ranks: evaluator.known(ranks).may_run)
        return evaluator.evaluate(chosen, 1, lambda _done, _failed: None)


def _volumes(spec: SearchSpec, sets: Sequence[Sequence[Design]]) -> list[float]:
    """Hypervolume of each set of designs, as a share of that of all together."""
    signs = np.array([goal.sign for goal in spec.goals])
    raw = [np.array([list(one.goals.values()) for one in some if one.feasible]).reshape(-1, len(signs))
           for some in sets]  # fmt: skip
    together = np.vstack(raw)
    logs = [spans_far(column) for column in together.T]
    costs = [
        np.column_stack([np.log(column) if log else column for log, column in zip(logs, some.T, strict=True)]) * signs
        for some in raw
    ]
    every = np.vstack(costs)
    front = every[undominated(every)]
    low, high = front.min(axis=0), front.max(axis=0)
    scale = np.where(high > low, high - low, 1.0)
    reference = np.full(len(signs), _REFERENCE)
    best = hypervolume((front - low) / scale, reference)
    return [hypervolume((some - low) / scale, reference) / best for some in costs]
