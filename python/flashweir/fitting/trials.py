"""Evaluated drives: one evaluation, and a file that keeps them, so that a search that was killed goes on."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from flashweir._native import ConfigError, FlashweirError, __version__
from flashweir.fitting import evaluation, load, space
from flashweir.fitting.points import Measurements, Point

# Error of a drive that can't be: few spare blocks for the dies, for example.
IMPOSSIBLE = 99.0
# Loads of one kind that the search looks at; all count in the end.
_LOADS = 5
# A percentile that a short simulation can't tell.
_TOO_RARE = ("read_p999", "write_p999")


@dataclass(frozen=True)
class Evaluated:
    """Complete settings of a drive, its error, and its metrics by the id of each point."""

    settings: Mapping[str, object]
    error: float
    predicted: Mapping[str, evaluation.Values]


@dataclass(frozen=True)
class Trial:
    """One evaluated drive: places of its keys, complete settings, error and metrics."""

    start: space.Start
    places: tuple[float, ...]
    settings: Mapping[str, object]
    error: float
    predicted: Mapping[str, evaluation.Values] = field(default_factory=dict)


@dataclass(frozen=True)
class Task:
    """All that an evaluation needs beside the settings.

    Attributes:
        points: those that count.
        without: metrics that don't.
    """

    measurements: Measurements
    base: str | None
    seed: int
    points: tuple[Point, ...]
    effort: load.Effort
    without: tuple[str, ...] = ()

    def evaluate(self, settings: Mapping[str, object]) -> Evaluated:
        """Simulates a drive; one that can't be has the error `IMPOSSIBLE`."""
        try:
            found, saturated = evaluation.solve(settings, self.base, self.measurements, space.solved(), self.seed)
            points = [point for point in self.points if point.id not in saturated]
            candidate = evaluation.Candidate(self.base, found)
            capacity = self.measurements.capacity
            predicted = saturated | evaluation.predict(candidate, points, capacity, self.effort, self.seed)
        except (ConfigError, FlashweirError):
            return Evaluated(dict(settings), IMPOSSIBLE, {})
        return Evaluated(found, evaluation.error(self.points, predicted, self.without), predicted)

    @property
    def identity(self) -> str:
        """All that a kept evaluation depends on, beside the settings."""
        return repr((__version__, self.base, self.seed, self.points, self.effort, self.without))


def quick(measurements: Measurements, base: str | None, seed: int) -> Task:
    """Short simulations of some loads."""
    points = tuple(_some(evaluation.fitted(measurements)))
    return Task(measurements, base, seed, points, load.QUICK, _TOO_RARE)


def middle(measurements: Measurements, base: str | None, seed: int) -> Task:
    """Simulations of all loads, long enough for corrections of the closed form."""
    return Task(measurements, base, seed, tuple(evaluation.fitted(measurements)), load.MIDDLE)


def fine(measurements: Measurements, base: str | None, seed: int) -> Task:
    """Longer simulations of all loads."""
    return Task(measurements, base, seed, tuple(evaluation.fitted(measurements)), load.FINE)


def full(measurements: Measurements, base: str | None, seed: int) -> Task:
    """Simulations of all loads as long as those of the last prediction."""
    return Task(measurements, base, seed, tuple(evaluation.fitted(measurements)), load.FULL)


def saturation(measurements: Measurements, base: str | None, seed: int) -> Task:
    """The point of the highest throughput alone."""
    full = evaluation.saturated(measurements)
    return Task(measurements, base, seed, () if full is None else (full,), load.MIDDLE)


def _some(points: Sequence[Point]) -> list[Point]:
    """Of the rates of each workload, and of its depths, a few that lie evenly."""
    groups: dict[object, list[Point]] = {}
    for point in points:
        groups.setdefault((point.kind, point.workload), []).append(point)
    kept: set[str] = set()
    for group in groups.values():
        ordered = sorted(group, key=lambda point: point.value)
        count = min(len(ordered), _LOADS)
        kept |= {ordered[round(at * (len(ordered) - 1) / max(1, count - 1))].id for at in range(count)}
    return [point for point in points if point.id in kept]


@dataclass
class Kept:
    """Evaluations by their content, in memory and, if there is a path, in a file."""

    path: Path | None
    _known: dict[str, Evaluated] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.path is None or not self.path.exists():
            return
        for line in self.path.read_text(encoding="utf-8").splitlines():
            try:
                row = json.loads(line)
                self._known[row["key"]] = Evaluated(row["settings"], row["error"], row["predicted"])
            except (ValueError, KeyError, TypeError):
                # A kill cut the line; what it had is evaluated again.
                continue

    def get(self, task: Task, settings: Mapping[str, object]) -> Evaluated | None:
        """An evaluation that was made before."""
        return self._known.get(_name(task, settings))

    def add(self, task: Task, settings: Mapping[str, object], found: Evaluated) -> None:
        """Keeps an evaluation."""
        name = _name(task, settings)
        if name in self._known:
            return
        self._known[name] = found
        if self.path is not None:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"key": name, **vars(found)}) + "\n")


def _name(task: Task, settings: Mapping[str, object]) -> str:
    return hashlib.sha256((task.identity + json.dumps(dict(settings))).encode()).hexdigest()[:24]
