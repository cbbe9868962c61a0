"""A sweep of very many small runs: every row arrives once, and memory stays within 1 GiB.

    python benches/sweep_many.py [RUNS]

Prints time, rate and peak memory; the exit code says whether the promise holds.
"""

import resource
import sys
import tempfile
import time
from pathlib import Path

import flashweir

LIMIT_BYTES = 1 << 30
POINTS = 200


def main() -> None:
    """Runs and checks."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    spec = {
        "workloads": {"w": "random:span=32MiB,size=4KiB,count=500,write=0.7"},
        "set": {"capacity": "64MiB", "channels": 2},
        "axes": {"op_ratio": {"from": 0.1, "to": 0.5, "count": POINTS // 2}, "gc.victim": ["fifo", "greedy"]},
        "seeds": runs // POINTS,
    }
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        frame = flashweir.sweep(spec, Path(folder) / "sweep")
        taken = sum(file.stat().st_size for file in (Path(folder) / "sweep").iterdir())
    seconds = time.perf_counter() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    distinct = frame.select("point", "seed").n_unique()
    failed = frame["error"].is_not_null().sum()
    print(
        f"{frame.height:,} runs, {failed:,} failed, {distinct:,} distinct, in {seconds:.0f} s: "
        f"{1000 * seconds / frame.height:.2f} ms a run; "
        f"peak {peak / (1 << 20):,.0f} MiB, on disk {taken / (1 << 20):,.0f} MiB"
    )
    expected = POINTS * (runs // POINTS)
    sys.exit(not (frame.height == distinct == expected and failed == 0 and peak < LIMIT_BYTES))


if __name__ == "__main__":
    main()
