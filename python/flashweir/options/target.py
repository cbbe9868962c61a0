"""Options of what works on a drive: replay, benchmark, probe, diagnosis by tests and collection."""

import os
from collections.abc import Sequence
from typing import Annotated, Literal

from flashweir.options.option import Option

AnyPath = str | os.PathLike[str]
Timing = Literal["original", "asap", "closed"]
Engine = Literal["io_uring", "sync"]
Method = Literal["none", "snia", "random"]
Tracer = Literal["auto", "tracefs", "bpftrace", "blktrace"]

Erase = Annotated[
    AnyPath | None,
    Option(
        "text",
        "Name of the target again: permission to destroy its data.",
        doc="the target's own name once more: real drives and files that hold data are refused without it, those in"
        " use also with it.",
        row="the target's name again: what is on it may be destroyed. A target in use"
        " [is refused all the same](../concepts/safety.md)",
        metavar="TARGET",
        also=object,
    ),
]
Seed = Annotated[
    int,
    Option(
        "whole",
        "Seed of written data, random addresses and a simulated drive.",
        doc="of what is written, of random addresses, of preconditioning, and of a simulated drive.",
        row="of what is written, of random addresses, of preconditioning, and of a simulated drive",
        metavar="N",
    ),
]
ReplayTiming = Annotated[
    Timing | None,
    Option(
        "text",
        "Submission times: original, asap or closed.",
        doc='`"original"`, at the trace\'s times; `"asap"`, as fast as the target takes requests; `"closed"`, with'
        ' `depth` of them outstanding. Without it the original times, or `"closed"` for a job file without rates, with'
        " its `iodepth`.",
        row="`original`: at the trace's times; `asap`: as fast as the target takes requests; `closed`: with `--depth`"
        " of them outstanding",
        metavar="original|asap|closed",
        choices=("original", "asap", "closed"),
    ),
]
Scale = Annotated[
    float,
    Option(
        "number",
        "Factor on the times of the trace: 0.5 is twice as fast.",
        doc="factor on the trace's times: 0.5 is twice as fast.",
        row="the trace's times multiplied by F; with `original`",
        metavar="F",
    ),
]
Depth = Annotated[
    int | None,
    Option(
        "whole",
        "Maximum number of outstanding requests.",
        doc="maximum number of outstanding requests: 256 at original times (on simulated drives any number), 64 with"
        ' `"asap"`, 1 with `"closed"`.',
        row="maximum number of outstanding requests, up to 4096: 256 with `original` (on simulated drives any number),"
        " 64 with `asap`, 1 with `closed`",
        metavar="N",
        low=1,
    ),
]
ReplayEngine = Annotated[
    Engine,
    Option(
        "text",
        "I/O interface for real drives.",
        doc='I/O interface for real drives: `"io_uring"`, or `"sync"`, one system call after the other.',
        row="`io_uring`, or `sync`: one system call after the other",
        metavar="io_uring|sync",
        choices=("io_uring", "sync"),
    ),
]
Buffered = Annotated[
    bool,
    Option(
        "flag",
        "Use the page cache.",
        doc="uses the page cache, for file systems that can't do without it.",
        row="the page cache stays in the way",
    ),
]
Only = Annotated[
    str | None,
    Option(
        "text",
        "Only these operations, such as read,write.",
        doc='only these operations, such as `"read,write"`.',
        row="only these operations: `read`, `write`, `trim`, `flush`, and those of zones, such as `append`",
        metavar="OPS",
    ),
]
Limit = Annotated[
    int | None,
    Option("whole", "Only the first N requests.", doc="only so many requests.", row="only the first N requests",
           metavar="N", low=1),
]  # fmt: skip
Wrap = Annotated[
    bool,
    Option(
        "flag",
        "Fold addresses beyond the target into it.",
        doc="folds addresses beyond the target into it, instead of refusing them.",
        row="folds addresses beyond the target into it",
    ),
]
Size = Annotated[
    int | str | None,
    Option(
        "text",
        "Size of a file to be made.",
        doc='of a file that is made, bytes or text such as `"1GiB"`.',
        row="makes the file `TARGET`, or makes it larger: bytes, or text such as `1GiB`",
        metavar="BYTES",
        also=object,
    ),
]
Precondition = Annotated[
    Method,
    Option(
        "text",
        "State before the replay.",
        doc='writes before the replay: `"snia"`, twice the capacity in order; `"random"`, all of it once in random'
        " order.",
        row="[what is written before](../guide/replay.md#into-a-known-state-first)",
        metavar="none|snia|random",
        choices=("none", "snia", "random"),
    ),
]
UntilSteady = Annotated[
    bool,
    Option(
        "flag",
        "Repeat the preconditioning in rounds until the rate is steady.",
        doc="repeats it in rounds until the rate is steady, 25 at most.",
        row="repeats it in rounds until the rate is steady, 25 at most",
    ),
]
Log = Annotated[
    AnyPath | None,
    Option(
        "path",
        "Write a log of every request.",
        doc="Parquet file with a row for every request.",
        row="a log of every request; while it is made it is `F.parquet.part`",
        metavar="F.parquet",
        flags=("--log", "-o"),
    ),
]
# The output of what measures a drive, or reads the configuration of one.
DEVICE_FILE = Option("path", "The device file to write.", metavar="F.toml", flags=("-o", "--output"))
DryRun = Annotated[
    bool,
    Option(
        "flag",
        "Print the plan, and do nothing.",
        doc="returns the plan, and does nothing.",
        row="prints the plan: requests, bytes, range, time, and refusals",
    ),
]
Duration = Annotated[
    float | None,
    Option(
        "number",
        "Duration in seconds; default: until Ctrl-C.",
        doc="ends it after so many seconds.",
        row="ends it after S seconds; otherwise Ctrl-C or SIGTERM does",
        metavar="S",
        flags=("--duration",),
        also=object,
    ),
]
CollectMethod = Annotated[
    Tracer,
    Option(
        "text",
        "Tracer; auto takes the first of the others that works.",
        doc="`tracefs`, `bpftrace`, `blktrace`, or `auto` for the first of them that works.",
        row="`tracefs`, `bpftrace`, `blktrace`, or `auto`: the first of them that works",
        metavar="auto|tracefs|bpftrace|blktrace",
        choices=("auto", "tracefs", "bpftrace", "blktrace"),
    ),
]
Relative = Annotated[
    bool,
    Option(
        "flag",
        "Count sectors from the start of the partition, not of its disk.",
        doc="counts sectors from the start of the partition, not of its disk.",
        row="counts sectors from the start of the partition, not of its disk",
    ),
]
AllowDrops = Annotated[
    bool,
    Option(
        "flag",
        "Accept lost events; their number is recorded.",
        doc="takes a trace with lost events for a result; their number is `lost_events`.",
        row="takes a trace with lost events, and records how many; without it they are a failure (exit code 1) and the"
        " trace is kept",
        in_spec=False,
    ),
]
BufferKb = Annotated[
    int | None,
    Option(
        "whole",
        "Buffer of the kernel for each CPU.",
        doc="the kernel's buffer for each CPU, KiB.",
        row="the kernel's buffer for each CPU",
        metavar="KIB",
    ),
]

_Files = str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | None
HealthBefore = Annotated[
    _Files,
    Option(
        "path",
        "Health log before the run: JSON of nvme-cli or smartctl; repeatable.",
        doc="health logs of the drive before the run, JSON of nvme-cli or smartctl, a file or several; without them a"
        " drive with such logs is asked for its own.",
        row="Health log before the run: JSON of nvme-cli or smartctl; repeatable",
        metavar="FILE",
        also=object,
        several=True,
        in_spec=False,
    ),
]
HealthAfter = Annotated[
    _Files,
    Option(
        "path",
        "The same log after it; read at the end of the run.",
        doc="the same logs after it; read at the end of the run.",
        row="The same log after it; read at the end of the run",
        metavar="FILE",
        also=object,
        several=True,
        in_spec=False,
    ),
]
