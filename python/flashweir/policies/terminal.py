"""A comparison, and who won a trial, on a terminal: bars of IOPS, tables with intervals, the Pareto front."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from flashweir.policies.matrix import HEADINGS
from flashweir.policies.outcome import QUANTILES_SAID, Entry, Outcome, change, label, outcomes
from flashweir.tables import STYLES, print_bars, print_columns, with_interval

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from flashweir.policies.matrix import Matrix
    from flashweir.sweeps.frame import SweepFrame

_FRONT = "On the Pareto front of IOPS, p99.9 latency and write amplification: "


def print_comparison(frame: "SweepFrame", console: "Console") -> None:
    """Prints every workload's bars, tables and front, then what was refused and what there is to note."""
    meta = frame.meta or {}
    for place, one in enumerate(outcomes(frame)):
        if place:
            console.print()
        _print_outcome(one, console)
    _print_rest(meta.get("refused") or {}, [*(meta.get("notes") or ()), QUANTILES_SAID], console)


def print_matrix(found: "Matrix", console: "Console") -> None:
    """Prints who won on each workload, seen and unseen ones apart, and since when the candidate is frozen."""
    _say(found.heading, console)
    for title, verdicts in found.parts:
        if not verdicts:
            continue
        _say(f"\n{title}", console)
        left = {"workload": [one.workload for one in verdicts]}
        cells = [one.cells(console) for one in verdicts]
        columns = {name: [_styled(row[place]) for row in cells] for place, name in enumerate(HEADINGS)}
        print_columns(left, None, [{name: column} for name, column in columns.items()], console)
    console.print()
    for line in found.totals_said:
        _say(line, console)
    _print_rest(found.refused, [*found.frozen.said, *found.notes], console)


def _print_outcome(one: Outcome, console: "Console") -> None:
    from rich.text import Text

    if all(entry.values["iops"][0] is None and not entry.failed for entry in one.entries):
        _say(f"{one.workload}: {NO_TIME}", console)
        return
    said = "" if len(one.entries) == 1 else f", against {one.baseline}"
    _say(f"{one.workload}{said}\n", console)
    bars = []
    for entry in one.entries:
        value, low, high = entry.values["iops"]
        bars.append(
            (entry.policy, value, f"{with_interval(value, low, high, console)} IOPS" if value else _failed(entry))
        )
    print_bars(bars, console)
    console.print()
    names = {"policy": [entry.policy + (" *" if entry.on_front else "") for entry in one.entries]}
    groups: list[Mapping[str, list[Text]]] = []
    for metric in one.metrics:
        cells = [Text(with_interval(*entry.values[metric], console)) for entry in one.entries]
        group = {label(metric): cells}
        if len(one.entries) > 1:
            group["change"] = [_change(entry, metric, one.baseline) for entry in one.entries]
        groups.append(group)
    print_columns(names, None, groups, console)
    if len(one.entries) > 1 and one.front:
        _say(f"\n* {_FRONT}{', '.join(one.front)}", console)


def _change(entry: Entry, metric: str, baseline: str) -> "Text":
    from rich.text import Text

    text, judged = change(None if entry.policy == baseline else entry.changes.get(metric, _NOTHING))
    return Text(text, style=STYLES.get(judged, ""))


# Printed where a workload takes no time at all.
NO_TIME = (
    "nothing to compare, as it takes no time: all that it reads was never written, or trimmed; "
    "--set precondition=on-read, or full, puts data there"
)
# A policy of which no run has ended.
_NOTHING = {"difference": None}


def _failed(entry: Entry) -> str:
    return f"{entry.failed} of {entry.runs} runs failed" if entry.failed else "-"


def _styled(cell: tuple[str, str]) -> "Text":
    from rich.text import Text

    return Text(cell[0], style=STYLES.get(cell[1], ""))


def _print_rest(refused: Mapping[str, str], notes: "object", console: "Console") -> None:
    if refused:
        _say(f"\nCombinations without a drive, not run ({len(refused)}):", console)
        for name, reason in refused.items():
            _say(f"  {name}: {reason}", console)
    for place, note in enumerate(notes if isinstance(notes, list | tuple) else ()):
        _say(f"{'' if place else chr(10)}{note}", console)


def _say(text: str, console: "Console") -> None:
    console.print(text, highlight=False, markup=False, soft_wrap=True)
