"""A comparison, and who won a trial, as the report of its sweep."""

from pathlib import Path
from typing import TYPE_CHECKING

from flashweir.policies.matrix import HEADINGS
from flashweir.reports.model import Block, Cell, Content, Section, Table, Text

if TYPE_CHECKING:
    from flashweir.policies.matrix import Matrix, Verdict


def write_trial(found: "Matrix", path: Path) -> None:
    """Writes the report of the trial's sweep, with who won before it."""
    from flashweir.reports import build, page

    sections = build.report_of_sweep(found.frame, found.frame.meta or {})
    page.write(path, f"Trial {found.name}", [Section("Wins and losses", _blocks(found)), *sections])


def _blocks(found: "Matrix") -> list[Block]:
    blocks: list[Block] = [Text(found.heading), *(Text(line) for line in found.totals_said)]
    blocks += [
        Table(title, ["workload", *HEADINGS], [_row(one) for one in verdicts])
        for title, verdicts in found.parts
        if verdicts
    ]
    return [*blocks, *(Text(line) for line in found.frozen.said)]


def _row(one: "Verdict") -> list[Content]:
    values = (None, one.iops and one.iops.value, None, one.rival_iops and one.rival_iops.value, one.change, one.p999,
              one.write_amplification)  # fmt: skip
    cells = [Cell(text, value) if value is not None else text
             for (text, _), value in zip(one.cells(), values, strict=True)]  # fmt: skip
    return [one.workload, *cells]
