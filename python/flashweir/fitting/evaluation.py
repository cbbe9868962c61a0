"""Predictions of all points for a drive, and how far they are off."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from flashweir._native import FlashweirError
from flashweir.fitting import load, small
from flashweir.fitting.points import Measurements, Point
from flashweir.fitting.space import Solved

if TYPE_CHECKING:
    from flashweir.drive import Drive

Values = Mapping[str, float]

# Relative errors that count as one unit, by metric; at saturation latencies count less.
_SCALES = {"read_mean": 0.05, "read_p50": 0.08, "read_p99": 0.08, "read_p999": 0.15, "write_mean": 0.12,
           "write_p50": 0.12, "write_p99": 0.3, "write_p999": 0.3, "iops": 0.02, "mib_s": 0.05,
           "waf": 0.015}  # fmt: skip
_SATURATED, _SATURATED_TAIL = 0.3, 0.7
_SOLVED_TO = 0.01
_STEPS = 4


@dataclass(frozen=True)
class Candidate:
    """A drive: a preset or file with settings on top."""

    base: str | None
    settings: Mapping[str, object]


def predict(
    candidate: Candidate, points: Sequence[Point], capacity: int | None, effort: load.Effort, seed: int
) -> dict[str, Values]:
    """Metrics by the id of each point; a point that can't be simulated is left out.

    Raises:
        ConfigError: a drive that can't be.
    """
    found: dict[str, Values] = {}
    drives: list[tuple[Point, Drive]] = []
    for point in points:
        if small.unsupported(point) is not None:
            continue
        drive = next((drive for other, drive in drives if small.same_state(other, point)), None)
        if drive is None:
            drive = small.make(candidate.base, candidate.settings, point, capacity, seed)
            drives.append((point, drive))
        with drive.fork() as fork:
            try:
                found[point.id] = load.run(fork, point, effort, seed)
            except FlashweirError:
                # A drive that stands still under a load is as far off as a drive can be.
                continue
    return found


def solve(
    settings: Mapping[str, object], base: str | None, measurements: Measurements, solved: Solved, seed: int
) -> Mapping[str, object]:
    """Settings with the solved key such that throughput at saturation is what was measured.

    The time of a host write is a + b x program, so that two simulations give the next guess. Without such a
    measurement the key is at its start.
    """
    point = _saturated(measurements)
    value, name = solved.start, solved.key.name
    if point is None or name in settings:
        return {name: solved.key.setting(value), **settings}
    wanted = 1 / (point.measured.get("iops") or point.measured["mib_s"] * (1 << 20) / point.workload.size)
    seen: list[tuple[float, float]] = []
    for _ in range(_STEPS):
        made = {**settings, name: solved.key.setting(value)}
        found = predict(Candidate(base, made), [point], measurements.capacity, load.SATURATION, seed)
        if point.id not in found or not found[point.id]["iops"]:
            break
        seen.append((value, 1 / found[point.id]["iops"]))
        if abs(seen[-1][1] / wanted - 1) < _SOLVED_TO:
            break
        value = _next(seen, wanted, solved)
        if value == seen[-1][0]:
            break
    best = min(seen, key=lambda pair: abs(math.log(pair[1] / wanted)), default=(value, 0.0))
    return {**settings, name: solved.key.setting(best[0])}


def _next(seen: Sequence[tuple[float, float]], wanted: float, solved: Solved) -> float:
    value, span = seen[-1]
    guess = value * wanted / span
    if len(seen) > 1 and seen[-2][0] != value and (slope := (span - seen[-2][1]) / (value - seen[-2][0])) > 0:
        guess = value + (wanted - span) / slope
    return min(solved.key.high, max(solved.key.low, float(round(guess))))


def _saturated(measurements: Measurements) -> Point | None:
    """The point whose throughput the drive must have: the first that is saturated and says it."""
    for point in measurements.points:
        full = point.kind == "saturated" and point.weight > 0 and point.workload.used_share == 1
        if full and {"iops", "mib_s"} & point.measured.keys() and small.unsupported(point) is None:
            return point
    return None


def fitted(measurements: Measurements) -> list[Point]:
    """Points that a fit is made to: without the knee, whose queue depends on how long it was run."""
    return [
        point
        for point in measurements.points
        if not point.is_knee and point.weight > 0 and small.unsupported(point) is None
    ]


def error(points: Sequence[Point], predicted: Mapping[str, Values]) -> float:
    """Mean over metrics of how far a prediction is off: 1 where it is a typical error; large ones count less."""
    total = weights = 0.0
    for point in points:
        for metric, measured in point.measured.items():
            scale = _scale(point, metric)
            value = predicted.get(point.id, {}).get(metric)
            off = math.log(max(value, 1e-9) / measured) if value is not None else 10.0
            total += point.weight * math.log1p((off / scale) ** 2)
            weights += point.weight
    return total / weights if weights else 0.0


def _scale(point: Point, metric: str) -> float:
    if point.kind == "saturated" and metric.startswith(("read", "write")):
        return _SATURATED_TAIL if metric.endswith(("p99", "p999")) else _SATURATED
    return _SCALES[metric]
