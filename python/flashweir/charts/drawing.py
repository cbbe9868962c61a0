"""Drawing of each kind of figure into its axes; `layout` does titles, ticks and legends."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from flashweir._native import ConfigError
from flashweir.charts.lettering import number, plain, ticks
from flashweir.charts.model import Axis, Bars, Chart, Heat, Plot, Series, Strips
from flashweir.charts.palette import FRONT, GRID, HEAT, INK, MUTED, PAPER, Look, bar_colours, looks, states
from flashweir.charts.scales import FEW_POINTS, log_floor, wide
from flashweir.charts.sheet import SMALL, Body, Sheet
from flashweir.charts.thin import thin
from flashweir.charts.units import scaled

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_PLOT, _ROW_IN, _MAX_IN = 0.5, 0.24, 20.0
_KEYED = 12
_MARKERS = "osD^vP"
# More points than this and a curve is thinned before it is drawn.
_POINTS = 4000
_MAX_CELL_TEXTS = 150
_DARK = 0.45
_VECTOR_CELLS = 4000


def draw(chart: Chart, sheet: Sheet) -> Body:
    """Draws the data; says what the layout has to add."""
    chart = scaled(chart)
    if isinstance(chart, Plot):
        return _plot(chart, sheet)
    if isinstance(chart, Bars):
        return _bars(chart, sheet)
    if isinstance(chart, Heat):
        return _heat(chart, sheet)
    if isinstance(chart, Strips):
        return _strips(chart, sheet)
    raise ConfigError(f"a figure of an unknown kind, {type(chart).__name__}: expected Plot, Bars, Heat or Strips")


def _plot(chart: Plot, sheet: Sheet) -> Body:
    axes = sheet.axes
    axes.set_xlabel(plain(chart.x.label))
    axes.set_ylabel(plain(chart.y.label))
    categories = _categories(chart)
    places = [_places(series, categories) for series in chart.series]
    xs = [place for row in places for place in row]
    ends = [end for series in chart.series for end in (*(series.low or ()), *(series.high or ()))]
    ys = [value for value in (*(value for series in chart.series for value in series.y), *ends) if value is not None]
    log_x = chart.x.scale == "log" and any(x > 0 for x in xs)
    log_y = chart.y.scale == "log" and any(y > 0 for y in ys)
    left, right = (-0.6, len(categories) - 0.4) if categories else _limits(xs, log=log_x, floor=False)
    low, high = _limits([*ys, 0.0] if chart.y.from_zero else ys, log=log_y, floor=True)
    if low < 0 <= min((value for series in chart.series for value in series.y if value is not None), default=-1):
        # Only ends of intervals are below zero, where the values themselves can't be.
        low = -0.012 * high
    floor = log_floor(chart)
    if log_y and floor is not None:
        low = floor
    if log_x:
        axes.set_xscale("log")
    if log_y:
        axes.set_yscale("log")
    axes.set_xlim(left, right)
    axes.set_ylim(low, high)
    axes.grid(visible=True, color=GRID, linewidth=0.5)
    axes.set_axisbelow(True)
    body = Body(_PLOT * sheet.width_in, y_ticks=_axis_ticks(chart.y, low, high, log=log_y))
    body.x_ticks = list(enumerate(categories)) if categories else _axis_ticks(chart.x, left, right, log=log_x)
    body.x_kind = "category" if categories else "number"
    legend, keyed = [], []
    for turn, (series, row, look) in enumerate(zip(chart.series, places, looks(chart.series), strict=True)):
        if categories and len(chart.series) > 1:
            step = min(0.12, 0.7 / len(chart.series))
            row = [place + (turn - (len(chart.series) - 1) / 2) * step for place in row]  # noqa: PLW2901 - moved aside
        marked = turn if series.turn is None else series.turn
        legend.append((_curve(axes, series, row, look, marked, (log_x, log_y)), series.name))
        if series.labels and 0 < len(series.labels) <= _KEYED:
            keyed += [(x, y, label) for x, y, label in zip(row, series.y, series.labels, strict=True) if y is not None]
    body.legend = _once(legend) if len(chart.series) > 1 or (chart.series and chart.series[0].name) else ()
    if len(keyed) <= _KEYED:
        body.key = [f"{place}  {label}" for place, (_, _, label) in enumerate(keyed, start=1)]
        body.after.append(lambda: _number_points(sheet, keyed))
    if not ys:
        _nothing(sheet)
    return body


def _curve(axes: "Axes", series: Series, x: Sequence[float], look: Look, turn: int, logs: tuple[bool, bool]) -> Any:  # noqa: ANN401 - a matplotlib handle
    y = series.y
    if len(x) > _POINTS and series.style != "points":
        order = sorted(range(len(x)), key=x.__getitem__)
        x, y = thin([x[at] for at in order], [y[at] for at in order], log_x=logs[0], log_y=logs[1])
    xs, ys = _drawable(x, log=logs[0]), _drawable(y, log=logs[1])
    # A curve that was thinned has lost the places of its intervals.
    if len(x) == len(series.x) and series.low and series.high:
        _interval(axes, series, xs, ys, look, log=logs[1])
    if look.mark:
        return axes.plot(xs, ys, color=look.colour, linestyle="--", linewidth=1.0, marker="None", zorder=1.5)[0]
    present = sum(not (math.isnan(a) or math.isnan(b)) for a, b in zip(xs, ys, strict=True))
    few = present <= (1 if series.style == "steps" else FEW_POINTS) and series.beside is None
    marker = _MARKERS[turn % len(_MARKERS)] if series.style == "points" or few else "None"
    dash = {"solid": "-", "dashed": (0, (4, 2)), "dotted": (0, (1, 1.5))}[look.dash]
    return axes.plot(
        xs,
        ys,
        color=look.colour,
        linestyle="None" if series.style == "points" else dash,
        linewidth=1.4,
        drawstyle="steps-post" if series.style == "steps" else "default",
        marker=marker,
        markersize=5.0 if few or series.name == FRONT else 2.5,
        markeredgecolor=PAPER if few or series.name == FRONT else look.colour,
        markeredgewidth=0.4,
        markerfacecolor=look.colour,
        clip_on=True,
        zorder=3.0 if few else 2.5,
    )[0]


def _interval(axes: "Axes", series: Series, x: Sequence[float], y: Sequence[float], look: Look, *, log: bool) -> None:
    """Error bars for few points, a band for many."""
    low = _drawable(series.low or (), log=False)
    high = _drawable(series.high or (), log=False)
    if log:
        # An end below zero is as low as the axis goes.
        bottom = axes.get_ylim()[0]
        low = [max(value, bottom) for value in low]
    if len(x) > FEW_POINTS and series.style != "points":
        axes.fill_between(x, low, high, color=look.colour, alpha=0.18, linewidth=0)
        return
    there = [at for at in range(len(x)) if not any(math.isnan(value) for value in (x[at], y[at], low[at], high[at]))]
    if there:
        axes.errorbar(
            [x[at] for at in there],
            [y[at] for at in there],
            yerr=[[max(y[at] - low[at], 0.0) for at in there], [max(high[at] - y[at], 0.0) for at in there]],
            fmt="none",
            ecolor=look.colour,
            elinewidth=1.0,
            capsize=2.0,
            capthick=1.0,
        )


def _number_points(sheet: Sheet, keyed: Sequence[tuple[float, float, str]]) -> None:
    """Numbers beside points, where they hide neither points nor each other."""
    scale = sheet.figure.dpi / 72
    spots = [sheet.axes.transData.transform((x, y)) for x, y, _ in keyed]
    taken = [(float(x) - 3 * scale, float(y) - 3 * scale, float(x) + 3 * scale, float(y) + 3 * scale) for x, y in spots]
    for place, ((x, y, _), spot) in enumerate(zip(keyed, spots, strict=True), start=1):
        width, height = (side * sheet.figure.dpi for side in sheet.size_in(str(place)))
        for distance in (9, 15, 21):
            found = None
            for angle in range(45, 405, 45):
                dx = distance * scale * math.cos(math.radians(angle))
                dy = distance * scale * math.sin(math.radians(angle))
                centre = float(spot[0]) + dx, float(spot[1]) + dy
                box = (centre[0] - width / 2, centre[1] - height / 2, centre[0] + width / 2, centre[1] + height / 2)
                if not any(_overlap(box, other) for other in taken):
                    found = (dx / scale, dy / scale)
                    break
            if found:
                break
        dx, dy = found or (6.0, 6.0)
        taken.append(box)
        sheet.axes.annotate(
            str(place),
            (x, y),
            xytext=(dx, dy),
            textcoords="offset points",
            ha="center",
            va="center",
            annotation_clip=False,
            arrowprops={"arrowstyle": "-", "color": MUTED, "linewidth": 0.4, "shrinkA": 0, "shrinkB": 2},
            **sheet.style(),
        )


def _bars(chart: Bars, sheet: Sheet) -> Body:
    axes = sheet.axes
    axes.set_xlabel(plain(chart.x.label))
    rows = len(chart.categories)
    colours = bar_colours(chart)
    left = [0.0] * rows
    legend = []
    for (name, values), colour in zip(chart.parts, colours, strict=True):
        widths = [value if value is not None and math.isfinite(value) else 0.0 for value in values]
        bars = axes.barh(range(rows), widths, left=left, height=0.72, color=colour, edgecolor=PAPER, linewidth=0.4)
        legend.append((bars, name))
        left = [start + width for start, width in zip(left, widths, strict=True)]
    low, high = min([0.0, *left]), max([0.0, *left])
    alone = len(chart.parts) == 1
    if alone:
        for row, value in enumerate(left):
            beside: dict[str, Any] = {"xytext": (3, 0), "textcoords": "offset points", "va": "center"}
            axes.annotate(number(float(f"{value:.4g}")), (value, row), annotation_clip=False, **beside, **sheet.style())
        high += 0.1 * (high - low)
    # Shares fill the axes.
    whole = abs(high - 1) < 1e-3  # noqa: PLR2004 - rounding
    axes.set_xlim(low, 1.0 if whole else (high * 1.02 if high > low else 1.0))
    axes.set_ylim(rows - 0.4 if rows else 0.5, -0.6)
    axes.grid(visible=True, axis="x", color=GRID, linewidth=0.5)
    axes.set_axisbelow(True)
    body = Body(
        min(max(_ROW_IN * rows, 3 * _ROW_IN), _MAX_IN),
        x_ticks=_axis_ticks(chart.x, *axes.get_xlim(), log=False),
        y_ticks=list(enumerate(chart.categories)),
        y_kind="category",
        legend=[] if alone else legend,
    )
    if not rows:
        _nothing(sheet)
    return body


def _heat(chart: Heat, sheet: Sheet) -> Body:
    from matplotlib import colormaps
    from matplotlib.colors import LogNorm, Normalize

    axes = sheet.axes
    axes.set_xlabel(plain(chart.x.label))
    axes.set_ylabel(plain(chart.y.label))
    columns, rows = len(chart.columns), len(chart.rows)
    values = [[math.nan if value is None else float(value) for value in row] for row in chart.values]
    there = [value for row in values for value in row if math.isfinite(value)]
    axes.set_xlim(-0.5, max(columns, 1) - 0.5)
    axes.set_ylim(-0.5, max(rows, 1) - 0.5)
    body = Body(
        min(max(rows * _ROW_IN, 0.3 * sheet.width_in), 0.7 * sheet.width_in),
        x_ticks=list(enumerate(chart.columns)),
        y_ticks=list(enumerate(chart.rows)),
        x_kind="category",
        y_kind="category",
    )
    if not there:
        _nothing(sheet)
        return body
    low, high = min(there), max(there)
    log = wide(there)
    if high <= low:
        low, high = low - max(abs(low) * 0.05, 0.5), high + max(abs(high) * 0.05, 0.5)
    norm = LogNorm(low, high) if log else Normalize(low, high)
    edges = [[position - 0.5 for position in range(count + 1)] for count in (columns, rows)]
    mesh = axes.pcolormesh(
        edges[0],
        edges[1],
        _masked(values),
        cmap=colormaps[HEAT],
        norm=norm,
        shading="flat",
        antialiased=False,
        edgecolors="none",
        rasterized=columns * rows > _VECTOR_CELLS,
    )
    axes.set_facecolor("#F2F2F2")
    if len(there) < columns * rows:
        body.key = [f"Empty cells: {chart.empty}."]
    body.bar, body.bar_label, body.bar_ticks = mesh, chart.unit, ticks(low, high, log=log)
    if columns * rows <= _MAX_CELL_TEXTS:
        body.after.append(lambda: _cell_texts(sheet, values, mesh))
    return body


def _cell_texts(sheet: Sheet, values: Sequence[Sequence[float]], mesh: Any) -> None:  # noqa: ANN401 - matplotlib's mesh
    """The value of each cell, if all fit."""
    dpi = sheet.figure.dpi
    box = sheet.axes.get_window_extent()
    room = box.width / dpi / len(values[0]) * 0.92, box.height / dpi / len(values)
    texts = [[number(float(f"{value:.3g}")) for value in row] for row in values]
    sizes = [sheet.size_in(text) for row in texts for text in row]
    if max(width for width, _ in sizes) > room[0] or max(height for _, height in sizes) > room[1]:
        return
    for row, line in enumerate(values):
        for column, value in enumerate(line):
            if math.isfinite(value):
                red, green, blue, _ = mesh.to_rgba(value)
                dark = 0.2126 * red + 0.7152 * green + 0.0722 * blue < _DARK
                style = sheet.style(SMALL, PAPER if dark else INK)
                sheet.axes.text(column, row, texts[row][column], ha="center", va="center", **style)


def _strips(chart: Strips, sheet: Sheet) -> Body:
    from matplotlib.colors import ListedColormap
    from matplotlib.patches import Patch

    axes = sheet.axes
    axes.set_xlabel(plain(chart.x.label))
    colours = states(list(chart.states))
    rows, bins = len(chart.rows), max(len(chart.edges) - 1, 0)
    low, high = (chart.edges[0], chart.edges[-1]) if bins else (0.0, 1.0)
    axes.set_xlim(low, high if high > low else low + 1.0)
    axes.set_ylim(rows - 0.5 if rows else 0.5, -0.5)
    legend = [
        (Patch(facecolor=colour, edgecolor="none"), name) for name, colour in zip(chart.states, colours, strict=True)
    ]
    if rows and bins and high > low:
        main = [
            [_main([chart.shares[state][row][at] for state in range(len(colours))]) for at in range(bins)]
            for row in range(rows)
        ]
        # A row is two: the strip, and the gap below it.
        edges = [place for row in range(rows) for place in (row - 0.42, row + 0.42)]
        drawn = [line for row in main for line in (row, [math.nan] * bins)][:-1]
        axes.pcolormesh(
            list(chart.edges),
            edges,
            _masked(drawn),
            cmap=ListedColormap(colours),
            vmin=-0.5,
            vmax=len(colours) - 0.5,
            shading="flat",
            antialiased=False,
            edgecolors="none",
            rasterized=rows * bins > _VECTOR_CELLS,
        )
    else:
        _nothing(sheet)
    return Body(
        min(max(_ROW_IN * rows, 3 * _ROW_IN), _MAX_IN / 2),
        x_ticks=_axis_ticks(chart.x, *axes.get_xlim(), log=False),
        y_ticks=list(enumerate(chart.rows)),
        y_kind="category",
        legend=legend,
    )


def _main(shares: Sequence[float]) -> float:
    """State with the largest share; NaN if none has any."""
    largest = max(range(len(shares)), key=shares.__getitem__)
    return float(largest) if shares[largest] > 0 else math.nan


def _masked(values: Sequence[Sequence[float]]) -> Any:  # noqa: ANN401 - a masked array
    import numpy as np

    return np.ma.masked_invalid(np.array(values, dtype=float))


def _categories(chart: Plot) -> list[str]:
    """The names along the x axis, in order of their first use; none where it has numbers."""
    values = [value for series in chart.series for value in series.x]
    if chart.x.scale != "category" and not any(isinstance(value, str) for value in values):
        return []
    return list(dict.fromkeys(str(value) for value in values))


def _places(series: Series, categories: Sequence[str]) -> list[float]:
    if not categories:
        return [float(value) for value in series.x]
    where = {name: float(place) for place, name in enumerate(categories)}
    return [where[str(value)] for value in series.x]


def _drawable(values: Sequence[float | None], *, log: bool) -> list[float]:
    """NaN, a gap, for what has no place on the axis."""
    return [math.nan if value is None or (log and value <= 0) else float(value) for value in values]


def _limits(values: Sequence[float], *, log: bool, floor: bool) -> tuple[float, float]:
    """Ends of an axis, with room around the data; `floor` starts at zero what is near it."""
    there = [value for value in values if math.isfinite(value) and (value > 0 or not log)]
    if not there:
        return (1.0, 10.0) if log else (0.0, 1.0)
    low, high = min(there), max(there)
    if log:
        room = (high / low) ** 0.04 if high / low > 1.05 else 1.5  # noqa: PLR2004 - as good as one value
        return low / room, high * room
    if high - low <= 1e-9 * max(abs(high), abs(low)):
        half = abs(high) * 0.1 or 1.0
        return (-0.012, half) if floor and not high else (low - half, high + half)
    room = 0.04 * (high - low)
    near = floor and 0 <= low < 0.5 * high
    return (-0.3 * room if near else low - room), high + room


def _axis_ticks(axis: Axis, low: float, high: float, *, log: bool) -> list[tuple[float, str]]:
    if axis.ticks:
        inside = [(place, plain(text)) for place, text in axis.ticks if low <= place <= high and (place > 0 or not log)]
        return sorted(inside)
    return ticks(low, high, log=log)


def _once(legend: Sequence[tuple[Any, str]]) -> list[tuple[Any, str]]:
    """One entry for curves of the same name."""
    return list({name: (handle, name) for handle, name in reversed(legend)}.values())[::-1]


def _overlap(one: tuple[float, float, float, float], other: tuple[float, float, float, float]) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def _nothing(sheet: Sheet) -> None:
    sheet.axes.text(0.5, 0.5, "no data", transform=sheet.axes.transAxes, ha="center", va="center", **sheet.style())
