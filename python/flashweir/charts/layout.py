"""Where title, axes, legend and note of a drawn figure stand: measured, so that nothing lies on anything."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from flashweir.charts.lettering import Tick, kept, plain, stride
from flashweir.charts.model import Chart, Cloud
from flashweir.charts.names import apart
from flashweir.charts.palette import INK, MUTED
from flashweir.charts.sheet import SMALL, TITLE, Body, Sheet

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_PAD_IN, _GAP_IN = 0.08, 0.08
_MIN_BODY_IN = 0.8
_LINE = 1.25
_COLUMNS = 6
_ROTATION = 35.0
# Names as short as numbers are left out where they don't fit, longer ones turned.
_SHORT_IN = 0.45
# The largest part of the width that the names of rows may take.
_NAMES = 0.38
# Characters that a name in a legend keeps in any case.
_MIN_NAME = 12


def lay_out(chart: Chart, width_in: float, height_in: float | None, dpi: float) -> "Figure":
    """Draws a figure and puts everything in its place."""
    from flashweir.charts import spatial
    from flashweir.charts.drawing import draw

    if isinstance(chart, Cloud):
        return spatial.lay_out(chart, width_in, height_in, dpi)

    sheet = Sheet(chart, width_in, dpi)
    sheet.axes.tick_params(bottom=True, left=True, top=False, right=False, labelcolor=INK)
    for side, spine in sheet.axes.spines.items():
        spine.set(visible=side in ("left", "bottom"), color=MUTED, linewidth=0.6)
    body = draw(chart, sheet)
    sheet.axes.xaxis.label.set(**sheet.style())
    sheet.axes.yaxis.label.set(**sheet.style())
    _place(chart, sheet, body, height_in)
    for step in body.after:
        step()
    return sheet.figure


def _place(chart: Chart, sheet: Sheet, body: Body, height_in: float | None) -> None:
    figure, axes, width_in = sheet.figure, sheet.axes, sheet.width_in
    inner_in = width_in - 2 * _PAD_IN
    bar_in = _bar_room_in(sheet, body)
    # Row names first: they decide how wide the axes are, and that decides which column names fit.
    cut = [(place, sheet.clipped(text, _NAMES * width_in)) for place, text in body.y_ticks]
    sheet.ticks("y", _fitting_rows(sheet, body, cut))
    sheet.ticks("x", [])
    left = sheet.overhang_in()[0] + _PAD_IN
    axes_in = width_in - left - _PAD_IN - bar_in
    axes.set_position((left / width_in, 0.2, axes_in / width_in, 0.6))
    _set_columns(sheet, body, axes_in)
    over = sheet.overhang_in()
    left, right = max(left, over[0] + _PAD_IN), over[1] + _PAD_IN + bar_in
    axes_in = max(width_in - left - right, 0.2 * width_in)
    line_in = SMALL / 72 * _LINE
    title = sheet.wrapped(chart.title, inner_in, TITLE)
    below = [line for text in body.key for line in sheet.wrapped(text, inner_in)]
    below += sheet.wrapped(chart.note, inner_in)
    legend = _legend(sheet, body, inner_in)
    legend_in = legend.get_window_extent(sheet.renderer).height / sheet.dpi + _GAP_IN if legend else 0.0
    title_in = len(title) * TITLE / 72 * _LINE
    head_in = _PAD_IN + title_in + (_GAP_IN if title else 0.0) + over[3]
    foot_in = over[2] + legend_in + (len(below) * line_in + _GAP_IN if below else 0.0) + _PAD_IN
    body_in = max(body.height_in if height_in is None else height_in - head_in - foot_in, _MIN_BODY_IN)
    total_in = head_in + body_in + foot_in
    figure.set_size_inches(width_in, total_in)
    bottom = foot_in / total_in
    axes.set_position((left / width_in, bottom, axes_in / width_in, body_in / total_in))
    if body.bar is not None:
        _colour_bar(sheet, body, ((left + axes_in + 0.12) / width_in, bottom, 0.12 / width_in, body_in / total_in))
    _lines(sheet, title, _PAD_IN, total_in, TITLE, INK)
    top_in = head_in + body_in + over[2]
    if legend:
        legend.set_bbox_to_anchor((_PAD_IN / width_in, 1 - (top_in + _GAP_IN) / total_in), figure.transFigure)
    _lines(sheet, below, top_in + legend_in + _GAP_IN, total_in, SMALL, MUTED)


def _lines(sheet: Sheet, lines: Sequence[str], top_in: float, total_in: float, size: float, colour: str) -> None:
    for number, line in enumerate(lines):
        place = 1 - (top_in + number * size / 72 * _LINE) / total_in
        sheet.figure.text(_PAD_IN / sheet.width_in, place, line, va="top", ha="left", **sheet.style(size, colour))


def _fitting_rows(sheet: Sheet, body: Body, shown: Sequence[Tick]) -> list[Tick]:
    line_in = SMALL / 72 * _LINE
    if body.y_kind == "category":
        return list(shown[:: stride(len(shown), body.height_in, line_in)])
    places = [sheet.axes.transData.transform((sheet.axes.get_xlim()[0], place))[1] for place, _ in shown]
    low, high = (edge * sheet.dpi * sheet.width_in for edge in (0.2, 0.8))
    scaled = [(place - low) / (high - low) * body.height_in for place in places]
    return [shown[index] for index in kept(scaled, [line_in] * len(scaled), 0.02)]


def _set_columns(sheet: Sheet, body: Body, axes_in: float) -> None:
    """Ticks below the axes: those that fit; names that don't are turned, then every second, third, ... stays."""
    texts = [(place, plain(text)) for place, text in body.x_ticks]
    widths = [sheet.size_in(text)[0] for _, text in texts]
    places = [sheet.axes.transData.transform((place, sheet.axes.get_ylim()[0]))[0] / sheet.dpi for place, _ in texts]
    fit = kept(places, widths, 0.08)
    if body.x_kind == "number":
        sheet.ticks("x", [texts[index] for index in fit])
    elif len(fit) == len(texts) or max(widths) <= _SHORT_IN:
        sheet.ticks("x", texts[:: stride(len(texts), axes_in, max(widths) + 0.08)] if len(fit) < len(texts) else texts)
    else:
        each = stride(len(texts), axes_in, SMALL / 72 * _LINE * 1.8)
        cut = [(place, sheet.clipped(text, 0.3 * sheet.width_in)) for place, text in texts]
        sheet.ticks("x", cut[::each], _ROTATION)


def _legend(sheet: Sheet, body: Body, inner_in: float) -> Any:  # noqa: ANN401 - matplotlib's Legend
    if not body.legend:
        return None
    handles = [handle for handle, _ in body.legend]
    names = [plain(name) for _, name in body.legend]
    room_in = inner_in - 0.6
    longest = max(map(len, names))
    while longest > _MIN_NAME and max(sheet.size_in(name)[0] for name in names) > room_in:
        longest -= 4
        names = apart([plain(name) for _, name in body.legend], longest)
    names = [sheet.clipped(name, room_in) for name in names]
    for columns in range(min(len(names), _COLUMNS), 0, -1):
        legend = sheet.figure.legend(
            handles,
            names,
            loc="upper left",
            ncols=columns,
            prop=sheet.font(),
            frameon=False,
            borderpad=0.0,
            borderaxespad=0.0,
            handlelength=2.2,
            columnspacing=1.5,
            labelspacing=0.35,
        )
        for text in legend.get_texts():
            text.set(color=INK, parse_math=False, usetex=False)
        if columns == 1 or legend.get_window_extent(sheet.renderer).width / sheet.dpi <= inner_in:
            return legend
        legend.remove()
    return None


def _bar_room_in(sheet: Sheet, body: Body) -> float:
    if body.bar is None:
        return 0.0
    widest = max((sheet.size_in(text)[0] for _, text in body.bar_ticks), default=0.0)
    return 0.12 + 0.12 + 0.06 + widest + (SMALL / 72 * _LINE * 1.4 if body.bar_label else 0.0)


def _colour_bar(sheet: Sheet, body: Body, place: tuple[float, float, float, float]) -> None:
    from matplotlib.ticker import NullLocator

    side = sheet.figure.add_axes(place)
    bar = sheet.figure.colorbar(body.bar, cax=side)
    bar.ax.yaxis.set_ticks([at for at, _ in body.bar_ticks], [text for _, text in body.bar_ticks], **sheet.style())
    bar.ax.yaxis.set_minor_locator(NullLocator())
    bar.ax.yaxis.set_tick_params(which="both", color=MUTED, width=0.6, length=3)
    bar.set_label(plain(body.bar_label), **sheet.style())
    bar.outline.set_visible(False)
