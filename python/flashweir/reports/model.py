"""Contents of a report, apart from how it is drawn. Every text is plain text, which the page escapes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from flashweir.charts.model import Chart


class Cell(NamedTuple):
    """A cell whose text is not what it is sorted by."""

    text: str
    value: float | None


Content = str | int | float | bool | Cell | None


@dataclass(frozen=True)
class Text:
    """A paragraph; `alert` sets it apart as what should not be missed, `lead` as the finding of the page."""

    text: str
    alert: bool = False
    lead: bool = False


@dataclass(frozen=True)
class Facts:
    """Terms, and what each is; a term may have several values, a line each."""

    facts: Sequence[tuple[str, str | Sequence[str]]]


@dataclass(frozen=True)
class Table:
    """Named columns of any contents; columns of numbers are aligned to the right. Readers can sort by any column.

    `rest` says where the rows are that a page would be too large with. One that `fits` breaks its texts into lines
    rather than be wider than the page.
    """

    caption: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Content]]
    rest: str = ""
    fits: bool = False


@dataclass(frozen=True)
class Figure:
    """A chart, with its note."""

    chart: Chart


@dataclass(frozen=True)
class Details:
    """Text that keeps its lines, folded away under its title."""

    title: str
    text: str


Block = Text | Facts | Table | Figure | Details


@dataclass(frozen=True)
class Section:
    """A part of a report under a heading, which the table of contents lists."""

    title: str
    blocks: Sequence[Block]
