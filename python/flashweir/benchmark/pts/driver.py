"""Points of a test on a target: requests of one kind, as fast as a depth lets them or by the clock, timed."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from flashweir import _native
from flashweir._native import ConfigError, FlashweirError
from flashweir.api import as_json

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

READ, WRITE, DISCARD = 0, 1, 2
# Requests of one call of the engine, and of the first call of a point, by which its rate is known.
MAX_BATCH, _FIRST = 1 << 15, 64
_SEQUENTIAL = 128 << 10
# Requests of the largest size have a few places to go to, and streams their zones.
_MIN_BYTES = 8 * _SEQUENTIAL
_DISCARD = 64 << 20
_MIB, _NS = 1 << 20, 1e9
_QUANTILES = {"p50": 50.0, "p99": 99.0, "p999": 99.9, "p99999": 99.999}


@dataclass(frozen=True)
class Point:
    """Requests of one kind: bytes of each, share of reads, requests outstanding, addresses in order or random."""

    size: int
    read_share: float
    depth: int
    in_order: bool = False


class Driver:
    """A target under test. Time is the target's own, in seconds."""

    def __init__(self, target: str, erase: str | None, seed: int, tell: Callable[[str], None]) -> None:
        """Opens it; what is on it will be destroyed.

        Raises:
            ConfigError: it is too small.
            DeviceError: it can't be used, or was not named again.
        """
        import numpy as np

        self._session = _native.Session(as_json({"target": target, "erase": erase, "seed": seed}))
        if self._session.size_bytes < _MIN_BYTES:
            found = f"{target}: {self._session.size_bytes} bytes"
            raise ConfigError(f"{found}: expected at least {_MIN_BYTES} bytes for steady-state tests")
        self._rng = np.random.default_rng(seed)
        self.size = self._session.size_bytes
        self.block = self._session.block_bytes
        self.written = 0
        self._next = 0
        self.tell = tell

    def now(self) -> float:
        """The target's clock."""
        return self._session.now_ns / _NS

    def purge(self) -> str:
        """Discards the whole target; says what was done."""
        self.tell("purge")
        offsets = list(range(0, self.size, _DISCARD))
        lengths = [min(_DISCARD, self.size - offset) // self.block * self.block for offset in offsets]
        try:
            self._execute([DISCARD] * len(offsets), offsets, lengths, 1)
        except FlashweirError as error:
            return f"none: {' '.join(str(error).split())}"
        return "discarded"

    def precondition(self, size: int, times: float = 2.0) -> None:
        """Writes the capacity in order, `times` times over: workload independent preconditioning."""
        self.tell(f"preconditioning: {times:g} times the capacity, {size >> 10} KiB in order")
        self.write_all(Point(size, 0.0, 32, in_order=True), int(times * self.size))

    def write_all(self, point: Point, total: int) -> None:
        """Makes requests of so many bytes."""
        left = max(total // point.size, 1)
        while left:
            count = min(left, MAX_BATCH)
            self._run(point, count)
            left -= count

    def measure(self, point: Point, seconds: float, at_least: int) -> dict[str, Any]:
        """Makes requests for so long, and at least so many; rates and latencies of them."""
        import numpy as np

        issued, completed = [], []
        begun, count = self.now(), 0
        batch = min(_FIRST, at_least)
        while count < at_least or self.now() - begun < seconds:
            issue, complete = self._run(point, batch)
            issued.append(issue)
            completed.append(complete)
            count += batch
            elapsed = max(self.now() - begun, 1e-9)
            wanted = max(int(count / elapsed * (seconds - elapsed)), at_least - count, 16)
            batch = min(wanted, MAX_BATCH)
        first = min(int(one.min()) for one in issued)
        lasted = max(max(int(one.max()) for one in completed) - first, 1) / _NS
        latency = (np.concatenate(completed) - np.concatenate(issued)) / 1000
        return {"requests": count, "seconds": lasted, "iops": count / lasted,
                "mib_s": count * point.size / lasted / _MIB, "latency_us": latencies(latency)}  # fmt: skip

    def measure_at(
        self, places: "Callable[[int], NDArray[np.int64]]", size: int, depth: int, count: int
    ) -> dict[str, Any]:
        """Writes to so many places, numbers of requests' sizes from the beginning; rates and latencies of them."""
        import numpy as np

        latency, begun = [], self.now()
        for first in range(0, count, MAX_BATCH):
            number = min(MAX_BATCH, count - first)
            issue, complete = self._execute([WRITE] * number, places(number) * size, np.full(number, size), depth)
            latency.append((complete - issue) / 1000)
        self.written += count * size
        lasted = max(self.now() - begun, 1e-9)
        return {"requests": count, "seconds": lasted, "iops": count / lasted, "mib_s": count * size / lasted / _MIB,
                "latency_us": latencies(np.concatenate(latency))}  # fmt: skip

    def by_clock(
        self, due: "NDArray[np.int64]", op: "NDArray[np.uint8]", size: int
    ) -> "tuple[NDArray[np.int64], NDArray[np.int64]]":
        """Random requests at their times, ns from now on: when each was due and when it was complete."""
        import numpy as np

        start = self._session.now_ns
        offsets = self._rng.integers(self.size // size, size=len(due)) * size
        lengths = np.full(len(due), size, np.uint64)
        _, complete = self._session.execute(due, op, offsets.astype(np.uint64), lengths, 4096)
        self.written += int((op == WRITE).sum()) * size
        return due + start, np.frombuffer(complete, "<i8")

    @property
    def rng(self) -> "np.random.Generator":
        """Random numbers of the test."""
        return self._rng

    def _run(self, point: Point, count: int) -> "tuple[NDArray[np.int64], NDArray[np.int64]]":
        import numpy as np

        places = self.size // point.size
        if point.in_order:
            numbers = (self._next + np.arange(count)) % places
            self._next = int(numbers[-1] + 1) % places
        else:
            numbers = self._rng.integers(places, size=count)
        op = np.where(self._rng.random(count) < point.read_share, READ, WRITE)
        self.written += int((op == WRITE).sum()) * point.size
        return self._execute(op, numbers * point.size, np.full(count, point.size), point.depth)

    def _execute(
        self, op: "ArrayLike", offset: "ArrayLike", length: "ArrayLike", depth: int
    ) -> "tuple[NDArray[np.int64], NDArray[np.int64]]":
        import numpy as np

        issue, complete = self._session.execute(
            np.full(np.size(op), -1, np.int64), np.asarray(op, np.uint8), np.asarray(offset, np.uint64),
            np.asarray(length, np.uint64), depth,
        )  # fmt: skip
        return np.frombuffer(issue, "<i8"), np.frombuffer(complete, "<i8")


def latencies(values: "NDArray[np.float64]") -> dict[str, float]:
    """Mean, quantiles and maximum, in us."""
    import numpy as np

    found = np.percentile(values, list(_QUANTILES.values()), method="higher")
    return {"mean": float(values.mean()), **{name: float(one) for name, one in zip(_QUANTILES, found, strict=True)},
            "max": float(values.max())}  # fmt: skip
