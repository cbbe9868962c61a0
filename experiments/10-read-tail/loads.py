#!/usr/bin/env python3
"""Finds the scales of time of this experiment again, and writes them into a spec.

Usage: experiments/10-read-tail/loads.py experiments/10-read-tail/traces.toml

Of each load, such as `msr-rsrch_1, 30 %`, only the order of arrival is run. Where its dies are busy for over 1 point
more or less than that, `host.time_scale` is searched for: by regula falsi over its logarithm, within a factor of a
million of the old one, in at most twelve runs. The nearest one found is written.
"""

import json
import math
import re
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from flashweir import _native
from flashweir.sweeps.points import Planner, Run, resolved, runs
from flashweir.sweeps.spec import load

ORDER, KEY = "fifo", "host.time_scale"
NEAR = 0.01
MAX_RUNS = 12
STEP = 4.0
MAX_FACTOR = 1e6


def nearest(busy_at: Callable[[float], float], scale: float, wanted: float) -> tuple[float, float]:
    """The scale at which dies are busy for the wanted share, and that share; busy falls as the scale grows."""
    tried: dict[float, float] = {}

    def over(log: float) -> float:
        if log not in tried:
            tried[log] = busy_at(float(f"{math.exp(log):.4g}")) - wanted
        return tried[log]

    start = math.log(scale)
    if abs(over(start)) <= NEAR:
        return scale, tried[start] + wanted
    low = high = start
    step = math.log(STEP)
    while over(low) < 0 and len(tried) < MAX_RUNS and start - low < math.log(MAX_FACTOR):
        high, low = low, low - step
    while over(high) > 0 and len(tried) < MAX_RUNS and high - start < math.log(MAX_FACTOR):
        low, high = high, high + step
    while abs(min(tried.values(), key=abs)) > NEAR and len(tried) < MAX_RUNS and over(low) > 0 > over(high):
        share = over(low) / (over(low) - over(high))
        middle = low + min(max(share, 0.1), 0.9) * (high - low)
        low, high = (middle, high) if over(middle) > 0 else (low, middle)
    best = min(tried, key=lambda log: abs(tried[log]))
    return float(f"{math.exp(best):.4g}"), tried[best] + wanted


def found(run: Run, traces: _native.Traces) -> tuple[str, float, float, float]:
    """Name of a load, its old scale, the one found, and the share of time for which dies are busy then."""
    planner = Planner()

    def busy_at(scale: float) -> float:
        spec = {**run.spec, "overrides": {**run.spec["overrides"], KEY: scale}}
        text = _native.simulate(json.dumps(resolved(planner.plan(replace(run, spec=spec)))), lambda _: True, traces)
        return 1.0 - float(json.loads(text)["time_share"]["idle"])

    old = float(run.spec["overrides"][KEY])
    wanted = float(run.workload.rpartition(", ")[2].removesuffix(" %")) / 100
    return run.workload, old, *nearest(busy_at, old, wanted)


def main() -> None:
    """Writes the scales into the spec."""
    path = Path(sys.argv[1])
    wanted = [run for run in runs(load(path)) if run.axes["order"] == ORDER and run.workload.endswith("%")]
    traces = _native.Traces()
    text = path.read_text(encoding="utf-8")
    with ThreadPoolExecutor() as pool:
        for name, old, scale, busy in pool.map(lambda run: found(run, traces), wanted):
            print(f"{name}: {old:g} -> {scale:g}, busy {busy:.3f}", file=sys.stderr, flush=True)
            text = re.sub(rf'(?m)^("{re.escape(name)}" = .*host\.time_scale = )[^ ,}}]+', rf"\g<1>{scale:g}", text)
    path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
