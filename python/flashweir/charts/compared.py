"""Figures of a sweep with settings side by side: time of the dies, latency distributions, courses over time."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from flashweir.charts.distributions import latency_figures
from flashweir.charts.facets import Part, parts_of
from flashweir.charts.from_result import PURPOSES, activity_figures, over_time_figures, time_bars
from flashweir.charts.merges import collection_figures
from flashweir.charts.model import Chart
from flashweir.charts.settings import AxisValues, Cut, Setting, Sweep, cut, evenly, short
from flashweir.charts.thin import rounded

Results = Iterable[tuple[Mapping[str, Any], Mapping[str, Any]]]
# Curves of a figure, and settings of the other axes that have figures of their own.
_COMPARED, _FACETS = 8, 12
# Parts of a result that are about its time; the activity of channels is drawn for the first few settings only.
_OVER_TIME, _SAMPLES = ("warmup", "series", "activity", "collections"), 4


@dataclass(frozen=True)
class Beside:
    """Settings side by side, at one setting of the other axes."""

    facet: Part
    cut: Cut
    keys: Sequence[Setting]


def compared(sweep: Sweep, meta: Mapping[str, Any], results: Results | None) -> list[Chart]:
    """Latency distributions and the split of die time for up to eight settings side by side.

    Where there are further axes each figure is drawn for every setting of these, as long as they are few.
    """
    axis = next((axis for axis in sweep.axes if meta.get("compare") in axis.columns), None)
    if axis is None and sweep.axes:
        axis = max(sweep.axes, key=lambda axis: (axis.numbers is None, len(axis.values) <= _COMPARED, len(axis.values)))
    facets = [Part("", sweep)] if axis is None else parts_of(sweep, [axis.name], _FACETS)
    sides = [side for facet in facets if (side := _beside(facet, axis)).keys]
    if not sides:
        return []
    names = {key: f"{axis.name}={short(key[0])}" if axis else "all runs" for side in sides for key in side.keys}
    pooled, samples = ([], []) if results is None else _read(sweep, sides, names, results)
    of = f", by {axis.name}" if axis else ""
    warmup = "Without the warm-up of each run." if (meta.get("spec") or {}).get("warmup") else ""
    charts: list[Chart] = []
    for number, side in enumerate(sides):
        note = sweep.noted(["All seeds together.", side.cut.note if len(sides) == 1 else "", warmup])
        drawn = _time(side, names, f"Time of the dies{of}", note)
        if pooled:
            drawn += latency_figures(pooled[number], of=of, note=note)
        charts += [side.facet.named(chart, number) for chart in drawn]
    one = f"One run of each setting. {sides[0].cut.note}".strip()
    over_time = [*over_time_figures(samples), *collection_figures(samples), *activity_figures(samples[:_SAMPLES])]
    return charts + [replace(chart, note=f"{chart.note} {one}".strip()) for chart in over_time]


def _beside(facet: Part, axis: AxisValues | None) -> Beside:
    if axis is None:
        return Beside(facet, Cut({(): list(facet.sweep.metrics)}, "", averaged=False), [()])
    limits = {axis.name: evenly(axis.values, _COMPARED)} if len(axis.values) > _COMPARED else {}
    part = cut(facet.sweep, [axis.name], limits)
    return Beside(facet, part, [(value,) for value in limits.get(axis.name, axis.values) if (value,) in part.settings])


def _time(side: Beside, names: Mapping[Setting, str], title: str, note: str) -> list[Chart]:
    """The split of die time of each setting."""
    rows = []
    for key in side.keys:
        found = {
            purpose: side.facet.sweep.estimate(side.cut.settings[key], f"time_share.{purpose}") for purpose in PURPOSES
        }
        if any(found.values()):
            rows.append((names[key], {purpose: rounded(one.value) if one else None for purpose, one in found.items()}))
    return [time_bars(rows, title, note)] if rows else []


Pooled = list[tuple[str, dict[str, list[list[int]]]]]
Samples = list[tuple[str, dict[str, Any]]]


def _pool(counts: dict[str, Counter[int]], result: Mapping[str, Any]) -> None:
    """Adds the histograms of a result."""
    for operation, histogram in (result.get("latency_histogram_ns") or {}).items():
        one = counts.setdefault(operation, Counter())
        for edge, count in histogram:
            one[edge] += count


def _read(
    sweep: Sweep, sides: Sequence[Beside], names: Mapping[Setting, str], results: Results
) -> tuple[list[Pooled], Samples]:
    """Pooled histograms for each curve of each side; of the first, what the run with the smallest seed says about time.

    Results are read once, run by run.
    """
    wanted: dict[Setting, list[tuple[int, Setting]]] = {}
    for number, side in enumerate(sides):
        for key in side.keys:
            for setting in side.cut.settings[key]:
                wanted.setdefault(setting, []).append((number, key))
    pooled: list[dict[Setting, dict[str, Counter[int]]]] = [{key: {} for key in side.keys} for side in sides]
    samples: dict[Setting, tuple[tuple[Any, ...], dict[str, Any]]] = {}
    left = sum(sweep.seeds[setting] for setting in wanted)
    for row, result in results:
        places = wanted.get(tuple(axis.of(row) for axis in sweep.axes))
        if places is None or not result:
            continue
        for number, key in places:
            _pool(pooled[number][key], result)
        number, key = places[0]
        at = (row.get("point", 0), row.get("seed", 0))
        over_time = {name: result[name] for name in _OVER_TIME if name in result} if number == 0 else {}
        if over_time and (key not in samples or at < samples[key][0]):
            samples[key] = at, over_time
        left -= 1
        if left == 0:
            break
    found = [
        [
            (names[key], {operation: [[edge, one[edge]] for edge in sorted(one)] for operation, one in counts.items()})
            for key, counts in side.items()
        ]
        for side in pooled
    ]
    return found, [(names[key], samples[key][1]) for key in sides[0].keys if key in samples]
