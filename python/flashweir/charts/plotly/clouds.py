"""Points in three dimensions, which can be turned round."""

import math

from flashweir.charts.model import Axis, Cloud
from flashweir.charts.plotly.texts import NUMBER, Json, number, text
from flashweir.charts.scales import floored

_HEIGHT = 560
_POINT = 2.5


def cloud(chart: Cloud) -> Json:
    """A scatter in three dimensions; points are coloured by the logarithm or the value of the third."""
    log = chart.z.scale == "log"
    heights = floored([point[2] for point in chart.points]) if log else [point[2] for point in chart.points]
    exact = all(height == point[2] for height, point in zip(heights, chart.points, strict=True))
    coloured = [math.log10(value) if log else value for value in heights]
    trace: Json = {
        "type": "scatter3d",
        "mode": "markers",
        "x": [number(point[0], 7) for point in chart.points],
        "y": [number(point[1], 5) for point in chart.points],
        "z": [number(value, 5) for value in heights],
        "customdata": [
            [weight] if exact else [weight, number(point[2])]
            for point, weight in zip(chart.points, chart.weights, strict=True)
        ],
        "marker": {
            "size": _POINT,
            "color": [number(value, 3) for value in coloured],
            "colorscale": "Viridis",
            "opacity": 0.85,
        },
        "hovertemplate": (
            f"{text(chart.x.label)}: %{{x:,}}<br>{text(chart.y.label)}: %{{y:{NUMBER}}}<br>"
            f"{text(chart.z.label)}: <b>%{{{'z' if exact else 'customdata[1]'}:{NUMBER}}}</b><br>"
            f"the largest of %{{customdata[0]:,}} {text(chart.of)}<extra></extra>"
        ),
    }
    scene: Json = {name: _axis(axis) for name, axis in (("xaxis", chart.x), ("yaxis", chart.y), ("zaxis", chart.z))}
    scene["camera"] = {"eye": {"x": -1.45, "y": -1.5, "z": 0.75}, "center": {"x": 0, "y": 0, "z": -0.18}}
    scene["aspectratio"] = {"x": 1.35, "y": 1.0, "z": 0.8}
    scene["dragmode"] = "turntable"
    return {"data": [trace], "layout": {"height": _HEIGHT, "showlegend": False, "scene": scene}}


def _axis(axis: Axis) -> Json:
    label: Json = {"title": {"text": text(axis.label)}}
    return {**label, "type": "log", "dtick": 1} if axis.scale == "log" else {**label, "type": "linear"}
