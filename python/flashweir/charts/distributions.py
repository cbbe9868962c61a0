"""Latency distributions as curves, from histograms of pairs of upper edge in nanoseconds and count."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from flashweir.charts.model import Axis, Chart, Plot, Series
from flashweir.charts.names import isolated
from flashweir.charts.thin import rounded, thin
from flashweir.submission import OPERATIONS

Histogram = Sequence[Sequence[int]]

LATENCY = "latency, us"
# More curves than these can't be distinguished.
MAX_CURVES = 12
_POINTS = 400
_NS_PER_US = 1000.0
# Where a curve starts on a log axis if all of its requests took no time at all, in us.
_MIN_US = 1e-3


def latency_figures(
    named: Sequence[tuple[str, Mapping[str, Any]]], suffix: str = "", of: str = "", note: str = ""
) -> list[Chart]:
    """For each operation that occurs and takes time: the distribution of its latency, and its high percentiles.

    Args:
        named: curves' names, each with histograms by operation (`latency_histogram_ns` of a result).
        suffix: goes behind the figures' names, as `of` does behind their titles.
        of: such as ", by stream".
        note: a sentence that goes before the figures' own.
    """
    charts: list[Chart] = []
    nothing: list[str] = []
    for operation in OPERATIONS:
        curves = [(name, histograms[operation]) for name, histograms in named if histograms.get(operation)]
        if not curves:
            continue
        if not any(edge > 0 for _, histogram in curves for edge, _ in histogram):
            nothing.append(operation)
            continue
        limited = [note] if note else []
        if len(curves) > MAX_CURVES:
            limited.append(f"Shows the first {MAX_CURVES} of {len(curves)}.")
        shown = curves[:MAX_CURVES]
        instant = [*limited, *_instant(shown)]
        charts += [
            Plot(
                f"latency-cdf-{operation}{suffix}",
                f"{operation.capitalize()} latency: cumulative share of requests{of}",
                Axis(LATENCY, "log"),
                Axis("share of requests"),
                _distributions(shown),
                note=" ".join(instant),
            ),
            Plot(
                f"latency-percentiles-{operation}{suffix}",
                f"{operation.capitalize()} latency at high percentiles{of}",
                Axis("percentile", ticks=_percentile_ticks(max(_total(histogram) for _, histogram in shown))),
                Axis(LATENCY, "log"),
                [one for one in (_percentiles(name, histogram) for name, histogram in shown) if one.x],
                note=" ".join([*instant, "Each curve ends at its slowest request."]),
            ),
        ]
    if charts and nothing:
        left_out = f"Took no time at all, and has no figure: {', '.join(nothing)}."
        charts[0] = replace(charts[0], note=f"{charts[0].note} {left_out}".strip())
    return charts


def _distributions(curves: Sequence[tuple[str, Histogram]]) -> list[Series]:
    """Cumulated shares. What took no time starts left of everything that did: a log axis has no zero."""
    edges = [edge for _, histogram in curves for edge, _ in histogram if edge > 0]
    left = min(edges) / _NS_PER_US / math.sqrt(10) if edges else _MIN_US
    found = []
    for name, histogram in curves:
        total, reached = _total(histogram), 0
        x, y = [max(histogram[0][0] / _NS_PER_US, left)], [0.0]
        for edge, count in histogram:
            reached += count
            x.append(max(edge / _NS_PER_US, left))
            y.append(reached / total)
        curve = thin(x, y, _POINTS, log_x=True)
        found.append(_series(name, curve.x, curve.y))
    return found


def _percentiles(name: str, histogram: Histogram) -> Series:
    """Latency over -log10(1 - p), where each further nine is as wide as the one before."""
    total, reached = _total(histogram), 0
    x, y = [], []
    for edge, count in histogram:
        if edge > 0:
            x.append(math.log10(total / (total - reached)))
            y.append(edge / _NS_PER_US)
        reached += count
    if x:
        x.append(max(math.log10(total), x[-1]))
        y.append(y[-1])
    curve = thin(x, y, _POINTS, log_y=True)
    return _series(name, curve.x, curve.y)


def _series(name: str, x: Sequence[float], y: Sequence[float | None]) -> Series:
    return Series(name, [float(f"{value:.6g}") for value in x], [rounded(value) for value in y], style="steps")


def _percentile_ticks(requests: int) -> list[tuple[float, str]]:
    nines = max(1, math.floor(math.log10(max(requests, 1))))
    ticks = [(0.0, "0%"), (math.log10(2), "50%"), (1.0, "90%"), (2.0, "99%")]
    ticks += [(float(count), f"99.{'9' * (count - 2)}%") for count in range(3, nines + 1)]
    return [tick for tick in ticks if tick[0] <= nines]


def _instant(curves: Sequence[tuple[str, Histogram]]) -> list[str]:
    """Says which curves begin with requests that took no time: reads of what was never written, for example."""
    parts = []
    for name, histogram in curves:
        count = sum(count for edge, count in histogram if edge <= 0)
        if count:
            parts.append(f"{isolated(name)} {count / _total(histogram):.1%}")
    return [f"Took no time, and so lie off the log axis: {', '.join(parts)}."] if parts else []


def _total(histogram: Histogram) -> int:
    return sum(count for _, count in histogram)
