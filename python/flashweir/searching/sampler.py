"""Sampler of a search: the designs that a batch runs next.

The first designs are a Latin hypercube. Then a Gaussian process for each goal and each simulated constraint predicts
the designs that have not run, and those with the largest expected gain of dominated hypervolume, times the probability
that the constraints hold, run next. Within a batch each choice is believed to be as predicted (Ginsbourger et
2010).
Values that follow from the keys alone are known exactly, and designs that they exclude never run.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtr  # type: ignore[import-untyped]

from flashweir.searching.surrogate import Scale, Surrogate
from flashweir.searching.volume import expected_improvement, free_boxes
from flashweir.statistics.pareto import undominated

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

Ranks = tuple[int, ...]
# Designs that are predicted before each batch at most, and how many of them are drawn at random.
_CANDIDATES, _AT_RANDOM = 1500, 500
# Draws for each design that is wanted, before the space counts as exhausted.
_DRAWS = 300
# A goal whose values span more than this factor is seen by its logarithm.
LOG_SPAN = 10.0
# Margin of the reference beyond the worst of the front, as a share of its range; for every second design of a batch at
# least a share of the range of all designs, else ends of the front beyond those found would hardly be looked for.
_MARGIN, _OF_ALL = 0.2, 0.5
_SURE = 1e-6
_TIE = 1e-7


@dataclass(frozen=True)
class Space:
    """Number of places of each dimension, and whether they are in an order."""

    sizes: tuple[int, ...]
    ordered: tuple[bool, ...]

    @property
    def count(self) -> int:
        """Number of designs."""
        return math.prod(self.sizes)

    def places(self, designs: Sequence[Ranks]) -> "Floats":
        """Coordinates of designs: from 0 to 1 where there is an order, else the rank."""
        ranks = np.array(designs, dtype=float).reshape(len(designs), len(self.sizes))
        spans = [max(1, size - 1) if ordered else 1 for size, ordered in zip(self.sizes, self.ordered, strict=True)]
        found: Floats = ranks / np.array(spans, dtype=float)
        return found

    def ranks(self, number: int) -> Ranks:
        """Design by its number, in the order of a grid: the last dimension varies fastest."""
        found = []
        for size in reversed(self.sizes):
            number, rank = divmod(number, size)
            found.append(rank)
        return tuple(reversed(found))


@dataclass(frozen=True)
class Known:
    """Verdict of the keys of a design: True if it may run, and those goals that follow from them."""

    may_run: bool
    goals: tuple[float | None, ...]


@dataclass(frozen=True)
class Seen:
    """A design that ran: its goals, None if it failed, and by how much each simulated constraint is missed (<= 0: met).

    `feasible` says if all constraints hold.
    """

    ranks: Ranks
    goals: tuple[float, ...] | None
    misses: tuple[float, ...]
    feasible: bool


class Sampler:
    """Suggests designs. The same calls with the same seed suggest the same."""

    def __init__(self, space: Space, signs: Sequence[float], known: Callable[[Ranks], Known], seed: int) -> None:
        """A sampler that has suggested nothing.

        Args:
            space: the designs.
            signs: of each goal, 1 if less is better, -1 if more.
            known: the verdict of the keys of a design.
            seed: of everything random.
        """
        self._space, self._signs, self._known = space, np.array(signs, dtype=float), known
        self._random = np.random.default_rng((seed, 21))
        self._parameters: dict[str, Floats] = {}
        self._taken: set[Ranks] = set()

    def first(self, count: int) -> list[Ranks]:
        """A Latin hypercube of `count` designs; fewer where no more can run."""
        found: list[Ranks] = []
        for _ in range(_DRAWS):
            if len(found) == count:
                break
            missing = count - len(found)
            columns = [self._random.permutation(missing) for _ in self._space.sizes]
            shifts = self._random.random((missing, len(self._space.sizes)))
            for row in range(missing):
                shares = [(column[row] + shift) / missing for column, shift in zip(columns, shifts[row], strict=True)]
                drawn = tuple(
                    min(size - 1, int(share * size)) for share, size in zip(shares, self._space.sizes, strict=True)
                )
                if self._take(drawn):
                    found.append(drawn)
        if len(found) < count:
            found += self._rest(count - len(found))
        return found

    def suggest(self, seen: Sequence[Seen], count: int) -> list[Ranks]:
        """The next `count` designs; fewer where no more can run."""
        good = [one for one in seen if one.goals is not None]
        if len(good) < 2:  # noqa: PLR2004 - a scale needs two values
            return self.first(count)
        candidates = self._candidates(seen)
        if not candidates:
            return self._rest(count)
        models = _Models(self._space, self._signs, seen, self._parameters)
        known = [self._known(one).goals for one in candidates]
        found: list[Ranks] = []
        left = np.ones(len(candidates), dtype=bool)
        while len(found) < count and left.any():
            gain = np.where(left, models.gain(self._space.places(candidates), known), -1.0)
            top = float(gain.max())
            at = int(np.argmax(np.round(gain / top, 9) if top > 0 else gain))
            left[at] = False
            if self._take(candidates[at]):
                found.append(candidates[at])
                if len(found) < count:
                    models.believe(self._space.places([candidates[at]]), known[at])
        return found + self._rest(count - len(found))

    def _take(self, design: Ranks) -> bool:
        """Marks a design as suggested; False if it was, or may not run."""
        if design in self._taken or not self._known(design).may_run:
            return False
        self._taken.add(design)
        return True

    def _rest(self, count: int) -> list[Ranks]:
        """Designs from the start of the grid on, where a search has run nearly all of a small one."""
        found: list[Ranks] = []
        if self._space.count <= _CANDIDATES:
            for number in range(self._space.count):
                if len(found) < count and self._take(ranks := self._space.ranks(number)):
                    found.append(ranks)
        return found

    def _candidates(self, seen: Sequence[Seen]) -> list[Ranks]:
        """Designs that could run next: all of a small space, else draws, neighbours of the front, and its mutations."""
        if self._space.count <= _CANDIDATES:
            every: Iterator[Ranks] = map(self._space.ranks, range(self._space.count))
            return [one for one in every if one not in self._taken and self._known(one).may_run]
        best = _best(seen, self._signs)
        found: dict[Ranks, None] = {}
        drawn = self._random.random((_AT_RANDOM, len(self._space.sizes)))
        pool = [tuple(int(share * size) for share, size in zip(row, self._space.sizes, strict=True)) for row in drawn]
        pool += [other for one in best for other in self._neighbours(one)]
        pool += self._mutations(best, _CANDIDATES)
        for one in pool:
            if len(found) == _CANDIDATES:
                break
            if one not in self._taken and one not in found and self._known(one).may_run:
                found[one] = None
        return list(found)

    def _neighbours(self, design: Ranks) -> Iterator[Ranks]:
        """Designs that differ in one dimension: by one step where there is an order."""
        for at, (size, ordered) in enumerate(zip(self._space.sizes, self._space.ordered, strict=True)):
            steps = (design[at] - 1, design[at] + 1) if ordered else range(size)
            for rank in steps:
                if 0 <= rank < size and rank != design[at]:
                    yield (*design[:at], rank, *design[at + 1 :])

    def _mutations(self, best: Sequence[Ranks], count: int) -> list[Ranks]:
        """Designs of the front, crossed, and with some dimensions drawn anew."""
        found = []
        dimensions = len(self._space.sizes)
        for _ in range(count):
            parents = self._random.integers(0, len(best), 2)
            from_first = self._random.random(dimensions) < 0.7  # noqa: PLR2004 - most of one parent
            drawn = self._random.random(dimensions)
            anew = self._random.random(dimensions) < 1.5 / dimensions
            found.append(
                tuple(
                    int(drawn[at] * size) if anew[at] else best[parents[0 if from_first[at] else 1]][at]
                    for at, size in enumerate(self._space.sizes)
                )
            )
        return found


def _best(seen: Sequence[Seen], signs: "Floats") -> list[Ranks]:
    """The front, or without any feasible design those that miss the constraints by least."""
    feasible = [one for one in seen if one.feasible and one.goals is not None]
    if feasible:
        costs = np.array([one.goals for one in feasible]) * signs
        return [one.ranks for one, kept in zip(feasible, undominated(costs), strict=True) if kept]
    ranked = sorted((sum(max(0.0, miss) for miss in one.misses), at) for at, one in enumerate(seen) if one.goals)
    return [seen[at].ranks for _, at in ranked[:4]]


class _Models:
    """Predictions of goals and constraints, with the front so far."""

    def __init__(self, space: Space, signs: "Floats", seen: Sequence[Seen], parameters: "dict[str, Floats]") -> None:
        good = [one for one in seen if one.goals is not None]
        places = space.places([one.ranks for one in good])
        ordered = np.array(space.ordered)
        goals = np.array([one.goals for one in good])
        self._signs = signs
        self.scales = [Scale.of(column, log=spans_far(column)) for column in goals.T]
        self._costs = self._scaled(goals)
        self._goals = [
            self._fitted(f"goal {at}", places, column, ordered, parameters) for at, column in enumerate(self._costs.T)
        ]
        misses = np.array([one.misses for one in good]).reshape(len(good), -1)
        self._limits: list[tuple[Surrogate, float]] = []
        for at, column in enumerate(misses.T):
            if column.max() > 0:
                spread = float(column.std()) or 1.0
                scaled = (column - column.mean()) / spread
                model = self._fitted(f"limit {at}", places, scaled, ordered, parameters)
                self._limits.append((model, -float(column.mean()) / spread))
        if len(good) < len(seen):
            ran = np.array([-1.0 if one.goals is not None else 1.0 for one in seen])
            every = space.places([one.ranks for one in seen])
            self._limits.append((self._fitted("failed", every, ran, ordered, parameters), 0.0))
        feasible = np.array([one.feasible for one in good])
        self._front = self._costs[feasible]
        self._believed = 0

    @staticmethod
    def _fitted(
        name: str, places: "Floats", values: "Floats", ordered: "NDArray[np.bool_]", parameters: "dict[str, Floats]"
    ) -> Surrogate:
        model = Surrogate(places, values, ordered, parameters.get(name))
        parameters[name] = model.parameters
        return model

    def _scaled(self, goals: "Floats") -> "Floats":
        """Goals on their scales, less is better."""
        columns = [scale.to(column) for scale, column in zip(self.scales, goals.T, strict=True)]
        found: Floats = np.column_stack(columns) * self._signs
        return found

    def gain(self, places: "Floats", known: Sequence[Sequence[float | None]]) -> "Floats":
        """Expected gain of hypervolume of each candidate, times the probability that it is feasible."""
        chance = np.ones(len(places))
        for model, limit in self._limits:
            mean, deviation = model.predict(places)
            chance *= ndtr((limit - mean) / deviation)
        means, deviations = self._predicted(places, known)
        if not len(self._front):
            # No design is feasible yet: the likely ones first.
            likely: Floats = chance + _TIE * deviations.sum(axis=1)
            return likely
        front = self._front[undominated(self._front)]
        worst, best = front.max(axis=0), front.min(axis=0)
        beyond = _MARGIN * np.where(worst > best, worst - best, 1.0)
        if self._believed % 2:
            beyond = np.maximum(beyond, _OF_ALL * (self._front.max(axis=0) - self._front.min(axis=0)))
        reference = worst + beyond
        boxes = free_boxes(front, reference)
        found: Floats = (expected_improvement(means, deviations, boxes) + _TIE * deviations.sum(axis=1)) * chance
        return found

    def _predicted(self, places: "Floats", known: Sequence[Sequence[float | None]]) -> "tuple[Floats, Floats]":
        found = [model.predict(places) for model in self._goals]
        means, deviations = np.column_stack([one[0] for one in found]), np.column_stack([one[1] for one in found])
        for at, scale in enumerate(self.scales):
            rows = [row for row, goals in enumerate(known) if goals[at] is not None]
            if rows:
                values = np.array([known[row][at] for row in rows], dtype=float)
                means[rows, at] = scale.to(values if not scale.log else np.maximum(values, 1e-300)) * self._signs[at]
                deviations[rows, at] = _SURE
        return means, deviations

    def believe(self, place: "Floats", known: Sequence[float | None]) -> None:
        """Takes the prediction of one design for its result."""
        means, _ = self._predicted(place, [known])
        self._believed += 1
        self._goals = [model.with_one(place, float(means[0, at])) for at, model in enumerate(self._goals)]
        self._limits = [
            (model.with_one(place, float(model.predict(place)[0][0])), limit) for model, limit in self._limits
        ]
        self._front = np.vstack([self._front, means])


def spans_far(values: "Floats") -> bool:
    """True if values are seen by their logarithm: all above 0, and spread over more than a factor of ten."""
    return bool(values.min() > 0 and values.max() > LOG_SPAN * values.min())
