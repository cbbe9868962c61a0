"""Writes that a drive holds back in phases (`buffer.backpressure=reserve`): fitted after all else, where it helps.

Some drives let writes pass while a reserve of erased space lasts, and hold them to just less than their own rate until
it is full again. A fluid model of that loop (bytes in, bytes out, the places of the host's queues) takes a thousandth
of the time of a simulation; its latencies are those of the fitted drive and the time for which it holds writes.
The rate of the refill is what the drive writes at saturation. Simulations correct the model, and decide.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from flashweir.fitting import evaluation, frontend, load, space
from flashweir.fitting.points import UNITS, Measurements, Point
from flashweir.fitting.traffic import writes
from flashweir.fitting.trials import Evaluated, Task

if TYPE_CHECKING:
    import numpy.typing as npt
    from cmaes import CMA  # type: ignore[import-untyped]

    Numbers = npt.NDArray[np.float64]

Places = tuple[float, ...]
RESERVE, LEFT, ALWAYS, SHARE = "buffer.reserve", "buffer.refill_left", "buffer.refill_always", "buffer.hold_share"
POLICY, RATE = "buffer.backpressure", "buffer.refill_rate"
METRICS = ("write_mean", "write_p50", "write_p99", "write_p999")
_QUANTILES = {"write_p50": 0.5, "write_p99": 0.99, "write_p999": 0.999}
_WITHOUT = tuple(set(UNITS) - set(METRICS))
# Phases of the model that are followed, those before the ones that count, and steps of each.
_CYCLES, _BEFORE, _STEPS = 4, 1, 400
# Drives drawn at random, those of them that a search begins at, and its size.
_DRAWN, _BEGINS, _POPULATION, _ROUNDS, _SIGMA = 1024, 4, 32, 20, 0.1
_US = 1e-6
# Least share of a rate by which a reserve is used up or refilled: the model needs an end of each phase.
_LEAST = 1e-3
# Phases that a simulation has at least.
_SHOWN = 3
# Held back at most for so long, as a wait for something else: us.
_SHORT = 1.0
# Error by which a drive that holds writes back must be better: that of two drives that fit alike.
NOISE = 0.03
# Simulations of such a drive; each corrects the model for the next.
_SIMULATED = 3
_MIN_RATIO, _MAX_RATIO = 0.25, 4.0


@dataclass(frozen=True)
class Fluid:
    """The model for the loads of a drive that have a rate.

    Attributes:
        points: these loads.
        rates: writes a second of each.
        highest: writes a second at saturation.
        longest_s: longest time from one refill to the next of each that a simulation shows; beyond it no write is held.
        outstanding: places of the host's queues.
        size: bytes of a write.
    """

    points: tuple[Point, ...]
    rates: "Numbers"
    longest_s: "Numbers"
    highest: float
    outstanding: float
    size: int

    def times(self, drives: Sequence[Mapping[str, float]]) -> "Numbers":
        """Times for which writes are held back, us: mean and quantiles by drive, load and metric."""
        reserve, left, always, share = (
            np.repeat([drive[name] for drive in drives], len(self.rates)) for name in (RESERVE, LEFT, ALWAYS, SHARE)
        )
        reserve, always, rate = reserve / self.size, always / self.size, np.tile(self.rates, len(drives))
        paced = self._paced(share, rate)
        spent = np.maximum(rate - always, _LEAST * rate)
        refill_s = reserve / ((1 + left) * np.maximum(self.highest - paced, _LEAST * self.highest))
        cycle_s = reserve / spent + refill_s
        shown = (rate > always) & (cycle_s < np.tile(self.longest_s, len(drives)))
        found = np.zeros((len(rate), len(METRICS)))
        found[shown] = self._held(*(one[shown] for one in (cycle_s / _STEPS, reserve, left, always, share, rate)))
        return found.reshape(len(drives), len(self.rates), len(METRICS))

    def _paced(self, share: "Numbers", rate: "Numbers") -> "Numbers":
        """Writes a second that enter during a refill."""
        return rate * (1 - (1 - share) * (1 - rate / self.highest))

    def _held(
        self,
        step_s: "Numbers",
        reserve: "Numbers",
        left: "Numbers",
        always: "Numbers",
        share: "Numbers",
        rate: "Numbers",
    ) -> "Numbers":
        """Mean and quantiles for which writes are held back, us, by drives that hold them."""
        paced = self._paced(share, rate)
        filled, queue, late = reserve.copy(), np.zeros_like(rate), np.zeros_like(rate)
        holds = np.zeros(len(rate), dtype=bool)
        waits: list[Numbers] = []
        entered: list[Numbers] = []
        for step in range(_CYCLES * _STEPS):
            passes = np.where(holds, paced, self.highest) * step_s
            there = queue + late + rate * step_s
            passed = np.minimum(there, passes)
            waiting = np.minimum(self.outstanding, there - passed)
            if step >= _BEFORE * _STEPS:
                waits.append(np.where(waiting > 1, waiting / passes * step_s, 0.0))
                entered.append(waiting + passed - queue)
            queue, late = waiting, there - passed - waiting
            gain = np.where(holds, (1 + left) * (self.highest * step_s - passed), always * step_s - passed)
            filled = np.minimum(filled + gain, reserve)
            holds = np.where(holds, filled < reserve, filled <= 0)
        return _statistics(np.array(waits), np.maximum(np.array(entered), 0.0))

    def predict(self, times: "Numbers", without: Mapping[str, evaluation.Values]) -> dict[str, dict[str, float]]:
        """Metrics of writes by the id of each load: a drive's that holds none, and the times for which it holds."""
        found: dict[str, dict[str, float]] = {}
        for point, row in zip(self.points, times, strict=True):
            own = without.get(point.id, {})
            mean = own.get("write_mean", 0.0)
            found[point.id] = {
                name: (mean + float(value) if name == "write_mean" or value > _SHORT else own.get(name, mean))
                for name, value in zip(METRICS, row, strict=True)
            }
        return found


def choose(
    cma: "type[CMA]", model: Fluid, task: Task, first: Evaluated, simulate: Callable[[Mapping[str, object]], Evaluated]
) -> Mapping[str, object]:
    """Settings of a drive, which holds writes back if simulations say that this is better by more than the noise.

    Args:
        task: the points that count, and a seed.
        first: the drive without holding, by any simulation.
        simulate: a full simulation.
    """
    guess = Held(model, first.predicted)
    places = guess.search(cma, task.seed)
    if guess.whole(task.points, places) > first.error - NOISE:
        return first.settings
    plain = simulate(first.settings)
    search, made = Held(model, plain.predicted), [plain]
    for _ in range(_SIMULATED):
        made.append(simulate(search.settings(places, first.settings)))
        search.learn(places, made[-1].predicted)
        places = search.search(cma, task.seed, places)
    best = min(made, key=lambda one: one.error)
    return best.settings if best.error < plain.error - NOISE else first.settings


def names() -> tuple[str, ...]:
    """Keys that a drive has which holds writes back, and no other."""
    return (POLICY, *(key.name for key in space.held()), RATE)


def _statistics(waits: "Numbers", weights: "Numbers") -> "Numbers":
    """Weighted mean and quantiles of each column, in us."""
    order = np.argsort(waits, axis=0)
    sorted_waits = np.take_along_axis(waits, order, axis=0)
    sums = np.cumsum(np.take_along_axis(weights, order, axis=0), axis=0)
    total = np.maximum(sums[-1], 1e-12)
    found = [(waits * weights).sum(axis=0) / total]
    columns = np.arange(waits.shape[1])
    for share in _QUANTILES.values():
        at = np.minimum((sums < share * total).sum(axis=0), len(waits) - 1)
        found.append(sorted_waits[at, columns])
    return np.stack(found, axis=1) / _US


def fluid(measurements: Measurements) -> Fluid | None:
    """The model of measured loads; None without latencies of writes below saturation and at it."""
    full = evaluation.saturated(measurements)
    if full is None or not {"read_mean", "write_mean"} <= full.measured.keys():
        return None
    points = tuple(
        point
        for point in evaluation.fitted(measurements)
        if point.kind == "rate" and point.workload == full.workload and "write_mean" in point.measured
    )
    if not points:
        return None
    rates = np.array([writes(point, point.value) for point in points])
    highest = writes(full, full.throughput or 0.0)
    longest_s = np.array([load.seconds(point, load.FULL) / _SHOWN for point in points])
    return Fluid(points, rates, longest_s, highest, frontend.outstanding(full), full.workload.size)


@dataclass
class Held:
    """Search of the model, for a drive whose metrics without holding are known.

    Attributes:
        without: these metrics, by the id of each load.
        ratios: factors that make the model agree with a simulation.
    """

    model: Fluid
    without: Mapping[str, evaluation.Values]
    ratios: Mapping[str, Mapping[str, float]] = field(default_factory=dict)

    def errors(self, places: Sequence[Sequence[float]]) -> list[float]:
        """Errors of writes alone."""
        return [evaluation.error(self.model.points, one, _WITHOUT) for one in self._predicted(places)]

    def whole(self, points: Sequence[Point], places: Places) -> float:
        """Error of all metrics of all points, with those of writes as the model has them."""
        held = self._predicted([places])[0]
        merged = {name: {**values, **held.get(name, {})} for name, values in self.without.items()}
        return evaluation.error(points, merged)

    def learn(self, places: Places, simulated: Mapping[str, evaluation.Values]) -> None:
        """Takes the factors of a simulation."""
        self.ratios = {}
        predicted = self._predicted([places])[0]
        self.ratios = {
            point: {
                name: min(_MAX_RATIO, max(_MIN_RATIO, simulated[point][name] / value))
                for name, value in values.items()
                if value > 0 and name in simulated.get(point, {})
            }
            for point, values in predicted.items()
        }

    def search(self, cma: "type[CMA]", seed: int, begin: Places | None = None) -> Places:
        """The best places of the keys, from the best of drives drawn at random or from one."""
        if begin is not None:
            return self._from(cma, seed, begin)
        drawn = [tuple(row) for row in np.random.default_rng((seed, 6)).random((_DRAWN, len(space.held()))).tolist()]
        errors = self.errors(drawn)
        begins = sorted(range(_DRAWN), key=lambda at: errors[at])[:_BEGINS]
        found = [self._from(cma, seed, drawn[at]) for at in begins]
        errors = self.errors(found)
        return found[errors.index(min(errors))]

    def _from(self, cma: "type[CMA]", seed: int, begin: Places) -> Places:
        lowest, best = self.errors([begin])[0], begin
        bounds = np.array([[0.0, 1.0]] * len(best))
        engine = cma(mean=np.array(best), sigma=_SIGMA, seed=seed, population_size=_POPULATION, bounds=bounds)
        for _ in range(_ROUNDS):
            asked = [np.asarray(engine.ask()) for _ in range(_POPULATION)]
            errors = self.errors([one.tolist() for one in asked])
            engine.tell(list(zip(asked, errors, strict=True)))
            if min(errors) < lowest:
                lowest = min(errors)
                best = tuple(asked[errors.index(lowest)].tolist())
        return best

    def settings(self, places: Places, drive: Mapping[str, object]) -> dict[str, object]:
        """The drive that holds writes back."""
        own = {key.name: key.setting(key.at(place)) for key, place in zip(space.held(), places, strict=True)}
        return {**drive, POLICY: "reserve", **own, RATE: round(self.model.highest * self.model.size)}

    def _predicted(self, places: Sequence[Sequence[float]]) -> list[dict[str, dict[str, float]]]:
        drives = [{key.name: key.at(place) for key, place in zip(space.held(), one, strict=True)} for one in places]
        made = [self.model.predict(times, self.without) for times in self.model.times(drives)]
        return [
            {
                point: {name: value * self.ratios.get(point, {}).get(name, 1.0) for name, value in values.items()}
                for point, values in one.items()
            }
            for one in made
        ]
