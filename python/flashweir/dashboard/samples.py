"""Frames and points of samples: the difference of two samples of a drive is what happened between them.

A sample is the JSON object of `flashweir ctl SOCKET sample`: counts that only grow, and the state at its time. A
*frame* is a picture of the drive: each die's time, blocks, tenants. A *point* is one value a curve: rates, latencies,
shares.
"""

from collections.abc import Mapping, Sequence
from typing import Any

Sample = Mapping[str, Any]
MIB = 1 << 20
# Names of the quantiles of latencies.
QUANTILES = {"p50": 0.5, "p99": 0.99, "p999": 0.999}
# Kinds of work of a die that are no work for the host.
COLLECTION = ("copy", "erase", "collection")


class Carried:
    """Time of dies that was counted before it passed: commands are counted when they are made, or when they end."""

    def __init__(self) -> None:
        self._rows: list[list[float]] = []

    def shares(self, previous: Sample, current: Sample) -> list[list[float]]:
        """Shares of the time between two samples by kind of work, of each row of dies; the rest waits for the next."""
        elapsed_ns = (current["time_s"] - previous["time_s"]) * 1e9 * current["dies"]["dies_per_row"]
        before, after = _busy(previous, current), current["dies"]["busy_ns"]
        if [len(row) for row in self._rows] != [len(row) for row in after]:
            self._rows = [[0.0] * len(row) for row in after]
        found = []
        for at, (old, new) in enumerate(zip(before, after, strict=True)):
            waiting = [left + now - then for left, then, now in zip(self._rows[at], old, new, strict=True)]
            part = min(1.0, elapsed_ns / total) if (total := sum(waiting)) > 0 else 0.0
            self._rows[at] = [time * (1 - part) for time in waiting]
            found.append([time * part / elapsed_ns for time in waiting] if elapsed_ns > 0 else [0.0] * len(new))
        return found


def frame(previous: Sample, current: Sample, carried: Carried) -> dict[str, Any]:
    """The picture of a drive: what happened between two samples, and its state at the second."""
    elapsed_s = current["time_s"] - previous["time_s"]
    dies = current["dies"]
    return {
        "time_s": current["time_s"],
        "elapsed_s": elapsed_s,
        "dies": {
            **{key: dies[key] for key in ("channels", "per_channel", "dies_per_row", "work")},
            "shares": [[round(share, 3) for share in row] for row in carried.shares(previous, current)],
        },
        "buses": [
            round(_ratio(now - then, elapsed_s * 1e9, most=1.0) or 0.0, 3)
            for then, now in zip(previous["buses_ns"], current["buses_ns"], strict=True)
        ],
        "blocks": current.get("blocks"),
        "free_blocks": current["free_blocks"],
        "total_blocks": current.get("total_blocks"),
        "buffer": current.get("buffer"),
        "slc": current.get("slc"),
        "groups": current.get("groups"),
        "tenants": {
            name: _tenant(previous.get("tenants", {}).get(name), tenant, elapsed_s)
            for name, tenant in current.get("tenants", {}).items()
        },
        "served": current.get("served"),
    }


def point(previous: Sample, current: Sample) -> dict[str, float | None]:
    """One value a curve, of what happened between two samples."""
    elapsed_s = current["time_s"] - previous["time_s"]
    found: dict[str, float | None] = {"time_s": current["time_s"], "elapsed_s": elapsed_s}
    for op in ("read", "write"):
        found[f"{op}_iops"] = _ratio(_since(previous, current, "requests", op), elapsed_s)
        found[f"{op}_mib_s"] = _ratio(_since(previous, current, "bytes", op) / MIB, elapsed_s)
        buckets = latencies(previous["latency_ns"].get(op, ()), current["latency_ns"].get(op, ()))
        for name, share in QUANTILES.items():
            found[f"{op}_{name}_us"] = quantile_us(buckets, share)
    found["write_amplification"] = amplification(previous, current)
    found |= _die_time(previous, current)
    free, total = sum(current["free_blocks"]), current.get("total_blocks")
    found["free_blocks"] = free
    found["free_share"] = _ratio(free, total or 0)
    buffer, slc = current.get("buffer"), current.get("slc")
    found["buffer_share"] = _ratio(buffer["bytes"], buffer["capacity_bytes"]) if buffer else None
    found["slc_share"] = _ratio(slc["valid_pages"], slc["valid_pages"] + slc["room_pages"]) if slc else None
    return found


def curves(sample: Sample) -> dict[str, Any]:
    """The part of a sample that points are made of: small, and of one size however large the drive is."""
    names = ("time_s", "requests", "bytes", "latency_ns", "flash", "free_blocks", "total_blocks", "buffer", "slc")
    kept = {name: sample[name] for name in (*names, "written_bytes", "programmed_bytes") if name in sample}
    dies = sample["dies"]
    total = [sum(row[at] for row in dies["busy_ns"]) for at in range(len(dies["work"]))]
    kept["dies"] = {"work": dies["work"], "dies_per_row": dies["channels"] * dies["per_channel"], "busy_ns": [total]}
    kept["free_blocks"] = [sum(sample["free_blocks"])]
    return kept


def amplification(previous: Sample, current: Sample) -> float | None:
    """Bytes programmed over bytes that the host wrote; of a timeline, which lacks both, pages over the host's pages."""
    if "programmed_bytes" in current:
        return _ratio(
            current["programmed_bytes"] - previous.get("programmed_bytes", 0),
            current["written_bytes"] - previous.get("written_bytes", 0),
        )
    programs = [
        sum(sample["flash"][name]["programs"] for name in names)
        for names in (("host", "gc", "mapping"), ("host",))
        for sample in (previous, current)
    ]
    return _ratio(programs[1] - programs[0], programs[3] - programs[2])


def latencies(before: Sequence[Sequence[int]], after: Sequence[Sequence[int]]) -> list[tuple[int, int]]:
    """Requests of a span of time by their latency: pairs of upper edge, ns, and requests."""
    old = {pair[0]: pair[1] for pair in before}
    found = ((edge, count - old.get(edge, 0)) for edge, count in after)
    return [(edge, count) for edge, count in found if count > 0]


def quantile_us(buckets: Sequence[tuple[int, int]], share: float) -> float | None:
    """The latency that a share of requests do not pass, us: the upper edge of its bucket."""
    wanted = share * sum(count for _, count in buckets)
    passed = 0
    for edge, count in buckets:
        passed += count
        if passed >= wanted:
            return edge / 1000
    return None


def _die_time(previous: Sample, current: Sample) -> dict[str, float | None]:
    """Shares of the time of all dies: for the host, for collection, for the map."""
    dies = current["dies"]
    elapsed_ns = (current["time_s"] - previous["time_s"]) * 1e9 * dies["dies_per_row"] * len(dies["busy_ns"])
    sums = dict.fromkeys(("host", "collection", "mapping"), 0.0)
    rows = _busy(previous, current)
    for at, work in enumerate(dies["work"]):
        kind = "collection" if work in COLLECTION else "mapping" if work == "mapping" else "host"
        sums[kind] += sum(row[at] for row in dies["busy_ns"]) - sum(row[at] for row in rows)
    most = max(1.0, sum(sums.values()) / elapsed_ns) if elapsed_ns > 0 else 1.0
    return {f"die_{kind}": _ratio(time / most, elapsed_ns, most=1.0) for kind, time in sums.items()}


def _busy(previous: Sample, current: Sample) -> Sequence[Sequence[int]]:
    """Time of dies before: zeros where another drive, or other kinds of work, were sampled."""
    before, after = previous["dies"], current["dies"]
    if before["work"] == after["work"] and len(before["busy_ns"]) == len(after["busy_ns"]):
        found: Sequence[Sequence[int]] = before["busy_ns"]
        return found
    return [[0] * len(row) for row in after["busy_ns"]]


def _tenant(previous: Sample | None, current: Sample, elapsed_s: float) -> dict[str, float | None]:
    """Rates and latencies of a tenant between two samples."""
    before = previous or {"requests": {}, "bytes": {}, "latency_ns": {}}
    found: dict[str, float | None] = {}
    for op in ("read", "write"):
        found[f"{op}_iops"] = _ratio(_since(before, current, "requests", op), elapsed_s)
        found[f"{op}_mib_s"] = _ratio(_since(before, current, "bytes", op) / MIB, elapsed_s)
        buckets = latencies(before["latency_ns"].get(op, ()), current["latency_ns"].get(op, ()))
        found[f"{op}_p99_us"] = quantile_us(buckets, 0.99)
    return found


def _since(previous: Sample, current: Sample, key: str, op: str) -> float:
    difference: float = current[key].get(op, 0) - previous[key].get(op, 0)
    return difference


def _ratio(part: float, whole: float, most: float | None = None) -> float | None:
    if whole <= 0:
        return None
    found = part / whole
    return found if most is None else min(found, most)
