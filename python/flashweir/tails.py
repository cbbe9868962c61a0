"""The slowest requests of a run (`simulate --explain p99.9`): sentences, and the time of a die as a line of letters."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from flashweir.parts import LABELS
from flashweir.submission import OPERATIONS

if TYPE_CHECKING:
    from flashweir.sweeps.frame import SweepFrame

_WIDTH = 60
_COMMANDS = 6
# A letter for each command, lower case; those of the request itself are in upper case.
_LETTERS = {"read": "r", "program": "w", "read-modify-write": "w", "copy": "c", "erase": "e"}
_MAPPING = "m"
_NOTHING = "."
# The share of a stretch from which on it is not idle.
_SEEN = 0.25
LEGEND = "r read, w write, c copy of a collection, e erase, m map; upper case: the request itself; . idle"


@dataclass(frozen=True)
class Tail:
    """The slowest requests of an operation.

    Attributes:
        operation: of the requests.
        entry: the part of the result's `explain` about it.
    """

    operation: str
    entry: Mapping[str, Any]

    @property
    def operations(self) -> str:
        """The operation's name of several: `flushes`."""
        return f"{self.operation}{'es' if self.operation.endswith('sh') else 's'}"

    @property
    def finding(self) -> str:
        """Main cause of the slowest requests, in a sentence."""
        entry = self.entry
        slowest = f"the slowest {entry['requests']:,} of {entry['of']:,} {self.operations}"
        if not entry["max_us"]:
            return f"{slowest} took no time"
        (cause, count) = next(iter(entry["causes"].items()))
        share = entry["parts_us"][cause] / entry["mean_us"] if entry["mean_us"] else 0.0
        each = f"{count:,} of them" if count < entry["requests"] else "each" if count > 1 else "it"
        return (
            f"{slowest} took {_us(entry['from_us'])} to"
            f" {_us(entry['max_us'])}; {share:.0%} of that is {LABELS[cause]}, the largest part of {each}"
        )

    @property
    def left_out(self) -> int:
        """Requests of the percentile that are not explained, for being too many."""
        return int(self.entry["left_out"])


def tails(explained: Mapping[str, Any]) -> list[Tail]:
    """The operations that are explained."""
    return [Tail(operation, explained[operation]) for operation in OPERATIONS if explained.get(operation)]


def print_tails(explained: Mapping[str, Any], console: Console) -> None:
    """Prints what the slowest requests waited for, and the examples on the time of their dies."""
    for tail in tails(explained):
        console.print(f"\n{explained['percentile']}: {tail.finding}", highlight=False, markup=False)
        if tail.left_out:
            console.print(f"{tail.left_out:,} more are not explained", highlight=False, markup=False)
        if tail.entry["waited_for"]:
            console.print(_waited_table(tail.entry["waited_for"]))
        for example in tail.entry["examples"]:
            console.print()
            for line in drawn(example, tail.operation):
                console.print(line, highlight=False, markup=False, soft_wrap=True)
    if any(tail.entry["examples"] for tail in tails(explained)):
        console.print(LEGEND, highlight=False, markup=False)


def print_tails_of(frame: "SweepFrame", console: Console) -> None:
    """Prints the findings of a comparison's runs that explain their slowest requests: each policy's first seed.

    Runs end in any order.

    Args:
        frame: what the comparison left, with its runs.
        console: where to.
    """
    if not (frame.meta or {}).get("spec", {}).get("explain"):
        return
    first: dict[tuple[str, str], tuple[int, Mapping[str, Any]]] = {}
    for row, result in frame.results():
        run, seed = (str(row["workload"]), str(row["policy"])), int(row["seed"])
        if run not in first or seed < first[run][0]:
            first[run] = (seed, result["explain"])
    for (workload, policy), (seed, explained) in sorted(first.items(), key=lambda item: item[0]):
        for tail in tails(explained):
            place = f"{workload}, {policy}, seed {seed}"
            console.print(f"\n{place}: {tail.finding}", highlight=False, markup=False)
            if tail.entry["waited_for"]:
                console.print(_waited_table(tail.entry["waited_for"]))


def _waited_table(rows: Sequence[Mapping[str, Any]]) -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column("waited for")
    table.add_column("of")
    for head in ("mean", "share", "requests"):
        table.add_column(head, justify="right")
    for row in rows[:_COMMANDS]:
        cells = (_us(row["mean_us"]), f"{row['share']:.1%}", f"{row['requests']:,}")
        table.add_row(row["command"], row["of"] or "", *cells)
    return table


def drawn(example: Mapping[str, Any], operation: str) -> Iterator[str]:
    """An example as lines: the request, and what its die did from its issue to its end."""
    tenant = f" of {example['tenant']}" if example["tenant"] else ""
    parts = sorted(((us, name) for name, us in example["parts_us"].items() if us), reverse=True)[:3]
    went = ", ".join(f"{LABELS[name]} {_us(us)}" for us, name in parts)
    where = f"{example['bytes']:,} bytes at {example['offset_bytes']:,}, at {_us(example['issue_us'])}"
    yield f"request {example['request']:,}{tenant}, {operation} of {where}: {_us(example['latency_us'])} ({went})"
    yield f"die {example['die']:<6} |{''.join(_cells(example))}|"
    first, last = _us(_shown_from(example)), _us(example["latency_us"])
    yield f"{'':<10} {first}{last:>{_WIDTH + 2 - len(first)}}"


def _shown_from(example: Mapping[str, Any]) -> float:
    """When the drawing begins, in us after the issue: with the request, or the first command if there were too many."""
    if example["all_commands"] or not example["commands"]:
        return 0.0
    return float(max(example["commands"][0]["start_us"] - example["issue_us"], 0.0))


def _cells(example: Mapping[str, Any]) -> list[str]:
    """A letter for each stretch of time: what the die did for most of it; the request itself always shows."""
    before = _shown_from(example)
    start, width = example["issue_us"] + before, max(example["latency_us"] - before, 1e-3) / _WIDTH
    cells: list[dict[str, float]] = [{} for _ in range(_WIDTH)]
    for command in example["commands"]:
        letter = letter_of(command)
        first, last = ((command[end] - start) / width for end in ("start_us", "end_us"))
        for cell in range(max(int(first), 0), min(int(last) + 1, _WIDTH)):
            shown = max(min(last, cell + 1) - max(first, cell), 0.0) + letter.isupper()
            cells[cell][letter] = cells[cell].get(letter, 0.0) + shown
    return [max(cell, key=lambda letter: cell[letter]) if sum(cell.values()) > _SEEN else _NOTHING for cell in cells]


def letter_of(command: Mapping[str, Any]) -> str:
    """The letter of a command in a drawing."""
    kind, _, purpose = command["command"].partition(" ")
    letter = _MAPPING if purpose == "mapping" else _LETTERS.get(kind, "?")
    return letter.upper() if command["of"] == "the same request" else letter


def _us(us: float) -> str:
    """A time in a unit that suits."""
    for scale, unit in ((1e6, "s"), (1e3, "ms")):
        if us >= scale:
            return f"{us / scale:,.2f} {unit}"
    return f"{us:,.1f} us"
