"""A comparison, and who won a trial, as the report of its sweep."""

from pathlib import Path
from typing import TYPE_CHECKING

from flashweir.charts.model import Axis, Plot, Series
from flashweir.policies.matrix import HEADINGS
from flashweir.reports import finding
from flashweir.reports.model import Block, Cell, Content, Section, Table, Text

if TYPE_CHECKING:
    from flashweir.charts.model import Chart
    from flashweir.policies.matrix import Matrix, Verdict

_NAMED = 3
# The outcome, the difference that decided it, and the rest.
_ORDER = (0, 4, 2, 5, 6, 1, 3)
_COLUMNS = [HEADINGS[place] for place in _ORDER]


def write_trial(found: "Matrix", path: Path) -> None:
    """Writes the report of the trial's sweep, with who won before it."""
    from flashweir.reports import page, sweep

    opening = finding.section(_sentences(found), _changes(found))
    first, *rest = sweep.report_of_sweep(found.frame, found.frame.meta or {}, opening=opening)
    page.write(path, f"Trial {found.name}", [first, Section("Wins and losses", _blocks(found)), *rest])


def _sentences(found: "Matrix") -> list[str]:
    name, totals = found.trial.candidate, found.totals().values()
    won, tied, lost, all_ = (sum(total[key] for total in totals) for key in ("win", "tie", "loss", "workloads"))
    sentence = f"{name} wins {won} of {all_} workloads in IOPS, ties {tied} and loses {lost}"
    losses = [one.workload for one in found.verdicts if one.outcome == "loss"]
    where = f" ({', '.join(losses[:_NAMED])}{' and others' if len(losses) > _NAMED else ''})" if losses else ""
    return [f"{sentence}{where}.", *found.totals_said]


def _changes(found: "Matrix") -> "Chart | None":
    """Change of IOPS against the best rival on each workload, seen and unseen ones apart."""
    series = []
    for turn, (title, verdicts) in enumerate(found.parts):
        there = [one for one in verdicts if one.change is not None]
        ends = [[None if end is None else 100 * end for end in row]
                for row in ([one.low for one in there], [one.high for one in there])]  # fmt: skip
        if there:
            y = [100 * one.change for one in there if one.change is not None]
            names = [one.workload for one in there]
            series.append(Series(title, names, y, ends[0], ends[1], style="points", turn=turn))
    if not series:
        return None
    note = "Up is better; 0 is the best rival of each workload; bars are 95 % intervals over seeds."
    axes = Axis("workload", "category"), Axis("change of IOPS, %", from_zero=True)
    return Plot("finding-iops", f"{found.trial.candidate} against its best rival", *axes, series, note=note)


def _blocks(found: "Matrix") -> list[Block]:
    blocks: list[Block] = [Text(found.heading)]
    blocks += [
        Table(title, ["workload", *_COLUMNS], [_row(one) for one in verdicts], fits=True)
        for title, verdicts in found.parts
        if verdicts
    ]
    return [*blocks, *(Text(line) for line in found.frozen.said)]


def _row(one: "Verdict") -> list[Content]:
    values = (None, one.iops and one.iops.value, None, one.rival_iops and one.rival_iops.value, one.change, one.p999,
              one.write_amplification)  # fmt: skip
    cells = [Cell(text, value) if value is not None else text
             for (text, _), value in zip(one.cells(), values, strict=True)]  # fmt: skip
    return [one.workload, *(cells[place] for place in _ORDER)]
