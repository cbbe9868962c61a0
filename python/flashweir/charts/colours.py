"""Colours that belong to a run or a policy, the same in every figure of a report."""

from collections.abc import Sequence
from dataclasses import replace

from flashweir.charts.model import Bars, Chart, Plot, Series
from flashweir.charts.palette import WARM_UP


def of_runs(charts: Sequence[Chart], names: Sequence[str]) -> list[Chart]:
    """The charts, with the colour of each of these names wherever a curve or a bar has it as its name."""
    turns = {name: at for at, name in enumerate(names)}
    return [_coloured(chart, turns) for chart in charts]


def _coloured(chart: Chart, turns: dict[str, int]) -> Chart:
    if isinstance(chart, Plot):
        return replace(chart, series=[_turned(one, turns) for one in chart.series])
    if isinstance(chart, Bars) and len(chart.parts) == 1 and all(name in turns for name in chart.categories):
        return replace(chart, turns=[turns[name] for name in chart.categories])
    return chart


def _turned(one: Series, turns: dict[str, int]) -> Series:
    known = one.turn is None and one.beside is None and not one.name.endswith(WARM_UP)
    return replace(one, turn=turns[one.name]) if known and one.name in turns else one
