"""Charts as plotly figures: `figure(chart)` gives the `data` and `layout` that plotly.js draws. Needs no library.

Colours that depend on the page's background (text, grid) are not here: who draws sets them.
"""

from flashweir.charts.model import Bars, Chart, Cloud, Heat, Plot, Strips
from flashweir.charts.plotly.cells import bars, heat, strips
from flashweir.charts.plotly.clouds import cloud
from flashweir.charts.plotly.curves import plot
from flashweir.charts.plotly.texts import Json, text
from flashweir.charts.units import scaled

__all__ = ["figure"]


def figure(chart: Chart) -> Json:
    """The chart as `{"data": [...], "layout": {...}}`; numbers have 6 significant digits, what is not finite is null.

    `layout.height` is what the plot needs in pixels without a legend; `layout.meta.ticks` names the axes whose labels
    stand one at each integer, which a narrow page may thin out, `layout.meta.log` those whose marks do not suit a part.

    Raises:
        TypeError: a chart of a kind that is not in `charts.model`.
    """
    chart = scaled(chart)
    if isinstance(chart, Plot):
        drawn = plot(chart)
    elif isinstance(chart, Bars):
        drawn = bars(chart)
    elif isinstance(chart, Heat):
        drawn = heat(chart)
    elif isinstance(chart, Strips):
        drawn = strips(chart)
    elif isinstance(chart, Cloud):
        drawn = cloud(chart)
    else:
        raise TypeError(f"no chart: {type(chart).__name__}")
    drawn["layout"]["title"] = {"text": text(chart.title)}
    return drawn
