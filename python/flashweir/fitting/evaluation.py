"""Predictions of points for a drive, and how far they are off."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from flashweir._native import FlashweirError
from flashweir.fitting import amplification, load, small
from flashweir.fitting.points import Measurements, Point
from flashweir.fitting.space import SPREAD, Solved, by_page_type

if TYPE_CHECKING:
    from flashweir.drive import Drive

Values = Mapping[str, float]

# Relative errors that count as one unit, by metric; at saturation latencies count less.
_SCALES = {"read_mean": 0.05, "read_p50": 0.08, "read_p99": 0.08, "read_p999": 0.15, "write_mean": 0.12,
           "write_p50": 0.12, "write_p99": 0.3, "write_p999": 0.3, "iops": 0.02, "mib_s": 0.05,
           "waf": 0.015}  # fmt: skip
_SATURATED, _SATURATED_TAIL = 0.3, 0.7
# Tails of writes follow modes of firmware that no key describes: they count, but don't decide.
_WEIGHTS = {"write_p99": 0.2, "write_p999": 0.2}
# Weight of the unbounded term, which gives far searches a direction.
_FAR = 0.05
_SOLVED_TO = 0.015
_STEPS = 3


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
                values = load.run(fork, point, effort, seed)
                if "waf" in point.measured and amplification.is_simulated(point):
                    values["waf"] = amplification.waf(candidate.base, candidate.settings, point, seed)
                found[point.id] = values
            except FlashweirError:
                # A drive that stands still under a load is as far off as a drive can be.
                continue
    return found


def solve(
    settings: Mapping[str, object], base: str | None, measurements: Measurements, solved: Solved, seed: int
) -> tuple[dict[str, object], dict[str, Values]]:
    """Settings with the solved key such that throughput at saturation is what was measured.

    The time of a host write is a + b x program with b = write amplification / units. Without such a measurement the
    key is at its start.

    Returns:
        The settings, and what a simulation of the saturated point predicts that is long enough for its queues.
    """
    point, name = saturated(measurements), solved.key.name
    throughput = None if point is None else point.throughput
    spread = float(str(settings.get(SPREAD + name, 1.0)))
    settings = {key: value for key, value in settings.items() if key != SPREAD + name}

    def with_time(value: float) -> dict[str, object]:
        return {**settings, name: by_page_type(value, spread) if spread > 1 else solved.key.setting(value)}

    if name in settings:
        return dict(settings), {}
    if point is None or throughput is None:
        return with_time(solved.start), {}
    wanted = 1 / throughput
    units, _ = small.units(base, settings)
    value = _first(settings, wanted * 1e9 * units, solved)
    seen: list[tuple[float, float, Values]] = []
    for _ in range(_STEPS):
        made = Candidate(base, with_time(value))
        found = predict(made, [point], measurements.capacity, load.THROUGHPUT, seed).get(point.id, {})
        if not found.get("iops"):
            break
        seen.append((value, 1 / found["iops"], found))
        if abs(seen[-1][1] / wanted - 1) < _SOLVED_TO:
            break
        value = _next(seen, wanted, units, solved)
        if value == seen[-1][0]:
            break
    best = min(seen, key=lambda one: abs(math.log(one[1] / wanted)), default=(value, 0.0, {}))
    final = with_time(best[0])
    if not best[2] or load.seconds(point, load.MIDDLE) == load.seconds(point, load.THROUGHPUT):
        return final, {point.id: best[2]} if best[2] else {}
    return final, predict(Candidate(base, final), [point], measurements.capacity, load.MIDDLE, seed)


def _first(settings: Mapping[str, object], busy_ns: float, solved: Solved) -> float:
    """A program that takes the time of a unit, less the read of each copy."""
    spare = float(str(settings.get("op_ratio", 0.25)))
    # Greedy collection of uniform writes, roughly.
    amplification = max(1.0, (1 + spare) / (2 * spare))
    read = settings.get("timing.read", 60_000)
    read_ns = float(str(read[1] if isinstance(read, list) else read))
    value = (busy_ns - (amplification - 1) * read_ns) / amplification
    return min(solved.key.high, max(solved.key.low, float(round(value))))


def _next(seen: Sequence[tuple[float, float, Values]], wanted: float, units: int, solved: Solved) -> float:
    value, span, found = seen[-1]
    guess = value + (wanted - span) * 1e9 * units / max(1.0, found.get("waf", 1.0))
    if len(seen) > 1 and seen[-2][0] != value and (slope := (span - seen[-2][1]) / (value - seen[-2][0])) > 0:
        guess = value + (wanted - span) / slope
    return min(solved.key.high, max(solved.key.low, float(round(guess))))


def saturated(measurements: Measurements) -> Point | None:
    """The point whose throughput the drive must have: the first that is saturated by writes and says it.

    One whose workload has rates as well comes before others.
    """
    rated = {point.workload for point in measurements.points if point.kind == "rate"}
    found = [
        point
        for point in measurements.points
        if point.kind == "saturated"
        and point.weight > 0
        and point.throughput
        and point.workload.used_share == 1
        and any(stream.write > 0 for stream in point.workload.streams)
        and small.unsupported(point) is None
    ]
    return min(found, key=lambda point: point.workload not in rated, default=None)


def fitted(measurements: Measurements) -> list[Point]:
    """Points that a fit is made to: without the knee, whose queue depends on how long it was run."""
    return [
        point
        for point in measurements.points
        if not point.is_knee and point.weight > 0 and small.unsupported(point) is None
    ]


def reasons(measurements: Measurements) -> str:
    """The reasons for which points are not fitted to, as the end of a sentence."""
    found = {small.unsupported(point): None for point in measurements.points}
    texts = [reason for reason in found if reason is not None]
    return f": {'; '.join(texts)}" if texts else ""


def error(points: Sequence[Point], predicted: Mapping[str, Values], without: Sequence[str] = ()) -> float:
    """Mean over metrics of how far a prediction is off: about a half where it is as far as its scale.

    It is hardly more than 1 however far, so that values that no drive of the space has don't pull the others (Geman and
    McClure 1987).

    Args:
        points: measured points.
        predicted: metrics by the id of each.
        without: metrics that don't count, since a short simulation can't tell them.
    """
    total = weights = 0.0
    for point in points:
        for metric, measured in point.measured.items():
            if metric in without:
                continue
            weight = point.weight * _WEIGHTS.get(metric, 1.0)
            value = predicted.get(point.id, {}).get(metric)
            off = math.log(max(value, 1e-9) / measured) if value is not None else 10.0
            square = (off / _scale(point, metric)) ** 2
            total += weight * (square / (1 + square) + _FAR * math.log1p(square))
            weights += weight
    return total / weights if weights else 0.0


def _scale(point: Point, metric: str) -> float:
    if point.kind == "saturated" and metric.startswith(("read", "write")):
        return _SATURATED_TAIL if metric.endswith(("p99", "p999")) else _SATURATED
    return _SCALES[metric]
