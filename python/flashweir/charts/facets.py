"""Figures of a sweep with more axes than one figure has: one for each setting of the others, all in a group."""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import prod

from flashweir.charts.model import Chart
from flashweir.charts.settings import NONE, AxisValues, Sweep, short

# Of more settings of the other axes, figures show one.
MAX_FACETS = 36


@dataclass(frozen=True)
class Part:
    """The part of a sweep at one setting of the axes that a figure does not show; without a label it is all."""

    label: str
    sweep: Sweep

    def named(self, chart: Chart, number: int) -> Chart:
        """A chart of this part, the one with this number, in the group of all of them."""
        if not self.label:
            return chart
        name = chart.name if not number else f"{chart.name}-{number + 1}"
        return replace(chart, name=name, group=chart.name, facet=self.label)


def other_axes(sweep: Sweep, shown: Sequence[str], most: int = MAX_FACETS) -> list[AxisValues]:
    """The axes that a figure over `shown` leaves out; none where the settings are no grid, or too many are left."""
    rest = [axis for axis in sweep.axes if axis.name not in shown]
    if not rest or prod(len(axis.values) for axis in rest) > most:
        return []
    return [] if sweep.sparse((axis.name for axis in sweep.axes), below=0.5) else rest


def parts_of(sweep: Sweep, shown: Sequence[str], most: int = MAX_FACETS) -> list[Part]:
    """Parts of a sweep in which the axes that are not shown have one value; all as one where there are too many."""
    rest = other_axes(sweep, shown, most)
    if not rest:
        return [Part("", sweep)]
    found = []
    for values in itertools.product(*(axis.values for axis in rest)):
        label = ", ".join(f"{axis.name}={short(value)}" for axis, value in zip(rest, values, strict=True))
        part = _part(sweep, dict(zip((axis.name for axis in rest), values, strict=True)))
        if part.metrics:
            found.append(Part(label, part))
    return found


def in_facets(sweep: Sweep, shown: Sequence[str], draw: Callable[[Sweep], list[Chart]]) -> list[Chart]:
    """Figures that `draw` makes of each part of the sweep in which the axes that are not shown have one value."""
    found: list[Chart] = []
    for part in parts_of(sweep, shown):
        number = len(found)
        found += [part.named(chart, number) for chart in draw(part.sweep)]
    return found


def _part(sweep: Sweep, fixed: dict[str, str]) -> Sweep:
    at = {sweep.position(name): value for name, value in fixed.items()}
    metrics = {
        setting: found
        for setting, found in sweep.metrics.items()
        if all(setting[place] in (value, NONE) for place, value in at.items())
    }
    axes = tuple(
        replace(axis, values=(fixed[axis.name],), numbers=_number(axis, fixed[axis.name]))
        if axis.name in fixed
        else axis
        for axis in sweep.axes
    )
    return replace(sweep, axes=axes, metrics=metrics)


def _number(axis: AxisValues, value: str) -> tuple[float, ...] | None:
    return None if axis.numbers is None else (axis.numbers[axis.values.index(value)],)
