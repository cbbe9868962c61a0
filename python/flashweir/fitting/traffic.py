"""Requests of a measured point as columns: who asks for what, where, and when."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from flashweir.fitting.points import Point, Stream

if TYPE_CHECKING:
    import numpy.typing as npt

    Column = npt.NDArray[np.int64]

_ARRIVALS, _ADDRESSES = 1, 2


@dataclass(frozen=True)
class Requests:
    """Columns of requests in the order of their times."""

    time_ns: "Column"
    thread: "Column"
    is_write: "npt.NDArray[np.bool_]"
    offset: "Column"

    def part(self, chosen: "npt.NDArray[np.bool_]") -> "Requests":
        """Some of the requests."""
        return Requests(self.time_ns[chosen], self.thread[chosen], self.is_write[chosen], self.offset[chosen])


def threads(point: Point) -> int:
    """Threads of all streams."""
    return sum(stream.threads for stream in point.workload.streams)


def first_threads(point: Point) -> list[int]:
    """Number of the first thread of each stream."""
    found, at = [], 0
    for stream in point.workload.streams:
        found.append(at)
        at += stream.threads
    return found


def rate_of(point: Point, stream: Stream) -> float | None:
    """Requests a second of a stream; None if it goes as fast as the drive does."""
    if stream.rate is not None:
        return stream.rate
    if point.kind != "rate":
        return None
    return max(0.0, point.value - sum(other.rate or 0.0 for other in point.workload.streams))


class Source:
    """Requests of a point, without end. The same seed gives the same requests, whatever the drive does.

    Arrivals, directions and addresses of each stream have a generator of their own, so that points with other rates
    have addresses in common.
    """

    def __init__(self, point: Point, span_bytes: int, seed: int) -> None:
        self._point = point
        self._slots = max(1, span_bytes // point.workload.size)
        count = len(point.workload.streams)
        self._arrivals = [np.random.default_rng((seed, _ARRIVALS, at)) for at in range(count)]
        self._addresses = [np.random.default_rng((seed, _ADDRESSES, at)) for at in range(count)]
        self._next_in_order = [0] * count

    def poisson(self, from_ns: int, until_ns: int) -> list[Requests]:
        """Arrivals of the streams that have a rate, in a time."""
        found = []
        for at, stream in enumerate(self._point.workload.streams):
            rate = rate_of(self._point, stream)
            if rate:
                count = int(self._arrivals[at].poisson(rate * (until_ns - from_ns) / 1e9))
                times = np.sort(self._arrivals[at].integers(from_ns, until_ns, count))
                found.append(self._made(at, times))
        return found

    def at_once(self, now_ns: int, count: int) -> list[Requests]:
        """Requests for streams that go as fast as the drive does: `count` for each of their threads."""
        found = []
        for at, stream in enumerate(self._point.workload.streams):
            if rate_of(self._point, stream) is None:
                found.append(self._made(at, np.full(count * stream.threads, now_ns, dtype=np.int64)))
        return found

    def _made(self, at: int, times: "Column") -> Requests:
        stream = self._point.workload.streams[at]
        count, random = len(times), self._addresses[at]
        # Three draws for each request, in this order, keep requests the same where their number differs.
        drawn = random.random((count, 3))
        thread = first_threads(self._point)[at] + (drawn[:, 0] * stream.threads).astype(np.int64)
        if rate_of(self._point, stream) is None:
            thread = first_threads(self._point)[at] + np.arange(count, dtype=np.int64) % stream.threads
        if self._point.workload.pattern == "sequential":
            place = (self._next_in_order[at] + np.arange(count, dtype=np.int64)) % self._slots
            self._next_in_order[at] += count
        else:
            place = (drawn[:, 2] * self._slots).astype(np.int64)
        return Requests(times, thread, drawn[:, 1] < stream.write, place * self._point.workload.size)


def merged(parts: list[Requests]) -> Requests | None:
    """Requests of several streams in the order of their times; None if there are none."""
    if not any(len(part.time_ns) for part in parts):
        return None
    joined = Requests(
        np.concatenate([part.time_ns for part in parts]),
        np.concatenate([part.thread for part in parts]),
        np.concatenate([part.is_write for part in parts]),
        np.concatenate([part.offset for part in parts]),
    )
    order = np.argsort(joined.time_ns, kind="stable")
    return Requests(joined.time_ns[order], joined.thread[order], joined.is_write[order], joined.offset[order])
