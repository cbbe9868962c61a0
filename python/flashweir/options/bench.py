"""Options of the benchmark."""

from collections.abc import Sequence
from typing import Annotated

from flashweir.options.option import Option

State = Annotated[
    str,
    Option(
        "text",
        "State before each workload: empty, filled or as-is.",
        doc="what the drive is like before each workload: `empty` (TRIM; a simulated drive is new), `filled` (written"
        " once) or `as-is`.",
        metavar="S",
    ),
]
Pts = Annotated[
    Sequence[str] | None,
    Option(
        "text",
        "Steady-state tests of SNIA's specification instead: iops, throughput, latency, write-saturation,"
        " read-under-writes, patterns or all; may be repeated.",
        doc="steady-state tests of SNIA's specification instead of suites (docs/guide/steady-state.md): `iops`,"
        ' `throughput`, `latency`, `write-saturation`, `read-under-writes`, `patterns`, or `["all"]`.',
        row="Steady-state tests of SNIA's specification instead: iops, throughput, latency, write-saturation,"
        " read-under-writes, patterns or all; may be repeated",
        metavar="TEST",
        also=Sequence,
        several=True,
    ),
]
Name = Annotated[
    str | None,
    Option(
        "text",
        "Name of the drive in tables and pages; default: its model.",
        doc="name of the drive in tables and pages; the model of a block device if not given.",
        metavar="TEXT",
    ),
]
Scale = Annotated[
    float | None,
    Option(
        "number",
        "Size of the workloads, 0.01 to 1; of a minute of --pts.",
        doc="how much of the workloads and of their volume, hundredths from 0.01 to 1; what the drive has room for if"
        " not given.",
        metavar="X",
    ),
]
