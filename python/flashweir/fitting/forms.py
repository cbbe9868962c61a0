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


@dataclass
class Corrected:
    """A closed form with, for one combination of alternatives, factors that make it agree with a simulation."""

    form: Form
    start: space.Start
    settled: Mapping[str, object]
    ratios: Mapping[str, Mapping[str, float]] = field(default_factory=dict)

    def error(self, places: Sequence[float]) -> float:
        """Error of a drive at places of the keys."""
        predicted = self.form.predict(self.start.drive(places) | dict(self.settled))
        if not predicted:
            return _IMPOSSIBLE
        scaled = {
            point: {name: value * self.ratios.get(point, {}).get(name, 1.0) for name, value in values.items()}
            for point, values in predicted.items()
        }
        return evaluation.error(self.form.points, scaled, _WITHOUT)

    def learn(self, places: Sequence[float], simulated: Mapping[str, evaluation.Values]) -> None:
        """Takes the factors of a simulated drive."""
        predicted = self.form.predict(self.start.drive(places) | dict(self.settled))
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

    def search(self, cma: "type[CMA]", seed: int, rounds: int, begin: Places | None = None) -> Places:
        """The best places that CMA-ES finds, from the middle of all ranges or from a drive."""
        count = len(self.start.keys)
        mean = np.full(count, 0.5) if begin is None else np.array(begin)
        engine = cma(mean=mean, sigma=0.3 if begin is None else 0.08, seed=seed, population_size=_POPULATION,
                     bounds=np.array([[0.0, 1.0]] * count))  # fmt: skip
        best: Places = tuple(float(x) for x in mean)
        lowest = self.error(best)
        for _ in range(rounds):
            asked = [np.asarray(engine.ask()) for _ in range(_POPULATION)]
            errors = [self.error(one.tolist()) for one in asked]
            engine.tell(list(zip(asked, errors, strict=True)))
            if min(errors) < lowest:
                lowest = min(errors)
                best = tuple(float(x) for x in asked[errors.index(lowest)])
        return best
