"""Outcome of a search: the Pareto front, all designs, and how the dominated hypervolume grew."""

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flashweir import whole
from flashweir.bundles.toml import dumps
from flashweir.searching.evaluation import Design

if TYPE_CHECKING:
    import polars as pl

FORMAT = 1
FRONT = "front"
# The reference lies so far beyond the worst feasible design, as a share of the range of a goal.
_REFERENCE = 1.1


@dataclass(frozen=True)
class Search:
    """Outcome of a search.

    Attributes:
        name: of the spec.
        goals: `min` or `max` by goal.
        constraints: comparisons.
        found: designs in the order in which they ran.
        shown: further numbers of each design.
        runs: simulations behind them.
        refused: designs that make no drive, by reason, among those that were looked at.
        excluded: designs that miss a constraint over keys or costs, among these.
        grid: number of designs that the spec has.
        seed: of the sampler.
        directory: of the runs; None if they were not kept.
        workloads: each with the report of its reading, `trace`; None of generators.
    """

    name: str
    goals: Mapping[str, str]
    constraints: Sequence[str]
    found: Sequence[Design] = field(repr=False)
    shown: Sequence[str]
    runs: int
    refused: Mapping[str, int]
    excluded: int
    grid: int
    seed: int
    directory: Path | None = None
    workloads: Sequence[Mapping[str, Any]] = ()

    @property
    def best(self) -> list[Design]:
        """Feasible designs that no other dominates, in the order of the first goal, the best first."""
        import numpy as np

        from flashweir.statistics.pareto import undominated

        feasible = [one for one in self.found if one.feasible]
        if not feasible:
            return []
        kept = [one for one, keep in zip(feasible, undominated(np.array(self._costs(feasible))), strict=True) if keep]
        return [one for _, _, one in sorted((self._costs([one])[0], one.order, one) for one in kept)]

    @property
    def why_none(self) -> str:
        """Says why the front is empty."""
        counts = Counter(text for one in self.found for text in one.missed)
        failed = [one.error for one in self.found if one.error is not None]
        parts = [f"{count} miss {text}" for text, count in counts.most_common(2)]
        parts += [f"{len(failed)} failed, the first: {failed[0]}"] if failed else []
        return f"none of {len(self.found)} designs meets all constraints: {', '.join(parts)}"

    def _costs(self, designs: Sequence[Design]) -> list[list[float]]:
        signs = [1.0 if direction == "min" else -1.0 for direction in self.goals.values()]
        return [[sign * design.goals[name] for name, sign in zip(self.goals, signs, strict=True)] for design in designs]

    @property
    def front(self) -> "pl.DataFrame":
        """The Pareto front: `design` (its number), the axes, the goals, and further numbers."""
        return self._frame(self.best)

    @property
    def designs(self) -> "pl.DataFrame":
        """All designs in the order in which they ran; `feasible`, and `missed` or `error` where they are not."""
        return self._frame(self.found, whole=True)

    def _frame(self, designs: Sequence[Design], *, whole: bool = False) -> "pl.DataFrame":
        import polars as pl

        rows = [self._row(one) | (self._state(one) if whole else {}) for one in designs]
        kinds: dict[str, Any] = {"design": pl.Int64, **dict.fromkeys([*self.goals, *self.numbers], pl.Float64)}
        if not rows:
            return pl.DataFrame(schema=kinds)
        return pl.DataFrame(rows, schema_overrides=kinds, infer_schema_length=None, strict=False)

    @property
    def numbers(self) -> list[str]:
        """Further numbers that no goal and no axis has."""
        axes = self.found[0].labels if self.found else {}
        return [name for name in self.shown if name not in self.goals and name not in axes]

    def _row(self, one: Design) -> dict[str, Any]:
        goals = {name: one.goals.get(name) for name in self.goals}
        return {"design": one.order, **one.labels, **goals, **{name: one.values.get(name) for name in self.numbers}}

    @staticmethod
    def _state(one: Design) -> dict[str, Any]:
        return {"feasible": one.feasible, "missed": ", ".join(one.missed) or None, "error": one.error}

    @property
    def hypervolume(self) -> list[float]:
        """Dominated hypervolume after each design, as a share of that at the end; goals from best to worst found.

        A goal whose values span more than a factor of ten counts by its logarithm.
        """
        import numpy as np

        from flashweir.searching.sampler import spans_far
        from flashweir.searching.volume import hypervolume

        feasible = [one for one in self.found if one.feasible]
        if not feasible:
            return [0.0] * len(self.found)
        raw = np.array([[one.goals[name] for name in self.goals] for one in feasible])
        signs = np.array([1.0 if direction == "min" else -1.0 for direction in self.goals.values()])
        costs = np.column_stack([np.log(column) if spans_far(column) else column for column in raw.T]) * signs
        low, high = costs.min(axis=0), costs.max(axis=0)
        shown = (costs - low) / np.where(high > low, high - low, 1.0)
        reference = np.full(len(signs), _REFERENCE)
        last = hypervolume(shown, reference)
        course: list[float] = []
        count = 0
        for one in self.found:
            count += one.feasible
            fresh = one.feasible or not course
            course.append(hypervolume(shown[:count], reference) / last if fresh else course[-1])
        return course

    def to_dict(self) -> dict[str, Any]:
        """The form of `--json`."""
        front = {one.order for one in self.best}
        return {
            "format": FORMAT,
            "search": self.name,
            "goals": dict(self.goals),
            "constraints": list(self.constraints),
            "seed": self.seed,
            "grid": self.grid,
            "runs": self.runs,
            "refused": dict(self.refused),
            "excluded": self.excluded,
            "front": sorted(front),
            "workloads": list(self.workloads),
            "designs": [
                {
                    "design": one.order,
                    "settings": dict(one.labels),
                    "goals": dict(one.goals),
                    "numbers": {name: one.values.get(name) for name in self.numbers},
                    **self._state(one),
                }
                for one in self.found
            ],
            "hypervolume": self.hypervolume,
        }

    def device_file(self, design: int) -> str:
        """A design as a TOML file that `--device` takes.

        Raises:
            KeyError: no design has that number.
        """
        one = next((one for one in self.found if one.order == design), None)
        if one is None:
            raise KeyError(design)
        goals = ", ".join(f"{name} {value:.6g}" for name, value in one.goals.items())
        return f"# Found by search {self.name}, seed {self.seed}, design {design}: {goals}.\n{dumps(one.config)}"

    def write_front(self, directory: str | os.PathLike[str]) -> None:
        """Writes `front.csv`, and a device file of each design on the front in the folder `front`; older ones go."""
        folder = Path(directory) / FRONT
        folder.mkdir(parents=True, exist_ok=True)
        for old in folder.glob("*.toml"):
            old.unlink()
        for one in self.best:
            whole.write(folder / f"{one.order}.toml", self.device_file(one.order))
        whole.write(Path(directory) / "front.csv", self.front.write_csv())

    def write_html(self, path: str | os.PathLike[str]) -> None:
        """Writes a report with the front and all designs; a file that exists is replaced.

        Raises:
            FlashweirError: the file can't be written.
        """
        from flashweir.searching import showing

        showing.write(self, path)
