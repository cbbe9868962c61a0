"""What a sweep would take, without running it: `flashweir sweep --dry-run`."""

import json
import statistics
from collections import Counter
from collections.abc import Mapping
from typing import Any

from flashweir import _native
from flashweir._native import FlashweirError
from flashweir.quantity import number_of
from flashweir.sweeps.points import Planner, count_runs, runs, seeds_of
from flashweir.sweeps.spec import SweepSpec

# Short runs tell how fast this machine is: on a drive whose maps are larger than the processor's caches.
PILOT_WORKLOAD = {"name": None, "spec": "random:span=2GiB,size=4KiB,count=100000"}
PILOT_DRIVE = {"capacity": "2GiB", "precondition": "full"}
# Capacities written until a drive is steady, filling included: mostly four.
STEADY_CAPACITIES = 4
# What makes a drive run on each run loop, by its name in a plan.
PILOTS: dict[str, dict[str, Any]] = {
    "timeline": {"engine": "timeline"},
    "event": {"engine": "event"},
    "managed": {"ftl.kind": "fast", "clock": "lock-step"},
}


def estimate(spec: SweepSpec, planner: Planner, threads: int) -> dict[str, Any]:
    """Counts, and about how long and how much memory a run takes.

    Returns `points`, `runs`, `refused` (runs that make no drive) and `refusals` (reason to runs), `run_s` and
    `memory_bytes` (each `least`, `median` and `most` over the runs), and `total_s` with `threads` runs at a time. Times
    are from a short run of each run loop on this machine, and good to a factor of two or three: write amplification is
    not foreseen.
    """
    speed = {name: _pilot(settings) for name, settings in PILOTS.items()}
    traces: dict[str, dict[str, Any]] = {}
    seconds: list[float] = []
    memory: list[int] = []
    refusals: Counter[str] = Counter()
    points, total_s = 0, 0.0
    for run in runs(spec):
        if run.seed != spec.seeds[0]:
            continue
        points += 1
        try:
            planned = planner.plan(run)
            pages = _pages(planned.plan, run.spec, traces)
        except FlashweirError as error:
            refusals[" ".join(str(error).split())] += len(seeds_of(spec, run.workload))
            continue
        seconds.append(_seconds(planned.plan, pages, speed[planned.plan["engine"]]))
        total_s += seconds[-1] * len(seeds_of(spec, run.workload))
        memory.append(planned.plan["memory_bytes"])
    return {
        "name": spec.name,
        "points": points,
        "runs": count_runs(spec),
        "refused": refusals.total(),
        "refusals": dict(refusals.most_common()),
        "threads": threads,
        "run_s": _spread(seconds),
        "memory_bytes": _spread(memory),
        "total_s": total_s / threads,
    }


def _pilot(settings: Mapping[str, Any]) -> tuple[float, float]:
    """Seconds a page of the run, and a page of filling the drive."""
    spec = {"workloads": [PILOT_WORKLOAD], "overrides": {**PILOT_DRIVE, **settings}}
    result = json.loads(_native.simulate(json.dumps(spec)))
    pages = result["geometry"]["logical_pages"]
    return result["wall_s"] / result["requests"], result["precondition_wall_s"] / pages


def _pages(plan: Mapping[str, Any], run: Mapping[str, Any], traces: dict[str, dict[str, Any]]) -> float:
    """Pages that the workload touches; a trace is read for that, once."""
    # Each tenant that runs alone too serves its requests once more.
    times = 2.0 if plan["alone"] else 1.0
    if plan["pages"] is not None:
        return times * float(plan["pages"])
    page_bytes = number_of(plan["config"]["page"]) or 1.0
    total = 0.0
    for workload in plan["workloads"]:
        if "path" not in workload:
            continue
        path = workload["path"]
        if path not in traces:
            given = {**run, **workload["options"]}
            options = {name: given[name] for name in ("format", "columns", "skip_bad") if name in given}
            traces[path] = json.loads(_native.trace_info(path, json.dumps(options)))
        info = traces[path]
        for count, size in (("reads", "mean_read_bytes"), ("writes", "mean_write_bytes")):
            total += info[count] * max(1.0, (info[size] or 0.0) / page_bytes)
    return times * total


def _seconds(plan: Mapping[str, Any], pages: float, speed: tuple[float, float]) -> float:
    a_page, a_filled_page = speed
    capacity = int(plan["logical_pages"])
    # The others write nothing before the run.
    before = {"full": capacity * a_filled_page, "steady": STEADY_CAPACITIES * capacity * a_page}
    return before.get(plan["config"]["precondition"], 0.0) + pages * a_page


def _spread(values: list[float] | list[int]) -> dict[str, float] | None:
    if not values:
        return None
    return {"least": min(values), "median": statistics.median(values), "most": max(values)}
