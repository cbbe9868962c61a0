"""Estimate of the time and memory of a sweep, without running it: `flashweir sweep --dry-run`.

Plans every point of a small grid, and a random sample of a large one. Then begins some of the planned runs, each for a
fraction of a second, and carries their speed over to the others.
"""

import json
import random
import statistics
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from flashweir import _native
from flashweir._native import FlashweirError
from flashweir.arguments import SET
from flashweir.sweeps.local import MEMORY_SHARE, free_memory_bytes
from flashweir.sweeps.points import Planner, Run, count_points, count_runs, run_at, runs_at, seeds_of
from flashweir.sweeps.runner import known_keys
from flashweir.sweeps.spec import SweepSpec

# Points that are planned, and how long that may take.
MAX_PLANNED = 2000
MAX_PLANNING_S = 4.0
# For how long one run goes, and all that are begun together.
ONE_RUN_S = 0.4
ALL_RUNS_S = 4.0
# Capacities written until a drive is steady, filling included: mostly four.
STEADY_CAPACITIES = 4


@dataclass(frozen=True)
class _Point:
    """A planned point.

    `size` is how much its workload is: pages of a generator, bytes of trace files. `left` are its runs that no other
    sweep has made.
    """

    run: Run
    plan: Mapping[str, Any]
    size: float
    left: int

    @property
    def kind(self) -> tuple[str, str]:
        """Runs of the same workload on the same time path are about equally fast, by page."""
        return self.run.workload, str(self.plan["engine"])

    @property
    def written_before(self) -> float:
        """Pages that preconditioning writes."""
        pages = float(self.plan["logical_pages"])
        return {"full": pages, "steady": STEADY_CAPACITIES * pages}.get(self.plan["config"]["precondition"], 0.0)


@dataclass
class _Speeds:
    """Seconds by page (or byte of a trace), as measured: of runs by their kind, of preconditioning by the time path."""

    runs: dict[tuple[str, str], list[float]] = field(default_factory=dict)
    before: dict[tuple[str, str], list[float]] = field(default_factory=dict)

    def seconds(self, point: _Point) -> float:
        before = point.written_before
        if before:
            before *= _mean(self.before, (point.plan["engine"], point.plan["config"]["precondition"]))
        return before + point.size * _mean(self.runs, point.kind)


def estimate(spec: SweepSpec, threads: int, reuse: Sequence[Path] = ()) -> dict[str, Any]:
    """Counts, and about how long and how much memory a run takes.

    Returns `points`, `runs`, `refused` (runs that make no drive) and `refusals` (reason to runs), `reused` (runs that
    the sweeps in the directories `reuse` have made), `run_s` and `memory_bytes` (each `least`, `median` and `most` over
    the runs that are left), and `total_s` of these with `threads` runs at a time. Of a large grid only
    `planned_points` are planned, drawn at random; the other figures follow from those. `run_s` and `total_s` are None
    where no run makes a drive or fits into the memory. They are good to a factor of two or three, as write
    amplification is not foreseen. `measured_runs` were begun for it.
    """
    known, planner = known_keys(reuse), Planner()
    points = count_points(spec)
    planned: list[_Point] = []
    refusals: Counter[str] = Counter()
    looked_at, weight, reused = 0, 0, 0
    began = time.monotonic()
    for place in _order(points):
        if looked_at and time.monotonic() - began > MAX_PLANNING_S:
            break
        looked_at += 1
        run = run_at(spec, place)
        seeds = len(seeds_of(spec, run.workload))
        weight += seeds
        try:
            keys = [planner.plan(one).key for one in runs_at(spec, place)] if known else []
            found = sum(key in known for key in keys)
            planned.append(_planned(run, seeds - found))
            reused += found
        except (FlashweirError, OSError) as error:
            refusals[" ".join(str(error).removeprefix(SET).split())] += seeds
    left = [point for point in planned if point.left]
    speeds, measured = _measure(left)
    seconds = [speeds.seconds(point) for point in left] if measured else []
    total_s = sum(one * point.left for one, point in zip(seconds, left, strict=False))
    scale = count_runs(spec) / max(weight, 1)
    return {
        "name": spec.name,
        "points": points,
        "runs": count_runs(spec),
        "planned_points": looked_at,
        "refused": round(refusals.total() * scale),
        "refusals": {reason: max(1, round(count * scale)) for reason, count in refusals.most_common()},
        "reused": round(reused * scale),
        "threads": threads,
        "measured_runs": measured,
        "run_s": _spread(seconds),
        "memory_bytes": _spread([int(point.plan["memory_bytes"]) for point in left]),
        "total_s": total_s * scale / threads if measured or (reused and not left) else None,
    }


def _order(points: int) -> Iterator[int]:
    """All points, or a sample, in an order by chance that is the same every time: time may end it anywhere."""
    chance = random.Random(1)  # noqa: S311 - nothing is secret
    places: Sequence[int] = range(points)
    yield from chance.sample(places, min(points, MAX_PLANNED))


def _planned(run: Run, left: int) -> _Point:
    plan = json.loads(_native.plan(json.dumps(run.spec)))
    # Each tenant that runs alone too does its requests once more.
    times = 2.0 if plan["alone"] else 1.0
    stored = sum(Path(one["path"]).stat().st_size for one in plan["workloads"] if "path" in one)
    size = plan["pages"] if plan["pages"] is not None else stored
    return _Point(run, plan, times * max(float(size), 1.0), left)


def _measure(planned: Sequence[_Point]) -> tuple[_Speeds, int]:
    """Begins runs of every kind in turn, as long as there is time."""
    free = free_memory_bytes() * MEMORY_SHARE
    waiting: dict[tuple[str, str, str], list[_Point]] = {}
    for point in planned:
        files = [one["path"] for one in point.plan["workloads"] if "path" in one]
        if point.plan["memory_bytes"] <= free and all(Path(path).is_file() for path in files):
            waiting.setdefault((*point.kind, str(point.plan["config"]["precondition"])), []).append(point)
    speeds, measured = _Speeds(), 0
    began = time.monotonic()
    for rank in range(max(map(len, waiting.values()), default=0)):
        for points in waiting.values():
            if rank < len(points) and (not measured or time.monotonic() - began < ALL_RUNS_S):
                measured += _run_for_a_while(points[rank], speeds)
        if time.monotonic() - began >= ALL_RUNS_S:
            break
    return speeds, measured


class _Watch:
    """Follows a run that was begun, and ends it after a while. A phase ends where the next is first heard of."""

    def __init__(self) -> None:
        self.phase, self.start_s, self.now_s, self.share = "", 0.0, 0.0, 0.0

    def __call__(self, text: str) -> bool:
        state = json.loads(text)
        if state["phase"] != self.phase:
            self.phase, self.start_s = state["phase"], self.now_s
        self.now_s, self.share = state["elapsed_s"], state["fraction"] or 0.0
        return self.now_s < ONE_RUN_S

    @property
    def phase_s(self) -> float:
        """Total time of the phase."""
        return (self.now_s - self.start_s) / self.share


def _run_for_a_while(point: _Point, speeds: _Speeds) -> bool:
    """Begins a run and notes how fast it goes; False if it fails or says nothing of that."""
    key = (str(point.plan["engine"]), str(point.plan["config"]["precondition"]))
    before, runs = speeds.before.setdefault(key, []), speeds.runs.setdefault(point.kind, [])
    watch = _Watch()
    began = time.monotonic()
    try:
        result = json.loads(_native.simulate(json.dumps(point.run.spec), watch))
    except FlashweirError:
        if not watch.share:
            return False
        if watch.phase == "precondition":
            before.append(watch.phase_s / point.written_before)
            # Nothing is known of the run itself: a page takes about as long as in preconditioning.
            runs += before[-1:] if point.plan["pages"] is not None else []
            return True
        if point.written_before:
            before.append(watch.start_s / point.written_before)
        runs.append(watch.phase_s * (2.0 if point.plan["alone"] else 1.0) / point.size)
        return watch.phase == "run"
    precondition_s = result["precondition_wall_s"]
    if point.written_before:
        before.append(precondition_s / point.written_before)
    runs.append((time.monotonic() - began - precondition_s) / point.size)
    return True


def _mean(measured: Mapping[tuple[str, str], Sequence[float]], key: tuple[str, str]) -> float:
    """The mean of what was measured: of this kind, else of all."""
    values = measured.get(key) or [value for some in measured.values() for value in some]
    return statistics.fmean(values) if values else 0.0


def _spread(values: list[float] | list[int]) -> dict[str, float] | None:
    if not values:
        return None
    return {"least": min(values), "median": statistics.median(values), "most": max(values)}
