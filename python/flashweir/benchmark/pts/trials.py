"""The four tests of SNIA's Performance Test Specification: IOPS, throughput, latency, write saturation.

Each purges the target, writes it in order twice (but for write saturation), and repeats its rounds until the tracked
value is steady, 25 rounds at most (PTS 2.0, sections 7 to 10). A minute of the specification is `scale` minutes here.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from flashweir.benchmark.pts.driver import Driver, Point
from flashweir.benchmark.pts.steady import MAX_ROUNDS, last_window

KIB = 1 << 10
MINUTE_S = 60.0
SIZES = (*(size * KIB for size in (1024, 128, 64, 32, 16, 8, 4)), 512)
MIXES = (1.0, 0.95, 0.65, 0.5, 0.35, 0.05, 0.0)
_DEPTH = 32
# Requests of the shortest point, by size: a point lasts its time, and has these at least.
_MIN_REQUESTS, _MIN_BYTES = 256, 16 << 20
_LATENCY_SIZES, _LATENCY_MIXES = (8 * KIB, 4 * KIB, 512), (1.0, 0.65, 0.0)
# Write saturation: 4 times the capacity or 6 hours, whichever comes first.
_SATURATION_CAPACITIES = 4
_SAMPLES = 60


@dataclass(frozen=True)
class Settings:
    """Length of a minute and of the longest write saturation, s; sizes and mixes of the IOPS test."""

    minute_s: float = MINUTE_S
    saturation_s: float = 6 * 3600.0
    sizes: tuple[int, ...] = SIZES
    mixes: tuple[float, ...] = MIXES


def iops(driver: Driver, settings: Settings) -> dict[str, Any]:
    """Random requests of all sizes and mixes at depth 32; steady by 4 KiB writes."""
    purge = driver.purge()
    driver.precondition(128 * KIB)
    sizes = _fitting(driver, settings.sizes)
    points = [Point(size, mix, _DEPTH) for mix in settings.mixes for size in sizes]
    tracked = Point(_tracked(sizes, 4 * KIB), 0.0, _DEPTH)
    return _rounds("iops", driver, settings, points, tracked, lambda found: found["iops"], purge)


def latency(driver: Driver, settings: Settings) -> dict[str, Any]:
    """One request at a time, of three sizes and mixes; steady by the mean latency of 4 KiB writes."""
    purge = driver.purge()
    driver.precondition(128 * KIB)
    sizes = _fitting(driver, _LATENCY_SIZES)
    points = [Point(size, mix, 1) for mix in _LATENCY_MIXES for size in sizes]
    tracked = Point(_tracked(sizes, 4 * KIB), 0.0, 1)
    return _rounds("latency", driver, settings, points, tracked, lambda found: found["latency_us"]["mean"], purge)


def throughput(driver: Driver, settings: Settings) -> dict[str, Any]:
    """Requests of 1 MiB and 128 KiB in order, reads and writes; steady by writes of 1 MiB."""
    purge = driver.purge()
    sizes = _fitting(driver, (1024 * KIB, 128 * KIB))
    driver.precondition(sizes[0])
    points = [Point(size, mix, _DEPTH, in_order=True) for size in sizes for mix in (1.0, 0.0)]
    tracked = Point(sizes[0], 0.0, _DEPTH, in_order=True)
    return _rounds("throughput", driver, settings, points, tracked, lambda found: found["mib_s"], purge)


def write_saturation(driver: Driver, settings: Settings) -> dict[str, Any]:
    """Random 4 KiB writes on a purged target, until four capacities or six hours are over."""
    purge = driver.purge()
    point = Point(_tracked(_fitting(driver, (4 * KIB,)), 4 * KIB), 0.0, _DEPTH)
    total = _SATURATION_CAPACITIES * driver.size // point.size
    end = driver.now() + settings.saturation_s
    begun, done, rows = driver.now(), 0, list[dict[str, Any]]()
    while done < total and (driver.now() < end or not rows):
        driver.tell(f"write saturation: {done * point.size / driver.size:.2f} of {_SATURATION_CAPACITIES} capacities")
        step, left = max(total // _SAMPLES, 1), total - done
        # No short sample at the end.
        found = driver.measure(point, 0.0, step if left >= 2 * step else left)
        done += found["requests"]
        rows.append({"at_s": driver.now() - begun, "capacities": done * point.size / driver.size, **found})
    window = last_window([row["iops"] for row in rows])
    return {"test": "write-saturation", "purge": purge, "size": point.size, "depth": point.depth, "rows": rows,
            "first_iops": rows[0]["iops"], "window": window.to_dict()}  # fmt: skip


def _rounds(
    name: str,
    driver: Driver,
    settings: Settings,
    points: list[Point],
    tracked: Point,
    value: Callable[[dict[str, Any]], float],
    purge: str,
) -> dict[str, Any]:
    """Rounds of all points until the tracked one is steady; the result has the means over the window."""
    if tracked not in points:
        points = [*points, tracked]
    course: list[float] = []
    rounds: list[list[dict[str, Any]]] = []
    while len(course) < MAX_ROUNDS:
        driver.tell(f"{name}: round {len(course) + 1}")
        rounds.append([driver.measure(point, settings.minute_s, _at_least(point)) for point in points])
        course.append(value(rounds[-1][points.index(tracked)]))
        if last_window(course).steady:
            break
    window = last_window(course)
    counted = rounds[window.first - 1 : window.last]
    rows = [{"size": point.size, "read_share": point.read_share, **_mean([found[at] for found in counted])}
            for at, point in enumerate(points)]  # fmt: skip
    return {
        "test": name,
        "purge": purge,
        "depth": tracked.depth,
        "tracked": {"size": tracked.size, "read_share": tracked.read_share, "by_round": course},
        "rounds": len(course),
        "window": window.to_dict(),
        "rows": rows,
    }


def _mean(found: list[dict[str, Any]]) -> dict[str, Any]:
    """Means over the rounds of the window; of maxima the largest."""
    count = len(found)
    names = found[0]["latency_us"]
    latency = {name: sum(one["latency_us"][name] for one in found) / count for name in names}
    latency["max"] = max(one["latency_us"]["max"] for one in found)
    return {"iops": sum(one["iops"] for one in found) / count, "mib_s": sum(one["mib_s"] for one in found) / count,
            "latency_us": latency, "requests": sum(one["requests"] for one in found)}  # fmt: skip


def _at_least(point: Point) -> int:
    return max(min(_MIN_REQUESTS, _MIN_BYTES // point.size), 16)


def _fitting(driver: Driver, sizes: tuple[int, ...]) -> list[int]:
    """Sizes that the target can take; at least its smallest block."""
    found = [size for size in sizes if size % driver.block == 0 and size <= driver.size // 16]
    return found or [driver.block]


def _tracked(sizes: list[int], wanted: int) -> int:
    return min(sizes, key=lambda size: abs(size - wanted))
