"""A drive under test: phases of requests, the course of their times, and the bytes that were written."""

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from flashweir._native import ConfigError, FlashweirError, Session
from flashweir.api import as_json
from flashweir.diagnosis.active.counters import Counters

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from flashweir.api import Progress

READ, WRITE, DISCARD, FLUSH = range(4)
KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
# Requests of one call; nothing is outstanding between calls, so fewer would leave dies idle.
_BATCH = 16_384
# Outstanding reads: what SATA allows.
DEPTH = 32
# Outstanding writes: so many that random requests to d dies by address keep most of these busy, n / (n + d - 1) of them
# in a closed queue of n. Longer requests have fewer bytes outstanding than buffers of drives take.
_WRITES, _OUTSTANDING = 256, 4 * MIB
# Points that a course keeps; phases of any length take this memory.
_MARKS = 1024
# Requests between two points: fewer show single requests and not the rate.
_GRAIN = 8
_DISCARD = 256 * MIB
STOPPED = "stopped by the progress function"


@dataclass
class Course:
    """Bytes and times of a phase: `time_ns[k]` after its begin `volume[k]` bytes were complete."""

    volume: "NDArray[np.float64]"
    time_ns: "NDArray[np.float64]"

    def per_byte(self, skip: float = 0.0, until: float = float("inf"), windows: int = 24) -> "NDArray[np.float64]":
        """Time of a byte, ns, in windows of equal bytes after `skip` bytes and up to `until`."""
        first = int(np.searchsorted(self.volume, skip))
        last = int(np.searchsorted(self.volume, until, "right")) - 1
        if last - first < 1:
            first, last = 0, len(self.volume) - 1
        at = np.unique(np.linspace(first, last, min(windows, last - first) + 1).round().astype(int))
        found: NDArray[np.float64] = np.maximum(np.diff(self.time_ns[at]), 1.0) / np.diff(self.volume[at])
        return found


@dataclass
class Bench:
    """A session with its clock, its random numbers, and its accounts."""

    session: Session
    seed: int
    progress: "Progress | None" = None
    expected_bytes: int = 0
    written_bytes: int = 0
    requests: int = 0
    discards: bool = True
    target: str = ""
    began_ns: int = 0
    _began: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        self.random = np.random.default_rng(self.seed)
        self.size = self.session.size_bytes // MIB * MIB
        self.small = max(4 * KIB, self.session.block_bytes)
        self.began_ns = self.session.now_ns
        self.counters = Counters(self.target)
        # Counters that can't be read are refused before anything is written.
        self.counters.read()

    def call(
        self,
        op: "NDArray[np.uint8] | int",
        offset: "NDArray[np.uint64]",
        length: int,
        depth: int,
        due: "NDArray[np.int64] | None" = None,
    ) -> "tuple[NDArray[np.int64], NDArray[np.int64]]":
        """Executes one batch; when each request was issued and when it completed, ns."""
        count = len(offset)
        ops = np.full(count, op, np.uint8) if isinstance(op, int) else op
        due = np.full(count, -1, np.int64) if due is None else due
        check_due(due)
        self._tell()
        lengths = np.where(ops == FLUSH, 0, length).astype(np.uint64)
        issue, complete = self.session.execute(due, ops, offset.astype(np.uint64), lengths, depth)
        self.requests += count
        self.written_bytes += int((ops == WRITE).sum()) * length
        return np.frombuffer(issue, "<i8"), np.frombuffer(complete, "<i8")

    def pour(
        self,
        places: "Callable[[int, int], NDArray[np.uint64]]",
        volume: float,
        length: int,
        depth: int | None = None,
    ) -> Course:
        """Writes so many bytes; `places(first, count)` are the offsets of requests."""
        depth = depth or max(DEPTH, min(_WRITES, _OUTSTANDING // length))
        total = max(2 * _GRAIN, int(volume // length))
        grain = max(_GRAIN, total // _MARKS)
        begin = self.session.now_ns
        volumes, times = [0.0], [0.0]
        for first in range(0, total, _BATCH):
            count = min(_BATCH, total - first)
            _, complete = self.call(WRITE, places(first, count), length, depth)
            ends = np.sort(complete) - begin
            at = np.arange(grain - 1, count, grain)
            volumes += ((first + at + 1) * float(length)).tolist()
            times += ends[at].astype(float).tolist()
        return Course(np.array(volumes), np.array(times))

    def in_order(self, low: float, high: float, length: int) -> "Callable[[int, int], NDArray[np.uint64]]":
        """Offsets one after the other from `low` on, again from there at `high`."""
        first, slots = _slots(low, high, length)
        return lambda begin, count: ((first + (begin + np.arange(count)) % slots) * length).astype(np.uint64)

    def at_random(self, low: float, high: float, length: int) -> "Callable[[int, int], NDArray[np.uint64]]":
        """Uniformly random offsets, aligned to their length."""
        first, slots = _slots(low, high, length)
        return lambda _, count: ((first + self.random.integers(0, slots, count)) * length).astype(np.uint64)

    def read(self, low: float, high: float, count: int, depth: int = 1) -> "tuple[NDArray[np.float64], float]":
        """Latencies of random short reads, ns, and their time in all."""
        issue, complete = self.call(READ, self.at_random(low, high, self.small)(0, count), self.small, depth)
        return (complete - issue).astype(float), float(complete.max() - issue.min())

    def discard(self) -> None:
        """Discards all, as far as the drive can."""
        if not self.discards:
            return
        try:
            for low in range(0, self.size, _DISCARD):
                self.call(DISCARD, np.array([low]), min(_DISCARD, self.size - low), 1)
        except ConfigError:
            raise
        except FlashweirError as error:
            said = str(error).lower()
            if not any(word in said for word in ("not supported", "unsupported", "discard", "trim")):
                raise
            self.discards = False

    def rest(self, seconds: float = 0.5, *, flush: bool = True) -> float:
        """Flushes and idles; the latency of the flush, ns."""
        took = 0.0
        if flush:
            issue, complete = self.call(FLUSH, np.array([0]), 0, 1)
            took = float(complete[0] - issue[0])
        self.session.pause(int(seconds * 1e9))
        return took

    def elapsed_s(self) -> float:
        """Time on the target's clock."""
        return (self.session.now_ns - self.began_ns) / 1e9

    def _tell(self) -> None:
        if self.progress is None:
            return
        share = min(0.99, self.written_bytes / self.expected_bytes) if self.expected_bytes else None
        state = {"phase": "run", "done": self.written_bytes, "fraction": share}
        if self.progress({**state, "elapsed_s": time.monotonic() - self._began}) is False:
            raise FlashweirError(f"{STOPPED} after {self.written_bytes} bytes")


def opened(target: str, erase: str | None, seed: int) -> Session:
    """A session on a target, by its name."""
    return Session(as_json({"target": target, "erase": erase, "seed": seed}))


def check_due(due: "NDArray[np.int64]") -> None:
    """Refuses a batch of which some requests are due at a time and some are not."""
    paced = due >= 0
    if paced.any() and not paced.all():
        at = int(np.flatnonzero(paced != paced[0])[0])
        raise ConfigError(f"due_ns[{at}] is {due[at]} and due_ns[0] {due[0]}: expected all -1, or none")


def _slots(low: float, high: float, length: int) -> tuple[int, int]:
    first = -(-int(low) // length)
    return first, max(1, int(high) // length - first)
