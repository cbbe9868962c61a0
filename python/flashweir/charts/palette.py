"""Colours by name, the same in a report and in a file.

Curves: after Okabe and Ito, "Color Universal Design" (2008), https://jfly.uni-koeln.de/color/, without what can't be
seen as a thin line on white or on black; from the ninth curve on, the colours return with another dash. Matrices:
cividis of Nunez, Anderton and Renslow, PLoS ONE 13(7), 2018. Both are made for readers with any kind of colour vision.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from flashweir.charts.model import Bars, Series

Dash = Literal["solid", "dashed", "dotted"]

SERIES = ("#0072B2", "#D55E00", "#009E73", "#C0659C", "#B98300", "#3A93CF", "#8A63D2", "#7D7F82")
_DASHES: tuple[Dash, ...] = ("solid", "dashed", "dotted")
# Colours of the states of a die; states that are not named here take the colours of curves.
STATES = {"host": "#0072B2", "gc": "#D55E00", "mapping": "#C0659C", "waiting": "#E0B000", "idle": "#D3D7DC"}
# Colours of the parts of latency: waits for a die have the colours of its state meanwhile.
PARTS = {"host queue": "#7D7F82", "buffer": "#8A63D2", "wait for read": "#8CC4EA", "wait for write": "#0072B2",
         "wait for erase": "#7A4A00", "wait for gc": "#D55E00", "wait for bus": "#E0B000", "bus": "#009E73",
         "flash": "#D3D7DC"}  # fmt: skip
# The name of the map, which matplotlib and plotly both know.
HEAT = "cividis"

INK, MUTED, GRID, PAPER = "#000000", "#666666", "#DDDDDD", "#FFFFFF"

# Suffixes of the names of series that mark a place rather than show data.
WARM_UP = "warm-up ends"
FRONT, DOMINATED = "Pareto front", "other settings"
# No colour of a policy.
_FRONT = "#D81B60"


class Look(NamedTuple):
    """A curve's colour and dash; `mark` says that it is no data but a line at a place."""

    colour: str
    dash: Dash
    mark: bool = False


def looks(series: "Sequence[Series]") -> list[Look]:
    """Colours and dashes of each series: marks as named, series that have a turn by it, the rest in their order."""
    found: list[Look] = []
    names = [one.name for one in series]
    beside = {one.name: one.beside for one in series if one.beside is not None}
    turn = 0
    for one in series:
        name = one.name
        partner = beside.get(name)
        if partner in names[: len(found)]:
            found.append(Look(found[names.index(partner)].colour, "dashed"))
        elif name.endswith(WARM_UP):
            # The mark of one run of several has the colour of the run.
            run = name.removesuffix(f": {WARM_UP}")
            colour = found[names.index(run)].colour if run in names[: len(found)] else MUTED
            found.append(Look(colour, "dashed", mark=True))
        elif name == DOMINATED:
            found.append(Look("#AAAAAA", "solid"))
        elif name == FRONT:
            found.append(Look(_FRONT, "solid"))
        elif one.turn is not None:
            dash = one.turn // len(SERIES) + one.variant
            found.append(Look(SERIES[one.turn % len(SERIES)], _DASHES[dash % len(_DASHES)]))
        else:
            found.append(Look(SERIES[turn % len(SERIES)], _DASHES[turn // len(SERIES) % len(_DASHES)]))
            turn += 1
    return found


def states(names: Sequence[str]) -> list[str]:
    """The colour of each state or part of a bar."""
    named = {**PARTS, **STATES}
    spare = [colour for colour in SERIES if colour not in STATES.values()]
    if not any(name in named for name in names):
        spare = list(SERIES)
    turns = iter(range(len(names)))
    return [named[name] if name in named else spare[next(turns) % len(spare)] for name in names]


def bar_colours(chart: "Bars") -> list[str] | list[list[str]]:
    """The colour of each part of the bars; of one part alone, that of each row's run where it has one."""
    if chart.turns is not None and len(chart.parts) == 1:
        return [[SERIES[turn % len(SERIES)] for turn in chart.turns]]
    return states([name for name, _ in chart.parts])
