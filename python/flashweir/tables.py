"""Summaries and comparisons of sweeps as tables for a terminal: at any width, with as many tables as that takes.

Axes with one value stand above the tables. Metrics that do not fit beside each other go into further tables.
"""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from flashweir.plain import setting
from flashweir.statistics.summary import QUANTILE
from flashweir.statistics.verdict import BETTER, decimals, judgement

if TYPE_CHECKING:
    import polars as pl

# Interval ends whose distances from the value differ by less than this share are written as one half-width.
_SYMMETRIC = 0.1
# From here on, decimals say nothing.
_LARGE = 10_000
_DIGITS = 4
_ANY_WIDTH = 100_000
# Two thirds of a usual verdict: it takes two lines, and long names of settings wrap before it takes more.
_VERDICT_WIDTH = 30
_NARROWEST = 8
_BAR_CELLS = 40
STYLES = {"better": "green", "worse": "red"}


def print_summary(summary: "pl.DataFrame", console: Console, *, pooled: bool | None = None) -> None:
    """Prints what `flashweir.statistics.summarize` gives: a row a setting, `mean ± half-width` for each metric.

    Where the interval is not symmetric, it is written `mean (low to high)`.

    Args:
        summary: what to print.
        console: where to.
        pooled: True if latency quantiles are those of all requests of a setting's seeds, False if they are means of the
            runs' quantiles: a line below the table says so, where a setting has several runs. None leaves it out.
    """
    if not summary.height:
        console.print("no runs", highlight=False)
        return
    axes = summary.columns[: summary.columns.index("runs")]
    metrics = [name for name in summary.columns if f"{name} low" in summary.columns]
    varying = _print_constant(summary, axes, console)
    rows = summary.to_dicts()
    groups = []
    for name in metrics:
        cells = [with_interval(row[name], row[f"{name} low"], row[f"{name} high"], console) for row in rows]
        groups.append({name: [Text(cell) for cell in cells]})
    runs = [f"{row['runs']:,} ({row['failed']:,} failed)" if row["failed"] else f"{row['runs']:,}" for row in rows]
    settings = {name: [setting(row[name]) for row in rows] for name in varying}
    print_columns(settings, runs, groups, console)
    quantiles = [name for name in metrics if QUANTILE.fullmatch(name)]
    if pooled is not None and quantiles and any(row["runs"] - row["failed"] > 1 for row in rows):
        said = "of all requests of a setting's seeds" if pooled else "means of the runs' quantiles"
        console.print(f"\n{', '.join(quantiles)}: {said}", highlight=False, markup=False)


def print_columns(
    settings: Mapping[str, Sequence[str]],
    runs: Sequence[str] | None,
    groups: Sequence[Mapping[str, Sequence[Text]]],
    console: Console,
) -> None:
    """Prints tables of the same rows: each has the settings, the runs, and as many groups of columns as fit.

    Args:
        settings: columns that every table begins with.
        runs: a column after them; None leaves it out.
        groups: columns that stay together, by their headings.
        console: what to print on.
    """
    unlimited = console.options.update(max_width=_ANY_WIDTH)
    shown: list[Mapping[str, Sequence[Text]]] = []
    tables: list[Table] = []
    for group in groups:
        table = _columns(settings, runs, [*shown, group])
        if shown and console.measure(table, options=unlimited).maximum > console.width:
            shown = [group]
            tables.append(_columns(settings, runs, shown))
        else:
            shown.append(group)
            tables[-1:] = [table]
    for place, table in enumerate(tables):
        if place:
            console.print()
        console.print(table)


def print_bars(rows: Sequence[tuple[str, float | None, str]], console: Console) -> None:
    """Prints a bar a row, the largest value's the longest, with the row's name before it and its text behind."""
    full = "#" if console.options.ascii_only else "█"
    most = max((value for _, value, _ in rows if value is not None and math.isfinite(value)), default=0.0)
    behind = max((len(text) for _, _, text in rows), default=0)
    before = min(max((len(name) for name, _, _ in rows), default=0), console.width // 2)
    cells = max(min(_BAR_CELLS, console.width - before - behind - 4), _NARROWEST)
    table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False, show_header=False)
    table.add_column(overflow="fold", max_width=before)
    table.add_column(no_wrap=True, width=cells)
    table.add_column(no_wrap=True)
    for name, value, text in rows:
        length = 0 if value is None or most <= 0 else max(round(cells * value / most), 0)
        table.add_row(Text(name), Text(full * length), Text(text))
    console.print(table)


def print_comparison(comparison: "pl.DataFrame", console: Console) -> None:
    """Prints what `flashweir.statistics.compare` gives: a table a metric, a row an alternative in a setting.

    Where a significant difference is known to be for the better or the worse, its verdict says so.
    """
    if not comparison.height:
        console.print("nothing to compare: the axis has one value", highlight=False)
        return
    varying = _print_constant(comparison, comparison.columns[: comparison.columns.index("alternative")], console)
    for place, metric in enumerate(comparison["metric"].unique(maintain_order=True)):
        rows = [row for row in comparison.iter_rows(named=True) if row["metric"] == metric]
        base = setting(rows[0]["baseline"])
        wish = f" ({BETTER[metric]} is better)" if metric in BETTER else ""
        if place:
            console.print()
        # The summary above has the quantile of all requests.
        means = "; means of the runs' quantiles" if QUANTILE.fullmatch(metric) else ""
        console.print(f"{metric}{wish}, against {base}{means}", highlight=False, markup=False)
        table = _comparison_table(rows, varying, base, console.width)
        if table is not None:
            console.print(table)
            continue
        for row in rows:
            console.print(_sentence(row, varying), highlight=False)


def _sentence(row: dict[str, Any], axes: Sequence[str]) -> Text:
    """A row of a comparison that no table of this width has room for."""
    place = ", ".join(f"{name}={setting(row[name])}" for name in axes if row[name] is not None)
    numbers = f"{setting(row['alternative'])} {_number(row['mean'])} against {_number(row['mean_baseline'])}"
    return Text(f"{place}: {numbers}, ") + _verdict(row)


def _comparison_table(rows: Sequence[dict[str, Any]], axes: Sequence[str], base: str, width: int) -> Table | None:
    """The rows as a table; none where that would leave too little room for the verdict."""
    names = [*axes, "alternative", "seeds", base, "mean"]
    cells = [
        [*(setting(row[name]) for name in [*axes, "alternative"]),
         f"{row['n']:,}", _number(row["mean_baseline"]), _number(row["mean"])]
        for row in rows
    ]  # fmt: skip
    widths = [max(len(text) for text in column) for column in zip(names, *cells, strict=True)]
    # A table shrinks its widest column first, which would be the verdict.
    left = width - _VERDICT_WIDTH - sum(widths[len(axes) :]) - 2 * len(names)
    if left < _NARROWEST * len(axes):
        return None
    widths[: len(axes)] = _shared(widths[: len(axes)], left)
    table = _table()
    for place, (name, most) in enumerate(zip(names, widths, strict=True)):
        right = place > len(axes)
        table.add_column(Text(name), justify="right" if right else "left", overflow="fold", max_width=most)
    table.add_column("difference")
    for row, texts in zip(rows, cells, strict=True):
        table.add_row(*(Text(text) for text in texts), _verdict(row))
    return table


def _shared(wanted: Sequence[int], left: int) -> list[int]:
    """Widths of columns that have `left` between them: narrow ones get what they want, the others the same."""
    shares = [0] * len(wanted)
    for done, place in enumerate(sorted(range(len(wanted)), key=lambda place: wanted[place])):
        shares[place] = min(wanted[place], max(left // (len(wanted) - done), _NARROWEST))
        left -= shares[place]
    return shares


def _verdict(row: dict[str, Any]) -> Text:
    judged = judgement(row["metric"], row["difference"], row["significant"])
    return Text(f"{row['verdict']}: {judged}" if judged else row["verdict"], style=STYLES.get(judged or "", ""))


def _print_constant(frame: "pl.DataFrame", axes: Sequence[str], console: Console) -> list[str]:
    """Prints the axes that have one value; returns the others."""
    constant = [name for name in axes if frame[name].n_unique() == 1]
    if constant:
        text = ", ".join(f"{name}={setting(frame[name][0])}" for name in constant)
        console.print(f"{text}\n", highlight=False, markup=False)
    return [name for name in axes if name not in constant]


def _columns(
    settings: Mapping[str, Sequence[str]], runs: Sequence[str] | None, groups: Sequence[Mapping[str, Sequence[Text]]]
) -> Table:
    table = _table()
    for name in settings:
        table.add_column(Text(name), overflow="fold")
    right: list[tuple[str, Sequence[Text]]] = [] if runs is None else [("runs", [Text(text) for text in runs])]
    right += [(name, cells) for group in groups for name, cells in group.items()]
    for name, _ in right:
        table.add_column(Text(name), justify="right", overflow="fold")
    left = [[Text(text) for text in texts] for texts in settings.values()]
    for row in zip(*left, *(cells for _, cells in right), strict=True):
        table.add_row(*row)
    return table


def _table() -> Table:
    return Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)


def with_interval(value: float | None, low: float | None, high: float | None, console: Console | None = None) -> str:
    """`mean ± half-width`, or `mean (low to high)` where the interval is not symmetric; a value alone without one."""
    plus_minus = "+-" if console is not None and console.options.ascii_only else "±"
    if value is None or low is None or high is None:
        return _number(value)
    down, up = value - low, high - value
    wide = max(down, up)
    if wide <= 0:
        return f"{_number(value)} {plus_minus} 0"
    places = decimals(wide)
    if abs(up - down) < _SYMMETRIC * wide:
        return f"{value:,.{places}f} {plus_minus} {wide:,.{places}f}"
    return f"{value:,.{places}f} ({low:,.{places}f} to {high:,.{places}f})"


def _number(value: float | None) -> str:
    """Four digits; a whole number, or one of 10,000 and more, to the unit."""
    if value is None or math.isnan(value):
        return "-"
    if math.isinf(value) or value == int(value) or abs(value) >= _LARGE:
        return f"{value:,.0f}"
    places = _DIGITS - 1 - math.floor(math.log10(abs(value)))
    return f"{value:,.{places}f}" if places < 2 * _DIGITS else f"{value:.{_DIGITS}g}"
