"""Options of what presents results: report, bundle and reproduction."""

import os
from pathlib import Path
from typing import Annotated, Literal

from flashweir.options.option import Option

AnyPath = str | os.PathLike[str]
FORMATS = ("png", "svg", "pdf")

Page = Annotated[
    AnyPath | None,
    Option(
        # Text: a path would lose the slash at the end of a folder's name.
        "text",
        "Write a report.",
        doc="the page; `None` writes none.",
        row="writes the report",
        metavar="FILE.html",
        flags=("-o", "--output"),
        also=os.PathLike,
    ),
]
FIGURES = Option(
    "path",
    "Write each figure as a file of its own.",
    doc="a folder for the figures, which is made if it is not there; `None` writes none.",
    row="writes each figure as a file of its own, named for its contents, such as `latency-cdf-read.svg`; makes the"
    " folder if there is none",
    metavar="DIR",
)
Figures = Annotated[AnyPath | None, FIGURES]
# Of commands alone: in Python a result writes its page.
Html = Annotated[
    Path | None,
    Option("path", "Write a page with figures.", row="writes a page with figures", metavar="FILE"),
]
Format = Annotated[
    Literal["svg", "png", "pdf"],
    Option(
        "text",
        "Format of --figures.",
        doc="of the figures.",
        row="of these files; default `svg`",
        metavar="png|svg|pdf",
        choices=FORMATS,
    ),
]
Traces = Annotated[
    bool,
    Option(
        "flag",
        "Include the content of traces. Many licences forbid to pass traces on.",
        doc="puts the content of traces into it, and not their hashes alone. Many licences forbid to pass traces on.",
        row="includes the content of traces, and not their hashes alone. Many licences forbid to pass traces on",
    ),
]
Report = Annotated[
    AnyPath | None,
    Option(
        "path",
        "Include the page that report made of this.",
        doc="the page that `report` made of `source`.",
        row="includes the page that `flashweir report` made of the same source",
        metavar="PAGE.html",
    ),
]
Base = Annotated[
    AnyPath | None,
    Option(
        "path",
        "Folder that relative paths of traces and devices start from.",
        doc="the folder that paths of traces, mixes and devices start from; the current one, then that of `source`, if"
        " not given.",
        row="folder that relative paths of traces, mixes and devices start from; if not given the current one, else"
        " that of the source",
        metavar="DIR",
    ),
]
GivenColumns = Annotated[
    str | None,
    Option(
        "text",
        "The --columns that simulate was given.",
        doc="the description of a table that was given to `simulate`.",
        row="the `--columns` that `simulate` was given, which no result holds",
        metavar="C",
    ),
]
MissingTraces = Annotated[
    AnyPath | None,
    Option(
        "path",
        "Folder with the traces that the archive does not include.",
        doc="a folder with the traces that the archive does not include; they are found by content, under any name.",
        row="a folder with the traces that the bundle does not include, under any name",
        metavar="DIR",
    ),
]
Figure = Annotated[
    str | int | None,
    Option(
        "text",
        "Only the experiments of this figure or folder.",
        doc="runs the experiments of one figure alone: its number, or the name of an experiment's folder.",
        row="only the experiments of this figure: its number, or the name of a folder such as `table-3`",
        metavar="N",
        also=int,
    ),
]
Quick = Annotated[
    bool,
    Option(
        "flag",
        "Smaller drives, fewer points a curve.",
        doc="runs smaller drives with fewer points a curve.",
        row="smaller drives or shorter streams, and fewer points a curve, over the same ranges: under three"
        " minutes of CPU time for all papers",
    ),
]
Runs = Annotated[
    AnyPath | None,
    Option(
        "path",
        "Directory of the runs; existing runs are continued.",
        doc="where the runs go and stay; a call that was stopped goes on there. Without one they are not kept.",
        row="keeps the runs; a reproduction that was stopped goes on there, and one that is done is read again",
        metavar="DIR",
        flags=("-o", "--output"),
    ),
]
Experiments = Annotated[
    AnyPath | None,
    Option(
        "path",
        "Folder of experiments, instead of those that ship.",
        doc="a folder of experiments; those that ship if not given.",
        row="a folder of other experiments than those that ship",
        metavar="DIR",
    ),
]
RecordedTraces = Annotated[
    AnyPath | None,
    Option(
        "path",
        "Folder of recorded traces, which do not ship.",
        doc="the folder of recorded traces, which do not ship; without it they are looked for beside the source tree.",
        row="the folder of the recorded traces, which do not ship; without it they are looked for beside the source"
        " tree",
        metavar="DIR",
    ),
]
