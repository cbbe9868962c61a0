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
