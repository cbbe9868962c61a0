"""Figures as data, apart from how they are drawn.

A renderer takes any of these and needs nothing else; texts are plain text, which it escapes for its own medium.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

Scale = Literal["linear", "log", "category"]
Value = float | str


@dataclass(frozen=True)
class Axis:
    """An axis: its label with the unit in it, its scale, and ticks where they are not the renderer's to choose.

    `from_zero` is for values whose size matters, not only how they differ.
    """

    label: str
    scale: Scale = "linear"
    ticks: Sequence[tuple[float, str]] = ()
    from_zero: bool = False


@dataclass(frozen=True)
class Chart:
    """Base of all figures: `name` is the file's name and the anchor in a report, `note` a sentence below it.

    Figures with the same `group` show parts of the same thing, each the one that `facet` names.
    """

    name: str
    title: str
    note: str = field(default="", kw_only=True)
    group: str = field(default="", kw_only=True)
    facet: str = field(default="", kw_only=True)


@dataclass(frozen=True)
class Series:
    """A curve or a set of points. `low` and `high` are interval ends, `labels` what each point is called.

    "steps" hold each value up to the next x. `beside` names the series that this one is compared with: it is dashed, in
    that one's colour. `turn` is the place of its policy or run among all: the same place has the same colour in every
    figure, and `variant` has another dash. Without a turn, colours follow the order of the series.
    """

    name: str
    x: Sequence[Value]
    y: Sequence[float | None]
    low: Sequence[float | None] | None = None
    high: Sequence[float | None] | None = None
    labels: Sequence[str] | None = None
    style: Literal["line", "steps", "points"] = "line"
    beside: str | None = None
    turn: int | None = None
    variant: int = 0


@dataclass(frozen=True)
class Plot(Chart):
    """Curves and points over two axes: sweeps with intervals, distributions, Pareto fronts, values over time."""

    x: Axis
    y: Axis
    series: Sequence[Series]


@dataclass(frozen=True)
class Bars(Chart):
    """Stacked horizontal bars: a row a category, `parts` give each part's value in every row.

    Where there is one part, `turns` give the rows the colours of their runs.
    """

    x: Axis
    categories: Sequence[str]
    parts: Sequence[tuple[str, Sequence[float]]]
    turns: Sequence[int] | None = None


@dataclass(frozen=True)
class Heat(Chart):
    """A matrix of values over two axes: `values[row of y][column of x]`.

    A value is None where there is none: `empty` says of what.
    """

    x: Axis
    y: Axis
    columns: Sequence[str]
    rows: Sequence[str]
    values: Sequence[Sequence[float | None]]
    unit: str
    empty: str = "no run"


@dataclass(frozen=True)
class Cloud(Chart):
    """Points in three dimensions, coloured by their third; `x`, `y`, `z` are axes, `points` values in that order.

    `weights` says how many things each point stands for, by the name `of`. Where the scale of `z` is "log", what is not
    above zero lies on the floor.
    """

    x: Axis
    y: Axis
    z: Axis
    points: Sequence[tuple[float, float, float]]
    weights: Sequence[int]
    of: str


@dataclass(frozen=True)
class Strips(Chart):
    """State of each row over time: bins between `edges`, share of each in a state in `shares[state][row][bin]`.

    A cell is drawn in the colour of the state with the largest share, and all shares are said on demand.
    """

    x: Axis
    rows: Sequence[str]
    edges: Sequence[float]
    states: Sequence[str]
    shares: Sequence[Sequence[Sequence[float]]]
