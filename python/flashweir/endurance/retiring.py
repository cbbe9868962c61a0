"""Spare of a drive that retires its blocks itself (`ageing.retire`), simulated until it is read-only.

Bit errors depend on cycles over rated cycles alone. So a drive that is rated for a tenth of the cycles lives a tenth as
long: planes lose their blocks one by one, each at its own errors, and write amplification grows. It is simulated with
few rated cycles, and what the host has written by then is scaled. One thing does not scale: by chance some blocks are
erased more often than others, relatively less so over more cycles. So the rated cycles are doubled until the end stays.
"""

import math
from bisect import bisect_left
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from flashweir.endurance.running import host_bytes, raw_bytes
from flashweir.result import Result

# Rated cycles that are simulated first, fewer on large drives; pages of flash times cycles that are simulated at most.
_CYCLES, _FEWEST, _PAGES = 100, 20, 400_000_000
# Change of the scaled end up to which it stays when the rated cycles are doubled.
_STAYS = 0.02
# The first run has this part of the rated cycles; each one after it is twice as long.
_FIRST = 1 / 16
# A drive whose mean block has so many times its rated cycles never ends by its spare.
_FAR = 2.0

# Keys of the drive whose wear goes on without an end.
WITHOUT = {"ageing.retire": "none"}

Run = Callable[[float, Mapping[str, object]], Result]


@dataclass(frozen=True)
class Drive:
    """A drive, and a workload on it.

    `run` simulates so many cycles of the workload with some other keys, whole ones where `whole` is true. `rated` are
    the cycles that the drive is rated for.
    """

    run: Run
    config: Mapping[str, Any]
    rated: float
    whole: bool


@dataclass(frozen=True)
class Spare:
    """Course of the spare of one seed.

    `points` are bytes that the host wrote, from 0 on, with the share of the spare blocks that the plane with the fewest
    has then. `end` is the bytes at which the drive is read-only, with the write amplification up to there; None with
    `why` if it never is. `cycles` are the rated cycles that were simulated; `settled` is false if with half of them the
    end was another one.
    """

    points: tuple[tuple[float, float], ...]
    end: float | None
    write_amplification: float
    cycles: int
    settled: bool = True
    why: str = ""

    def share(self, host: float) -> float:
        """Share of the spare that is left when the host has written so many bytes."""
        place = bisect_left(self.points, (host,))
        if place in (0, len(self.points)):
            return self.points[min(place, len(self.points) - 1)][1]
        (before, one), (after, other) = self.points[place - 1 : place + 1]
        return one + (other - one) * (host - before) / (after - before)


def retires(config: Mapping[str, Any]) -> bool:
    """True if a drive retires blocks and goes on without them, until none is spare."""
    fails_zones = config["ftl"]["kind"] == "zones" and config["ftl"]["host"] == "none"
    return config["ageing"]["kind"] != "none" and config["ageing"]["retire"] != "none" and not fails_zones


def of_zones(config: Mapping[str, Any]) -> bool:
    """True if the host's zones have their blocks for good: no block is spare."""
    own = config["ftl"]
    return bool(own["kind"] == "zones" and own["host"] == "none" and own["zone_map"] == "static")


def spare(drive: Drive, written: float, *, full: bool) -> Spare:
    """Simulates a life with few rated cycles, then with more until the end stays, or with all of them.

    Args:
        drive: that retires its blocks.
        written: bytes that the host writes in one cycle of the workload.
        full: with all its rated cycles.
    """
    first = drive.run(0.0, {})
    pages, all_spare, rated = int(first["geometry.physical_pages"]), first["ageing.spare_blocks"], round(drive.rated)
    if all_spare == 0:
        why = "the drive has no spare blocks but those that it keeps erased"
        return Spare(((0.0, 0.0),), None, 0.0, rated, why=why)
    few = rated if full else min(rated, max(_FEWEST, min(_CYCLES, _PAGES // 4 // pages)))
    found = _with(drive, few, written, first)
    while found.cycles < rated:
        before, found = found, _with(drive, min(rated, 2 * found.cycles), written, first)
        if before.end is None or found.end is None or abs(found.end / before.end - 1) <= _STAYS:
            break
        if found.cycles < rated and 2 * found.cycles * pages > _PAGES:
            return replace(found, settled=False)
    return found


def _with(drive: Drive, cycles: int, written: float, first: Result) -> Spare:
    """The life of the drive with so many rated cycles; `first` is a result of it when it is new."""
    scale = drive.rated / cycles
    settings = {"ageing.rated_cycles": cycles, "ageing.cycles": round(drive.config["ageing"]["cycles"] / scale)}
    page = raw_bytes(first) // int(first["geometry.physical_pages"])
    points, target = [(0.0, 1.0)], raw_bytes(first) * cycles * _FIRST
    while True:
        count = target / written
        result = drive.run(math.ceil(count) if drive.whole else count, settings)
        host = host_bytes(result)
        amplification = result["flash.programs"] * page / host
        if result["ageing.read_only"] is not None:
            return Spare((*points, (host * scale, 0.0)), host * scale, amplification, cycles)
        points.append((host * scale, result["ageing.spare_blocks"] / first["ageing.spare_blocks"]))
        if result.wear.run.mean >= _FAR * cycles:
            why = f"the drive is not read-only when its mean block has {_FAR * drive.rated:,.0f} cycles"
            return Spare(tuple(points), None, amplification, cycles, why=why)
        target *= 2
