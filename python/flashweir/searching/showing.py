"""A search on a terminal and as a page: the front, figures of its goals, and all designs."""

import os
from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING

from flashweir._native import FlashweirError
from flashweir.charts import labels
from flashweir.charts.from_curves import Measured, lines
from flashweir.charts.from_result import scale_for
from flashweir.charts.model import Axis, Plot, Series
from flashweir.charts.palette import DOMINATED, FRONT
from flashweir.plain import setting
from flashweir.reports import about, finding, page
from flashweir.reports.model import Block, Content, Details, Figure, Section, Table, Text
from flashweir.searching.evaluation import Design
from flashweir.searching.outcome import Search

if TYPE_CHECKING:
    from rich.console import Console

_MISSED = "designs that miss a constraint"
# Reasons that are printed.
_REASONS = 3


def write(found: Search, path: str | os.PathLike[str]) -> None:
    """Writes the report as one HTML file that needs no network.

    Raises:
        FlashweirError: the file can't be written.
    """
    try:
        page.write(path, f"Search {found.name}", sections(found))
    except OSError as error:
        raise FlashweirError(f"{os.fspath(path)}: can't be written: {error.strerror or error}") from error


def sections(found: Search) -> list[Section]:
    """The finding with its figure, the front with its device files, further figures, all designs, the machine."""
    figures = [trade_off(found, pair) for pair in combinations(found.goals, 2)]
    figures = figures or [_over_order(found)]
    alerts: list[Block] = [] if found.best else [Text(found.why_none, alert=True)]
    rest: list[Block] = [Figure(chart) for chart in [*figures[1:], _course(found)]]
    best = found.best
    files: list[Block] = [Details(f"Device file of design {one.order}", found.device_file(one.order)) for one in best]
    return [
        finding.section([said(found)], figures[0], alerts),
        *([Section("Pareto front", [_table(found, best, whole=False), *files])] if best else []),
        Section("Search", rest),
        Section("Designs", [_table(found, found.found, whole=True)]),
        about.section(),
    ]


def said(found: Search) -> str:
    """The finding in a sentence or two."""
    best = found.best
    limits = f" under {len(found.constraints)} constraints" if len(found.constraints) > 1 else (
        f" under {found.constraints[0]}" if found.constraints else "")  # fmt: skip
    ends = []
    for name, direction in found.goals.items():
        if best:
            end = (min if direction == "min" else max)(best, key=lambda one: one.goals[name])
            ends.append(f"{labels.title(name)} {finding.value(name, end.goals[name])} (design {end.order})")
    size = f"{len(best)} designs on the Pareto front" if len(best) != 1 else "1 design on the Pareto front"
    text = f"{found.name}: {size}{limits}, of {len(found.found)} that ran and {found.grid:,} in the grid."
    return f"{text} The best of each goal: {'; '.join(ends)}." if ends else text


def trade_off(found: Search, goals: Sequence[str]) -> Plot:
    """Two goals against each other: the front, other feasible designs, and those that miss a constraint."""
    best = found.best
    on_front = {one.order for one in best}
    groups = [
        (_MISSED, [one for one in found.found if one.goals and not one.feasible]),
        (DOMINATED, [one for one in found.found if one.feasible and one.order not in on_front]),
        (FRONT, sorted(best, key=lambda one: one.goals[goals[0]])),
    ]
    series = [
        Series(
            name,
            [one.goals[goals[0]] for one in group],
            [one.goals[goals[1]] for one in group],
            labels=[_called(one) for one in group],
            style="points",
        )
        for name, group in groups
        if group
    ]
    axes = [
        Axis(labels.label(name), scale_for([one.goals[name] for _, group in groups for one in group])) for name in goals
    ]
    note = "On the front: no design that meets the constraints is as good in all goals and better in one."
    title = f"{labels.heading(goals[0])} against {labels.title(goals[1])}"
    name = f"front-{labels.safe(goals[0])}-{labels.safe(goals[1])}"
    return Plot(name, title, axes[0], axes[1], series, note=note)


def _over_order(found: Search) -> Plot:
    """The one goal of each design, in the order in which they ran."""
    goal = next(iter(found.goals))
    feasible = [one for one in found.found if one.feasible]
    missed = [one for one in found.found if one.goals and not one.feasible]
    curves = [
        Measured(name, [str(one.order) for one in group], [one.goals[goal] for one in group])
        for name, group in (("designs", feasible), (_MISSED, missed))
        if group
    ]
    return lines("goal-by-design", f"{labels.heading(goal)} by design", ("design", labels.label(goal)), curves,
                 style="points")  # fmt: skip


def _course(found: Search) -> Plot:
    places = [str(one.order) for one in found.found]
    curve = Measured("dominated hypervolume", places, found.hypervolume)
    return lines("hypervolume", "Dominated hypervolume over designs", ("design", "share of the last"), [curve],
                 style="steps", scale="linear",
                 note="Flat at its end: more designs would hardly find better ones.")  # fmt: skip


def _called(one: Design) -> str:
    return f"design {one.order}: " + ", ".join(f"{name}={setting(label)}" for name, label in one.labels.items())


def _columns(found: Search, designs: Sequence[Design], *, whole: bool) -> tuple[list[str], list[list[Content]]]:
    axes = list(designs[0].labels) if designs else []
    columns = ["design", *axes, *found.goals, *found.numbers, *(["state"] if whole else [])]
    rows: list[list[Content]] = []
    for one in designs:
        cells: list[Content] = [one.order, *one.labels.values()]
        cells += [_rounded(one.goals.get(name)) for name in found.goals]
        cells += [_rounded(one.values.get(name)) for name in found.numbers]
        if whole:
            cells.append(one.error or (f"misses {', '.join(one.missed)}" if one.missed else "feasible"))
        rows.append(cells)
    return columns, rows


def _table(found: Search, designs: Sequence[Design], *, whole: bool) -> Table:
    columns, rows = _columns(found, designs, whole=whole)
    return Table("All designs in the order in which they ran" if whole else "Pareto front", columns, rows, fits=whole)


def _rounded(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.5g}")


def show(found: Search, console: "Console") -> None:
    """Prints the finding and the front."""
    from rich.table import Table as Lines

    def say(text: str) -> None:
        console.print(text, highlight=False, markup=False, soft_wrap=True)

    say(said(found))
    columns, rows = _columns(found, found.best, whole=False)
    if rows:
        table = Lines(box=None, pad_edge=False)
        for name in columns:
            table.add_column(name, overflow="fold")
        for row in rows:
            table.add_row(*(f"{cell:,.5g}" if isinstance(cell, float) else setting(cell) for cell in row))
        console.print(table, highlight=False, markup=False)
    reasons = sorted(found.refused.items(), key=lambda item: (-item[1], item[0]))
    for reason, count in reasons[:_REASONS]:
        say(f"{count:,} of the designs looked at make no drive: {reason}")
    if len(reasons) > _REASONS:
        say(f"{sum(count for _, count in reasons[_REASONS:]):,} more for other reasons: --json has them")
    where = f"; device files in {found.directory / 'front'}" if found.directory is not None and rows else ""
    say(f"{found.runs:,} runs, seed {found.seed}{where}")
