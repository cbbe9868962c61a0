"""Options of the benchmark."""

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
