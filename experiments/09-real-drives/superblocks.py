"""A fitted drive with superblocks instead: `python superblocks.py NAME [PAGES_PER_BLOCK ...]`.

Only `alloc.kind` and `pages_per_block` change, and the program time, which follows from the throughput at saturation;
in the last drive, `background.collect.should_below`, too, so that superblocks are collected ahead. A reserve that
holds writes back (`buffer.backpressure=reserve`) is left out of all. Simulations are those of a search, with 1,500
reads a load. Prints each load's latencies, measured / simulated, in us, and those at saturation.
"""

import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from flashweir.fitting import held, measurements, space, trials

HERE = Path(__file__).parent
SEED = 1
PAGES = (30, 60, 90)
# Erased superblocks below which one is collected ahead.
AHEAD = {"background.collect.should_below": 4}
METRICS = ("write_mean", "write_p50", "write_p99", "read_p50", "read_p99", "read_p999")


def settings(drive: Mapping[str, Any]) -> dict[str, Any]:
    """Keys of a device file with dots, the program time as its spread over page types alone; no reserve."""
    found: dict[str, Any] = {}
    for name, value in drive.items():
        found |= {f"{name}.{key}": one for key, one in value.items()} if isinstance(value, Mapping) else {name: value}
    solved = space.solved().key.name
    lower, _, upper = found.pop(solved)
    for name in {"capacity", *held.names()} & found.keys():
        del found[name]
    return {**found, space.SPREAD + solved: (upper / lower) ** 0.5}


def with_superblocks(drive: Mapping[str, Any], pages: int) -> dict[str, Any]:
    """Settings of a drive whose superblocks have so many pages a die."""
    return {**settings(drive), "alloc.kind": "superblock", "pages_per_block": pages}


def rows(name: str, pages: Sequence[int]) -> Iterator[str]:
    """The table of each drive, the fitted one first."""
    task = trials.middle(measurements.read(HERE / "measured.toml", name), None, SEED)
    drive = tomllib.loads((HERE / f"{name}.toml").read_text(encoding="utf-8"))
    drives = {"fitted": settings(drive)} | {f"superblocks of {one} pages a die": with_superblocks(drive, one)
                                            for one in pages}  # fmt: skip
    drives["collected ahead"] = with_superblocks(drive, pages[-1]) | AHEAD
    for title, own in drives.items():
        made = task.evaluate(own)
        yield f"\n{title}: error {made.error:.3f}\n\n| writes/s | {' | '.join(METRICS)} |\n|---{'|---' * len(METRICS)}|"
        for point in task.points:
            values = made.predicted.get(point.id, {})
            if point.measured.keys() >= set(METRICS):
                cells = (f"{point.measured[one]:,.0f} / {values.get(one, float('nan')):,.0f}" for one in METRICS)
                yield f"| {point.load} | {' | '.join(cells)} |"


if __name__ == "__main__":
    for line in rows(sys.argv[1], [int(one) for one in sys.argv[2:]] or PAGES):
        print(line, flush=True)
