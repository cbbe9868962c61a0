"""Stretches of a workload on a simulated drive, each twice as long as the one before, until the wear is steady.

Every stretch begins with the drive as its preconditioning leaves it, and with the requests of the one before: the
difference of two is a piece of the drive's life. The drive is steady once the write amplification of a piece, and
with it the wear, is as the piece before predicts, and the bounds of the end of life are near each other. Stretches of
a small drive go on until the other ends, too, are near their bounds: the first worn block, ends after that of life.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from flashweir._native import ConfigError
from flashweir.endurance.bounds import Bound, near
from flashweir.endurance.course import Course, Snapshot, counted, fitted
from flashweir.endurance.latency import KINDS, WRITES, Ages, latencies
from flashweir.result import Result

if TYPE_CHECKING:
    from flashweir.endurance.retiring import Spare

# Bytes of the longest stretch, in capacities of the flash; more on a small drive, up to so many pages.
_LONGEST, _PAGES = 256, 4_000_000
# Pages that a stretch may program for ends other than that of life.
_PROGRAMS = 2_000_000
# Stretches that are added to find an end between two of them.
_REFINED = 2
_PIECES = 3
_NEAR = 1.02
# Cycles of a short life that the first stretch has a part of.
_SHORT = 30.0

Run = Callable[[float], Result]
Judge = Callable[[Course], Bound]
JudgeAll = Callable[[Course], Sequence[Bound]]


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
    its blocks itself; `ages` are the latencies of a drive whose cells age.
    """

    course: Course
    settled: bool
    check: Piece | None
    result: Result
    written: float
    spare: "Spare | None" = None
    ages: Ages | None = None


def simulated(
    run: Run,
    judge: Judge,
    others: JudgeAll,
    *,
    written: float,
    whole: bool,
    raw: int,
    rated: float,
    tolerance: float,
    full: bool,
) -> Simulated:
    """Runs stretches of growing length.

    Args:
        run: simulates so many cycles of the workload.
        judge: of a course, the bytes at the end of life.
        others: of a course, the bytes at other ends.
        written: bytes that the host writes in one cycle.
        whole: stretches are whole cycles.
        raw: bytes of the flash.
        rated: rated cycles, at which it ends.
        tolerance: relative change of write amplification up to which the drive is steady. The end of life may lie
            twice as far from its bounds, or half a percent.
        full: simulates all of it, without extrapolation.

    Raises:
        ConfigError: the workload writes nothing.
    """
    points = [Snapshot()]
    target, settled = raw * min(1.0, rated / _SHORT), False
    close = near(tolerance)

    def reached(bytes_written: float) -> Result:
        cycles = bytes_written / written
        return run(math.ceil(cycles) if whole else cycles)

    while True:
        result = reached(target)
        point = snapshot(result)
        if point.host <= 0:
            raise ConfigError("the workload writes nothing to the drive: it does not wear")
        if point.host <= points[-1].host:
            break
        points.append(point)
        check = _check(points)
        steady = check is not None and check.difference <= tolerance
        course = fitted(points)
        end = judge(course)
        settled = (steady and end.error <= close) or point.host >= end.best
        pages = int(result["geometry.physical_pages"])
        longest = raw * max(_LONGEST, _PAGES / pages)
        if point.mean >= rated or (not full and not settled and point.host >= longest):
            break
        if settled and not full:
            known = steady and all(one.error <= close for one in others(course))
            if known or 2 * point.programmed > _PROGRAMS * raw / pages:
                break
        last = course.host_at("mean", rated)
        target = min(2 * point.host, _NEAR * last)
        if target <= point.host:
            target = _NEAR * point.host
    if points[-1].mean <= points[-2].mean:
        raise ConfigError("the workload erases no block in what was simulated: it does not wear the drive")
    ends = [lambda course: judge(course).best, lambda course: course.host_of_most(rated)]
    course = _refined(points, ends, reached)
    return Simulated(course, settled or point.mean >= rated, _check(points), result, written)


def _refined(points: list[Snapshot], ends: Sequence[Callable[[Course], float]], reached: Run) -> Course:
    """The course with stretches up to ends that lie within what was simulated."""
    more: list[Snapshot] = []
    course = fitted(points)
    for end_of in ends:
        for _ in range(_REFINED):
            end = end_of(course)
            if end >= points[-1].host or min(abs(one.host / end - 1) for one in (*points, *more)) <= _NEAR - 1:
                break
            point = snapshot(reached(end))
            if any(point.host == one.host for one in (*points, *more)):
                # A recording is repeated as a whole: there is no stretch between.
                break
            more.append(point)
            course = fitted(points, more)
    return course


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
    return Snapshot(
        host=host,
        programmed=programmed,
        mean=wear.mean + pending,
        most=wear.max + pending,
        counts=tuple((one + pending, share) for one, share in counted(bins.first, bins.width, bins.blocks, wear.max)),
        blocks=_alone(result),
        width=float(bins.width),
        seconds=float(result.simulated_s),
        flash_reads=float(result["flash.reads"]),
        latencies={name: latencies(result, operations) for name, operations in KINDS.items()},
    )


def _alone(result: Result) -> float:
    """Blocks that are erased each for itself: those of a superblock are erased together."""
    config, blocks = result["config"], float(result["geometry.blocks"])
    if config["alloc"]["kind"] != "superblock":
        return blocks
    return max(1.0, blocks / int(result["geometry.units"]))


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
