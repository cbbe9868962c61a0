"""Section of a report on the slowest requests, for results that explain them."""

from collections.abc import Mapping, Sequence
from typing import Any

from flashweir.charts.names import isolated
from flashweir.reports.cells import shown
from flashweir.reports.model import Block, Cell, Details, Section, Table, Text
from flashweir.tails import LEGEND, Tail, drawn, tails

_COLUMNS = ("run", "operation", "waited for", "of", "mean", "share", "requests")


def tail_sections(results: Sequence[tuple[str, Mapping[str, Any]]]) -> list[Section]:
    """A finding for each operation, the commands waited for, and examples on the time of their dies."""
    found = [(name, result["explain"], tail) for name, result in results if result.get("explain")
             for tail in tails(result["explain"])]  # fmt: skip
    if not found:
        return []
    several = len(results) > 1
    blocks: list[Block] = [
        Text(f"{f'{isolated(name)}: ' if several else ''}{explained['percentile']}: {tail.finding}.")
        for name, explained, tail in found
    ]
    rows = [
        [name, tail.operation, row["command"], row["of"] or "", shown("mean_us", row["mean_us"]),
         Cell(f"{row['share']:.1%}", row["share"]), row["requests"]]
        for name, _, tail in found
        for row in tail.entry["waited_for"]
    ]  # fmt: skip
    if rows:
        first = 0 if several else 1
        blocks.append(Table("Commands waited for", _COLUMNS[first:], [row[first:] for row in rows]))
    for name, _, tail in found:
        if tail.entry["examples"]:
            title = f"{f'{name}: ' if several else ''}{tail.operations} on the time of their dies"
            blocks.append(Details(title, _examples(tail)))
    return [Section("The slowest requests", blocks)]


def _examples(tail: Tail) -> str:
    examples = ("\n".join(drawn(example, tail.operation)) for example in tail.entry["examples"])
    return "\n\n".join([*examples, LEGEND])
