"""Options of one simulation."""

import os
from collections.abc import Sequence
from typing import Annotated

from flashweir.allocators import Allocator
from flashweir.options.option import Option

AnyPath = str | os.PathLike[str]

Seed = Annotated[
    int | None,
    Option(
        "whole",
        "Replace every seed.",
        doc="replaces every seed that the workload and the drive draw from.",
        row="replaces the seeds of workload and drive",
        metavar="N",
    ),
]
Verify = Annotated[
    bool,
    Option(
        "flag",
        "Check that every read returns the last write.",
        doc="checks that every read returns the last write.",
        row="checks that every read returns the last write ([verification](../concepts/verify.md))",
        in_sweeps=True,
    ),
]
Breakdown = Annotated[
    bool,
    Option(
        "flag",
        "Account for the parts of latencies.",
        doc="keeps the latency breakdown for `Result.latency_parts`: queue, buffer, mapping, waits by cause,"
        " bus, flash. Without events a run takes a tenth to a third longer then.",
        row="keeps the [latency breakdown](result.md#latency-breakdown), which `flashweir simulate` always does",
        on_command_line=False,
        in_sweeps=True,
    ),
]
Requests = Annotated[
    bool | AnyPath,
    Option(
        "path",
        "Write a log of every request.",
        doc="True keeps a log of every request for `Result.requests`; a path writes it there as Parquet.",
        row="writes a row for every request; in Python True keeps them for `Result.requests`",
        metavar="F.parquet",
        also=bool,
    ),
]
SaveState = Annotated[
    AnyPath | None,
    Option(
        "path",
        "Save the drive as the run leaves it.",
        doc="where to save the drive as the run leaves it, for `flashweir.serve` and `flashweir.Drive.load`.",
        row="saves the drive as the run leaves it, for [`serve`](serve.md#state) and `flashweir.Drive.load`",
        metavar="FILE",
    ),
]
Timeline = Annotated[
    AnyPath | None,
    Option(
        "path",
        "Write a Perfetto trace of dies and buses.",
        doc="where to write a Perfetto trace of what every die and bus did.",
        row="writes a Perfetto trace: commands and waits of every die and bus"
        " ([contents](result-files.md#the-timeline))",
        metavar="F",
    ),
]
Samples = Annotated[
    AnyPath | None,
    Option(
        "path",
        "Write samples of the drive.",
        doc="where to write samples of the drive over the run, a line of JSON each, as `flashweir ctl SOCKET sample`"
        " prints them: at most 600, however long the run is. `flashweir watch` plays them.",
        on_command_line=False,
    ),
]
TimelineFrom = Annotated[
    str | None,
    Option(
        "text",
        "Start of the timeline.",
        doc='leaves out of it what was before this time of the run, such as `"1.5s"`.',
        row="start of the timeline: a time of the run, such as `1.5s`",
        example="1.5s",
        metavar="T",
    ),
]
TimelineTo = Annotated[
    str | None,
    Option(
        "text",
        "End of the timeline.",
        doc="leaves out of it what comes after this time.",
        row="end of the timeline",
        example="20ms",
        metavar="T",
    ),
]
Explain = Annotated[
    str | None,
    Option(
        "text",
        "Explain the slowest requests, such as p99.9.",
        doc='a percentile such as `"p99.9"`: adds `explain` to the result, for each operation what its slowest requests'
        " waited for, which commands and whose, with examples (docs/reference/result.md). Implies `latency_parts`.",
        row="explains [the slowest requests](result.md#the-slowest-requests): the waits of those above a percentile"
        " such as `p99.9`",
        example="p99.9",
        metavar="pN",
        in_sweeps=True,
    ),
]
Activity = Annotated[
    bool | str,
    Option(
        "text",
        "Add the activity of each channel over time to the result.",
        doc="True adds `activity` to the result: what each channel did over time. A window of simulated time such as"
        ' `"10ms..20ms"`, of which either end may be left out, looks closer at that.',
        row="adds [the activity of each channel over time](result-files.md#activity-over-time) to the JSON: over the"
        " whole run (`all`; in Python True), or a window of simulated time such as `10ms..20ms`, `10ms..` or `..20ms`",
        example="10ms..20ms",
        metavar="all|FROM..TO",
        also=bool,
        in_sweeps=True,
    ),
]
PowerCut = Annotated[
    int | str | Sequence[str] | None,
    Option(
        "text",
        "Add the loss of a power cut at time T of the run (may be repeated), or of N random cuts.",
        doc="adds `power_cuts` to the result: what would be lost if power failed at these times of the run, as"
        ' `"1.5s"` or several of them, or at so many times drawn uniformly over it with `seed` (see'
        " docs/concepts/power-loss.md). The run itself goes on as it would without.",
        row="adds the [losses](result-files.md#power-cuts) of a [power cut](../concepts/power-loss.md) at time T of the"
        " run, such as `1.5s` (may be repeated), or at N random times",
        metavar="T|N",
        also=object,
        several=True,
    ),
]
Wrap = Annotated[
    bool,
    Option(
        "flag",
        "Fold addresses beyond the capacity into it.",
        doc="folds addresses beyond the drive into it, instead of refusing them.",
        row="folds addresses beyond the drive into it, instead of refusing them",
        in_sweeps=True,
    ),
]
Warmup = Annotated[
    str | None,
    Option(
        "text",
        "Remove the warm-up: mser-5, steady or requests=N.",
        doc='method that finds the warm-up, which the result leaves out: `"mser-5"`, `"steady"` or `"requests=N"` (see'
        " docs/concepts/warm-up.md). The result then has `warmup`, the removed part, and `series`.",
        row="leaves the run's [warm-up](../concepts/warm-up.md) out of the result: `mser-5`, `steady` or `requests=N`",
        example="mser-5",
        metavar="METHOD",
        in_sweeps=True,
    ),
]
ChannelAllocator = Annotated[
    Allocator | str | None,
    Option(
        "function",
        "Python function that assigns channels to tenants, called once a window.",
        doc="assigns channels to tenants, for `tenants.channels=external`, which it implies: a function that is called"
        ' once a window with its features and returns channels by tenant, or `"FILE.py:FUNCTION"` (see'
        " docs/guide/allocators.md).",
        row="[a Python function](../guide/allocators.md) that assigns channels to tenants, called once a window of"
        " requests; implies `tenants.channels=external`. The file is run",
        metavar="FILE.py:FUNCTION",
        in_spec=False,
    ),
]
Model = Annotated[
    AnyPath | None,
    Option(
        "path",
        "Model of tenants.channels=learned, instead of the shipped one.",
        doc="the model of `tenants.channels=learned`, made by `just learn-allocator` of the source tree; `None` is the"
        " shipped one.",
        row="model of `tenants.channels=learned`, [made by](../concepts/tenants.md#a-learned-allocator) `just"
        " learn-allocator`, instead of the shipped one",
        metavar="F.json",
    ),
]
Windows = Annotated[
    bool,
    Option(
        "flag",
        "Add each window of requests, and its channels, to the result.",
        doc="adds to `allocation` the features of each window of requests, and the channels of its tenants.",
        row="adds [each window of requests](result.md#channels-for-tenants), and the channels that its tenants were"
        " given, to the JSON",
    ),
]
Alone = Annotated[
    bool,
    Option(
        "flag",
        "Run each tenant alone, too, and report its slowdown.",
        doc="runs each of several streams alone, too, on the same preconditioned drive, and adds to the result its"
        " latency there (`alone_latency_us`), its `slowdown` among the others, and their `fairness`.",
        row="runs each tenant alone, too, and reports its [slowdown](result.md#tenants) among the others",
        in_sweeps=True,
    ),
]
