"""Points in three dimensions as a picture: axes with depth, under the same title and note as other figures."""

import math
from typing import TYPE_CHECKING, Any

from flashweir.charts.lettering import plain
from flashweir.charts.model import Cloud
from flashweir.charts.palette import INK, MUTED
from flashweir.charts.scales import floored
from flashweir.charts.sheet import SMALL, TITLE, Sheet

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_HEIGHT, _LINE = 0.78, 1.25


def lay_out(chart: Cloud, width_in: float, height_in: float | None, dpi: float) -> "Figure":
    """The figure, from where a reader sees all three axes; heights on a log axis have their powers of ten as marks."""
    from mpl_toolkits.mplot3d import Axes3D  # type: ignore[import-untyped]

    sheet = Sheet(chart, width_in, dpi)
    sheet.axes.remove()
    figure = sheet.figure
    inner_in = width_in - 0.16
    title, note = sheet.wrapped(chart.title, inner_in, TITLE), sheet.wrapped(chart.note, inner_in)
    head_in, foot_in = 0.1 + len(title) * TITLE / 72 * _LINE, 0.1 + len(note) * SMALL / 72 * _LINE
    total_in = height_in or head_in + _HEIGHT * width_in + foot_in
    figure.set_size_inches(width_in, total_in)
    place = (0.0, foot_in / total_in, 0.96, max(0.2, 1 - (head_in + foot_in) / total_in))
    axes: Any = figure.add_axes(Axes3D(figure, place, computed_zorder=False))
    log = chart.z.scale == "log"
    heights = floored([point[2] for point in chart.points]) if log else [point[2] for point in chart.points]
    shown = [math.log10(value) for value in heights] if log else heights
    axes.scatter(
        [point[0] for point in chart.points],
        [point[1] for point in chart.points],
        shown,
        c=shown,
        cmap="viridis",
        s=3.0,
        linewidths=0,
        depthshade=False,
        rasterized=True,
    )
    axes.view_init(elev=24, azim=-128)
    axes.set_box_aspect((1.35, 1.0, 0.8), zoom=0.92)
    for which, axis in (("x", chart.x), ("y", chart.y), ("z", chart.z)):
        getattr(axes, f"set_{which}label")(plain(axis.label), **sheet.style())
        for text in getattr(axes, f"get_{which}ticklabels")():
            text.set(fontproperties=sheet.font(), color=INK)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    if log and shown:
        powers = range(math.floor(min(shown)), math.ceil(max(shown)) + 1)
        axes.set_zticks(list(powers), [f"{10.0**power:,g}" for power in powers], **sheet.style())
    for lines, size, colour, top_in in ((title, TITLE, INK, 0.08), (note, SMALL, MUTED, total_in - foot_in)):
        for number, line in enumerate(lines):
            at = 1 - (top_in + number * size / 72 * _LINE) / total_in
            figure.text(0.08 / width_in, at, line, va="top", ha="left", **sheet.style(size, colour))
    return figure
