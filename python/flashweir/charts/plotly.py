"""Charts as plotly figures: `figure(chart)` gives the `data` and `layout` that plotly.js draws. Needs no library.

Colours that depend on the page's background (text, grid) are not here: who draws sets them. Plotly reads some HTML,
entities, `$...$` and `%{...}` in every text; `text` turns what would be read so into what is shown as it stands.
"""

import math
import re
from collections.abc import Sequence
from typing import Any

from flashweir.charts.model import Axis, Bars, Chart, Heat, Plot, Series, Strips
from flashweir.charts.palette import SERIES, STATES

Json = dict[str, Any]

# A curve with more points has no markers, and a band in place of error bars.
_FEW_POINTS = 24
# Cells of a heat map up to which each shows its value, and of strips up to which bins are not merged.
_LABELLED_CELLS = 160
_STRIP_CELLS = 8_000
_LONGEST_NAME = 60
_LONGEST_TICK = 24
_SYMBOLS = ("circle", "square", "diamond", "triangle-up", "pentagon", "triangle-down", "star", "hexagram")
_DASHES = ("solid", "dash", "dot", "dashdot")
_NUMBER = ",.6~r"
# Dark blue to yellow: lightness rises evenly, for colour-blind readers and grey prints too (Nunez et al. 2018, cividis).
_CIVIDIS = ("#00224e", "#123570", "#3b496c", "#575d6d", "#707173", "#8a8678", "#a59c74", "#c3b369", "#e1cc55", "#fee838")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]+")


def figure(chart: Chart) -> Json:
    """The chart as `{"data": [...], "layout": {...}}`; numbers have 6 significant digits, what is not finite is null.

    `layout.height` is what the plot needs in pixels without a legend; `layout.meta.ticks` names the axes whose labels
    stand one at each integer, which a narrow page may thin out.

    Raises:
        TypeError: a chart of a kind that is not in `charts.model`.
    """
    if isinstance(chart, Plot):
        drawn = _plot(chart)
    elif isinstance(chart, Bars):
        drawn = _bars(chart)
    elif isinstance(chart, Heat):
        drawn = _heat(chart)
    elif isinstance(chart, Strips):
        drawn = _strips(chart)
    else:
        raise TypeError(f"no chart: {type(chart).__name__}")
    drawn["layout"]["title"] = {"text": text(chart.title)}
    return drawn


def text(plain: str, longest: int | None = None) -> str:
    """`plain` as plotly has to get it to show it as it stands; of a longer one the middle is left out."""
    plain = _CONTROL.sub(" ", plain).encode("utf-8", "replace").decode("utf-8")
    if longest and len(plain) > longest:
        plain = f"{plain[: longest - longest // 2]}…{plain[len(plain) - longest // 2 + 1 :]}"
    for character, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ("$", "&#36;"), ("%", "&#37;")):
        plain = plain.replace(character, entity)
    return plain


def number(value: float | None, digits: int = 6) -> float | None:
    """The value with so many significant digits, as JSON can have it: None where it is not finite."""
    if value is None or not math.isfinite(value):
        return None
    rounded = float(f"{value:.{digits}g}")
    return int(rounded) if rounded.is_integer() and abs(rounded) < 2**53 else rounded


def short(value: float | None) -> str:
    """The value in at most about six characters, for a cell of a heat map."""
    if value is None or not math.isfinite(value):
        return ""
    for scale, suffix in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e4, "k")):
        if abs(value) >= scale:
            return f"{value / (1e3 if suffix == 'k' else scale):.3g}{suffix}"
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.3g}"  # noqa: PLR2004 - four digits fit


def _plot(chart: Plot) -> Json:
    categories = _categories(chart)
    names = {value: label for value, label in chart.x.ticks}
    traces: list[Json] = []
    for index, series in enumerate(chart.series):
        labels: list[str] | None = None
        if categories is not None:
            labels = [str(value) for value in series.x]
            x = [categories[label] + _dodge(index, chart) for label in labels]
        else:
            x = [float(value) for value in series.x]
            if names:
                labels = [names.get(value, "") or f"{value:,.6g}" for value in x]
        traces += _curve(chart, index, x, labels)
    layout: Json = {"height": 380, "showlegend": len(chart.series) > 1, "legend": {"tracegroupgap": 0}}
    ys = [value for series in chart.series for value in series.y]
    layout["yaxis"] = _axis(chart.y, ys)
    if categories is None:
        layout["xaxis"] = _axis(chart.x, [value for series in chart.series for value in series.x])
    else:
        layout["xaxis"] = _named(chart.x, list(categories))
        layout["meta"] = {"ticks": ["xaxis"]}
    return {"data": traces, "layout": layout}


def _categories(chart: Plot) -> dict[str, int] | None:
    """The position of each value of a category axis, in the order in which they come; None for an axis of numbers."""
    if chart.x.scale != "category" and not any(isinstance(value, str) for series in chart.series for value in series.x):
        return None
    found: dict[str, int] = {label: 0 for _, label in chart.x.ticks}
    for series in chart.series:
        found.update(dict.fromkeys((str(value) for value in series.x), 0))
    return {label: position for position, label in enumerate(found)}


def _dodge(index: int, chart: Plot) -> float:
    """How far a series stands beside its category, so that intervals of several do not cover one another."""
    if len(chart.series) == 1 or all(series.low is None for series in chart.series):
        return 0.0
    step = min(0.08, 0.6 / len(chart.series))
    return round((index - (len(chart.series) - 1) / 2) * step, 4)


def _curve(chart: Plot, index: int, x: list[float], labels: list[str] | None) -> list[Json]:
    """A series: the trace, behind it its band where it has many points and intervals."""
    series, colour = chart.series[index], SERIES[index % len(SERIES)]
    dash = _DASHES[index // len(SERIES) % len(_DASHES)]
    few = len(x) <= _FEW_POINTS
    trace: Json = {
        "type": "scatter",
        "name": text(series.name, _LONGEST_NAME),
        "legendgroup": f"g{index}",
        "x": [number(value) for value in x],
        "y": [number(value) for value in series.y],
        "mode": "markers" if series.style == "points" else "lines+markers" if few and series.style == "line" else "lines",
        "line": {"color": colour, "width": 2, "dash": dash, "shape": "hv" if series.style == "steps" else "linear"},
        "marker": {"color": colour, "size": 8, "symbol": _SYMBOLS[index % len(_SYMBOLS)]},
    }
    _hover(trace, chart, series, labels)
    if series.low is None or series.high is None:
        return [trace]
    if few or series.style == "points":
        trace["error_y"] = {
            "type": "data",
            "symmetric": False,
            "array": [_gap(high, y) for high, y in zip(series.high, series.y, strict=True)],
            "arrayminus": [_gap(y, low) for low, y in zip(series.low, series.y, strict=True)],
            "color": colour,
            "thickness": 1.5,
            "width": 4,
        }
        return [trace]
    outline = _outline(x, series)
    band = {
        "type": "scatter",
        "name": trace["name"],
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
    """What a point says: its label, its curve, both values and the interval."""
    columns: list[Sequence[object]] = []

    def column(values: Sequence[object]) -> str:
        columns.append(values)
        return f"%{{customdata[{len(columns) - 1}]}}"

    lines = [f"<b>{text(series.name, _LONGEST_NAME)}</b>"] if series.name else []
    if series.labels is not None:
        lines.append(column([text(label, 2 * _LONGEST_NAME) for label in series.labels]))
    x = f"%{{x:{_NUMBER}}}" if labels is None else column([text(label, _LONGEST_NAME) for label in labels])
    lines.append(f"{text(chart.x.label)}: {x}")
    lines.append(f"{text(chart.y.label)}: %{{y:{_NUMBER}}}")
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


def _outline(x: list[float], series: Series) -> list[tuple[float | None, float | None]]:
    """The interval's area as closed outlines with a gap after each: there and back, with the corners of steps."""
    outline: list[tuple[float | None, float | None]] = []
    there: list[tuple[float, float]] = []
    back: list[tuple[float, float]] = []

    def close() -> None:
        if there:
            outline.extend([*there, *reversed(back), (None, None)])
        there.clear()
        back.clear()

    for at, low, high in zip(x, series.low or (), series.high or (), strict=True):
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


def _bars(chart: Bars) -> Json:
    traces: list[Json] = []
    for index, (name, values) in enumerate(chart.parts):
        label = text(name, _LONGEST_NAME)
        traces.append(
            {
                "type": "bar",
                "orientation": "h",
                "name": label,
                "x": [number(value) for value in values],
                "y": list(range(len(values))),
                "customdata": [text(category, _LONGEST_NAME) for category in chart.categories],
                "hovertemplate": f"<b>%{{customdata}}</b><br>{label}: %{{x:{_NUMBER}}}<extra></extra>",
                "marker": {"color": _state_colours([name for name, _ in chart.parts])[index]},
            }
        )
    whole = [sum(row) for row in zip(*(values for _, values in chart.parts), strict=True)]
    x = _axis(chart.x, whole)
    for full in (1.0, 100.0):
        if whole and all(abs(total - full) < full / 100 for total in whole):
            x["range"] = [0, full]
    rows = _named(Axis(""), chart.categories)
    rows["range"] = [len(chart.categories) - 0.5, -0.5]
    height = min(900, 110 + 30 * max(2, len(chart.categories)))
    layout = {"height": height, "barmode": "stack", "bargap": 0.25, "showlegend": True, "xaxis": x, "yaxis": rows}
    layout["legend"] = {"traceorder": "normal"}
    layout["meta"] = {"ticks": ["yaxis"]}
    return {"data": traces, "layout": layout}


def _heat(chart: Heat) -> Json:
    columns, rows = ([text(name, _LONGEST_NAME) for name in names] for names in (chart.columns, chart.rows))
    unit = text(chart.unit)
    trace: Json = {
        "type": "heatmap",
        "z": [[number(value) for value in row] for row in chart.values],
        "customdata": [[[column, row] for column in columns] for row in rows],
        "colorscale": [[round(at / (len(_CIVIDIS) - 1), 4), colour] for at, colour in enumerate(_CIVIDIS)],
        "colorbar": {"title": {"text": unit, "side": "right"}, "thickness": 14},
        "hoverongaps": False,
        "xgap": 1,
        "ygap": 1,
        "hovertemplate": (
            f"{text(chart.x.label)}: %{{customdata[0]}}<br>{text(chart.y.label)}: %{{customdata[1]}}<br>"
            f"<b>%{{z:{_NUMBER}}}</b> {unit}<extra></extra>"
        ),
    }
    if len(columns) * len(rows) <= _LABELLED_CELLS:
        trace["text"] = [[short(value) for value in row] for row in chart.values]
        trace["texttemplate"] = "%{text}"
    layout = {
        "height": min(800, max(300, 120 + 30 * len(rows))),
        "xaxis": {**_named(chart.x, chart.columns), "showgrid": False},
        "yaxis": {**_named(chart.y, chart.rows), "showgrid": False},
        "meta": {"ticks": ["xaxis", "yaxis"]},
    }
    return {"data": [trace], "layout": layout}


def _strips(chart: Strips) -> Json:
    edges, shares = _merged(chart)
    colours = _state_colours(chart.states)
    dominant: list[list[int | None]] = []
    said: list[list[list[float | None]]] = []
    for row in range(len(chart.rows)):
        cells = [[state[row][at] for state in shares] for at in range(len(edges) - 1)]
        dominant.append([_largest(cell) for cell in cells])
        said.append([[None if share is None else number(round(100 * share, 1)) for share in cell] for cell in cells])
    last = len(chart.states)
    steps = [[end / last, colours[state]] for state in range(last) for end in (state, state + 1)]
    parts = (f"{text(state)}: %{{customdata[{index}]}} &#37;" for index, state in enumerate(chart.states))
    trace: Json = {
        "type": "heatmap",
        "x": [number(edge, 9) for edge in edges],
        "y": list(range(len(chart.rows))),
        "z": dominant,
        "customdata": said,
        "text": [[text(name, _LONGEST_NAME)] * (len(edges) - 1) for name in chart.rows],
        "zmin": 0,
        "zmax": last,
        "colorscale": steps,
        "showscale": False,
        "hoverongaps": False,
        "ygap": 2 if len(chart.rows) <= 64 else 0,  # noqa: PLR2004 - so many rows leave room for gaps
        "hovertemplate": "<b>%{text}</b><br>" + f"{text(chart.x.label)}: %{{x:{_NUMBER}}}<br>"
        + "<br>".join(parts) + "<extra></extra>",
    }
    rows = _named(Axis(""), chart.rows)
    rows.update(range=[len(chart.rows) - 0.5, -0.5], showgrid=False)
    layout = {
        "height": min(900, 110 + 20 * max(4, len(chart.rows))),
        "showlegend": True,
        "legend": {"itemclick": False, "itemdoubleclick": False},
        "xaxis": {**_axis(chart.x, edges), "showgrid": False, "range": [number(edges[0], 9), number(edges[-1], 9)]}
        if edges
        else _axis(chart.x, []),
        "yaxis": rows,
        "meta": {"ticks": ["yaxis"]},
    }
    return {"data": [trace, *(_key(state, colour) for state, colour in zip(chart.states, colours, strict=True))],
            "layout": layout}


def _merged(chart: Strips) -> tuple[list[float], list[list[list[float | None]]]]:
    """Edges and shares with neighbouring bins merged, weighted by width, where a figure would be too large."""
    bins = len(chart.edges) - 1
    several = math.ceil(bins * len(chart.rows) / _STRIP_CELLS)
    if several <= 1:
        return list(chart.edges), [[list(row) for row in state] for state in chart.shares]
    starts = range(0, bins, several)
    widths = [right - left for left, right in zip(chart.edges, chart.edges[1:], strict=False)]

    def mean(row: Sequence[float], start: int) -> float:
        parts = range(start, min(start + several, bins))
        return sum(row[at] * widths[at] for at in parts) / (sum(widths[at] for at in parts) or 1.0)

    shares: list[list[list[float | None]]] = [[[mean(row, at) for at in starts] for row in state] for state in chart.shares]
    return [*(chart.edges[at] for at in starts), chart.edges[bins]], shares


def _largest(cell: list[float | None]) -> float | None:
    """The colour of a cell: between the marks of the state with the largest share; None where nothing is known."""
    known = [(share, -index) for index, share in enumerate(cell) if share is not None and math.isfinite(share)]
    return 0.5 - max(known)[1] if known else None


def _key(state: str, colour: str) -> Json:
    """A trace without points that only names a colour in the legend."""
    marker = {"symbol": "square", "size": 12, "color": colour}
    return {"type": "scatter", "mode": "markers", "name": text(state), "x": [None], "y": [None], "marker": marker}


def _state_colours(names: Sequence[str]) -> list[str]:
    """The colours that states have everywhere; the palette's order for names that are no states."""
    if all(name in STATES for name in names):
        return [STATES[name] for name in names]
    return [SERIES[index % len(SERIES)] for index in range(len(names))]


def _axis(axis: Axis, values: Sequence[float | str | None]) -> Json:
    """An axis of numbers. A short log axis gets marks at 1, 2 and 5, a long one at each power of ten."""
    drawn: Json = {"title": {"text": text(axis.label)}, "type": "log" if axis.scale == "log" else "linear"}
    if axis.ticks:
        drawn.update(
            tickmode="array",
            tickvals=[number(value) for value, _ in axis.ticks],
            ticktext=[text(label, _LONGEST_TICK) for _, label in axis.ticks],
        )
    elif axis.scale == "log":
        known = [value for value in values if isinstance(value, (int, float)) and math.isfinite(value) and value > 0]
        decades = math.log10(max(known) / min(known)) if known else 0
        drawn["dtick"] = "D2" if decades < 2 else math.ceil(decades / 8)  # noqa: PLR2004 - two decades have six marks
    return drawn


def _named(axis: Axis, names: Sequence[str]) -> Json:
    """An axis with a name at every integer from 0 on."""
    return {
        "title": {"text": text(axis.label)},
        "type": "linear",
        "tickmode": "array",
        "tickvals": list(range(len(names))),
        "ticktext": [text(name, _LONGEST_TICK) for name in names],
        "range": [-0.5, len(names) - 0.5],
        "zeroline": False,
    }


def _faint(colour: str) -> str:
    red, green, blue = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    return f"rgba({red},{green},{blue},0.2)"
