"""Stretches of a workload on a simulated drive, each twice as long as the one before, until the wear is steady.

Every stretch begins with the drive as its preconditioning leaves it, and with the requests of the one before: the
difference of two is a piece of the drive's life. The drive is steady once the write amplification of a piece, and
with it the wear, is as the piece before predicts.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from flashweir._native import ConfigError
from flashweir.endurance.course import Course, Snapshot, counted, fitted
from flashweir.result import Result

if TYPE_CHECKING:
    from flashweir.endurance.retiring import Spare

# Bytes of the longest stretch, in capacities of the flash.
_LONGEST = 256
_PIECES = 3
_NEAR = 1.02
# Cycles of a short life that the first stretch has a part of.
_SHORT = 30.0

# Operations that write.
WRITES = ("write", "append")

Run = Callable[[float], Result]


@dataclass(frozen=True)
class Piece:
    """Check of the last piece: erases of a block that the piece before predicts, and those that were simulated."""

    predicted: float
    simulated: float

    @property
    def difference(self) -> float:
        """Relative error of the prediction."""
        return abs(self.simulated / self.predicted - 1)


@dataclass(frozen=True)
class Simulated:
    """The course of one seed, whether it became steady, and the check of its last piece.

    `written` are the bytes that the host writes in a cycle of the workload; `spare` is that of a drive which retires
    its blocks itself.
    """

    course: Course
    settled: bool
    check: Piece | None
    result: Result
    written: float
    spare: "Spare | None" = None


def simulated(
    run: Run,
    *,
    written: float,
    whole: bool,
    raw: int,
    rated: float,
    tolerance: float,
    full: bool,
    by_block: bool = False,
) -> Simulated:
    """Runs stretches of growing length.

    Args:
        run: simulates so many cycles of the workload.
        written: bytes that the host writes in one cycle.
        whole: stretches are whole cycles.
        raw: bytes of the flash.
        rated: rated cycles, at which it ends.
        tolerance: relative change of write amplification up to which the drive is steady.
        full: simulates all of it, without extrapolation.
        by_block: the most erased block decides, so its erases must be as predicted, too.

    Raises:
        ConfigError: the workload writes nothing.
    """
    points = [Snapshot()]
    target, settled = raw * min(1.0, rated / _SHORT), False
    while True:
        cycles = target / written
        result = run(math.ceil(cycles) if whole else cycles)
        point = snapshot(result)
        if point.host <= 0:
            raise ConfigError("the workload writes nothing to the drive: it does not wear")
        if point.host <= points[-1].host:
            break
        points.append(point)
        check = _check(points)
        settled = check is not None and check.difference <= tolerance
        settled = settled and (not by_block or _most_is_predicted(points, tolerance))
        if point.mean >= rated or (settled and not full) or (not full and point.host >= _LONGEST * raw):
            break
        end = Course(points).host_at("mean", rated)
        target = min(2 * point.host, _NEAR * end)
        if target <= point.host:
            target = _NEAR * point.host
    if points[-1].mean <= points[-2].mean:
        raise ConfigError("the workload erases no block in what was simulated: it does not wear the drive")
    return Simulated(fitted(points), settled or point.mean >= rated, _check(points), result, written)


def _most_is_predicted(points: list[Snapshot], tolerance: float) -> bool:
    """True if the pieces before the last one predict the erases of the most erased block at its end."""
    last = points[-1]
    return abs(fitted(points[:-1]).spread(last.host)[1] / last.most - 1) <= tolerance


def _check(points: list[Snapshot]) -> Piece | None:
    if len(points) <= _PIECES:
        return None
    pieces = [(new.host - old.host, new.mean - old.mean) for old, new in zip(points[-3:], points[-2:], strict=False)]
    (host, wear), (next_host, next_wear) = pieces
    if wear <= 0:
        return None
    return Piece(wear / host * next_host, next_wear)


def snapshot(result: Result) -> Snapshot:
    """Totals of a run, without those of preconditioning.

    A block has had a cycle once its pages are programmed, whether or not it is erased yet: the first fill of an empty
    drive is one. So the mean of cycles is that of programs, and `pending` of them await their erase.
    """
    host = host_bytes(result)
    page = _page(result)
    wear = result.wear.run
    bins = wear.histogram
    programmed = float(result["flash.programs"] * page)
    # Blocks in SLC mode are erased before as many pages are programmed: there is none then.
    pending = min(max(0.0, programmed / raw_bytes(result) - wear.mean), 1.0)
    totals: dict[str, float] = {}
    for name, operations in (("read", ("read",)), ("write", WRITES)):
        of_each = [result.latency_us[one] for one in operations if one in result.latency_us]
        totals[f"{name}s"] = float(sum(one["count"] or 0 for one in of_each))
        totals[f"{name}_us"] = sum((one["count"] or 0) * (one["mean"] or 0.0) for one in of_each)
    return Snapshot(
        host=host,
        programmed=programmed,
        mean=wear.mean + pending,
        least=wear.min + pending,
        most=wear.max + pending,
        variance=wear.stddev**2,
        counts=tuple((one + pending, share) for one, share in counted(bins.first, bins.width, bins.blocks, wear.max)),
        seconds=float(result.simulated_s),
        flash_reads=float(result["flash.reads"]),
        **totals,
    )


def host_bytes(result: Result) -> float:
    """Bytes that the host wrote, by writes and by appends to zones, without those that the drive refused."""
    by_operation = result["counters"]["bytes"]
    refused = sum((result.get(name) or {}).get("refused_bytes", 0) for name in ("zones", "ageing"))
    return float(sum(by_operation.get(name, 0) for name in WRITES) - refused)


def raw_bytes(result: Result) -> int:
    """Bytes of the flash."""
    return int(result["geometry.physical_pages"]) * _page(result)


def _page(result: Result) -> int:
    return int(result["geometry.capacity_bytes"]) // int(result["geometry.logical_pages"])
