"""Measures how well a replay keeps a trace's times: seconds it takes, and how late requests are issued.

    python benches/replay.py [FILE] [--requests N] [--seconds S]

A trace of N requests of 4 KiB (20,000) in S seconds (2), half of them writes, is replayed at its own times to FILE (one
of 256 MiB in a temporary folder), by both engines, five times each, after the file was written once. The figures are
ratios to the trace's own duration: 1.000 is perfect, and 1.010 is what is promised wherever the target can keep up.
Lateness depends on what else the machine does; run it on a quiet one.
"""

import argparse
import statistics
import tempfile
from pathlib import Path

import flashweir

SPAN = "256MiB"


def main() -> None:
    """Replays, and prints a row an engine."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", nargs="?", type=Path)
    parser.add_argument("--requests", type=int, default=20_000)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        target = options.file or Path(folder) / "file.img"
        trace = Path(folder) / "trace.parquet"
        period = round(options.seconds / options.requests * 1e9)
        spec = f"random:span={SPAN},size=4KiB,write=0.5,count={options.requests},period={period}ns"
        flashweir.trace_generate(spec, trace)
        first = flashweir.replay(trace, target, size=SPAN, precondition="snia", limit=1, log=None)
        print(f"{target}: written at {first.preconditioned.mb_per_s:,.0f} MB/s")
        print("engine    elapsed / trace (median, worst)   lateness us: mean, p99, max (medians)   late by host")
        for engine in ("io_uring", "sync"):
            runs = [
                flashweir.replay(trace, target, erase=target, engine=engine, log=Path(folder) / f"{engine}-{n}.parquet")
                for n in range(options.rounds)
            ]
            ratios = sorted(run.elapsed_s / run.planned_s for run in runs)
            late = [statistics.median(run.lateness_us[name] for run in runs) for name in ("mean", "p99", "max")]
            host = statistics.median(run.late_by_host for run in runs)
            shown = ", ".join(f"{value:,.1f}" for value in late)
            print(f"{engine:<9} {statistics.median(ratios):.4f}, {ratios[-1]:.4f}{'':<18} {shown:<40} {host:,.0f}")


if __name__ == "__main__":
    main()
