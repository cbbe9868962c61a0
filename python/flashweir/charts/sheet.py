"""The sheet that a figure is drawn on: it measures texts and has the fonts; and what a drawer says of its body."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from flashweir.charts.lettering import Tick, families, plain
from flashweir.charts.model import Chart
from flashweir.charts.palette import INK, MUTED, PAPER

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Points. Nothing is smaller than 8.
SMALL, TITLE = 8.0, 10.0


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
