"""Measured points as data: a workload, a load, and the values that a drive had there."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

Pattern = Literal["uniform", "sequential", "zipf"]
LoadKind = Literal["rate", "depth", "saturated"]

LATENCIES = ("read_mean", "read_p50", "read_p99", "read_p999", "write_mean", "write_p50", "write_p99", "write_p999")
# Units of all metrics.
UNITS: Mapping[str, str] = {
    **dict.fromkeys(LATENCIES, "us"),
    "iops": "requests/s",
    "mib_s": "MiB/s",
    "waf": "ratio",
}


@dataclass(frozen=True)
class Stream:
    """Requests of one kind, from one or more threads.

    Attributes:
        write: share of writes.
        threads: threads that share the rate; each has its own queue.
        rate: requests a second of all threads; None is the rest of the point's rate, or as fast as the drive goes.
        measured: True if latencies are of this stream.
    """

    write: float
    threads: int = 1
    rate: float | None = None
    measured: bool = True


@dataclass(frozen=True)
class Workload:
    """Addresses and sizes of the requests of a point.

    Attributes:
        size: bytes of a request.
        pattern: order of addresses.
        skew: exponent of `zipf`.
        used_share: share of the capacity that holds data and is used; the rest was trimmed.
        open_zones: zones that are written at a time, each trimmed before it is written again; None is no zones.
    """

    streams: tuple[Stream, ...]
    size: int = 4096
    pattern: Pattern = "uniform"
    skew: float = 0.0
    used_share: float = 1.0
    open_zones: int | None = None


@dataclass(frozen=True)
class Point:
    """One measured load.

    Attributes:
        id: unique among the points of a drive.
        load: what `what` says behind the @.
        kind: meaning of `value`: requests a second in all, outstanding requests, or none if saturated.
        cap: most outstanding requests of each thread.
        closed: True if the next request follows a completion, False for Poisson arrivals.
        latency_from: "issue", when a thread's queue had room, or "arrival".
        saturation: share of the drive's highest throughput at which this is; None if not known.
        measured: values by metric, in `UNITS`.
        sequential_waf: measured amplification of a sequential fill. What it is above 1 the drive writes for itself
            (metadata), which no simulated drive does: predicted amplification is times this.
    """

    id: str
    load: str
    workload: Workload
    kind: LoadKind
    value: float
    cap: int
    closed: bool
    latency_from: Literal["issue", "arrival"]
    measured: Mapping[str, float]
    weight: float = 1.0
    saturation: float | None = None
    sequential_waf: float = 1.0

    @property
    def throughput(self) -> float | None:
        """Requests a second as measured; None if neither they nor bytes were."""
        if "iops" in self.measured or "mib_s" not in self.measured:
            return self.measured.get("iops")
        return self.measured["mib_s"] * (1 << 20) / self.workload.size

    @property
    def is_knee(self) -> bool:
        """True where the drive can just not do the load: the queue's length there depends on how long it was run."""
        return self.kind == "rate" and self.saturation is not None and self.saturation > KNEE


@dataclass(frozen=True)
class Measurements:
    """Points of one drive.

    Attributes:
        capacity: logical bytes, None if not known.
        raw: bytes of flash, None if not known.
        source: the file.
        unused: parts of the file that no point was made of.
    """

    drive: str
    capacity: int | None
    raw: int | None
    points: tuple[Point, ...]
    source: str
    unused: tuple[str, ...] = ()


# Share of the highest throughput from which on a load is the knee.
KNEE = 0.97


def every_other(measurements: Measurements) -> tuple[Measurements, Measurements]:
    """Measurements without every second of the rates of each workload, and these rates alone.

    The lowest and the highest rate below saturation stay, so that those between have neighbours.
    """
    groups: dict[Workload, list[Point]] = {}
    for point in measurements.points:
        if point.kind == "rate" and not point.is_knee:
            groups.setdefault(point.workload, []).append(point)
    left: set[str] = set()
    for group in groups.values():
        ordered = sorted(group, key=lambda point: point.value)
        left |= {point.id for point in ordered[1:-1:2]}
    kept = tuple(point for point in measurements.points if point.id not in left)
    out = tuple(point for point in measurements.points if point.id in left)
    return replace(measurements, points=kept), replace(measurements, points=out)
