"""One load on a drive in steady state: latencies, throughput and write amplification as the measurement had them.

Threads have a queue of limited depth each. An arrival that finds it full waits at the host, and the thread catches up:
a latency from "issue" begins when the queue had room.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from flashweir._native import FlashweirError
from flashweir.fitting.points import Point
from flashweir.fitting.traffic import Requests, Source, first_threads, merged, rate_of, threads

if TYPE_CHECKING:
    import numpy.typing as npt

    from flashweir.drive import Drive

    Numbers = npt.NDArray[np.int64]

_SLICES = 24
# Slices before what is measured.
_WARM = 6
_QUANTILES = {"p50": 0.5, "p99": 0.99, "p999": 0.999}
# Requests a second of a point that does not say them.
_GUESSED_RATE = 100_000.0
_MIN_S = 0.02


@dataclass(frozen=True)
class Effort:
    """Length of a simulation.

    Attributes:
        samples: measured requests of the rarer operation.
        requests: most requests in all.
    """

    samples: int
    requests: int


QUICK = Effort(samples=1_500, requests=24_000)
SATURATION = Effort(samples=500, requests=12_000)
FULL = Effort(samples=20_000, requests=400_000)


def seconds(point: Point, effort: Effort) -> float:
    """Simulated time of a point, without its warm-up."""
    total = point.value if point.kind == "rate" else _reached(point)
    rarest = [
        (rate_of(point, stream) or total) * min(share for share in (stream.write, 1 - stream.write) if share > 0)
        for stream in point.workload.streams
        if stream.measured
    ]
    return max(_MIN_S, min(effort.samples / max(min(rarest), 1e-9), effort.requests / total))


def _reached(point: Point) -> float:
    if "iops" in point.measured:
        return point.measured["iops"]
    if "mib_s" in point.measured:
        return point.measured["mib_s"] * (1 << 20) / point.workload.size
    mean = point.measured.get("read_mean", point.measured.get("write_mean"))
    return max(1.0, point.value) * 1e6 / mean if mean and point.kind == "depth" else _GUESSED_RATE


def run(drive: "Drive", point: Point, effort: Effort, seed: int) -> dict[str, float]:
    """The metrics of a point on a drive; the drive ends as the load leaves it.

    Raises:
        FlashweirError: the drive can't go on, or nothing completed.
    """
    long = int(seconds(point, effort) * 1e9 / (_SLICES - _WARM))
    start = drive.now_ns
    source = Source(point, int(drive.capacity_bytes * point.workload.used_share), seed)
    sent: list[Requests] = []
    ended: list[npt.NDArray[np.void]] = []
    first: int | None = None
    before = (0, 0)
    backlog, pace = 0, 2 * point.cap
    for at in range(_SLICES):
        now = start + at * long
        if at == _WARM:
            before = _written(drive)
        parts = source.poisson(now, now + long)
        if backlog < pace:
            parts += (more := source.at_once(now, pace))
            backlog += sum(len(part.time_ns) for part in more)
        if (made := merged(parts)) is not None:
            number = _submit(drive, made, point)
            first = number if first is None else first
            sent.append(made)
        drive.advance_to(now + long)
        done = drive.poll()
        ended.append(done)
        if any(rate_of(point, stream) is None for stream in point.workload.streams):
            backlog -= len(done)
            # Twice the requests of the last slice wait, so that the drive never waits for one.
            pace = max(2 * point.cap, 2 * len(done))
    if first is None or not sum(len(done) for done in ended):
        raise FlashweirError(f"point {point.id}: no request completed in {_SLICES * long / 1e9:g} s")
    found = _measured(point, sent, ended, first, start + _WARM * long, start + _SLICES * long)
    programs, pages = (late - early for late, early in zip(_written(drive), before, strict=True))
    if pages > 0:
        found["waf"] = programs / pages
    return found


def _written(drive: "Drive") -> tuple[int, int]:
    """Pages programmed so far, and pages that the host wrote."""
    stats = drive.stats()
    return int(stats["flash.programs"]), int(stats["counters.host_pages_written"])


def _submit(drive: "Drive", made: Requests, point: Point) -> int:
    """Submits requests; the number of the first, from which on all are counted."""
    numbers = drive.submit(
        op=np.where(made.is_write, "write", "read"),
        offset=made.offset,
        length=point.workload.size,
        time_ns=made.time_ns,
        tenant=made.thread,
    )
    return numbers.start


def _measured(
    point: Point, sent: list[Requests], ended: "list[npt.NDArray[np.void]]", first: int, from_ns: int, until_ns: int
) -> dict[str, float]:
    """Metrics between two times, of requests by their numbers: the order of submission."""
    arrival = np.concatenate([part.time_ns for part in sent])
    thread = np.concatenate([part.thread for part in sent])
    is_write = np.concatenate([part.is_write for part in sent])
    end = np.full(len(arrival), np.iinfo(np.int64).max, dtype=np.int64)
    for part in ended:
        end[part["number"].astype(np.int64) - first] = part["complete_ns"].astype(np.int64)
    issue = arrival.copy()
    if point.latency_from == "issue":
        for one in range(threads(point)):
            mine = np.flatnonzero(thread == one)
            issue[mine] = _issued(arrival[mine], end[mine], point.cap)
    complete = end < np.iinfo(np.int64).max
    finished = complete & (end >= from_ns) & (end < until_ns)
    found = {"iops": float(finished.sum() / ((until_ns - from_ns) / 1e9))}
    found["mib_s"] = found["iops"] * point.workload.size / (1 << 20)
    chosen = np.zeros(len(arrival), dtype=bool)
    for stream, least in zip(point.workload.streams, first_threads(point), strict=True):
        if stream.measured:
            chosen |= (thread >= least) & (thread < least + stream.threads)
    chosen &= complete & (issue >= from_ns) & (issue < until_ns)
    for name, those in (("read", chosen & ~is_write), ("write", chosen & is_write)):
        found |= _latencies(name, (end - issue)[those])
    return found


def _issued(arrival: "Numbers", end: "Numbers", cap: int) -> "Numbers":
    """Times at which requests of one thread enter its queue: when fewer than `cap` of those before are outstanding."""
    if len(arrival) <= cap:
        return arrival
    issue = arrival.copy()
    issue[cap:] = np.maximum(arrival[cap:], np.sort(end)[: len(arrival) - cap])
    return issue


def _latencies(name: str, spans_ns: "Numbers") -> Mapping[str, float]:
    if not len(spans_ns):
        return {}
    us = spans_ns / 1000
    quantiles = np.quantile(us, list(_QUANTILES.values()))
    values = dict(zip(_QUANTILES, (float(value) for value in quantiles), strict=True))
    return {f"{name}_mean": float(us.mean())} | {f"{name}_{of}": value for of, value in values.items()}
