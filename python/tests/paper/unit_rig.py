"""The small drives of the unit tests behind the papers' examples, run through the package: commands and completions."""

import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from perfetto_trace import decode

from flashweir import simulate

MS = 1_000_000
READ, PROGRAM, TRANSFER = 10_000, 100_000, 5_000
WRITE, FETCH = TRANSFER + PROGRAM, READ + TRANSFER
# A page is read, crosses the bus twice, and is programmed.
COPY = READ + 2 * TRANSFER + PROGRAM
SECTORS = 8
# One die, 64 pages in blocks of 4, nothing written, requests at their own times.
BASE: Mapping[str, Any] = {
    "channels": 1,
    "page": "4KiB",
    "pages_per_block": 4,
    "capacity": "256KiB",
    "op_ratio": 0.5,
    "host.mode": "open",
    "timing.read": "10us",
    "timing.program": "100us",
    "timing.erase": "1ms",
    "timing.bus": 1,
    "timing.command": "904ns",
    "precondition": "empty",
}


class Access(NamedTuple):
    """A request: its time, W or R, its first sector and sectors."""

    time_ns: int
    op: str
    lba: int
    sectors: int = SECTORS


class Span(NamedTuple):
    """A command of a die: read, program, copies or erase, its pages, start and end."""

    kind: str
    pages: int
    start: int
    end: int


@dataclass(frozen=True)
class Outcome:
    """Commands of each die, its name (`die CHANNEL.DIE`), and when each request was done."""

    dies: list[list[Span]]
    names: list[str]
    completions: list[int]

    def kinds(self, die: int, *, since: int = 0) -> list[tuple[str, int]]:
        """Kinds and pages of a die's commands that start at a time or later."""
        return [(one.kind, one.pages) for one in self.dies[die] if one.start >= since]


def write(time_ns: int, page: int, pages: int = 1) -> Access:
    return Access(time_ns, "W", page * SECTORS, pages * SECTORS)


def read(time_ns: int, page: int) -> Access:
    return Access(time_ns, "R", page * SECTORS)


def run(settings: Mapping[str, Any], requests: Iterable[Access]) -> Outcome:
    """Runs requests on a drive with these settings over those of `BASE`; dies that did nothing are left out."""
    with tempfile.TemporaryDirectory() as folder:
        trace, timeline = Path(folder) / "requests.csv", Path(folder) / "run.pftrace"
        lines = (f"{one.time_ns},{one.op},{one.lba},{one.sectors}\n" for one in requests)
        trace.write_text("".join(lines), encoding="ascii")
        columns = "time=0:ns,op=1,lba=2:sectors,size=3:sectors"
        drive = {**BASE, **settings}
        result = simulate(trace, columns=columns, timeline=timeline, requests=True, verify=True, set=drive)
        slices = decode(timeline).slices("die ")
    tracks = sorted({one.track for one in slices})
    dies = [
        sorted(
            (Span(one.name.split()[0], one.facts["pages"], one.start, one.end) for one in slices if one.track == track),
            key=lambda span: span.start,
        )
        for track in tracks
    ]
    return Outcome(dies, tracks, result.requests["completion_ns"].to_list())


def apart(pages: Sequence[int], spacing_ns: int = 10 * MS) -> list[Access]:
    """Writes of single pages, so far apart that each ends before the next."""
    return [write(number * spacing_ns, page) for number, page in enumerate(pages)]
