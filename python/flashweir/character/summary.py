"""Summary of a workload: one screen of 80 columns."""

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

_KIB = 1024
# Three digits suffice below.
_FOUR_DIGITS = 1000
# Width of what stands beside the names of traces.
_NUMBERS = 58
# Smaller shares get a decimal.
_SMALL = 0.1
_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
# Rows of shares: label and key; * stands for rewrite or reread.
_SHARES = (
    ("sequential", "sequential_share"),
    ("overwritten or read again", "*_share"),
    ("aligned", "aligned_share"),
    ("small", "small_share"),
    ("first access, sequential", "first_sequential_share"),
    ("first access, random", "first_random_share"),
    ("overwritten or read again, sequential", "*_sequential_share"),
    ("overwritten or read again, random", "*_random_share"),
)


def size(number: float | None) -> str:
    """Bytes in three digits and a unit: `4 KiB`, `1.84 GiB`; `-` for None."""
    if number is None:
        return "-"
    value, unit = float(number), 0
    while value >= _KIB and unit < len(_UNITS) - 1:
        value, unit = value / _KIB, unit + 1
    return f"{value:.3g} {_UNITS[unit]}" if value < _FOUR_DIGITS else f"{value:.0f} {_UNITS[unit]}"


def percent(share: float | None) -> str:
    """A share from 0 to 1 as people read it: one decimal where it is small; `-` for None."""
    if share is None:
        return "-"
    return f"{share:.1%}" if 0 < share < _SMALL else f"{share:.0%}"


def sizes_of(side: Mapping[str, Any], most: int = 3) -> str:
    """The most frequent lengths, each with its share of the requests."""
    common = side["common_sizes"][:most]
    return ", ".join(f"{size(one['bytes'])} ({percent(one['requests_share'])})" for one in common) or "-"


def print_character(character: Mapping[str, Any], console: Console) -> None:
    """Prints a workload's counts, shares and suite."""
    count, seconds = character["requests"], character["duration_s"]
    others = [(character["trims"], "discards"), (character["flushes"], "flushes")]
    named = "".join(f", {number:,} {what}" for number, what in others if number)
    console.print(f"{count:,} requests in {seconds:,.3f} s{named}", highlight=False)
    console.print()
    sides = [("writes", character["writes"], "rewrite"), ("reads", character["reads"], "reread")]
    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column("shares are of bytes")
    for name, _, _ in sides:
        table.add_column(name, justify="right")
    table.add_row("requests", *(f"{side['requests']:,}" for _, side, _ in sides))
    table.add_row("bytes", *(size(side["bytes"]) for _, side, _ in sides))
    table.add_row("distinct bytes", *(size(side["footprint_bytes"]) for _, side, _ in sides))
    for label, key in _SHARES:
        table.add_row(label, *(percent(side[key.replace("*", again)]) for _, side, again in sides))
    table.add_row("sizes (of requests)", *(sizes_of(side).replace(", ", "\n") for _, side, _ in sides))
    console.print(table)
    suite = character["suite"]
    console.print()
    text = f"suite: {suite['name'] or 'none'}. {suite['reason']}"
    console.print(textwrap.fill(text, max(40, console.width)), highlight=False, markup=False)


def print_table(rows: Sequence[Mapping[str, Any]], console: Console) -> None:
    """Prints a line a trace; those that could not be read come last, with the reason."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column("trace", overflow="ellipsis", no_wrap=True, max_width=max(16, console.width - _NUMBERS))
    for name in ("requests", "written", "seq.", "rewr.", "align."):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("suite")
    for row in rows:
        if row["error"] is None:
            table.add_row(
                escape(row["trace"]),
                f"{row['requests']:,}",
                size(row["written"]),
                *(percent(row[name]) for name in ("sequential", "rewrites", "aligned")),
                row["suite"] or "-",
            )
    console.print(table)
    for row in rows:
        if row["error"] is not None:
            console.print(f"{row['trace']}: {row['error']}", highlight=False, markup=False, soft_wrap=True)
