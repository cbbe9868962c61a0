"""Results of benchmarks as tables, sentences and a page."""

from collections.abc import Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

from flashweir.benchmark.comparing import Row, warnings
from flashweir.benchmark.naming import label

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from flashweir.charts.model import Chart
    from flashweir.reports.model import Content, Section

Result = Mapping[str, Any]

SUITES = {
    "transfer": "long sequential writes: what the flash and its channels can take",
    "buffer": "more writes than a write buffer holds, to a few places at a time",
    "mapping": "small writes scattered over the drive",
    "gc": "the same places written again and again",
    "overall": "an operating system is installed: some of everything",
    "linux": "what Linux systems of today write",
    "plain": "sequential and random writes, as on data sheets",
}
# From these shares of lost time on, management is said to cost something, or much.
_SOME, _MUCH = 0.1, 0.4
_ONE_RUN = "One run of each workload, without intervals: a drive repeats its score within some per cent."
# Ratio of two scores from which on they are not called the same: three digits are shown.
_NO_TIE = 1.0005
# Characters of a drive's name beside others.
_LONG = 16


def title(labels: Sequence[str]) -> str:
    """Title of a page of these drives."""
    return f"Benchmark of {labels[0]}" if len(labels) == 1 else f"Benchmark of {len(labels)} drives"


def verdict(workload: Mapping[str, Any]) -> str:
    """Cost of management on a workload, for readers who know nothing of drives."""
    lost, steady, speed = workload["time_lost"], workload["steadiness"], workload["speed"]
    if lost >= _MUCH:
        share = f"{workload['slow_requests']:.1%}"
        return f"most of the time goes to a few slow writes ({share} of them): the drive is busy with itself"
    if lost >= _SOME:
        return "some writes take far longer than others of their length: the drive tidies up in between"
    if steady < speed / 3:
        return "even, but for stretches in which everything is slow"
    return "even: hardly any time is lost to garbage collection"


def print_result(result: Result, console: "Console") -> None:
    """Scores of suites with their workloads."""
    from rich.markup import escape
    from rich.table import Table

    table = Table(title=f"{escape(label(result))}, scale {result['scale']}, {result['state']}", title_justify="left")
    for column in ("", "score", "speed", "steadiness", "MB/s", "time lost"):
        table.add_column(column, justify="left" if not column else "right")
    for suite in dict.fromkeys(one["suite"] for one in result["workloads"]):
        grades = result["suites"].get(suite)
        if grades is None:
            table.add_row(f"[bold]{suite}[/bold]")
        else:
            cells = (f"[bold]{grades[name]:.3g}[/bold]" for name in ("score", "speed", "steadiness"))
            table.add_row(f"[bold]{suite}[/bold]", *cells)
        for one in result["workloads"]:
            if one["suite"] == suite:
                numbers = (f"{one[name]:.3g}" for name in ("score", "speed", "steadiness", "mb_s"))
                table.add_row(f"  {one['name']}", *numbers, f"{one['time_lost']:.0%}")
    if result["all"] is not None:
        cells = (f"[bold]{result['all'][name]:.3g}[/bold]" for name in ("score", "speed", "steadiness"))
        table.add_row("[bold]all suites[/bold]", *cells)
    console.print(table)
    for one in result["workloads"]:
        if one["suite"] != "plain":
            console.print(f"{one['name']}: {verdict(one)}", highlight=False, markup=False)


def print_comparison(results: Sequence[Result], rows: Sequence[Row], labels: Sequence[str], console: "Console") -> None:
    """The finding, and drives side by side: scores, MB/s of workloads; those that don't fit go into further tables."""
    from flashweir.tables import print_columns

    for text in _finding(results, labels, rows):
        console.print(text, highlight=False, markup=False, soft_wrap=True)
    for name, result in zip(labels, results, strict=True):
        console.print(f"{name}: {result['target']}", highlight=False, markup=False, soft_wrap=True)
    console.print("\nscore (MB/s)", highlight=False)
    names = [row.name if row.kind != "workload" else f"  {row.name}" for row in rows]
    groups: list[dict[str, list[Text]]] = [{label: [_cell(row, at) for row in rows]} for at, label in enumerate(labels)]
    print_columns({"": names}, None, groups, console)


def _cell(row: Row, at: int) -> "Text":
    from rich.text import Text

    score, mb_s = row.scores[at], row.mb_s[at]
    if score is None:
        return Text("-")
    text = f"{score:.3g}" if mb_s is None else f"{score:.3g} ({mb_s:.3g})"
    return Text(text, style="bold" if row.kind != "workload" or row.best == at else "")


def charts(results: Sequence[Result], labels: Sequence[str]) -> "list[Chart]":
    """Scores by suite; plain sweeps; the course of each workload."""
    from flashweir.charts.from_curves import Measured, lines

    found: list[Chart] = []
    suites = list(dict.fromkeys(suite for result in results for suite in result["suites"]))
    both = list(zip(results, labels, strict=True))
    if suites:
        curves = [
            _points(label, [(s, r["suites"][s]["score"]) for s in suites if s in r["suites"]]) for r, label in both
        ]
        title = "Score of each suite; 100 is 0.1 ms and 10 ns a byte for every write"
        found.append(lines("scores", title, ("suite", "score"), curves, style="points", scale="linear"))
    for order in ("sequential", "random"):
        curves = [_points(label, _sweep(result, order)) for result, label in both]
        if any(curve.x for curve in curves):
            title = f"Plain {order} writes"
            found.append(lines(f"plain-{order}", title, ("size of a write, KiB", "MB/s"), curves))
    names = dict.fromkeys(
        (one["suite"], one["name"]) for r in results for one in r["workloads"] if one["suite"] != "plain"
    )
    for suite, name in names:
        curves = []
        for result, name_of_drive in both:
            of = [one for one in result["workloads"] if (one["suite"], one["name"]) == (suite, name)]
            for one in of:
                pieces = one["course_mb_s"]
                step = 100 / max(len(pieces), 1)
                x = tuple(f"{(at + 0.5) * step:.4g}" for at in range(len(pieces)))
                curves.append(Measured(name_of_drive, x, tuple(pieces)))
        title = f"{name}: MB/s over its course"
        found.append(lines(f"course-{name}", title, ("written, %", "MB/s"), curves))
    return found


def _points(label: str, points: Sequence[tuple[str, float]]) -> Any:  # noqa: ANN401 - a curve
    from flashweir.charts.from_curves import Measured

    return Measured(label, tuple(x for x, _ in points), tuple(y for _, y in points))


def _sweep(result: Result, order: str) -> list[tuple[str, float]]:
    of = [one for one in result["workloads"] if one["suite"] == "plain" and one["name"].startswith(f"{order}-")]
    return [(one["name"].removeprefix(f"{order}-").removesuffix("k"), one["mb_s"]) for one in of]


def sections(results: Sequence[Result], labels: Sequence[str], rows: Sequence[Row]) -> "list[Section]":
    """A page: the finding, scores side by side, what they mean, figures, and what was run."""
    from flashweir.charts.names import apart
    from flashweir.reports import about, finding
    from flashweir.reports.model import Block, Cell, Facts, Figure, Section, Table, Text

    first, called = results[0], list(labels)
    alone = len(results) == 1
    drives = called if alone else [f"{name}: {one['target']}" for name, one in zip(called, results, strict=True)]
    if not alone:
        # Heads of columns and legends have no room for more.
        labels = apart(called, _LONG)
    facts = [("Drives", drives), ("Scale", str(first["scale"])), ("State before each workload", first["state"])]
    opening: list[Block] = [
        Text(
            "A score of 100 is a drive that completes every write in 0.1 ms and 10 ns a byte (100 MB/s), at all times. "
            "Speed is over all writes, steadiness over the slowest tenth of the stretches of the workload; the score "
            "is their geometric mean. Larger is better."
        ),
        Facts(facts),
    ]
    alerts: list[Block] = []
    if any(not result["complete"] for result in results):
        alerts.append(Text("Some of these benchmarks are not complete.", alert=True))
    alerts += [Text(f"Note: {warning}.", alert=True) for warning in warnings(results)]
    drawn = charts(results, labels)
    columns = ["suite, workload", *(_head(label, name, alone=alone) for name in ("score", "MB/s") for label in labels)]
    table = [
        ["\u2003" + row.name if row.kind == "workload" else row.name, *map(_number, (*row.scores, *row.mb_s))]
        for row in rows
    ]
    lost = [
        [
            *([] if alone else [label]),
            one["suite"],
            one["name"],
            _number(one["speed"]),
            _number(one["steadiness"]),
            Cell(f"{one['time_lost']:.1%}", one["time_lost"]),
            verdict(one),
        ]
        for result, label in zip(results, labels, strict=True)
        for one in result["workloads"]
        if one["suite"] != "plain"
    ]
    names = [*([] if alone else ["drive"]), "suite", "workload", "speed", "steadiness", "time lost", "in words"]
    said = [[name, text] for name, text in SUITES.items()]
    return [
        finding.section(_finding(results, called, rows), drawn[0] if drawn else None, alerts),
        Section("Scores", [Table("Side by side", columns, table, fits=True)]),
        Section("Cost of management", [Table("Workload by workload", names, lost, fits=True)]),
        Section("Figures", [Figure(chart) for chart in drawn[1:]]),
        Section("Suites", [Table("Suites", ["suite", "tested property"], said, fits=True)]),
        Section("Runs", opening),
        about.section(),
    ]


def _finding(results: Sequence[Result], labels: Sequence[str], rows: Sequence[Row]) -> list[str]:
    """Scores in a sentence: of one drive its best and worst suite, of several who leads, by how much, and where not."""
    from flashweir.charts.names import isolated

    labels = [isolated(name) for name in labels]
    suites = [row for row in rows if row.kind == "suite" and any(score is not None for score in row.scores)]
    total = next((row for row in rows if row.kind == "all" and any(score is not None for score in row.scores)), None)
    if not suites:
        return ["No suite is complete, so there are no scores."]
    if len(results) == 1:
        known = sorted(((row.scores[0] or 0.0, row.name) for row in suites), reverse=True)
        best, worst = known[0], known[-1]
        text = (
            f"{labels[0]} scores {total.scores[0]:.3g} over all suites" if total is not None else f"{labels[0]} scores"
        )
        text += "; " if total is not None else " "
        text += f"best in {best[1]} ({best[0]:.3g})"
        return [f"{text}, worst in {worst[1]} ({worst[0]:.3g})." if best != worst else f"{text}.", _ONE_RUN]
    scores: Sequence[float | None] = total.scores if total is not None else _means(suites, len(labels))
    order = sorted(range(len(labels)), key=lambda at: scores[at] or 0.0, reverse=True)
    lead, second = order[0], order[1]
    over = "all suites" if total is not None else f"{len(suites)} suites" if len(suites) > 1 else suites[0].name
    lost = [f"{row.name} ({labels[row.best]})" for row in suites if row.best is not None and _behind(row, lead)]
    text = f"{labels[lead]} has the best score over {over}, {scores[lead] or 0.0:.3g}"
    if others := scores[second]:
        times = (scores[lead] or 0.0) / others
        text += f", {times:.3g} times {labels[second]}" if times >= _NO_TIE else f", the same as {labels[second]}"
    text += f"; best in {len(suites) - len(lost)} of {len(suites)}" if len(suites) > 1 else ""
    return [f"{text}, but not in {', '.join(lost)}." if lost else f"{text}.", _ONE_RUN]


def _behind(row: Row, drive: int) -> bool:
    """True if another drive has a higher score there, or this one has none."""
    best, own = row.scores[row.best or 0] or 0.0, row.scores[drive]
    return own is None or best >= _NO_TIE * own


def _means(rows: Sequence[Row], drives: int) -> list[float | None]:
    """Geometric mean of each drive's scores of suites that all drives have."""
    common = [row for row in rows if all(score for score in row.scores)]
    if not common:
        return [None] * drives
    return [prod(row.scores[at] or 0.0 for row in common) ** (1 / len(common)) for at in range(drives)]


def _head(label: str, name: str, *, alone: bool) -> str:
    return name if alone else f"{label}: {name}"


def _number(value: float | None) -> "Content":
    """Three significant digits: a drive repeats its score within some per cent."""
    from flashweir.reports.model import Cell

    return None if value is None else Cell(f"{value:,.3g}", value)
