"""Figures of the tenants of a run: how long their requests take, and how much of that is because of the others."""

from collections.abc import Mapping, Sequence
from typing import Any

from flashweir.charts.distributions import LATENCY
from flashweir.charts.model import Axis, Bars, Chart
from flashweir.charts.names import isolated

Named = Sequence[tuple[str, Mapping[str, Any]]]

_OPERATIONS = ("read", "write")
# Bars in a figure.
_MOST = 60


def tenant_figures(results: Named) -> list[Chart]:
    """Mean latencies and slowdowns, a bar a tenant, of the results that have several."""
    rows = [
        (stream if len(results) == 1 else f"{isolated(run)}: {isolated(stream)}", entry)
        for run, result in results
        if len(result.get("streams") or {}) > 1
        for stream, entry in result["streams"].items()
    ]
    if not rows:
        return []
    charts: list[Chart] = []
    for operation in _OPERATIONS:
        found = [(name, entry) for name, entry in rows if _mean(entry, "latency_us", operation) is not None]
        if found:
            charts.append(_latencies(operation, found))
    slower = [(name, (entry.get("slowdown") or {}).get("all")) for name, entry in rows]
    known = [(name, float(value)) for name, value in slower if value is not None]
    if known:
        shown = known[:_MOST]
        parts = [("slowdown", [_short(value) for _, value in shown])]
        note = "1 is as fast as alone." + _left_out(len(known))
        axis = Axis("mean latency / mean latency alone")
        title = "Slowdown of tenants against running alone"
        charts.append(Bars("tenant-slowdown", title, axis, [name for name, _ in shown], parts, note=note))
    return charts


def _latencies(operation: str, rows: Sequence[tuple[str, Mapping[str, Any]]]) -> Bars:
    """A bar a tenant; where it ran alone too, in two parts."""
    shown = rows[:_MOST]
    together = [_mean(entry, "latency_us", operation) or 0.0 for _, entry in shown]
    alone = [_mean(entry, "alone_latency_us", operation) for _, entry in shown]
    title = f"Mean {operation} latency by tenant"
    note = ""
    if all(value is None for value in alone):
        parts = [("mean", [_short(value) for value in together])]
    else:
        own = [both if one is None else min(one, both) for one, both in zip(alone, together, strict=True)]
        others = [both - one for one, both in zip(own, together, strict=True)]
        parts = [("alone", [_short(v) for v in own]), ("because of the others", [_short(v) for v in others])]
        note = "Both parts together are the mean among the others; of who is faster there, the first part is that."
    names = [name for name, _ in shown]
    axis = Axis(f"mean {LATENCY}")
    return Bars(f"tenant-latency-{operation}", title, axis, names, parts, note=(note + _left_out(len(rows))).strip())


def _mean(entry: Mapping[str, Any], key: str, operation: str) -> float | None:
    value = ((entry.get(key) or {}).get(operation) or {}).get("mean")
    return None if value is None else float(value)


def _short(value: float) -> float:
    return float(f"{value:.6g}")


def _left_out(rows: int) -> str:
    return f" The first {_MOST} of {rows:,} tenants." if rows > _MOST else ""
