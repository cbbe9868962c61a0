"""Axes: of numbers, of logarithms with marks that can be read, and of names."""

import math
from collections.abc import Sequence

from flashweir.charts.model import Axis
from flashweir.charts.plotly.texts import LONGEST_TICK, Json, names, number, short, text

# From here on, marks of a log axis are short.
_LARGE = 1e6
# Decades from which on a log axis has marks at powers of ten alone, and below which at even steps.
_DECADES, _OCTAVE = 3, 0.3


def measured(axis: Axis, values: Sequence[float | str | None]) -> Json:
    """An axis of numbers. A short log axis gets marks at 1, 2 and 5, a long one at each power of ten."""
    drawn: Json = {"title": {"text": text(axis.label)}, "type": "log" if axis.scale == "log" else "linear"}
    if axis.ticks:
        drawn.update(
            tickmode="array",
            ticklabeloverflow="allow",
            tickvals=[number(value) for value, _ in axis.ticks],
            ticktext=names([label for _, label in axis.ticks], LONGEST_TICK),
        )
    elif axis.scale == "log":
        known = [value for value in values if isinstance(value, (int, float)) and math.isfinite(value) and value > 0]
        if known:
            drawn.update(_log_ticks(min(known), max(known)))
    return drawn


def _log_ticks(low: float, high: float) -> Json:
    """Marks of a log axis, each with its whole number; a range of less than an octave gets even steps.

    They are chosen for the range of the values: a part of it needs others, for which `layout.meta.log` names the axis.
    """
    decades = math.log10(high / low)
    if decades > _DECADES:
        return {"dtick": math.ceil(decades / 8)}
    span = high - low
    if 0 < decades < _OCTAVE:
        power = 10.0 ** math.floor(math.log10(span / 4))
        step = power * next(nice for nice in (1, 2, 5, 10) if nice * power >= span / 6)
        values = [step * at for at in range(max(1, int((low - span) / step)), int((high + span) / step) + 2)]
    else:
        # Around a single value plotly draws two decades.
        steps = (1, 2, 5) if decades > 1 or not decades else (1, 1.5, 2, 3, 4, 5, 6, 8)
        first, last = math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 1
        values = [step * 10.0**power for power in range(first, last) for step in steps]
    texts = [f"{value:,.6g}" if value < _LARGE else short(value) for value in values]
    return {"tickmode": "array", "tickvals": [number(value) for value in values], "ticktext": texts}


def named(axis: Axis, values: Sequence[str]) -> Json:
    """An axis with a name at every integer from 0 on."""
    return {
        "title": {"text": text(axis.label)},
        "type": "linear",
        "tickmode": "array",
        "tickvals": list(range(len(values))),
        "ticktext": names(values, LONGEST_TICK),
        "range": [-0.5, len(values) - 0.5],
        "autotickangles": [0, -40, -90],
        "ticklabeloverflow": "allow",
        "zeroline": False,
    }
