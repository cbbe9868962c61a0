"""Where title, axes, legend and note of a drawn figure stand: measured, so that nothing lies on anything."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from flashweir.charts.lettering import Tick, families, kept, plain, stride
from flashweir.charts.model import Chart, Cloud
from flashweir.charts.names import apart
from flashweir.charts.palette import INK, MUTED, PAPER

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Points. Nothing is smaller than 8.
SMALL, TITLE = 8.0, 10.0
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


@dataclass
class Body:
    """Results of a drawer for the layout: height of the axes, ticks, legend, and lines that explain marks."""

    height_in: float
    x_ticks: Sequence[Tick] = ()
    y_ticks: Sequence[Tick] = ()
    x_kind: Literal["number", "category"] = "number"
    y_kind: Literal["number", "category"] = "number"
    legend: Sequence[tuple[Any, str]] = ()
    key: Sequence[str] = ()
    bar: Any = None
    bar_ticks: Sequence[Tick] = ()
    bar_label: str = ""
    after: list[Any] = field(default_factory=list)


class Sheet:
    """A figure that is being laid out: measures and places texts."""

    def __init__(self, chart: Chart, width_in: float, dpi: float) -> None:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
        from matplotlib.font_manager import FontProperties

        self.width_in, self.dpi = width_in, dpi
        self.figure: Figure = Figure(figsize=(width_in, width_in), dpi=dpi, facecolor=PAPER, edgecolor=PAPER)
        self.renderer = FigureCanvasAgg(self.figure).get_renderer()  # type: ignore[no-untyped-call]
        self._fonts = families(_texts(chart))
        self._properties = FontProperties
        self.axes: Axes = self.figure.add_axes((0.2, 0.2, 0.6, 0.6), facecolor=PAPER)

    def font(self, size: float = SMALL) -> Any:  # noqa: ANN401 - matplotlib's FontProperties
        """Of every text; nothing of it comes from matplotlib's settings."""
        return self._properties(
            family=self._fonts, size=size, style="normal", weight="normal", variant="normal", stretch="normal"
        )

    def style(self, size: float = SMALL, colour: str = INK) -> dict[str, Any]:
        """Keywords for a text that is drawn as it stands."""
        return {"fontproperties": self.font(size), "color": colour, "parse_math": False, "usetex": False}

    def size_in(self, text: str, size: float = SMALL) -> tuple[float, float]:
        """Width and height of a line in inches."""
        width, height, _ = self.renderer.get_text_width_height_descent(text, self.font(size), False)
        return width / self.dpi, height / self.dpi

    def clipped(self, text: str, width_in: float, size: float = SMALL) -> str:
        """A text cut in its middle, with an ellipsis, to fit a width."""
        text = plain(text)
        if self.size_in(text, size)[0] <= width_in:
            return text
        length = max(1, int(len(text) * width_in / self.size_in(text, size)[0]))
        while length > 1:
            head, tail = text[: (length + 1) // 2], text[len(text) - length // 2 :]
            if self.size_in(f"{head}…{tail}", size)[0] <= width_in:
                return f"{head}…{tail}"
            length -= 1
        return "…"

    def wrapped(self, text: str, width_in: float, size: float = SMALL) -> list[str]:
        """The lines of a text in a width; a word that is longer than a line is cut."""
        lines: list[str] = []
        for word in plain(text).split():
            rest = word
            if lines and self.size_in(f"{lines[-1]} {word}", size)[0] <= width_in:
                lines[-1] += f" {word}"
                continue
            while self.size_in(rest, size)[0] > width_in and len(rest) > 1:
                length = max(1, int(len(rest) * width_in / self.size_in(rest, size)[0]) - 1)
                lines.append(rest[:length])
                rest = rest[length:]
            lines.append(rest)
        return lines

    def ticks(self, which: Literal["x", "y"], shown: Sequence[Tick], angle: float = 0.0) -> None:
        """Sets the ticks of an axis: these and no others."""
        from matplotlib.ticker import NullLocator

        axis = self.axes.xaxis if which == "x" else self.axes.yaxis
        turned: dict[str, Any] = {"rotation": angle, "ha": "right", "rotation_mode": "anchor"} if angle else {}
        axis.set_ticks([place for place, _ in shown], [text for _, text in shown], **self.style(), **turned)
        axis.set_minor_locator(NullLocator())
        axis.set_tick_params(which="both", color=MUTED, width=0.6, length=3, direction="out")

    def overhang_in(self) -> tuple[float, float, float, float]:
        """Space of ticks and labels beyond the axes: left, right, below, above."""
        from matplotlib.transforms import Bbox

        inner = self.axes.get_window_extent(self.renderer)
        found = self.axes.get_tightbbox(self.renderer)
        outer = found if isinstance(found, Bbox) else inner
        sides = (inner.x0 - outer.x0, outer.x1 - inner.x1, inner.y0 - outer.y0, outer.y1 - inner.y1)
        left, right, below, above = (max(0.0, side) / self.dpi for side in sides)
        return left, right, below, above


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


def _texts(chart: Chart) -> list[str]:
    """Every text of a figure, cleaned."""
    found: list[str] = []

    def walk(value: object) -> None:
        if isinstance(value, str):
            found.append(plain(value))
        elif isinstance(value, (list, tuple)):
            for item in value:
                if item is not None and not isinstance(item, (int, float)):
                    walk(item)
        elif hasattr(value, "__dataclass_fields__"):
            for name in value.__dataclass_fields__:
                walk(getattr(value, name))

    walk(chart)
    return found
