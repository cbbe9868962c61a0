"""Results of runs that were measured, by fio or on a drive: without what only a simulation has."""

from collections.abc import Mapping
from typing import Any

MIB = 1 << 20
_OPERATIONS = ("read", "write", "trim", "flush")
_LATENCIES = ("mean", "p50", "p95", "p99", "p999", "p9999", "max")


def measured(
    by: str,
    *,
    requests: int,
    seconds: float,
    iops: float,
    mib_s: float,
    latencies: Mapping[str, Mapping[str, Any]],
    histograms: Mapping[str, Any] | None = None,
    workload: str = "",
    config: Mapping[str, object] | None = None,
    more: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """A result in the form of those of `simulate` (docs/reference/result.md).

    Args:
        by: program that measured, with its version.
        requests: their number.
        seconds: duration.
        iops: requests a second.
        mib_s: MiB a second.
        latencies: by operation, as `latencies_of` gives them; those of others are nothing.
        histograms: pairs of ns and number, by operation.
        workload: name of it.
        config: settings of the measurement.
        more: fields of `measured` beside `by`.
    """
    return {
        "version": by,
        "requests": requests,
        "simulated_s": seconds,
        "iops": iops,
        "bandwidth_mib_s": mib_s,
        "latency_us": {**{name: nothing() for name in _OPERATIONS}, **latencies},
        "latency_histogram_ns": dict(histograms or {}),
        "write_amplification": None,
        "flash": {},
        "time_share": {},
        "channels": [],
        "workloads": [{"name": "all", "workload": workload}] if workload else [],
        "config": {str(key): str(value) for key, value in (config or {}).items()},
        "measured": {"by": by, **(more or {})},
    }


def latencies_of(count: int, times_us: Mapping[str, Any] | None) -> dict[str, Any]:
    """Number of requests, and their latencies in us; what is not known is None."""
    return {"count": count, **{name: (times_us or {}).get(name) for name in _LATENCIES}} if count else nothing()


def nothing() -> dict[str, Any]:
    """Latencies of an operation without requests."""
    return {"count": 0, **dict.fromkeys(_LATENCIES)}
