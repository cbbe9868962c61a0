"""Reproductions for people: tables on a terminal, figures, and sections of a page."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING, Any

from flashweir.reproduction.verdicts import SHARE

if TYPE_CHECKING:
    from rich.console import Console

    from flashweir.charts.from_curves import Measured
    from flashweir.charts.model import Chart
    from flashweir.reports.model import Section
    from flashweir.reproduction import Reproduction
    from flashweir.reproduction.catalogue import Drawing, Experiment
    from flashweir.reproduction.coverage import Row
    from flashweir.reproduction.curves import Curve, Family

_LARGE = 1000
# Values and claims that the finding names.
_NAMED = 3
# Columns of a terminal that a name has at least, and what the numbers beside it take.
_NAME, _NUMBERS = 22, 50
_COLUMNS = ("published", "measured", "deviation", "tolerance")
# The same on a terminal, where they have to be short.
_HEADINGS = ("printed", "here", "off by", "tolerance")
_OF_RUNS = (
    "A tolerance such as 10..20, 30% is where most runs lie, measured their mean; the share is that of "
    "those that lie below the published value."
)
_STYLES: dict[bool | None, str] = {True: "green", False: "red", None: "dim"}


def charts(experiment: "Experiment", families: "Mapping[str, Family]") -> "list[Chart]":
    """The figures of an experiment, as its author describes them; without those of which no run gave a value."""
    there = [one for one in experiment.plots if any(curve.y for name in one.curves for curve in families[name])]
    return [_chart(drawing, families) for drawing in there]


def _chart(drawing: "Drawing", families: "Mapping[str, Family]") -> "Chart":
    from flashweir.charts import from_curves

    several = len(drawing.curves) > 1
    chosen = {name: [curve for curve in families[name] if _fits(curve, drawing.at)] for name in drawing.curves}
    missing = sum(curve.missing for family in chosen.values() for curve in family)
    note = " ".join(part for part in (drawing.note, f"{missing} runs gave no value." if missing else "") if part)
    if drawing.kind == "bars":
        parts = [(_words(name), [_measured(curve, "", drawing) for curve in family]) for name, family in chosen.items()]
        return from_curves.bars(drawing.name, drawing.title, drawing.y, parts, note=note)
    places = dict(zip(drawing.curves, drawing.over, strict=False))
    found = [
        _against(
            _measured(curve, _words(name) if several else "", drawing), curve, families.get(places.get(name, ""), ())
        )
        for name, family in chosen.items()
        for curve in family
    ]
    for of, name in zip(drawing.curves, drawing.levels, strict=False):
        for curve in (curve for curve in families[name] if _fits(curve, drawing.at)):
            # It belongs to the curve of the same settings.
            beside = _label(curve, _words(of) if several else "", drawing)
            found.append(replace(_measured(curve, _words(name), drawing), level_of=beside))
    style = from_curves.STYLES[drawing.kind]
    return from_curves.lines(
        drawing.name, drawing.title, (drawing.x, drawing.y), found, style=style, scale=drawing.scale, note=note
    )


def _fits(curve: "Curve", at: Mapping[str, Any]) -> bool:
    from flashweir.reproduction.curves import matches

    return all(matches(curve.of[axis], value) for axis, value in at.items() if axis in curve.of)


def _measured(curve: "Curve", family: str, drawing: "Drawing") -> "Measured":
    """A curve as a figure has it: what all of the figure's curves share is in its title, not in their names."""
    from flashweir.charts.from_curves import Measured
    from flashweir.reproduction.verdicts import quantile

    label = _label(curve, family, drawing)
    if drawing.band is None or not curve.runs:
        return Measured(label, curve.names, curve.y)
    runs = [sorted(one.values()) for one in curve.runs]
    low, high = ([quantile(values, share) for values in runs] for share in drawing.band)
    return Measured(label, curve.names, curve.y, low, high)


def _against(drawn: "Measured", curve: "Curve", family: "Family") -> "Measured":
    """The curve over the values of another one of the same settings, from the lowest on; as it is if there is none."""
    from flashweir.reproduction.curves import pairs

    found = next((other for _, other in pairs([curve], family)), None)
    if found is None:
        return drawn
    points = sorted((x, y) for name, y in zip(curve.names, curve.y, strict=True) if (x := found.at(name)) is not None)
    return replace(drawn, x=[f"{x:.6g}" for x, _ in points], y=[y for _, y in points])


def _label(curve: "Curve", family: str, drawing: "Drawing") -> str:
    own = {axis: value for axis, value in curve.of.items() if isinstance(drawing.at.get(axis), list | None)}
    return ", ".join(part for part in (family, replace(curve, of=own).label) if part)


def _words(name: str) -> str:
    return name.replace("_", " ")


def print_opening(found: "Sequence[Reproduction]", console: "Console") -> None:
    """Prints a line a paper: how many of its rows hold, miss, and can't be decided."""
    from rich.text import Text

    for one in found:
        console.print(Text(opening(one), style="bold"))


def print_reproduction(found: "Reproduction", console: "Console") -> None:
    """Prints a row a value, then a row a claim with what it rests on, and how many hold."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    def say(text: str, style: str = "") -> None:
        console.print(Text(text, style=style))

    say(_title(found), "bold")
    if found.paper.note:
        say(found.paper.note)
    for line in found.skipped:
        say(f"not run: {line}", "yellow")
    if found.rows:
        table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=0)
        longest = max(len(row["name"]) for row in found.rows)
        table.add_column("value", overflow="fold", width=min(longest, max(_NAME, console.width - _NUMBERS)))
        table.add_column("ok", no_wrap=True, min_width=3)
        for heading in _HEADINGS:
            table.add_column(heading, justify="right", no_wrap=True)
        for row in found.rows:
            verdict = Text(_verdict_of(row), style=_STYLES[row["ok"]])
            cells = (Text(text.replace(" points", " pt")) for text in _said(row))
            table.add_row(Text(row["name"]), verdict, *cells)
        console.print(table)
        if any("range" in row for row in found.rows):
            say(_OF_RUNS)
    for line in _without_verdict(found):
        say(line)
    for row in found.shapes:
        say(f"{_verdict_of(row):<4} {_whose(row)}: {row['claim']}", _STYLES[row["ok"]])
        say(f"     {row['evidence']}")
    say(summary(found))


def _without_verdict(found: "Reproduction") -> list[str]:
    """Reasons why rows have no verdict, each once: runs that are too small, and runs that failed."""
    lines = [f"? can't be decided by quick runs: {row['undecided']}" for row in found.rows if "undecided" in row]
    lines += [f"not run: {row['not_run']}" for row in (*found.rows, *found.shapes) if "not_run" in row]
    return list(dict.fromkeys(lines))


def print_coverage(rows: "Sequence[Row]", console: "Console") -> None:
    """Prints a row a figure, table or claim with its check or reason, and counts by status."""
    from collections import Counter

    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    for paper, found in groupby(rows, key=lambda row: row.paper):
        table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1), title=paper, title_justify="left")
        for heading in ("where", "claim", "status", "check or reason"):
            table.add_column(heading, overflow="fold")
        listed = list(found)
        for row in listed:
            said = row.check or row.reason or "NO CHECK"
            table.add_row(*(Text(text) for text in (row.where, row.claim, row.status, said)))
        console.print(table)
        counts = Counter(row.status for row in listed)
        console.print(Text(f"{paper}: {', '.join(f'{count} {status}' for status, count in counts.items())}"))


def opening(found: "Reproduction") -> str:
    """A line: rows of the paper, values and claims, that hold, that miss, that can't be decided and that failed."""
    rows = [*found.rows, *(row for row in found.shapes if "by" not in row)]
    verdicts = [row["ok"] for row in rows]
    undecided = sum("undecided" in row for row in rows)
    failed = sum("not_run" in row for row in rows)
    skipped = f", {failed} not run" if failed else ""
    skipped += f", {len(found.skipped)} experiments not run" if found.skipped else ""
    counts = f"{verdicts.count(True)} rows hold, {verdicts.count(False)} miss, {undecided} can't be decided"
    return f"{found.paper.name}: {counts}{skipped}"


def summary(found: "Reproduction") -> str:
    """Number of values and claims that hold, in words."""
    judged = [row["ok"] for row in found.rows if row["ok"] is not None]
    claims = [row["ok"] for row in found.shapes if "by" not in row and row["ok"] is not None]
    others = [row["ok"] for row in found.shapes if "by" in row and row["ok"] is not None]
    also = f"; {sum(others)} of {len(others)} claims that are not the paper's" if others else ""
    undecided = sum("undecided" in row for row in (*found.rows, *found.shapes))
    also += f"; {undecided} rows can't be decided" if undecided else ""
    failed = sum("not_run" in row for row in (*found.rows, *found.shapes))
    also += f"; {failed} rows not run" if failed else ""
    shown = sum(row["ok"] is None and "undecided" not in row and "not_run" not in row for row in found.rows)
    more = f" ({shown} more are shown and not judged)" if shown else ""
    return (
        f"{found.paper.name}: {sum(judged)} of {len(judged)} values within tolerance{more}, "
        f"{sum(claims)} of {len(claims)} claims hold{also}"
    )


def sections(reproductions: "Sequence[Reproduction]") -> "list[Section]":
    """Contents of a page: how much holds, printed and measured side by side, values and claims, then experiments."""
    from flashweir.reports import about, finding
    from flashweir.reports.model import Block, Details, Figure, Section, Table, Text
    from flashweir.reproduction import beside

    compared = {one.paper.name: beside.figures(one.paper.name, one.rows) for one in reproductions}
    drawn = [chart for charts in compared.values() for chart in charts]
    drawn += [chart for one in reproductions for _, charts in one.figures for chart in charts]
    lead = drawn[0] if drawn else None
    found: list[Section] = [finding.section([f"{_finding(one)}" for one in reproductions], lead)]
    for one in reproductions:
        columns = ["value", *_COLUMNS, "ok", "unit", "where"]
        rows = [[row["name"], *_said(row), _verdict_of(row), row["unit"], row["where"]] for row in one.rows]
        claims = [[_whose(row), _verdict_of(row), row["claim"], row["evidence"]] for row in one.shapes]
        blocks: list[Block] = [Figure(chart) for chart in compared[one.paper.name] if chart is not lead]
        if one.paper.note:
            blocks.append(Text(one.paper.note))
        blocks += [Text(f"Not run: {line}.", alert=True) for line in one.skipped]
        if one.failed:
            blocks.append(Text(f"{len(one.failed)} runs failed, the first: {one.failed[0]}", alert=True))
        if rows:
            blocks.append(Table(f"{one.paper.name}: values", columns, rows, fits=True))
            if any("range" in row for row in one.rows):
                blocks.append(Text(_OF_RUNS))
        if claims:
            columns = ["where", "holds", "claim", "evidence"]
            blocks.append(Table(f"{one.paper.name}: claims", columns, claims, fits=True))
        found.append(Section(_title(one), blocks))
        for experiment, figures in one.figures:
            readme = experiment.folder / "README.md"
            text = [Details("Description", readme.read_text(encoding="utf-8"))] if readme.exists() else []
            title = f"{one.paper.name}, {experiment.name}: {experiment.title}"
            found.append(Section(title, [*text, *(Figure(chart) for chart in figures if chart is not lead)]))
    return [*found, about.section()]


def _finding(found: "Reproduction") -> str:
    """Counts of values and claims that hold, experiments left out, and the names of those that do not hold."""
    wrong = [str(row["name"]) for row in found.rows if row["ok"] is False]
    wrong += [f"the claim “{row['claim']}”" for row in found.shapes if row["ok"] is False]
    more = f" and {len(wrong) - _NAMED} more" if len(wrong) > _NAMED else ""
    outside = f" Not within tolerance: {', '.join(wrong[:_NAMED])}{more}." if wrong else ""
    quick = " Quick runs: smaller drives, shorter streams." if found.quick else ""
    skipped = f" {len(found.skipped)} experiments were not run." if found.skipped else ""
    return f"{summary(found)}.{skipped}{outside}{quick}"


def _title(found: "Reproduction") -> str:
    quick = " (quick: smaller drives, shorter streams, fewer points)" if found.quick else ""
    return f"{found.paper.name}: {found.paper.title}{quick}"


def _said(row: Mapping[str, Any]) -> list[str]:
    """Published, measured, deviation and tolerance of a value as text."""
    share = row["unit"] == SHARE
    published = row["published"]
    if isinstance(published, list):
        text = _between(published, share=share)
    else:
        text = published if isinstance(published, str) else _number(published, share=share)
    deviation, tolerance = row["deviation"], row["tolerance"]
    unit = " points" if share else "%"
    allowed = "-" if tolerance is None else f"{100 * tolerance:g}{unit}"
    if row.get("percentile") is not None:
        low, high = (_number(end, share=share) for end in row["range"])
        allowed = f"{low}..{high}, {row['percentile']:.0%}"
    return [
        text,
        _number(row["measured"], share=share),
        "-" if deviation is None else f"{100 * deviation:+.1f}{unit}",
        allowed,
    ]


def _between(ends: Sequence[float | None], *, share: bool) -> str:
    return f"{_number(ends[0], share=share)} to {_number(ends[1], share=share)}"


def _number(value: float | None, *, share: bool) -> str:
    if value is None:
        return "-"
    if share:
        return f"{value:.1%}"
    return f"{value:,.0f}" if abs(value) >= _LARGE else f"{value:.4g}"


def _whose(claim: Mapping[str, Any]) -> str:
    return f"{claim['by']}: {claim['where']}" if "by" in claim else str(claim["where"])


def _verdict_of(row: Mapping[str, Any]) -> str:
    if "undecided" in row:
        return "?"
    if "not_run" in row:
        return "not run"
    return "-" if row["ok"] is None else "yes" if row["ok"] else "NO"
