"""Options for reading traces, which every function has that reads one."""

from collections.abc import Sequence
from typing import Annotated

from flashweir.options.option import Option

Format = Annotated[
    str | None,
    Option(
        "text",
        "Trace format, instead of detecting it.",
        doc="the trace format, where detection is wrong.",
        row="the [trace format](formats.md), instead of detecting it",
        example="msr",
        metavar="F",
        in_sweeps=True,
    ),
]
Columns = Annotated[
    str | None,
    Option(
        "text",
        "Columns of any other table: time=3:us,op=1,lba=4:bytes,size=5:bytes",
        doc='describes any other table, as `"time=3:us,op=1,lba=4:bytes,size=5:bytes"`.',
        row="describes any other table",
        example="time=3:us,op=1,lba=4:bytes,size=5:bytes",
        metavar="C",
        in_sweeps=True,
    ),
]
SkipBad = Annotated[
    int,
    Option(
        "whole",
        "Maximum number of unreadable lines.",
        doc="maximum number of unreadable lines.",
        row="tolerates up to N unreadable lines, and reports them",
        metavar="N",
        in_sweeps=True,
    ),
]
Hint = Annotated[
    str | Sequence[str] | None,
    Option(
        "text",
        "Give requests of a trace a placement handle: 'proc=rocksdb:compact*->3' (may be repeated)",
        doc='rules that give requests of a trace a placement handle, as `"proc=rocksdb:compact*->3"`: by process,'
        " file or address; one text may hold several between `;` (docs/reference/formats.md).",
        row="gives requests of a trace a placement handle by process, file or address, as `proc=rocksdb:compact*->3`"
        " ([rules](formats.md#placement-hints); may be repeated)",
        example="proc=rocksdb:compact*->3",
        metavar="RULE",
        also=Sequence,
        several=True,
        in_sweeps=True,
    ),
]
To = Annotated[
    str | None,
    Option(
        "text",
        "Format to write.",
        doc="format to write; that of the suffix if not given.",
        example="parquet",
        metavar="FORMAT",
    ),
]
