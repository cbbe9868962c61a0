"""Latency of a probing reader under a rising write load, which comes by the clock even if the drive falls behind."""

from typing import Any

from flashweir.benchmark.pts.driver import READ, WRITE, Driver, Point, latencies
from flashweir.benchmark.pts.steady import MAX_ROUNDS, last_window
from flashweir.benchmark.pts.trials import Settings

_SIZE = 4 << 10
_DEPTH = 32
# Offered writes, as shares of what the drive takes at depth 32.
LOADS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 1.0, 1.1, 1.25)
# Beyond these, loads grow by this factor until writes fall behind, or up to this share.
_STEP, _MAX_LOAD = 1.25, 8.0
# The reader asks so rarely that it is no load of its own; so many reads a load.
_READS, _MIN_READS = 3000, 300
# Requests of one call of the engine, at most.
_MAX_REQUESTS = 65_000
# Requests of a round of writes as fast as the drive takes them.
_ROUND = 50_000
_READ_SHARE = 0.05
# Beyond the knee p99 of reads is this many times that at the lightest write load, or writes fall behind by this share.
_SLOWER, _BEHIND = 3.0, 0.03
_NS = 1e9


def read_under_writes(driver: Driver, settings: Settings) -> dict[str, Any]:
    """Read latencies over offered write load, on a drive that is written over once at random."""
    purge = driver.purge()
    driver.precondition(128 << 10, 1.0)
    size = max(_SIZE, driver.block)
    writes = Point(size, 0.0, _DEPTH)
    driver.tell("read under writes: preconditioning, random writes of one capacity")
    driver.write_all(writes, driver.size)
    course: list[float] = []
    while len(course) < MAX_ROUNDS and not (course and last_window(course).steady):
        driver.tell(f"read under writes: round {len(course) + 1} of writes as fast as they go")
        at_least = max(min(driver.size // size // 16, _ROUND), 256)
        course.append(driver.measure(writes, settings.minute_s, at_least)["iops"])
    window = last_window(course)
    most = window.mean
    alone = driver.measure(Point(size, 1.0, 1), 0.0, 256)["latency_us"]["mean"]
    # Reads are far apart compared with their own time, and a small share of the requests.
    rate = min(most * _READ_SHARE, 0.05 * 1e6 / alone)
    rows: list[dict[str, Any]] = []
    share = 0.0
    while share <= _MAX_LOAD and not (share > 1 and _is_behind(rows[-1])):
        driver.tell(f"read under writes: {100 * share:.0f}% of {most:,.0f} writes/s")
        rows.append(_under(driver, share, most, rate, size))
        share = LOADS[len(rows)] if len(rows) < len(LOADS) else share * _STEP
    return {"test": "read-under-writes", "purge": purge, "size": size, "max_write_iops": most,
            "window": window.to_dict(), "reads_per_s": rate, "rows": rows, "knee": knee(rows)}  # fmt: skip


def _is_behind(row: dict[str, Any]) -> bool:
    """True if the drive takes fewer writes than are offered."""
    return bool(row["write_iops"] < row["offered_write_iops"] * (1 - _BEHIND))


def _under(driver: Driver, share: float, most: float, rate: float, size: int) -> dict[str, Any]:
    """Reads at random times beside writes at random times, both Poisson; latencies count from when each was due."""
    import numpy as np

    offered = share * most
    # One call of the engine holds them all: its requests are limited.
    reads = max(min(_READS, int(_MAX_REQUESTS * rate / (rate + offered))), _MIN_READS)
    lasts = reads / rate
    counts = {READ: reads, WRITE: min(int(offered * lasts), _MAX_REQUESTS - reads)}
    times = [np.sort(driver.rng.random(count)) * lasts for count in counts.values()]
    order = np.argsort(np.concatenate(times), kind="stable")
    due = (np.concatenate(times)[order] * _NS).astype(np.int64)
    op = np.repeat(np.array(list(counts), np.uint8), list(counts.values()))[order]
    began, complete = driver.by_clock(due, op, size)
    waited = (complete - began) / 1000
    row: dict[str, Any] = {"share": share, "offered_write_iops": offered, "write_iops": 0.0,
                           "read_us": latencies(waited[op == READ]), "write_us": None}  # fmt: skip
    if counts[WRITE]:
        mine = op == WRITE
        span = max(int(complete[mine].max() - began[mine].min()), 1) / _NS
        row |= {"write_iops": counts[WRITE] / span, "write_us": latencies(waited[mine])}
    return row


def knee(rows: list[dict[str, Any]]) -> dict[str, Any] | None:
    """The last load that the drive bears: p99 of reads within three times that of the lightest load, writes in time."""
    base = max(row["read_us"]["p99"] for row in rows[:2])
    found = None
    for row in rows:
        if row["read_us"]["p99"] > _SLOWER * base or _is_behind(row):
            break
        found = row
    if found is None:
        return None
    return {"share": found["share"], "write_iops": found["offered_write_iops"], "read_p99_us": found["read_us"]["p99"]}
