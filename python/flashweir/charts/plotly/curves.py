"""Curves and points over two axes, with intervals as bars or bands."""

import math
from collections.abc import Sequence

from flashweir.charts.model import Plot, Series
from flashweir.charts.palette import Look, looks
from flashweir.charts.plotly.axes import measured, named
from flashweir.charts.plotly.texts import NUMBER, Json, names, number, text, wrapped
from flashweir.charts.scales import FEW_POINTS, log_floor, log_top, starts_at_zero

_SYMBOLS = ("circle", "square", "diamond", "triangle-up", "pentagon", "triangle-down", "star", "hexagram")
_DASHES = {"solid": "solid", "dashed": "dash", "dotted": "dot"}


def plot(chart: Plot) -> Json:
    """Curves in their order, distinguished by colour, mark and, from the ninth on, dashes."""
    categories = _categories(chart)
    ticks = dict(chart.x.ticks)
    called = names([series.name for series in chart.series])
    traces: list[Json] = []
    styles = looks(chart.series)
    floor = log_floor(chart)
    for index, series in enumerate(chart.series):
        labels: list[str] | None = None
        if categories is not None:
            labels = [str(value) for value in series.x]
            x = [categories[label] + _dodge(index, chart) for label in labels]
        else:
            x = [float(value) for value in series.x]
            if ticks:
                labels = [ticks.get(value, "") or f"{value:,.6g}" for value in x]
        drawn = _curve(chart, index, x, labels, styles[index], floor)
        traces += [{**trace, "name": called[index]} for trace in drawn]
    layout: Json = {"height": 380, "showlegend": len(chart.series) > 1, "legend": {"tracegroupgap": 0}}
    layout["meta"] = {"ticks": []}
    ys = [value for series in chart.series for value in series.y]
    ends = [end for series in chart.series for end in (*(series.low or ()), *(series.high or ())) if end is not None]
    layout["yaxis"] = measured(chart.y, [*ys, *(end for end in ends if floor is None or end >= floor)])
    lows = [low for series in chart.series for low in (series.low or ()) if low is not None]
    if chart.y.from_zero or (chart.y.scale == "linear" and starts_at_zero(ys, lows)):
        layout["yaxis"]["rangemode"] = "tozero"
    if floor is not None:
        whole = [number(math.log10(floor)), number(math.log10(log_top(chart) * 1.2))]
        layout["yaxis"]["range"] = whole
        layout["meta"]["whole"] = {"yaxis": whole}
    if categories is None:
        layout["xaxis"] = measured(chart.x, [value for series in chart.series for value in series.x])
    else:
        layout["xaxis"] = named(chart.x, list(categories))
        layout["meta"]["ticks"] = ["xaxis"]
    axes = [(name, axis) for name, axis in (("xaxis", chart.x), ("yaxis", chart.y)) if not axis.ticks]
    layout["meta"]["log"] = [name for name, _ in axes if layout[name]["type"] == "log" and "tickvals" in layout[name]]
    return {"data": traces, "layout": layout}


def _categories(chart: Plot) -> dict[str, int] | None:
    """The position of each value of a category axis, in the order in which they come; None for an axis of numbers."""
    if chart.x.scale != "category" and not any(isinstance(value, str) for series in chart.series for value in series.x):
        return None
    found: dict[str, int] = {label: 0 for _, label in chart.x.ticks}
    for series in chart.series:
        found.update(dict.fromkeys((str(value) for value in series.x), 0))
    return {label: position for position, label in enumerate(found)}


def _turn(series: Series, index: int) -> int:
    return index if series.turn is None or series.variant else series.turn


def _dodge(index: int, chart: Plot) -> float:
    """Offset of a series beside its category, so that intervals of several do not cover one another."""
    if len(chart.series) == 1 or all(series.low is None for series in chart.series):
        return 0.0
    step = min(0.08, 0.6 / len(chart.series))
    return round((index - (len(chart.series) - 1) / 2) * step, 4)


def _curve(
    chart: Plot, index: int, x: list[float], labels: list[str] | None, look: Look, floor: float | None
) -> list[Json]:
    """A series: the trace, behind it its band where it has many points and intervals.

    An end of an interval below `floor`, where the axis ends, is drawn below it: a log axis has no place for zero.
    """
    series, colour, dash = chart.series[index], look.colour, _DASHES[look.dash]
    few = len(x) <= FEW_POINTS and not look.mark and series.beside is None
    trace: Json = {
        "type": "scatter",
        "legendgroup": f"g{index}",
        "x": [number(value) for value in x],
        "y": [number(value) for value in series.y],
        "mode": "markers"
        if series.style == "points"
        else "lines+markers"
        if few and series.style == "line"
        else "lines",
        "line": {"color": colour, "width": 2, "dash": dash, "shape": "hv" if series.style == "steps" else "linear"},
        "marker": {"color": colour, "size": 8, "symbol": _SYMBOLS[_turn(series, index) % len(_SYMBOLS)]},
    }
    _hover(trace, chart, series, labels)
    if series.low is None or series.high is None:
        return [trace]
    lows = [low if low is None or floor is None else max(low, floor / 10) for low in series.low]
    if few or series.style == "points":
        trace["error_y"] = {
            "type": "data",
            "symmetric": False,
            "array": [_gap(high, y) for high, y in zip(series.high, series.y, strict=True)],
            "arrayminus": [_gap(y, low) for low, y in zip(lows, series.y, strict=True)],
            "color": colour,
            "thickness": 1.5,
            "width": 4,
        }
        return [trace]
    outline = _outline(x, lows, series)
    band = {
        "type": "scatter",
        "legendgroup": trace["legendgroup"],
        "showlegend": False,
        "hoverinfo": "skip",
        "mode": "lines",
        "fill": "toself",
        "fillcolor": _faint(colour),
        "line": {"width": 0, "color": colour},
        "x": [number(value) for value, _ in outline],
        "y": [number(value) for _, value in outline],
    }
    return [band, trace]


def _hover(trace: Json, chart: Plot, series: Series, labels: list[str] | None) -> None:
    """Hover text of a point: its label, its curve, both values and the interval."""
    columns: list[Sequence[object]] = []

    def column(values: Sequence[object]) -> str:
        columns.append(values)
        return f"%{{customdata[{len(columns) - 1}]}}"

    lines = [f"<b>{wrapped(series.name)}</b>"] if series.name else []
    if series.labels is not None:
        lines.append(column([wrapped(label) for label in series.labels]))
    x = f"%{{x:{NUMBER}}}" if labels is None else column([wrapped(label) for label in labels])
    lines.append(f"{text(chart.x.label)}: {x}")
    lines.append(f"{text(chart.y.label)}: %{{y:{NUMBER}}}")
    if series.low is not None and series.high is not None:
        ends = [_between(low, high) for low, high in zip(series.low, series.high, strict=True)]
        lines.append(f"interval: {column(ends)}")
    if columns:
        trace["customdata"] = [list(row) for row in zip(*columns, strict=True)]
    trace["hovertemplate"] = "<br>".join(lines) + "<extra></extra>"


def _between(low: float | None, high: float | None) -> str:
    if number(low) is None or number(high) is None:
        return "none"
    return f"{low:,.6g} to {high:,.6g}"


def _gap(upper: float | None, lower: float | None) -> float | None:
    if number(upper) is None or number(lower) is None or upper is None or lower is None:
        return None
    return number(max(0.0, upper - lower))


def _outline(x: list[float], lows: Sequence[float | None], series: Series) -> list[tuple[float | None, float | None]]:
    """The interval's area as closed outlines with a gap after each: there and back, with the corners of steps."""
    outline: list[tuple[float | None, float | None]] = []
    there: list[tuple[float, float]] = []
    back: list[tuple[float, float]] = []

    def close() -> None:
        if there:
            outline.extend([*there, *reversed(back), (None, None)])
        there.clear()
        back.clear()

    for at, low, high in zip(x, lows, series.high or (), strict=True):
        if low is None or high is None or not (math.isfinite(low) and math.isfinite(high)):
            close()
            continue
        if series.style == "steps" and there:
            there.append((at, there[-1][1]))
            back.append((at, back[-1][1]))
        there.append((at, high))
        back.append((at, low))
    close()
    return outline[:-1]


def _faint(colour: str) -> str:
    red, green, blue = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    return f"rgba({red},{green},{blue},0.2)"
