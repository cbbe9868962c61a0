"""Cost of a sweep over its runs: against processes of their own at the same time, and a run of next to nothing.

    python benches/sweep.py [--pairs N] [--runs N] [--requests N]

Prints, for each pair of measurements in turn, the time that one process a core takes for all runs, each in a loop over
its share of them; the time of one sweep over the same; and their ratio, of which 1 is perfect. benches/HISTORY.md keeps
the medians.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import flashweir

DRIVE = {"capacity": "4GiB", "precondition": "full"}
LOOP = """
import json, sys
from flashweir import _native
for seed in range(int(sys.argv[2]), int(sys.argv[3])):
    _native.simulate(json.dumps({**json.loads(sys.argv[1]), "seed": seed}))
"""


def processes(workload: str, runs: int, cores: int) -> float:
    """Seconds for all runs, shared out to a process a core."""
    spec = json.dumps({"workloads": [{"name": None, "spec": workload}], "overrides": DRIVE})
    edges = [1 + runs * rank // cores for rank in range(cores + 1)]
    began = time.perf_counter()
    started = [
        subprocess.Popen([sys.executable, "-c", LOOP, spec, str(first), str(last)])  # noqa: S603
        for first, last in zip(edges, edges[1:], strict=False)  # noqa: RUF007
    ]
    for process in started:
        if process.wait() != 0:
            sys.exit("a run failed")
    return time.perf_counter() - began


def sweep(workload: str, runs: int, drive: dict[str, str]) -> float:
    """Seconds for the same runs as a sweep, its directory and its frame included."""
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        flashweir.sweep({"workloads": {"w": workload}, "set": drive, "seeds": runs}, Path(folder) / "sweep")
    return time.perf_counter() - began


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--runs", type=int, default=8)
    parser.add_argument("--requests", type=int, default=4_000_000)
    parser.add_argument("--small", type=int, default=2000, help="runs of next to nothing")
    options = parser.parse_args()
    cores = len(os.sched_getaffinity(0))
    workload = f"random:span=4GiB,count={options.requests}"
    ratios = []
    for _ in range(options.pairs):
        apart, together = processes(workload, options.runs, cores), sweep(workload, options.runs, DRIVE)
        ratios.append(apart / together)
        print(f"{cores} processes {apart:.2f} s, sweep {together:.2f} s, efficiency {ratios[-1]:.3f}", flush=True)
    print(f"median efficiency {statistics.median(ratios):.3f}, runs of {apart * cores / options.runs:.2f} s")
    nothing = "random:span=1MiB,count=1"
    few, many = sweep(nothing, 1, {}), sweep(nothing, options.small, {})
    print(f"overhead {1000 * (many - few) / options.small:.2f} ms a run, over {options.small:,} runs")


if __name__ == "__main__":
    main()
