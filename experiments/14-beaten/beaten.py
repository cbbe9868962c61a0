#!/usr/bin/env python3
"""The tables of experiments/14-beaten: the best combination of parts against a paper's methods and a bound.

Usage: experiments/14-beaten/beaten.py CHOSEN JUDGED GOAL [GOAL ...] [--against METHOD]

CHOSEN and JUDGED are directories of two sweeps over the same parts. On each workload the combination with the best
geometric mean of GOAL in CHOSEN (of those within half a percent, the one with the fewest parts of ours) is the one
whose runs in JUDGED are shown; a workload that CHOSEN lacks takes the best
over all of its workloads. A GOAL is a column: `iops` is to be large, all others small.

Axes are parts, or pick the workload. The first value of a part is the paper's. Values that begin with "paper: " are its
methods, those with "bound: " drives that cannot be built. The bound of `iops` is the column `no_idle`.
"""

import argparse
import json
import math
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import flashweir
from flashweir.statistics.intervals import t_quantile

# Axes that say what runs, not on which drive.
WORKLOADS = ("workload", "trace", "write", "count")
PAPER, BOUND = "paper: ", "bound: "
UP = "iops"
WINS, NEAR = 0.3, 0.9
# A part that gains less than half a percent is left out.
SAME = 0.005
HEAD = (
    "workload", "paper's best", "of it", "ours", "of it", "change", "bound", "way", "least work", "way", "beaten",
)  # fmt: skip
Drive = tuple[str, ...]
Numbers = dict[int, float]


class Change(NamedTuple):
    """The mean relative change of pairs of runs, and its 95% interval; a pair alone has none."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Sweep:
    """Runs of one sweep: of each workload and drive a row a seed."""

    parts: list[str]
    levels: dict[str, list[str]]
    runs: dict[str, dict[Drive, dict[int, dict[str, Any]]]]

    def of(self, workload: str, drive: Drive, column: str) -> Numbers:
        """A column of a drive by seed."""
        return {seed: float(run[column]) for seed, run in self.runs[workload].get(drive, {}).items()}

    def plain(self, drive: Drive) -> bool:
        """True if all its parts are the paper's."""
        pairs = zip(self.parts, drive, strict=True)
        return all(level == self.levels[part][0] or level.startswith(PAPER) for part, level in pairs)

    def methods(self, workload: str) -> list[Drive]:
        """The paper's methods."""
        return [drive for drive in self.runs[workload] if self.plain(drive)]

    def candidates(self, workload: str) -> list[Drive]:
        """Drives that can be built."""
        return [drive for drive in self.runs[workload] if not any(level.startswith(BOUND) for level in drive)]

    def bounds(self, workload: str) -> list[Drive]:
        """Drives that cannot be built."""
        return [drive for drive in self.runs[workload] if any(level.startswith(BOUND) for level in drive)]


def read(directory: Path) -> Sweep:
    """The runs of a sweep."""
    rows = flashweir.read_sweep(directory).sort("point").to_dicts()
    failed = [row["error"] for row in rows if row["error"]]
    if failed:
        raise SystemExit(f"{directory}: {len(failed)} runs failed, the first: {failed[0]}")
    axes = [axis["name"] for axis in json.loads((directory / "sweep.json").read_text(encoding="utf-8"))["axes"]]
    parts = [axis for axis in axes if axis not in WORKLOADS]
    levels = {part: list(dict.fromkeys(str(row[part]) for row in rows)) for part in parts}
    picks = [axis for axis in ("trace", "write") if axis in axes] or ["workload"]
    runs: dict[str, dict[Drive, dict[int, dict[str, Any]]]] = {}
    for row in rows:
        name = ", ".join(str(row[axis]) for axis in picks)
        drive = tuple(str(row[part]) for part in parts)
        runs.setdefault(name, {}).setdefault(drive, {})[row["seed"]] = row
    return Sweep(parts, levels, runs)


def mean(numbers: Numbers) -> float:
    """The geometric mean over seeds."""
    return statistics.geometric_mean(numbers.values())


def best(numbers: dict[Drive, Numbers], goal: str) -> Drive:
    """The drive with the best mean; of equals the first."""
    return (max if goal == UP else min)(numbers, key=lambda drive: mean(numbers[drive]))


def simplest(numbers: dict[Drive, Numbers], goal: str, plain: Drive) -> Drive:
    """Of the drives within SAME of the best mean, those with the fewest parts of ours, and of these the best."""
    top = math.log(mean(numbers[best(numbers, goal)]))
    near = [drive for drive in numbers if abs(math.log(mean(numbers[drive])) - top) <= SAME]
    parts = {drive: sum(level != other for level, other in zip(drive, plain, strict=True)) for drive in near}
    fewest = min(parts.values())
    return best({drive: numbers[drive] for drive in near if parts[drive] == fewest}, goal)


def change(before: Numbers, after: Numbers) -> Change:
    """By how much a drive differs from another under the same seeds: pairs of logarithms, Student's t."""
    logs = [math.log(after[seed] / before[seed]) for seed in sorted(before.keys() & after.keys())]
    middle = statistics.fmean(logs)
    reach = t_quantile(0.95, len(logs)) * statistics.stdev(logs) / math.sqrt(len(logs)) if len(logs) > 1 else math.nan
    return Change(*(math.expm1(value) for value in (middle, middle - reach, middle + reach)))


def choose(chosen: Sweep, workload: str, goal: str) -> Drive:
    """The best combination of a workload, or over all workloads if this one is not there."""
    found = {workload} & chosen.runs.keys() or chosen.runs.keys()
    candidates = chosen.candidates(next(iter(found)))
    scores: dict[Drive, Numbers] = {
        drive: dict(enumerate(value for name in found for value in chosen.of(name, drive, goal).values()))
        for drive in candidates
    }
    plain = tuple(chosen.levels[part][0] for part in chosen.parts)
    return simplest(scores, goal, plain)


def bounds(judged: Sweep, workload: str, goal: str, rival: Drive) -> tuple[float, float | None]:
    """The bounds of the rival's own flash work, and of the least work; of a latency that of a drive, alone."""
    if goal == UP:
        least = max(mean(judged.of(workload, drive, "no_idle")) for drive in judged.candidates(workload))
        return mean(judged.of(workload, rival, "no_idle")), least
    return min(mean(judged.of(workload, drive, goal)) for drive in judged.bounds(workload)), None


def shown(drive: Drive, sweep: Sweep) -> str:
    """Parts of a drive that are not the paper's, or its method."""
    names = [level for part, level in zip(sweep.parts, drive, strict=True) if level != sweep.levels[part][0]]
    methods = [level for level in drive if level.startswith(PAPER)]
    return ", ".join(names or methods or drive[:1]).replace(PAPER, "")


def signed(share: float) -> str:
    """A share as a change in percent."""
    return f"{100 * share:+.1f}%"


def interval(found: Change) -> str:
    """A change with its interval."""
    if math.isnan(found.low):
        return signed(found.value)
    return f"{signed(found.value)} ({signed(found.low)} to {signed(found.high)})"


def number(value: float) -> str:
    """A number with four digits."""
    return f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"  # noqa: PLR2004


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """A table in Markdown."""
    yield "| " + " | ".join(head) + " |"
    yield "| " + " | ".join(["---"] + ["---:"] * (len(head) - 1)) + " |"
    yield from ("| " + " | ".join(row) + " |" for row in rows)


def verdict(found: Change, way: float, goal: str) -> str:
    """By which half of the criterion it is beaten."""
    gain = found.value if goal == UP else -found.value
    words = [word for word, holds in (("30%", gain >= WINS), ("bound", way >= NEAR)) if holds]
    return " and ".join(words) or "no"


def row(judged: Sweep, workload: str, ours: Drive, goal: str, against: str | None) -> list[str]:
    """A workload: the paper's best, ours, and both bounds."""
    methods = [drive for drive in judged.methods(workload) if against is None or shown(drive, judged) == against]
    rival = best({drive: judged.of(workload, drive, goal) for drive in methods}, goal)
    before, after = (judged.of(workload, drive, goal) for drive in (rival, ours))
    found = change(before, after)
    own, least = bounds(judged, workload, goal, rival)
    way, far = ((mean(after) - mean(before)) / (bound - mean(before)) for bound in (own, least or own))
    cells = [
        workload,
        *(text for drive, numbers in ((rival, before), (ours, after)) for text in of(judged, drive, numbers)),
    ]
    cells += [interval(found), number(own), f"{way:.0%}"]
    cells += ["", ""] if least is None else [number(least), f"{far:.0%}"]
    return [*cells, verdict(found, way, goal)]


def of(judged: Sweep, drive: Drive, numbers: Numbers) -> tuple[str, str]:
    """A drive and its mean."""
    return shown(drive, judged), number(mean(numbers))


def ablation(judged: Sweep, workload: str, ours: Drive, goal: str) -> Iterator[list[str]]:
    """Each part of ours in turn exchanged for the paper's."""
    for place, part in enumerate(judged.parts):
        without = (*ours[:place], judged.levels[part][0], *ours[place + 1 :])
        if without != ours and without in judged.runs[workload]:
            found = change(judged.of(workload, ours, goal), judged.of(workload, without, goal))
            yield [workload, part, ours[place].replace(PAPER, ""), without[place].replace(PAPER, ""), interval(found)]


def report(chosen: Sweep, judged: Sweep, goal: str, against: str | None) -> Iterator[str]:
    """Both tables of a goal."""
    ours = {workload: choose(chosen, workload, goal) for workload in judged.runs}
    missing = [workload for workload, drive in ours.items() if drive not in judged.runs[workload]]
    if missing:
        raise SystemExit(f"{missing[0]}: the combination that was chosen is not in the other sweep: {ours[missing[0]]}")
    seeds = max(len(runs) for drives in judged.runs.values() for runs in drives.values())
    yield f"`{goal}`, {seeds} seed{'s' if seeds > 1 else ''}:\n"
    yield from table(HEAD, [row(judged, workload, drive, goal, against) for workload, drive in ours.items()])
    rows = [cells for workload, drive in ours.items() for cells in ablation(judged, workload, drive, goal)]
    if rows:
        yield ""
        yield from table(("workload", "part", "ours", "in its place", "then"), rows)


def main() -> None:
    """Prints the tables."""
    parser = argparse.ArgumentParser(description="Tables of experiments/14-beaten.")
    parser.add_argument("chosen", type=Path, help="directory of the sweep that chooses")
    parser.add_argument("judged", type=Path, help="directory of the sweep that judges")
    parser.add_argument("goals", nargs="+", help="columns")
    parser.add_argument("--against", help="the paper's method to hold against, instead of the best")
    options = parser.parse_args()
    chosen, judged = read(options.chosen), read(options.judged)
    print("\n\n".join("\n".join(report(chosen, judged, goal, options.against)) for goal in options.goals))


if __name__ == "__main__":
    main()
