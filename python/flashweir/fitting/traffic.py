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


def writes(point: Point, total: float) -> float:
    """Writes a second of all streams at a rate of all requests."""
    known = sum(stream.rate or 0.0 for stream in point.workload.streams)
    found = 0.0
    for stream in point.workload.streams:
        rate = rate_of(point, stream)
        found += stream.write * (max(0.0, total - known) if rate is None or stream.rate is None else rate)
    return found


class Source:
    """Requests of a point, without end. The same seed gives the same requests, whatever the drive does.

    Arrivals, directions and addresses of each stream have a generator of their own, so that points with other rates
    have addresses in common.

    Attributes:
        size: bytes of a request.
        threads: threads of all streams.
    """

    def __init__(self, point: Point, span_bytes: int, seed: int) -> None:
        self._point = point
        self.size = point.workload.size
        self.threads = threads(point)
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

    def at_once(self, thread: int, count: int) -> Requests | None:
        """Requests without a due time (0), for all threads of a stream that goes as fast as the drive does.

        Returns:
            `count` for each thread of the stream that `thread` belongs to; None if that stream has a rate.
        """
        at = max(number for number, first in enumerate(first_threads(self._point)) if first <= thread)
        stream = self._point.workload.streams[at]
        if rate_of(self._point, stream) is not None:
            return None
        return self._made(at, np.zeros(count * stream.threads, dtype=np.int64))

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
