"""Structures of a result about latencies and tenants."""

from typing import Annotated

from flashweir.results.section import Each, Field, Section

Rows = list[dict[str, object]]


class Latencies(Section):
    """Latencies of one operation: from the host's issue to completion."""

    count: Annotated[int, Field("number of requests")]
    mean: Annotated[float | None, Field("mean; null where none occurred", "us")]
    p50: Annotated[float | None, Field("50th percentile", "us")]
    p95: Annotated[float | None, Field("95th percentile", "us")]
    p99: Annotated[float | None, Field("99th percentile", "us")]
    p999: Annotated[float | None, Field("99.9th percentile", "us")]
    p9999: Annotated[float | None, Field("99.99th percentile", "us")]
    max: Annotated[float | None, Field("maximum", "us")]


class Breakdown(Section):
    """The parts of a mean latency, which add up to it."""

    host_queue: Annotated[
        float,
        Field(
            "before any part of the drive worked at the request: it waited for a rate limit or a slot"
            " ([`host.slots`](../concepts/arbitration.md#policies)), no die could take its pages, or a flush waited for"
            " writes",
            "us",
        ),
    ]
    link: Annotated[
        float,
        Field(
            "on the [host's link](../concepts/host.md): submission, waiting for the link and on it, and completion",
            "us",
        ),
    ]
    firmware: Annotated[
        float,
        Field("in its submission queue, waiting for a core of the firmware and on it, at both ends", "us"),
    ]
    buffer: Annotated[
        float,
        Field(
            "until data were in the drive's memory (`firmware.memory_time`), and the wait for room in the write buffer;"
            " with `buffer.ack=flash` also in the buffer, until its last page was"
            " dispatched to a die; of a flush or a finish, until the buffer held no earlier page",
            "us",
        ),
    ]
    mapping: Annotated[
        float,
        Field(
            "until what says where its page is was read (`ftl.kind=dftl`) or came from the host's memory"
            " (`firmware.hmb_bytes`), and waiting for a die that worked for the map",
            "us",
        ),
    ]
    wait_read: Annotated[
        float,
        Field(
            "waiting for its die while that read for the host; of a command that was suspended, or made way, also from"
            " then until it went on",
            "us",
        ),
    ]
    wait_write: Annotated[
        float,
        Field(
            "waiting for its die while that programmed for the host; with `timing.cache_program` also in the register"
            " behind another program",
            "us",
        ),
    ]
    wait_erase: Annotated[float, Field("waiting for its die while that erased", "us")]
    wait_gc: Annotated[
        float,
        Field(
            "waiting for its die while that copied pages of a collection; in"
            " [managed channels](../concepts/channels.md) of a write also until its unit had collected",
            "us",
        ),
    ]
    wait_bus: Annotated[float, Field("with the die its own, waiting for the channel's bus", "us")]
    bus: Annotated[float, Field("on the bus", "us")]
    flash: Annotated[float, Field("in the flash array: the read, program or read-modify-write itself", "us")]


class Slowdown(Section):
    """Mean latency among the others, divided by that alone."""

    all: Annotated[float | None, Field("of all its requests; null where they take no time alone")]
    read: Annotated[float | None, Field("of its reads; null where it has none")]
    write: Annotated[float | None, Field("of its writes")]


class Stream(Section):
    """One tenant."""

    stream: Annotated[int, Field("its number, from 0, in the order in which the workloads were given")]
    requests: Annotated[int, Field("requests that it completed")]
    bytes: Annotated[Each[int], Field("bytes that it asked for, by operation", "bytes")]
    active_s: Annotated[float, Field("from the entry of its first request to the end of its last", "s")]
    iops: Annotated[float | None, Field("requests a second of that time", "1/s")]
    bandwidth_mib_s: Annotated[float | None, Field("bytes read and written a second of that time", "MiB/s")]
    flash_time_s: Annotated[
        float,
        Field(
            "for how long the commands made for it hold their dies, [collections that its writes bring"
            " about](../concepts/arbitration.md#policies) included",
            "s",
        ),
    ]
    limit_waits: Annotated[
        int,
        Field(
            "with [rate limits](../concepts/arbitration.md#rate-limits): its requests that waited for its own",
            optional=True,
        ),
    ]
    limit_wait_us: Annotated[
        float | None, Field("with rate limits: mean wait of its requests for its own", "us", optional=True)
    ]
    over_target: Annotated[
        float | None,
        Field(
            "with [latency targets](../concepts/arbitration.md#latency-targets): share of its requests that took longer"
            " than its own; null if it has none",
            optional=True,
        ),
    ]
    depth_limited_s: Annotated[
        float,
        Field("with latency targets: for how long it might have fewer requests outstanding", "s", optional=True),
    ]
    latency_us: Annotated[Each[Latencies], Field("as of the whole run", "us")]
    latency_histogram_ns: Annotated[Each[list[list[int]]], Field("as of the whole run", "ns")]
    alone_latency_us: Annotated[
        Each[Latencies] | None,
        Field("with `--alone`: its latencies when it has the drive to itself; null without", "us"),
    ]
    slowdown: Annotated[
        Slowdown | None,
        Field("with `--alone`: its mean latency among the others, divided by that alone; null without"),
    ]


class Fairness(Section):
    """Fairness of the drive to its tenants."""

    jain: Annotated[float | None, Field("Jain's index of the tenants' speeds: [tenants](#tenants)")]
    max_slowdown: Annotated[float | None, Field("the largest `slowdown.all`")]


class Waited(Section):
    """A command that requests waited for."""

    command: Annotated[str, Field("operation and purpose, such as `copy gc` or `program host`")]
    of: Annotated[
        str | None,
        Field("whose command: `the drive`, `the same request`, `other requests`, or the tenant's name"),
    ]
    mean_us: Annotated[float, Field("the time per request explained", "us")]
    share: Annotated[float, Field("its share of their latency")]
    requests: Annotated[int, Field("requests that waited for such a command")]


class Command(Section):
    """A command of a die."""

    command: Annotated[str, Field("operation and purpose")]
    of: Annotated[str | None, Field("whose")]
    pages: Annotated[int, Field("its pages", "pages")]
    request: Annotated[int | None, Field("the request that it was for")]
    start_us: Annotated[float, Field("its start", "us")]
    end_us: Annotated[float, Field("its end", "us")]


class Example(Section):
    """A slow request."""

    request: Annotated[int, Field("its number")]
    tenant: Annotated[str | None, Field("the tenant's name")]
    offset_bytes: Annotated[int, Field("where it begins", "bytes")]
    bytes: Annotated[int, Field("its length", "bytes")]
    issue_us: Annotated[float, Field("its issue", "us")]
    latency_us: Annotated[float, Field("its latency", "us")]
    parts_us: Annotated[Breakdown, Field("the parts of its latency", "us", below="latency-breakdown")]
    die: Annotated[str | None, Field("its die, as channel and die of the channel")]
    commands: Annotated[Rows, Field("commands of the die from issue to completion, the last 200", each=Command)]
    all_commands: Annotated[bool, Field("false if there were earlier ones")]


class Tail(Section):
    """The slowest requests of one operation."""

    requests: Annotated[int, Field("requests explained")]
    of: Annotated[int, Field("requests of the operation")]
    left_out: Annotated[int, Field("requests of the percentile beyond the limit")]
    from_us: Annotated[float, Field("the least latency of those explained", "us")]
    mean_us: Annotated[float, Field("their mean", "us")]
    max_us: Annotated[float, Field("their largest", "us")]
    parts_us: Annotated[
        Breakdown, Field("[breakdown](#latency-breakdown) of their mean latency", "us", below="latency-breakdown")
    ]
    causes: Annotated[Each[int], Field("requests whose largest part it was, the most frequent first", keys="PART")]
    waited_for: Annotated[Rows, Field("commands that held the die", each=Waited)]
    examples: Annotated[
        Rows,
        Field("up to three: the slowest request of each of the most frequent causes, then further ones", each=Example),
    ]


class Tails(Section):
    """The slowest requests, by operation."""

    percentile: Annotated[str, Field("as asked for, such as `p99.9`")]
    read: Annotated[Tail, Field("the slowest reads", optional=True)]
    write: Annotated[Tail, Field("the slowest writes", optional=True, below="the-slowest-requests")]
    trim: Annotated[Tail, Field("the slowest discards", optional=True, below="the-slowest-requests")]
    flush: Annotated[Tail, Field("the slowest flushes", optional=True, below="the-slowest-requests")]
    append: Annotated[Tail, Field("the slowest appends", optional=True, below="the-slowest-requests")]
    open: Annotated[Tail, Field("the slowest openings of zones", optional=True, below="the-slowest-requests")]
    close: Annotated[Tail, Field("the slowest closings of zones", optional=True, below="the-slowest-requests")]
    finish: Annotated[Tail, Field("the slowest finishes of zones", optional=True, below="the-slowest-requests")]
    reset: Annotated[Tail, Field("the slowest resets of zones", optional=True, below="the-slowest-requests")]
    offline: Annotated[Tail, Field("the slowest offline commands", optional=True, below="the-slowest-requests")]
    open_zrwa: Annotated[
        Tail,
        Field("the slowest openings of zones with a random write area", optional=True, below="the-slowest-requests"),
    ]
    commit: Annotated[
        Tail, Field("the slowest commits of random write areas", optional=True, below="the-slowest-requests")
    ]
