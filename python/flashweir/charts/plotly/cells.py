"""Bars, heat maps, and strips of what was done when."""

import math
from collections.abc import Sequence

from flashweir.charts.lettering import ticks
from flashweir.charts.model import Axis, Bars, Heat, Strips
from flashweir.charts.palette import bar_colours, states
from flashweir.charts.plotly.axes import measured, named
from flashweir.charts.plotly.texts import NUMBER, Json, names, number, short, text, wrapped
from flashweir.charts.scales import wide

# Cells of a heat map up to which each shows its value, and of strips up to which bins are not merged.
_LABELLED_CELLS = 160
_STRIP_CELLS = 8_000
# Rows or columns up to which there is a gap between them.
_GAPS = 24
# Values of sRGB up to here are linear.
_LINEAR = 0.04045
# Cividis (Nunez et al. 2018): lightness rises evenly, for colour-blind readers and grey prints too.
_CIVIDIS = ("#00224e", "#123570", "#3b496c", "#575d6d", "#707173",
    "#8a8678", "#a59c74", "#c3b369", "#e1cc55", "#fee838")  # fmt: skip


def bars(chart: Bars) -> Json:
    """Stacked bars, the first row on top; parts that add up to a whole fill the axis. A part alone has its values."""
    traces: list[Json] = []
    labels = names([name for name, _ in chart.parts])
    for index, (label, (_, values)) in enumerate(zip(labels, chart.parts, strict=True)):
        traces.append(
            {
                "type": "bar",
                "orientation": "h",
                "name": label,
                "x": [number(value) for value in values],
                "y": list(range(len(values))),
                "customdata": [wrapped(category) for category in chart.categories],
                "hovertemplate": f"<b>%{{customdata}}</b><br>{label}: %{{x:{NUMBER}}}<extra></extra>",
                "marker": {"color": bar_colours(chart)[index]},
            }
        )
    alone = len(chart.parts) == 1
    if alone:
        traces[0].update(
            text=[short(value) for value in chart.parts[0][1]],
            textposition="outside",
            cliponaxis=False,
            constraintext="none",
        )
    whole = [sum(row) for row in zip(*(values for _, values in chart.parts), strict=True)]
    x = measured(chart.x, whole)
    for full in (1.0, 100.0):
        if whole and all(abs(total - full) < full / 100 for total in whole):
            x["range"] = [0, full]
    if alone and max(whole, default=0.0) > 0 and min(whole) >= 0:
        # Room for the values beside the bars.
        x["range"] = [0, number(1.12 * max(whole))]
    rows = named(Axis(""), chart.categories)
    rows["range"] = [len(chart.categories) - 0.5, -0.5]
    height = min(900, 110 + 30 * max(2, len(chart.categories)))
    layout = {"height": height, "barmode": "stack", "bargap": 0.25, "showlegend": not alone, "xaxis": x, "yaxis": rows}
    layout["legend"] = {"traceorder": "normal"}
    layout["meta"] = {"ticks": ["yaxis"]}
    return {"data": traces, "layout": layout}


def heat(chart: Heat) -> Json:
    """A heat map, the first row at the bottom as axes go, with its values in the cells where they are few.

    Values far apart are coloured by their logarithms; colour bar and pointer say the values themselves.
    """
    columns, rows = ([wrapped(name) for name in called] for called in (chart.columns, chart.rows))
    unit = text(chart.unit)
    known = [number(value) for row in chart.values for value in row]
    log = wide(known)
    said = [
        [[column, row, number(value)] for column, value in zip(columns, values, strict=True)]
        for row, values in zip(rows, chart.values, strict=True)
    ]
    bar: Json = {"title": {"text": unit, "side": "right"}, "thickness": 14, "x": 1.03, "xpad": 6}
    if log:
        there = [value for value in known if value is not None]
        marks = ticks(min(there), max(there), log=True)
        bar["tickvals"] = [number(math.log10(place)) for place, _ in marks]
        bar["ticktext"] = [label for _, label in marks]
    trace: Json = {
        "type": "heatmap",
        "z": [[_coloured(value, log=log) for value in row] for row in chart.values],
        "customdata": said if log else [[cell[:2] for cell in row] for row in said],
        "colorscale": [[round(at / (len(_CIVIDIS) - 1), 4), colour] for at, colour in enumerate(_CIVIDIS)],
        "colorbar": bar,
        "hoverongaps": False,
        "xgap": int(len(columns) <= _GAPS),
        "ygap": int(len(rows) <= _GAPS),
        "hovertemplate": (
            f"{text(chart.x.label)}: %{{customdata[0]}}<br>{text(chart.y.label)}: %{{customdata[1]}}<br>"
            f"<b>%{{{'customdata[2]' if log else 'z'}:{NUMBER}}}</b> {unit}<extra></extra>"
        ),
    }
    layout = {
        "height": min(800, max(300, 120 + 24 * len(rows))),
        "xaxis": {**named(chart.x, chart.columns), "showgrid": False},
        "yaxis": {**named(chart.y, chart.rows), "showgrid": False},
        "meta": {"ticks": ["xaxis", "yaxis"]},
    }
    few = len(columns) * len(rows) <= _LABELLED_CELLS
    return {"data": [trace, _cell_labels(chart, log=log)] if few else [trace], "layout": layout}


def _coloured(value: float | None, *, log: bool) -> float | None:
    """Value that the colour of a cell shows: its value, or the logarithm of that."""
    known = number(value)
    return number(math.log10(known)) if log and known is not None else known


def _cell_labels(chart: Heat, *, log: bool) -> Json:
    """Each cell's value in it, black or white, whichever stands out."""
    cells = [(x, y, number(value)) for y, row in enumerate(chart.values) for x, value in enumerate(row)]
    known = [(x, y, value) for x, y, value in cells if value is not None]
    places = [_coloured(value, log=log) or 0.0 for _, _, value in known]
    low, high = min(places, default=0.0), max(places, default=0.0)
    return {
        "type": "scatter",
        "mode": "text",
        "x": [x for x, _, _ in known],
        "y": [y for _, y, _ in known],
        "text": [short(value) for _, _, value in known],
        "textfont": {"size": 12, "color": [_contrast((at - low) / (high - low or 1.0)) for at in places]},
        "hoverinfo": "skip",
        "showlegend": False,
    }


def _contrast(at: float) -> str:
    """Black or white, whichever has more contrast to the scale's colour at 0 to 1 (WCAG 2, relative luminance)."""
    place = at * (len(_CIVIDIS) - 1)
    left = min(int(place), len(_CIVIDIS) - 2)
    luminance = 0.0
    for channel, weight in ((1, 0.2126), (3, 0.7152), (5, 0.0722)):
        ends = [int(_CIVIDIS[stop][channel : channel + 2], 16) / 255 for stop in (left, left + 1)]
        value = ends[0] + (ends[1] - ends[0]) * (place - left)
        luminance += weight * (value / 12.92 if value <= _LINEAR else ((value + 0.055) / 1.055) ** 2.4)
    return "#000000" if (luminance + 0.05) ** 2 > 1.05 * 0.05 else "#ffffff"


def strips(chart: Strips) -> Json:
    """A row a strip, each bin in the colour of the state that took most of it; hovering says all shares."""
    edges, shares = _merged(chart)
    colours = states(chart.states)
    dominant: list[list[float | None]] = []
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
        "text": [[wrapped(name)] * (len(edges) - 1) for name in chart.rows],
        "zmin": 0,
        "zmax": last,
        "colorscale": steps,
        "showscale": False,
        "hoverongaps": False,
        "ygap": 2 if len(chart.rows) <= 2 * _GAPS else 0,
        "hovertemplate": "<b>%{text}</b><br>"
        f"{text(chart.x.label)}: %{{x:{NUMBER}}}<br>" + "<br>".join(parts) + "<extra></extra>",
    }
    rows = named(Axis(""), chart.rows)
    rows.update(range=[len(chart.rows) - 0.5, -0.5], showgrid=False)
    layout = {
        "height": min(900, 110 + 20 * max(4, len(chart.rows))),
        "showlegend": True,
        "legend": {"itemclick": False, "itemdoubleclick": False},
        "xaxis": {**measured(chart.x, edges), "showgrid": False, "range": [number(edges[0], 9), number(edges[-1], 9)]}
        if edges
        else measured(chart.x, []),
        "yaxis": rows,
        "meta": {"ticks": ["yaxis"]},
    }
    return {
        "data": [trace, *(_key(state, colour) for state, colour in zip(chart.states, colours, strict=True))],
        "layout": layout,
    }


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

    shares: list[list[list[float | None]]] = [
        [[mean(row, at) for at in starts] for row in state] for state in chart.shares
    ]
    return [*(chart.edges[at] for at in starts), chart.edges[bins]], shares


def _largest(cell: list[float | None]) -> float | None:
    """The colour of a cell: between the marks of the state with the largest share; None where nothing is known."""
    known = [(share, -index) for index, share in enumerate(cell) if share is not None and math.isfinite(share)]
    return 0.5 - max(known)[1] if known else None


def _key(state: str, colour: str) -> Json:
    """A trace without points that only names a colour in the legend."""
    marker = {"symbol": "square", "size": 12, "color": colour}
    return {"type": "scatter", "mode": "markers", "name": text(state), "x": [None], "y": [None], "marker": marker}
