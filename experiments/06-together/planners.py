#!/usr/bin/env python3
"""The part of planners on drives without and with a buffer, beside drives whose channels are managed without planning.

Usage: experiments/06-together/planners.py RUNS MANAGED [--tables tables.md]

RUNS is the directory of sweep.toml, MANAGED that of managed.toml. The table is printed, or put between its marks.
"""

import argparse
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from analyse import APART, FEWEST, NUMBERS, Run, factor, put, table
from effects import Floats, over_loads

import flashweir

MARKS = ("<!-- results: planners.py -->", "<!-- end of planners -->")
PLAIN, MANAGED = "none", "managed"
# The share of the host's page reads that memory answered.
HITS = "memory_hits"
# Planner, and the one that it is compared with.
RATIOS = ((MANAGED, PLAIN), ("cycle-filling", MANAGED), ("cycle-filling", PLAIN), ("forwarding", MANAGED))
Key = tuple[str, str, str]


def drives(runs: Sequence[Run]) -> dict[Key, dict[str, Floats]]:
    """Drives with `fifo` by planner, allocation and buffer: of each number, load x mix. Latencies are logarithms.

    A run with fewer than `FEWEST` requests of an operation says nothing of it: NaN. Mixes apart are left out.
    """
    counted = [run for run in runs if run["scheduler"] == "fifo" and not run["workload"].startswith(APART)]
    names = {run["workload"]: run["workload"].partition(", ")[::2] for run in counted}
    mixes, loads = (sorted({name[place] for name in names.values()}) for place in (0, 1))
    found: dict[Key, dict[str, Floats]] = {}
    for run in counted:
        mix, load = names[run["workload"]]
        place = (loads.index(load), mixes.index(mix))
        empty = {number: np.full((len(loads), len(mixes)), np.nan) for number in (*NUMBERS, HITS)}
        own = found.setdefault((run["planner"], run["allocation"], run["buffer"]), empty)
        own[HITS][place] = run[HITS]
        for number, column in NUMBERS.items():
            if run[f"{column.rpartition('.')[0]}.count"] >= FEWEST:
                own[number][place] = math.log(run[column])
    return found


def of_planners(found: Mapping[Key, Mapping[str, Floats]]) -> Iterator[str]:
    """Factors of a planner on another, and the reads that memory answers under it, by buffer and allocation."""
    rows = []
    for buffer in dict.fromkeys(key[2] for key in found):
        for allocation in dict.fromkeys(key[1] for key in found if key[0] == MANAGED):
            for planner, other in RATIOS:
                one, base = (found[name, allocation, buffer] for name in (planner, other))
                if planner == "forwarding" and buffer == "none":
                    continue  # It has no effect there: the drive is that of `none`.
                factors = [factor(over_loads(one[number] - base[number])) for number in NUMBERS]
                hits = f"{float(np.nanmean(one[HITS])):.2%}"
                beside = "no" if buffer == "none" else buffer
                rows.append([f"{beside} buffer, {allocation}: {planner} / {other}", *factors, hits])
    yield from table(["`fifo`", *NUMBERS, "page reads that memory answers"], rows)


def main() -> None:
    """Prints the table, or puts it into the document."""
    parser = argparse.ArgumentParser(description="The part of planners in experiments/06-together.")
    parser.add_argument("runs", help="directory of sweep.toml")
    parser.add_argument("managed", help="directory of managed.toml")
    parser.add_argument("--tables", type=Path, help="document that takes the table, between its marks")
    options = parser.parse_args()
    runs: list[Run] = []
    for folder in (options.runs, options.managed):
        frame = flashweir.read_sweep(folder).sort("point")
        failed = frame["error"].drop_nulls()
        if len(failed):
            raise SystemExit(f"{folder}: {len(failed)} runs failed, the first: {failed[0]}")
        runs += frame.to_dicts()
    text = "\n".join(of_planners(drives(runs)))
    if options.tables:
        put(options.tables, text, MARKS)
    else:
        print(text)


if __name__ == "__main__":
    main()
