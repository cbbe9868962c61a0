"""Latencies over life: of pieces of the stretches, and of a drive whose cells age at points of its life.

Errors of old cells take read retries, which the stretches do not have: they begin with the cells as they are. So a
drive whose cells age is simulated again with the cycles that its blocks have at some points of its life, for as long
as the host writes the bytes of its flash once. Data from before that run has the age of the data that is read
(`--retention`); what the run writes ages at the pace of the host, or so that the run lasts as long as that age.
"""

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from flashweir.result import Result

# Operations that write.
WRITES = ("write", "append")
KINDS = {"read": ("read",), "write": WRITES}
# Names in the curve, and the share of the requests that are faster; none is the mean.
FIELDS = {"us": None, "p99_us": 0.99, "p999_us": 0.999}
# Points of life that are simulated, the new drive included.
_AGES = 6
_MAX_PACE, _MAX_DAYS = 1e9, 1e5
_SECONDS_A_DAY = 86_400.0
_NS = 1000.0

Numbers = Mapping[str, float | None]


@dataclass(frozen=True)
class Latencies:
    """Latencies of many requests: their sum in us, and numbers of requests by the upper edge of their bin in ns."""

    total_us: float = 0.0
    counts: Mapping[int, int] = field(default_factory=dict)

    def __sub__(self, other: "Latencies") -> "Latencies":
        less = {edge: count - other.counts.get(edge, 0) for edge, count in self.counts.items()}
        # A request that was the last of one stretch may wait in the longer one.
        return Latencies(self.total_us - other.total_us, {edge: count for edge, count in less.items() if count > 0})

    def numbers(self) -> dict[str, float | None]:
        """Mean and quantiles in us, by the names of the curve; None where there are no requests."""
        requests = sum(self.counts.values())
        if requests == 0:
            return dict.fromkeys(FIELDS)
        return {
            name: max(self.total_us, 0.0) / requests if share is None else self._quantile(share * requests)
            for name, share in FIELDS.items()
        }

    def _quantile(self, requests: float) -> float:
        below = 0
        for edge in sorted(self.counts):
            below += self.counts[edge]
            if below >= requests:
                return edge / _NS
        return max(self.counts) / _NS


def latencies(result: Result, operations: Sequence[str]) -> Latencies:
    """Those of some operations of a run."""
    total, counts = 0.0, dict[int, int]()
    for name in operations:
        one = result.latency_us.get(name)
        if one is None or not one["count"]:
            continue
        total += one["count"] * one["mean"]
        for edge, count in result["latency_histogram_ns"].get(name, []):
            counts[edge] = counts.get(edge, 0) + count
    return Latencies(total, counts)


@dataclass(frozen=True)
class Ages:
    """Latencies by the mean wear of the blocks, in order: for reads and writes the numbers of the curve."""

    points: tuple[tuple[float, Mapping[str, Numbers]], ...]

    def at(self, wear: float, kind: str) -> dict[str, float | None]:
        """The numbers at a mean wear, between those of the nearest two points."""
        places = [one for one, _ in self.points]
        right = min(max(bisect_left(places, wear), 1), len(places) - 1)
        (low, before), (high, after) = self.points[right - 1], self.points[right]
        part = min(max((wear - low) / (high - low), 0.0), 1.0)
        found: dict[str, float | None] = {}
        for name in FIELDS:
            one, other = before[kind][name], after[kind][name]
            found[name] = None if one is None or other is None else one + (other - one) * part
        return found


@dataclass(frozen=True)
class Ageing:
    """Conditions of a drive whose cells age: cycles used, the age of its data, and seconds of a byte.

    `run` simulates with other keys until the host has written so many bytes. `raw` are the bytes of the flash,
    `seconds` those of a run for each byte written, `per_day` the bytes that the host writes a day, None for its own
    pace.
    """

    run: Callable[[float, Mapping[str, object]], Result]
    used: float
    days: float
    raw: float
    seconds: float
    per_day: float | None


def measured(drive: Ageing, wear: float) -> Ages | None:
    """Latencies at points of life up to a mean wear; None where none is."""
    if wear <= 0:
        return None
    life = _SECONDS_A_DAY / drive.per_day if drive.per_day is not None else drive.days * _SECONDS_A_DAY / drive.raw
    pace = min(life / drive.seconds, _MAX_PACE) if drive.seconds > 0 else 1.0
    points = []
    for place in range(_AGES):
        there = wear * place / (_AGES - 1)
        keys: dict[str, Any] = {
            "ageing.cycles": round(drive.used + there),
            "ageing.retention": min(drive.days, _MAX_DAYS),
            "ageing.pace": pace,
        }
        result = drive.run(drive.raw, keys)
        points.append((there, {kind: latencies(result, names).numbers() for kind, names in KINDS.items()}))
    return Ages(tuple(points))
