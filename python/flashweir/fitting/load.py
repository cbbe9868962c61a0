"""One load on a drive in steady state: latencies, throughput and write amplification as the measurement had them.

A latency from "issue" begins when the queue of the request's thread had room. A measured thread with a rate of its own
that shares a saturated drive with others has a queue that is nearly full where its rate is close to its share of turns:
the nearer, the longer a run must be (Whitt 1989, "Planning queueing simulations", Management Science 35, for arrivals
at random and turns of the same length).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from flashweir._native import FlashweirError
from flashweir.fitting.host import Host
from flashweir.fitting.points import Point
from flashweir.fitting.traffic import Source, first_threads, rate_of, threads

if TYPE_CHECKING:
    import numpy.typing as npt

    from flashweir.drive import Drive

    Numbers = npt.NDArray[np.int64]

# Time before the measured one, as a share of it.
_WARM = 1 / 3
_QUANTILES = {"p50": 0.5, "p99": 0.99, "p999": 0.999}
# Requests a second of a point that does not say them.
_GUESSED_RATE = 100_000.0
_MIN_S = 0.02
# Requests of a saturated load, in outstanding ones, that a run has at least.
_CYCLES = 30
# Relative standard deviation of a measured mean at saturation, as the theory has it.
_DEVIATION = 0.1
# The largest share of its turns that a thread is taken to ask for.
_BUSIEST = 0.9


@dataclass(frozen=True)
class Effort:
    """Length of a simulation.

    Attributes:
        samples: measured requests of the rarer operation.
        requests: most requests in all.
        saturated: least requests of a saturated drive. 20,000 tell its throughput within 1%; tails of its writes fall
            until every unit has collected several times.
        longest: most requests of a saturated drive, whose length follows from its queues; `requests` if 0.
    """

    samples: int
    requests: int
    saturated: int = 20_000
    longest: int = 0


QUICK = Effort(samples=1_200, requests=20_000)
THROUGHPUT = Effort(samples=1_500, requests=20_000)
MIDDLE = Effort(samples=1_500, requests=30_000, longest=100_000)
FINE = Effort(samples=4_000, requests=80_000, longest=100_000)
FULL = Effort(samples=20_000, requests=400_000, saturated=150_000, longest=400_000)


def saturated_requests(point: Point, effort: Effort) -> int:
    """Requests of a saturated point in the measured time."""
    shares = [
        min(_BUSIEST, stream.rate * threads(point) / (stream.threads * _reached(point)))
        for stream in point.workload.streams
        if stream.measured and stream.rate
    ]
    turns = [2 / ((1 - share) * _DEVIATION) ** 2 for share in shares]
    needed = max(
        effort.saturated, _CYCLES * point.cap * threads(point), *(round(threads(point) * one) for one in turns)
    )
    return min(effort.longest or effort.requests, needed)


def seconds(point: Point, effort: Effort) -> float:
    """Simulated time of a point, without its warm-up."""
    total = point.value if point.kind == "rate" else _reached(point)
    if point.kind == "saturated":
        # Buffers fill first.
        return max(_MIN_S, saturated_requests(point, effort) / total)
    rarest = [
        (rate_of(point, stream) or total) * min(share for share in (stream.write, 1 - stream.write) if share > 0)
        for stream in point.workload.streams
        if stream.measured
    ]
    return max(_MIN_S, min(effort.samples / max(min(rarest), 1e-9), effort.requests / total))


def _reached(point: Point) -> float:
    if point.throughput:
        return point.throughput
    mean = point.measured.get("read_mean", point.measured.get("write_mean"))
    return max(1.0, point.value) * 1e6 / mean if mean and point.kind == "depth" else _GUESSED_RATE


def run(drive: "Drive", point: Point, effort: Effort, seed: int) -> dict[str, float]:
    """The metrics of a point on a drive; the drive ends as the load leaves it.

    Raises:
        FlashweirError: the drive can't go on, or nothing completed.
    """
    long = seconds(point, effort)
    from_ns = drive.now_ns + int(_WARM * long * 1e9)
    until_ns = from_ns + int(long * 1e9)
    source = Source(point, int(drive.capacity_bytes * point.workload.used_share), seed)
    host = Host(drive, source, point.cap, until_ns)
    # A drive that is much faster than what was measured is seen to be so early.
    most = max(effort.requests, saturated_requests(point, effort) if point.kind == "saturated" else 0)
    host.run(from_ns, most)
    from_ns = min(from_ns, drive.now_ns)
    before = _written(drive)
    host.run(until_ns, 3 * most)
    until_ns = min(until_ns, drive.now_ns)
    found = _measured(point, host, from_ns, until_ns)
    programs, pages = (late - early for late, early in zip(_written(drive), before, strict=True))
    if pages > 0:
        found["waf"] = programs / pages
    return found


def _written(drive: "Drive") -> tuple[int, int]:
    """Pages programmed so far, and pages that the host wrote."""
    stats = drive.stats()
    return int(stats["flash.programs"]), int(stats["counters.host_pages_written"])


def _measured(point: Point, host: Host, from_ns: int, until_ns: int) -> dict[str, float]:
    """Metrics of the requests that completed between two times."""
    done = host.completions()
    end = done["complete_ns"].astype(np.int64)
    done, end = done[inside := (end >= from_ns) & (end < until_ns)], end[inside]
    if host.first is None or not len(done):
        raise FlashweirError(f"point {point.id}: no request completed in {(until_ns - from_ns) / 1e9:g} s")
    begin = done["issue_ns"].astype(np.int64)
    if point.latency_from == "arrival":
        due = np.array(host.due_ns, dtype=np.int64)[done["number"].astype(np.int64) - host.first]
        begin = np.where(due > 0, due, begin)
    found = {"iops": len(done) / ((until_ns - from_ns) / 1e9)}
    found["mib_s"] = found["iops"] * point.workload.size / (1 << 20)
    chosen = np.zeros(len(done), dtype=bool)
    for stream, lowest in zip(point.workload.streams, first_threads(point), strict=True):
        if stream.measured:
            chosen |= (done["tenant"] >= lowest) & (done["tenant"] < lowest + stream.threads)
    for name in ("read", "write"):
        found |= _latencies(name, (end - begin)[chosen & (done["op"] == name)])
    return found


def _latencies(name: str, spans_ns: "Numbers") -> Mapping[str, float]:
    if not len(spans_ns):
        return {}
    us = spans_ns / 1000
    quantiles = np.quantile(us, list(_QUANTILES.values()))
    values = dict(zip(_QUANTILES, (float(value) for value in quantiles), strict=True))
    return {f"{name}_mean": float(us.mean())} | {f"{name}_{of}": value for of, value in values.items()}
