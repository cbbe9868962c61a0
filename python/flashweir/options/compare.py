"""Options of comparisons of policies."""

import os
from typing import Annotated, Literal

from flashweir.options.option import Option

AnyPath = str | os.PathLike[str]

Baseline = Annotated[
    str | None,
    Option(
        "text",
        "Policy to compare with; default: the first.",
        doc="the policy that the others are compared with; the first one if not given.",
        row="the policy that the others are compared with; the first one if not given",
        metavar="NAME",
    ),
]
Latency = Annotated[
    Literal["write", "read"],
    Option(
        "text",
        "Operation of the latencies.",
        doc='"write" or "read": the operation whose latencies are compared.',
        row="the operation whose latencies are compared (`write`)",
        metavar="write|read",
        choices=("write", "read"),
    ),
]
Metric = Annotated[
    str | None,
    Option(
        "text",
        "Metrics of life beside the others: tbw,years,cost_per_tbw.",
        doc='`"tbw"`, `"years"`, `"cost_per_tbw"`, or several with commas: the life of the drive, by its mean wear'
        " (docs/reference/sweep.md); with `cycles`.",
        row="adds metrics of [life](sweep.md#life) to the others: `tbw`, `years`, `cost_per_tbw`, with commas between;"
        " all that are known with `--cycles` alone",
        metavar="LIST",
    ),
]
Cycles = Annotated[
    float | None,
    Option(
        "number",
        "Rated program/erase cycles, for metrics of life.",
        doc="rated program/erase cycles of a block.",
        row="rated program/erase cycles of a block, for metrics of life",
        metavar="N",
    ),
]
Price = Annotated[
    float | None,
    Option(
        "number",
        "Price of the drive, for cost_per_tbw.",
        doc="of the drive, for `cost_per_tbw`.",
        row="price of the drive, for `cost_per_tbw`",
        metavar="P",
    ),
]
PerDay = Annotated[
    str | float | None,
    Option(
        "text",
        "Bytes that the host writes a day, for years; default: the workload's.",
        doc='bytes that the host writes a day, such as `"500GB"`, for `years`; the pace of the workload if not given.',
        row="bytes that the host writes a day, for `years`; the pace of the workload if not given",
        metavar="SIZE",
        also=object,
    ),
]
Directory = Annotated[
    AnyPath | None,
    Option(
        "path",
        "Directory of the runs, as of a sweep.",
        doc="where the runs are kept.",
        row="keeps the runs: a [sweep's directory](sweep.md#the-directory), which `flashweir report` reads; `--resume`"
        " goes on in it",
        metavar="DIR",
        flags=("-o", "--output"),
    ),
]
