"""The search: every combination of alternatives is tried, CMA-ES goes on from the best of them.

Evaluations come in batches of a fixed size, so that the same budget and seed give the same drive on any machine. Each
is kept in a file by its content, so that a search that was killed goes on where it was.
"""

import hashlib
import json
import os
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from flashweir._native import ConfigError, FlashweirError, __version__
from flashweir.fitting import evaluation, load, space
from flashweir.fitting.points import Measurements

if TYPE_CHECKING:
    from cmaes import CMA  # type: ignore[import-untyped]

Told = Callable[[int, int | None, float], None]
BATCH = 8
# Share of the budget for the first look at all combinations, and how many of them go on.
_LOOK, _GO_ON = 0.35, 3
_SPREAD = 0.2


@dataclass(frozen=True)
class Trial:
    """One evaluated drive: places of its keys, complete settings and error."""

    start: space.Start
    places: tuple[float, ...]
    settings: Mapping[str, object]
    error: float


@dataclass
class Search:
    """A search of one drive; `run` makes it, `trials` has everything evaluated."""

    measurements: Measurements
    base: str | None
    seed: int
    kept: Path | None = None
    progress: Told | None = None
    trials: list[Trial] = field(default_factory=list)
    _known: dict[str, tuple[dict[str, object], float]] = field(default_factory=dict)

    def run(self, budget: int | None, limit_s: float | None) -> None:
        """Evaluates up to `budget` drives, or as many batches as begin within `limit_s` seconds."""
        cma = _optimiser()
        self._read()
        began = time.monotonic()
        total = budget if budget is not None else 1 << 30

        def left() -> int:
            late = limit_s is not None and self.trials and time.monotonic() - began >= limit_s
            return 0 if late else total - len(self.trials)

        starts = space.starts(["raw"] if self.measurements.raw and self.measurements.capacity else [])
        random = np.random.default_rng((self.seed, 3))
        look = max(1, round(_LOOK * total)) if budget is not None else len(starts)
        pending = [(starts[at % len(starts)], self._first(random, at // len(starts), starts[at % len(starts)]))
                   for at in range(min(look, 4 * len(starts)))]  # fmt: skip
        while pending and (room := left()) > 0:
            self._batch(pending[: min(BATCH, room)], budget)
            pending = pending[BATCH:]
        engines: list[tuple[space.Start, CMA]] = []
        for trial in self._best_starts():
            mean = np.array(trial.places)
            bounds = np.array([[0.0, 1.0]] * len(mean))
            engines.append((trial.start, cma(mean=mean, sigma=_SPREAD, bounds=bounds, seed=self.seed,
                                             population_size=BATCH)))  # fmt: skip
        turn = 0
        while engines and (room := left()) > 0:
            start, engine = engines[turn % len(engines)]
            asked = [np.asarray(engine.ask()) for _ in range(BATCH)]
            made = self._batch([(start, tuple(float(x) for x in one)) for one in asked[: min(BATCH, room)]], budget)
            if len(made) == BATCH:
                engine.tell([(one, trial.error) for one, trial in zip(asked, made, strict=True)])
            turn += 1
            # The worst of those that went on drops out after a third of the rest, the second after two thirds.
            if budget is not None and len(engines) > 1 and len(self.trials) > total * (1.65 - 0.3 * len(engines)):
                engines = self._without_worst(engines)

    def _first(self, random: np.random.Generator, turn: int, start: space.Start) -> tuple[float, ...]:
        drawn = random.random(len(start.keys))
        return tuple(0.5 if turn == 0 else float(place) for place in drawn)

    def _best_starts(self) -> list[Trial]:
        best: dict[tuple[str, ...], Trial] = {}
        for trial in self.trials:
            if trial.start.names not in best or trial.error < best[trial.start.names].error:
                best[trial.start.names] = trial
        return sorted(best.values(), key=lambda trial: trial.error)[:_GO_ON]

    def _without_worst(self, engines: "list[tuple[space.Start, CMA]]") -> "list[tuple[space.Start, CMA]]":
        def lowest(names: tuple[str, ...]) -> float:
            return min(trial.error for trial in self.trials if trial.start.names == names)

        return sorted(engines, key=lambda pair: lowest(pair[0].names))[:-1]

    def _batch(self, chosen: list[tuple[space.Start, tuple[float, ...]]], budget: int | None) -> list[Trial]:
        with ThreadPoolExecutor(max_workers=min(BATCH, len(os.sched_getaffinity(0)))) as pool:
            made = list(pool.map(lambda pair: self._evaluate(*pair), chosen))
        self.trials += made
        if self.progress is not None:
            self.progress(len(self.trials), budget, min(trial.error for trial in self.trials))
        return made

    def _evaluate(self, start: space.Start, places: tuple[float, ...]) -> Trial:
        settings = dict(start.settings)
        settings |= {key.name: key.setting(key.at(place)) for key, place in zip(start.keys, places, strict=True)}
        if self.measurements.raw and self.measurements.capacity:
            settings["op_ratio"] = self.measurements.raw / self.measurements.capacity - 1
        content = json.dumps([__version__, self.base, self.seed, repr(self.measurements.points), settings])
        name = hashlib.sha256(content.encode()).hexdigest()[:24]
        if name not in self._known:
            points = evaluation.fitted(self.measurements)
            try:
                whole = evaluation.solve(settings, self.base, self.measurements, space.solved(), self.seed)
                candidate = evaluation.Candidate(self.base, whole)
                predicted = evaluation.predict(candidate, points, self.measurements.capacity, load.QUICK, self.seed)
                off = evaluation.error(points, predicted)
            except (ConfigError, FlashweirError):
                # Few spare blocks for the dies, for example: such a drive can't be.
                whole, off = settings, 99.0
            self._known[name] = (dict(whole), off)
            self._keep(name)
        whole, off = self._known[name]
        return Trial(start, places, whole, off)

    def _keep(self, name: str) -> None:
        if self.kept is not None:
            settings, off = self._known[name]
            with self.kept.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"key": name, "settings": settings, "error": off}) + "\n")

    def _read(self) -> None:
        if self.kept is None or not self.kept.exists():
            return
        for line in self.kept.read_text(encoding="utf-8").splitlines():
            try:
                row = json.loads(line)
                self._known[row["key"]] = (row["settings"], row["error"])
            except (ValueError, KeyError, TypeError):
                # A kill cut the line; what it had is evaluated again.
                continue


def _optimiser() -> "type[CMA]":
    try:
        from cmaes import CMA
    except ImportError:
        raise ConfigError("fit needs the package cmaes: pip install 'flashweir[fit]'") from None
    return CMA  # type: ignore[no-any-return]
