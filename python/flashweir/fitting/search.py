"""The search for a drive.

Where loads have rates, a closed form of latencies is searched, and corrected by simulations of its finds, at last in a
small region around the best; the front end follows from saturation alone. Else all combinations of alternatives are
looked at, CMA-ES goes on from the best, and exchanges of one alternative follow. Longer simulations of all loads then
decide among the best, each key is varied alone, and at last the best drive may hold writes back. Evaluations come in
batches of a fixed size, so that the same budget and seed give the same drive on any machine.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from flashweir._native import ConfigError
from flashweir.fitting import amplification, ensemble, evaluation, frontend, held, space, trials
from flashweir.fitting.closed import Form
from flashweir.fitting.forms import Corrected, moved
from flashweir.fitting.points import Measurements
from flashweir.fitting.trials import Evaluated, Kept, Task, Trial
from flashweir.fitting.workers import Prediction, Workers

if TYPE_CHECKING:
    from cmaes import CMA  # type: ignore[import-untyped]

Progress = Callable[[int, int | None, float], None]
Place = tuple[space.Start, tuple[float, ...]]
BATCH = 8
# Shares of the budget at which the look ends, and at which alternatives are exchanged.
_LOOK, _EXCHANGE = 0.25, 0.6
# Combinations that go on after the look, and after the exchange.
_GO_ON, _AT_LAST = 3, 2
_SPREAD, _SPREAD_AT_LAST = 0.2, 0.1
# Finds of the closed form for each combination, generations of later searches, and how many finds a correction keeps.
_BEGINS, _ROUNDS, _CORRECTIONS = 2, 100, (6, 4, 3, 2, 2)
# The first region in which the form is searched around a drive, and the largest, as a share of the ranges of keys.
_RADIUS = 0.2
# The region below which keys are moved alone.
_SMALL = 0.015
# The least region after keys were moved alone.
_RADIUS_AGAIN = 0.08
# Factor of a region after a better drive was found in it.
_WIDER = 1.5
# Factor of a region after none was found.
_NARROWER = 0.5
# Factor of the second region around the best drive, where no other combination is close.
_SMALLER = 0.3
# The first step of keys that are moved alone, and after how many turns they are at the latest.
_ALONE, _EVERY = 0.12, 6
# Error within which another combination goes on beside the best: assumed.
_CLOSE = 0.03
# Times that the limit of a front end is mended.
_MENDED = 2
# Drives among which longer simulations decide: errors of short ones differ by 0.02 between drives that are alike.
_FINAL = 12
# Steps of a key that is varied alone, as shares of its range, and the share of the budget that all of them take.
_STEPS = (-0.12, 0.12, -0.3, 0.3)
_VARIED = 0.24


class _OutOfBudget(Exception):
    """No further evaluation may begin."""


@dataclass
class Search:
    """A search of one drive; `run` makes it.

    Attributes:
        trials: everything evaluated with short simulations.
        finals: the best of them with longer ones.
        varied: the best of these, with one key at another value each.
        best: complete settings of the drive that comes closest.
    """

    measurements: Measurements
    base: str | None
    seed: int
    kept: Path | None = None
    progress: Progress | None = None
    trials: list[Trial] = field(default_factory=list)
    finals: list[Trial] = field(default_factory=list)
    varied: list[Trial] = field(default_factory=list)
    best: Mapping[str, object] = field(default_factory=dict)

    def run(self, budget: int, limit_s: float | None) -> None:
        """Evaluates `budget` drives; no batch begins later than after `limit_s` seconds, but the first."""
        cma = _optimiser()
        form = Form(self.measurements, self.base, space.solved(), self.seed)
        self._task = (trials.middle if form.applies else trials.quick)(self.measurements, self.base, self.seed)
        self._kept = Kept(self.kept)
        self._budget = budget
        self._ends = None if limit_s is None else time.monotonic() + limit_s
        self._starts = space.starts(given(self.measurements))
        self._settled = _settled(self.measurements, self.base, self.seed)
        with Workers() as self._workers:
            try:
                if form.applies:
                    self._form(cma, form)
                else:
                    self._look()
                    self._descend(cma, self._best_of_each()[:_GO_ON], _SPREAD, _EXCHANGE)
                    self._exchange()
                    self._descend(cma, self._best_of_each()[:_AT_LAST], _SPREAD_AT_LAST, 1 - _VARIED)
            except _OutOfBudget:
                pass
            self._decide()
            best = ensemble.simplest(self.finals)
            self._vary(best)
            self.best = self._held(cma, best)

    def _form(self, cma: "type[CMA]", form: Form) -> None:
        """Finds of the closed form for every combination but the front ends, then the front end of the best."""
        guess = frontend.guess(self.measurements)
        finds: list[tuple[Corrected, tuple[float, ...], float]] = []
        for start in frontend.begins(self.measurements, self._starts):
            found = Corrected(form, start, self._settled, guess).finds(cma, self.seed, _BEGINS)
            finds += [(Corrected(form, start, self._settled, guess), places, 0.0) for places in found]
        for go_on in _CORRECTIONS:
            if len(self.trials) >= _EXCHANGE * self._budget:
                break
            finds = sorted(finds, key=lambda find: find[2])[:go_on]
            made = self._batch([(corrected.start, places) for corrected, places, _ in finds])
            after = []
            for (corrected, places, _), trial in zip(finds, made, strict=True):
                corrected.learn(places, trial.predicted)
                better = corrected.search(cma, self.seed, _ROUNDS // 2, places)
                after.append((corrected, better, trial.error))
            finds = after
        self._front_end(self._best_of_each()[0])
        self._approach(cma, form)

    def _approach(self, cma: "type[CMA]", form: Form) -> None:
        """The best drives by the form in a region around each, which shrinks where simulations say no (trust region).

        Where it is small, and every few turns, keys that the form knows no effect of are moved alone, but for those of
        a front end that follows from the saturated load: moves of these found none better.
        """
        by_names = {trial.start.names: Corrected(form, trial.start, self._settled) for trial in self._best_of_each()}
        radius = dict.fromkeys(by_names, _RADIUS)
        settled = frontend.settled(self.measurements)
        step, turn = _ALONE, 0
        while len(self.trials) < (1 - _VARIED) * self._budget:
            turn += 1
            best, *others = self._best_of_each()
            one = by_names[best.start.names]
            if radius[best.start.names] < _SMALL or turn % _EVERY == 0:
                alone = [at for at in one.unseen(best.places) if best.start.keys[at].name not in settled]
                sides = [(at, side) for at in alone for side in (-step, step)]
                if sides:
                    made = self._batch([(best.start, moved(best.places, at, side)) for at, side in sides])
                    step = step if min(trial.error for trial in made) < best.error else step / 2
                radius[best.start.names] = max(radius[best.start.names], _RADIUS_AGAIN)
                continue
            near = [other for other in others if other.error < best.error + _CLOSE]
            # The best one twice where no other is close: also in a smaller region.
            pairs = [(best, 1.0), (near[0], 1.0) if near else (best, _SMALLER)]
            pending: list[Place] = []
            for trial, share in pairs:
                one = by_names[trial.start.names]
                one.learn(trial.places, trial.predicted)
                size = share * radius[trial.start.names]
                places = one.search(cma, self.seed + turn, _ROUNDS // 2, trial.places, size)
                pending.append((trial.start, places))
            made = self._batch(pending)
            for names in {trial.start.names for trial, _ in pairs}:
                before = min(trial.error for trial, _ in pairs if trial.start.names == names)
                after = min(trial.error for trial in made if trial.start.names == names)
                radius[names] = min(_RADIUS, radius[names] * (_WIDER if after < before else _NARROWER))

    def _front_end(self, best: Trial) -> None:
        """The drive with all front ends, of which the saturated load decides."""
        pending = frontend.others(self.measurements, best, self._starts)
        task = trials.saturation(self.measurements, self.base, self.seed)
        if not task.points or not pending:
            return
        made = self._evaluated(task, pending)
        for _ in range(_MENDED):
            one = min(made, key=lambda trial: trial.error)
            places = frontend.mended(self.measurements, one)
            if places is None or any((one.start, places) == (other.start, other.places) for other in made):
                break
            made += self._evaluated(task, [(one.start, places)])
        made = sorted(made, key=lambda trial: trial.error)
        self._batch([(trial.start, trial.places) for trial in made[:_GO_ON]])

    def _look(self) -> None:
        """Drives at random, as many of each combination."""
        random = np.random.default_rng((self.seed, 3))
        pending: list[Place] = []
        for turn in range(max(1, round(_LOOK * self._budget / len(self._starts)))):
            pending += [(start, self._first(random, turn, start)) for start in self._starts]
        while pending:
            self._batch(pending[:BATCH])
            pending = pending[BATCH:]

    def _first(self, random: np.random.Generator, turn: int, start: space.Start) -> tuple[float, ...]:
        drawn = random.random(len(start.keys))
        places = []
        for key, place in zip(start.keys, drawn, strict=True):
            values = [point.measured[key.near] for point in self._task.points if key.near in point.measured]
            if values:
                guess = key.place(max(1e-9, min(values) * 1000 * key.factor))
                places.append(min(1.0, max(0.0, guess + (0.0 if turn == 0 else 0.3 * (float(place) - 0.5)))))
            else:
                places.append(0.5 if turn == 0 else float(place))
        return tuple(places)

    def _descend(self, cma: "type[CMA]", begins: Sequence[Trial], spread: float, until: float) -> None:
        """CMA-ES from each of several drives in turn; the worst drops out when its share of the evaluations is used."""
        engines = [
            (trial.start, cma(mean=np.array(trial.places), sigma=spread, seed=self.seed, population_size=BATCH,
                              bounds=np.array([[0.0, 1.0]] * len(trial.places))))
            for trial in begins
        ]  # fmt: skip
        from_count, until_count = len(self.trials), until * self._budget
        turn = 0
        while engines and len(self.trials) < until_count:
            start, engine = engines[turn % len(engines)]
            asked = [np.asarray(engine.ask()) for _ in range(BATCH)]
            made = self._batch([(start, tuple(float(x) for x in one)) for one in asked])
            engine.tell([(one, trial.error) for one, trial in zip(asked, made, strict=True)])
            turn += 1
            used = (len(self.trials) - from_count) / max(1.0, until_count - from_count)
            if len(engines) > 1 and used > 1 - 0.3 * (len(engines) - 1) - 0.1:
                lowest = {names: trial.error for trial in reversed(self._best_of_each())
                          for names in [trial.start.names]}  # fmt: skip
                engines = sorted(engines, key=lambda pair: lowest[pair[0].names])[:-1]

    def _exchange(self) -> None:
        """The best drive with one alternative exchanged, keys that it has stay as they are."""
        best = self._best_of_each()[0]
        known = {key.name: place for key, place in zip(best.start.keys, best.places, strict=True)}
        random = np.random.default_rng((self.seed, 4))
        pending: list[Place] = []
        for start in self._starts:
            if sum(a != b for a, b in zip(start.names, best.start.names, strict=True)) == 1:
                pending += [
                    (start, tuple(known.get(key.name, float(random.random())) for key in start.keys))
                    for _ in range(4 if {key.name for key in start.keys} - known.keys() else 1)
                ]
        while pending:
            self._batch(pending[:BATCH])
            pending = pending[BATCH:]

    def _best_of_each(self) -> list[Trial]:
        """The best drive of each combination, the best first."""
        best: dict[tuple[str, ...], Trial] = {}
        for trial in self.trials:
            if trial.start.names not in best or trial.error < best[trial.start.names].error:
                best[trial.start.names] = trial
        return sorted(best.values(), key=lambda trial: trial.error)

    def _decide(self) -> None:
        """Longer simulations of all loads for the best drives."""
        chosen: list[Trial] = []
        for trial in sorted(self.trials, key=lambda trial: trial.error):
            if all(trial.settings != other.settings for other in chosen):
                chosen.append(trial)
        chosen = chosen[: min(_FINAL, max(1, self._budget // BATCH))]
        self.finals = self._evaluated(
            trials.fine(self.measurements, self.base, self.seed), [(one.start, one.places) for one in chosen]
        )

    def _vary(self, best: Trial) -> None:
        """The best drive with one key at other values."""
        pending: list[Place] = []
        for step in _STEPS:
            for at in range(len(best.places)):
                other = moved(best.places, at, step)
                if other != best.places:
                    pending.append((best.start, other))
        room = max(0, self._budget - len(self.trials))
        self.varied = self._evaluated(self._task, pending[:room])

    def _held(self, cma: "type[CMA]", best: Trial) -> Mapping[str, object]:
        """Settings of the best drive, which holds writes back if that is better by more than the noise."""
        model = held.fluid(self.measurements)
        if model is None or best.error >= trials.IMPOSSIBLE:
            return best.settings
        task = trials.full(self.measurements, self.base, self.seed)
        first = Evaluated(best.settings, best.error, best.predicted)
        return held.choose(cma, model, task, first, lambda drive: self._at_once(task, drive))

    def _at_once(self, task: Task, drive: Mapping[str, object]) -> Evaluated:
        """One drive, whose loads the processes share."""
        found = self._kept.get(task, drive)
        if found is None:
            asked = Prediction(task.base, task.points, self.measurements.capacity, task.effort, task.seed)
            predicted = self._workers.predict(asked, drive)
            found = Evaluated(drive, evaluation.error(task.points, predicted, task.without), predicted)
            self._kept.add(task, drive, found)
        return found

    def _batch(self, chosen: Sequence[Place]) -> list[Trial]:
        left = self._budget - len(self.trials)
        if left <= 0 or (self.trials and self._ends is not None and time.monotonic() >= self._ends):
            raise _OutOfBudget
        made = self._evaluated(self._task, chosen[:left])
        self.trials += made
        if self.progress is not None:
            self.progress(len(self.trials), self._budget, min(trial.error for trial in self.trials))
        if len(made) < len(chosen):
            raise _OutOfBudget
        return made

    def _evaluated(self, task: Task, chosen: Sequence[Place]) -> list[Trial]:
        drives = [start.drive(places) | self._settled for start, places in chosen]
        new = [drive for drive in drives if self._kept.get(task, drive) is None]
        for drive, found in zip(new, self._workers.evaluate(task, new), strict=True):
            self._kept.add(task, drive, found)
        made = []
        for (start, places), drive in zip(chosen, drives, strict=True):
            if (one := self._kept.get(task, drive)) is not None:
                made.append(Trial(start, places, one.settings, one.error, one.predicted))
        return made


def _settled(measurements: Measurements, base: str | None, seed: int) -> dict[str, object]:
    """Keys that measurements settle before the search."""
    found = amplification.settle(measurements, base, seed)
    if not found and measurements.raw and measurements.capacity:
        return {space.settled().name: measurements.raw / measurements.capacity - 1}
    return found


def given(measurements: Measurements) -> list[str]:
    """Parts of measurements that settle keys or give them an effect."""
    found = ["raw"] if measurements.raw and measurements.capacity else []
    # A size that no drive of the space simulates tells nothing of the bus.
    sizes = {point.workload.size for point in evaluation.fitted(measurements)}
    if any("waf" in point.measured and amplification.is_simulated(point) for point in measurements.points):
        found.append("waf")
    if evaluation.saturated(measurements) is None:
        found.append(space.UNSATURATED)
    return found + (["sizes"] if len(sizes) > 1 else [])


def _optimiser() -> "type[CMA]":
    try:
        from cmaes import CMA
    except ImportError:
        raise ConfigError("fit needs the package cmaes: pip install 'flashweir[fit]'") from None
    return CMA  # type: ignore[no-any-return]
