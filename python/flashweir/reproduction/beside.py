"""Figures of printed and measured values side by side."""

from collections.abc import Mapping, Sequence
from typing import Any

from flashweir.charts.from_result import scale_for
from flashweir.charts.labels import safe
from flashweir.charts.model import Axis, Chart, Plot, Series
from flashweir.reproduction.verdicts import SHARE

Row = Mapping[str, Any]
# More values than this are drawn in several figures.
_MAX_VALUES = 24
_NOTE = "Bars beside a printed value are its tolerance, or the range that is printed."


def figures(paper: str, rows: Sequence[Row]) -> list[Chart]:
    """A figure for each table or figure of the paper and each unit; without values that are words or not measured."""
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        if row["measured"] is not None and _printed(row) is not None:
            groups.setdefault((str(row["where"]), str(row["unit"])), []).append(row)
    found: list[Chart] = []
    for (where, unit), group in groups.items():
        for start in range(0, len(group), _MAX_VALUES):
            part = group[start : start + _MAX_VALUES]
            number = f"-{len(found) + 1}" if found else ""
            more = f", {start + 1} to {start + len(part)}" if len(group) > _MAX_VALUES else ""
            name = f"printed-measured-{safe(paper)}{number}"
            found.append(_figure(name, f"Printed and measured: {paper}, {where}{more}", unit, part))
    return found


def _figure(name: str, title: str, unit: str, rows: Sequence[Row]) -> Plot:
    by = 100.0 if unit == SHARE else 1.0
    names = [str(row["name"]) for row in rows]
    printed = [found for row in rows if (found := _printed(row)) is not None]
    measured = [_digits(by * float(row["measured"])) for row in rows]
    values, lows, highs = ([_digits(by * one[at]) for one in printed] for at in range(3))
    label = "%" if unit == SHARE else unit
    scale = scale_for([*values, *measured])
    series = [
        Series("printed", names, values, lows, highs, style="points", turn=0),
        Series("measured", names, measured, style="points", turn=1),
    ]
    axis = Axis(label, scale, from_zero=scale == "linear" and min([*values, *measured]) >= 0)
    return Plot(name, title, Axis("value", "category"), axis, series, note=_NOTE)


def _printed(row: Row) -> tuple[float, float, float] | None:
    """A printed value with the ends of its tolerance; the middle of a printed range; None where it is no number."""
    published, tolerance = row["published"], row["tolerance"] or 0.0
    if isinstance(published, list):
        low, high = published
        return None if low is None or high is None else ((low + high) / 2, low, high)
    if not isinstance(published, int | float):
        return None
    reach = tolerance if row["unit"] == SHARE else abs(published) * tolerance
    return float(published), published - reach, published + reach


def _digits(value: float) -> float:
    return float(f"{value:.6g}")
