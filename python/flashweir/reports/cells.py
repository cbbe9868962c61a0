"""Contents of a report's cells: values of results and settings as texts that still sort by what they are."""

import json
import math
from collections.abc import Mapping
from typing import Any

from flashweir.charts.units import duration, unit_of_times
from flashweir.reports.model import Cell, Content
from flashweir.reports.page import said

Json = Mapping[str, Any]


def at(result: Json, path: str) -> Content:
    """The number at a dotted path, or None where the result has none there."""
    value: Any = result
    for part in path.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    return value if isinstance(value, (int, float)) else None


def shown(metric: str, value: Content) -> Content:
    """A metric's value for a table: times in the unit that suits them, anything else as it is."""
    if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value):
        return value
    if is_time(metric):
        return Cell(duration(float(value)).replace(" ", "\u00a0"), float(value))
    return (
        Cell(duration(1e6 * value).replace(" ", "\u00a0"), float(value))
        if metric in ("simulated_s", "wall_s")
        else value
    )


def is_time(metric: str) -> bool:
    """True for metrics in microseconds."""
    return metric.startswith(("latency_us", "latency_parts_us")) or metric.endswith("_us")


def flat(values: Json, prefix: str = "") -> dict[str, str]:
    """Dotted keys and their values as text."""
    found: dict[str, str] = {}
    for name, value in values.items():
        if isinstance(value, Mapping):
            found.update(flat(value, f"{prefix}{name}."))
        else:
            found[prefix + name] = plain(value)
    return found


def plain(value: object) -> str:
    """A text as it is, any other value as JSON has it."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def setting(axis: Json, value: object) -> Content:
    """A value of an axis as its author wrote it, in the axis's own order; none where it does not act."""
    if value is None:
        return "-"
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return Cell(plain(value), float(value))
    values = [plain(known) for known in axis["values"]]
    text = plain(value)
    return Cell(text, float(values.index(text)) if text in values else None)


def estimate(metric: str, value: float | None, low: float | None, high: float | None) -> Content:
    """A mean with its interval; a time has both in one unit."""
    if not is_time(metric) or value is None:
        return _estimate(value, low, high)
    by, unit = unit_of_times([10 * value])
    found = _estimate(value / by, None if low is None else low / by, None if high is None else high / by)
    return Cell(f"{found.text if isinstance(found, Cell) else said(value / by)} {unit}", value)


def _estimate(value: float | None, low: float | None, high: float | None) -> Content:
    """A mean with its interval, in which the half width has two significant digits."""
    if value is None or low is None or high is None or not math.isfinite(value):
        return value
    half = (high - low) / 2
    if not math.isfinite(half):
        return Cell(said(value), value)
    if half <= 0:
        return Cell(f"{said(value)} ±\u00a00", value)
    digits = min(9, max(0, 1 - math.floor(math.log10(half))))
    if abs(value - (high + low) / 2) < half / 50:
        return Cell(f"{value:,.{digits}f} ±\u00a0{half:,.{digits}f}", value)
    return Cell(f"{value:,.{digits}f} [{low:,.{digits}f}\u00a0to\u00a0{high:,.{digits}f}]", value)


def percent(value: float | None, low: float | None, high: float | None) -> Content:
    """A share as a change in per cent, with the ends of its interval where there are some."""
    if value is None or not math.isfinite(value):
        return None
    ends = "" if low is None or high is None else f" [{100 * low:+.2f}\u00a0to\u00a0{100 * high:+.2f}]"
    return Cell(f"{100 * value:+.2f}\u00a0%{ends}", value)
