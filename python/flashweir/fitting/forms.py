"""Search of the closed form, corrected by what simulations of its finds say (space mapping, Bandler et al. 1994)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import TYPE_CHECKING

import numpy as np

from flashweir.fitting import evaluation, space
from flashweir.fitting.closed import METRICS, Form
from flashweir.fitting.points import UNITS

if TYPE_CHECKING:
    from cmaes import CMA  # type: ignore[import-untyped]

Places = tuple[float, ...]
_WITHOUT = tuple(set(UNITS) - set(METRICS))
_POPULATION = 16
# A percentile of so few reads that points share its correction.
_SHARED = ("read_p999",)
_MIN_RATIO, _MAX_RATIO = 0.4, 2.5
_IMPOSSIBLE = 99.0
_SIGMA = 0.08
# Drives drawn before a search of the form begins, those of them that it begins at, and its first step. Valleys of a
# bounded error are narrow: from the middle of all ranges it found a suspension of 8 us where 96 us come nearer.
_DRAWN, _BEGINS, _SIGMA_FIRST = 2_000, 12, 0.2
# Generations from each of these.
_ROUNDS_FIRST = 60
# Largest difference of a place between two finds that are the same one.
_ALIKE = 0.1
# Steps that tell if the form knows an effect of a key.
_ASIDE = (-0.1, 0.1)
# Keys that CMA-ES needs at least.
_FEWEST = 2


@dataclass
class Corrected:
    """A closed form with, for one combination of alternatives, factors that make it agree with a simulation.

    Attributes:
        guess: values of keys that measurements say, and that a search leaves alone.
    """

    form: Form
    start: space.Start
    settled: Mapping[str, object]
    guess: Mapping[str, float] = field(default_factory=dict)
    ratios: Mapping[str, Mapping[str, float]] = field(default_factory=dict)

    def error(self, places: Sequence[float]) -> float:
        """Error of a drive at places of the keys."""
        predicted = self.form.predict(self._settings(places))
        if not predicted:
            return _IMPOSSIBLE
        scaled = {
            point: {name: value * self.ratios.get(point, {}).get(name, 1.0) for name, value in values.items()}
            for point, values in predicted.items()
        }
        return evaluation.error(self.form.points, scaled, _WITHOUT)

    def learn(self, places: Sequence[float], simulated: Mapping[str, evaluation.Values]) -> None:
        """Takes the factors of a simulated drive."""
        predicted = self.form.predict(self._settings(places))
        found: dict[str, dict[str, float]] = {}
        for point, values in predicted.items():
            for name, value in values.items():
                if name in simulated.get(point, {}) and value > 0:
                    ratio = simulated[point][name] / value
                    found.setdefault(point, {})[name] = min(_MAX_RATIO, max(_MIN_RATIO, ratio))
        for name in _SHARED:
            common = median([ratios[name] for ratios in found.values() if name in ratios] or [1.0])
            for ratios in found.values():
                ratios[name] = common
        self.ratios = found

    def unseen(self, places: Places) -> list[int]:
        """Numbers of the keys that the form knows no effect of around a drive: the front end's, for example."""
        here = self.form.predict(self._settings(places))
        return [
            at
            for at in range(len(places))
            if all(self.form.predict(self._settings(moved(places, at, step))) == here for step in _ASIDE)
        ]

    def finds(self, cma: "type[CMA]", seed: int, count: int) -> list[Places]:
        """The best places that CMA-ES finds from the best of many drives drawn at random, the best first.

        Keys with a guess stay there. Finds that are alike are one.
        """
        first, random = self._first(), np.random.default_rng((seed, 5))
        held = [key.name in self.guess for key in self.start.keys]
        drawn = [
            tuple(own if stays else place for own, stays, place in zip(first, held, row, strict=True))
            for row in random.random((_DRAWN, len(first))).tolist()
        ]
        begins = sorted([first, *drawn], key=self.error)[:_BEGINS]
        made = sorted(
            (self.search(cma, seed, _ROUNDS_FIRST, begin, 1.0, _SIGMA_FIRST) for begin in begins), key=self.error
        )
        found: list[Places] = []
        for places in made:
            if all(max(abs(a - b) for a, b in zip(places, one, strict=True)) > _ALIKE for one in found):
                found.append(places)
        return found[:count]

    def search(
        self, cma: "type[CMA]", seed: int, rounds: int, begin: Places, radius: float = 1.0, sigma: float = _SIGMA
    ) -> Places:
        """The best places that CMA-ES finds from a drive.

        Args:
            begin: the drive, whose keys that the form knows no effect of stay as they are.
            radius: how far other keys go from it at most, as a share of their ranges.
            sigma: the first step, as a share of ranges.
        """
        count, best = len(self.start.keys), begin
        held = set(self.unseen(begin))
        free = [at for at in range(count) if at not in held]
        if len(free) < _FEWEST:
            return best
        mean = np.array([best[at] for at in free])
        bounds = np.array([[max(0.0, place - radius), min(1.0, place + radius)] for place in mean.tolist()])
        engine = cma(mean=mean, sigma=min(sigma, radius / 2), seed=seed, population_size=_POPULATION, bounds=bounds)
        lowest = self.error(best)
        for _ in range(rounds):
            asked = [np.asarray(engine.ask()) for _ in range(_POPULATION)]
            drives = [_with(best, free, one.tolist()) for one in asked]
            errors = [self.error(one) for one in drives]
            engine.tell(list(zip(asked, errors, strict=True)))
            if min(errors) < lowest:
                lowest = min(errors)
                best = drives[errors.index(lowest)]
        return best

    def _first(self) -> Places:
        guess = self.guess
        return tuple(key.place(guess[key.name]) if key.name in guess else 0.5 for key in self.start.keys)

    def _settings(self, places: Sequence[float]) -> dict[str, object]:
        return self.start.drive(places) | dict(self.settled)


def moved(places: Places, at: int, step: float) -> Places:
    """Places with one key by a step further, within its range."""
    return (*places[:at], min(1.0, max(0.0, places[at] + step)), *places[at + 1 :])


def _with(places: Places, free: Sequence[int], values: Sequence[float]) -> Places:
    found = list(places)
    for at, value in zip(free, values, strict=True):
        found[at] = value
    return tuple(found)
