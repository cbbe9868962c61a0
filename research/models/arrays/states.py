"""States at the beginning, made without time: new, full, used, fragmented."""

import numpy as np

from research.models.arrays.log_blocks import LogBlocks
from research.models.arrays.page_map import PageMap, Work
from research.models.arrays.parameters import Parameters

DISCARDS = 0.2  # share of the runs of `fragmented`
OVERWRITES = 2.0  # random overwrites of `used`, in capacities


def bring_to(state: str, ftl: PageMap | LogBlocks, parameters: Parameters) -> None:
    """Writes the drive until it is in a state; counts and work begin at 0 afterwards.

    `full`: all units in order. `used`: then random units, until collection is steady. `fragmented`: then runs of random
    length at random places; every fifth run is a discard, on drives that know it.
    """
    if state == "new":
        return
    ftl.charges_map = False
    units = len(ftl.where)
    for unit in range(0, units, ftl.group):
        ftl.program(range(unit, min(units, unit + ftl.group)))
    random = np.random.default_rng([parameters.seed, 3])
    if state == "used":
        for group in random.integers(0, units, (_overwrites(ftl, units), ftl.group)).tolist():
            ftl.program(group)
    elif state == "fragmented":
        _fragment(ftl, random, parameters)
    ftl.charges_map = True
    ftl.work = Work()
    ftl.written = ftl.copied = ftl.erased = 0


def _overwrites(ftl: PageMap | LogBlocks, units: int) -> int:
    """Programs; log-block FTLs are steady as soon as all log blocks are full."""
    if isinstance(ftl, LogBlocks):
        return min(units, 2 * ftl.logs * ftl.slots)
    return int(OVERWRITES * units / ftl.group)


def _fragment(ftl: PageMap | LogBlocks, random: np.random.Generator, parameters: Parameters) -> None:
    left = _overwrites(ftl, len(ftl.where)) * ftl.group // 2
    while left > 0:
        length = int(2 ** random.uniform(0, 7))
        first = int(random.integers(0, max(1, len(ftl.where) - length)))
        run = range(first, min(first + length, len(ftl.where)))
        left -= len(run)
        if parameters.discard and random.random() < DISCARDS:
            for unit in run:
                ftl.trim(unit)
        else:
            for unit in range(run.start, run.stop, ftl.group):
                ftl.program(range(unit, min(run.stop, unit + ftl.group)))
