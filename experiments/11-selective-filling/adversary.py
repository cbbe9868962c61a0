#!/usr/bin/env python3
"""Writes against which selective filling does badly, and what it loses: experiments/11-selective-filling.

Usage: experiments/11-selective-filling/adversary.py [--rounds N]

Cold pages, a few of each of many data blocks, are written once, in turn with hot pages, which are then overwritten in a
fixed order for ever. `moves`: hot pages are those of one data block a channel. `crowded`: hot pages are a few of each
of many data blocks, and fit into the log only without the cold ones.
"""

import argparse
import itertools
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import flashweir

CHANNELS, PAGES, PAGE = 8, 128, 4096
# 64 data blocks and 6 log blocks a channel.
CAPACITY = "256MiB"
PLANNERS = ("none", "forwarding", "cycle-filling", "selective-filling")


class Pages(NamedTuple):
    """Pages of one channel: data blocks from `first` on, `each` pages in each of `blocks` of them."""

    first: int
    blocks: int
    each: int

    def __iter__(self) -> Iterator[int]:
        """Numbers within the channel, one of each data block in turn. No page is the first of its block."""
        return ((self.first + block) * PAGES + 1 + offset * (PAGES // self.each) for offset, block in self._places())

    def _places(self) -> Iterator[tuple[int, int]]:
        return itertools.product(range(self.each), range(self.blocks))


WORKLOADS = {
    "moves": (Pages(1, 32, 12), Pages(0, 1, 127)),
    "crowded": (Pages(0, 32, 12), Pages(32, 32, 16)),
}


def writes(name: str, rounds: int) -> Iterator[int]:
    """Pages of a channel in the order in which they are written."""
    cold, hot = (list(pages) for pages in WORKLOADS[name])
    for each, other in itertools.zip_longest(cold, itertools.islice(itertools.cycle(hot), len(cold))):
        yield from (each, other)
    for _ in range(rounds):
        yield from hot


def write_trace(name: str, rounds: int, path: Path) -> None:
    """The same pages on every channel, one after the other: pages are striped over channels."""
    with path.open("w", encoding="utf-8") as file:
        for page, channel in itertools.product(writes(name, rounds), range(CHANNELS)):
            file.write(f"0.0 0 {(page * CHANNELS + channel) * (PAGE // 512)} {PAGE // 512} 0\n")


def run(path: Path, planner: str) -> flashweir.Result:
    """The drive of wen2012 with a planner."""
    gc = {"planner": planner, "spare_blocks": 3}
    ftl, buffer = {"kind": "fast"}, {"bytes": "32KiB"}
    return flashweir.simulate(
        path, device="wen2012", capacity=CAPACITY, channels=CHANNELS, op_ratio=0.1,
        precondition="full", ftl=ftl, buffer=buffer, gc=gc,
    )  # fmt: skip


def main() -> None:
    """Prints a table."""
    parser = argparse.ArgumentParser(description="Writes against which selective filling does badly.")
    parser.add_argument("--rounds", type=int, default=300, help="times that the hot pages are overwritten")
    options = parser.parse_args()
    print("| writes | planner | IOPS | write amplification | full merges | collections | idle |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: |")
    with tempfile.TemporaryDirectory() as folder:
        for name in WORKLOADS:
            path = Path(folder) / f"{name}.disksim"
            write_trace(name, options.rounds, path)
            for planner in PLANNERS:
                found = run(path, planner).to_dict()
                collections, idle = found["collections"]["count"], found["time_share"]["idle"]
                numbers = f"{found['iops']:,.0f} | {found['write_amplification']:.2f} | {found['merges']['full']:,}"
                print(f"| {name} | {planner} | {numbers} | {collections:,} | {idle:.0%} |")


if __name__ == "__main__":
    main()
