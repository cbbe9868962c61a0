"""Structures of a result over time: windows of an allocator, warm-up, activity and power cuts."""

from typing import Annotated

from flashweir.results.section import TENANT, Each, Field, Section

Rows = list[dict[str, object]]


class Level(Section):
    """Windows of one level."""

    level: Annotated[int, Field("the level")]
    windows: Annotated[int, Field("its windows")]
    write_channel_share: Annotated[float | None, Field("mean share of the channels that took writes in them")]
    write_share: Annotated[float | None, Field("share of writes among their requests")]


class Asked(Section):
    """Requests of a tenant in a window."""

    reads: Annotated[int, Field("reads")]
    writes: Annotated[int, Field("writes")]
    read_sectors: Annotated[int, Field("sectors read", "sectors")]
    write_sectors: Annotated[int, Field("sectors written", "sectors")]


class Place(Section):
    """Channels of a tenant's requests."""

    channels: Annotated[list[int], Field("their channels")]
    placement: Annotated[str, Field("`static` or `dynamic`")]


class Given(Section):
    """Channels and placement of a tenant's requests in a window."""

    reads: Annotated[Place, Field("its reads")]
    writes: Annotated[Place, Field("its writes")]


class Candidate(Section):
    """A candidate of an allocator that looks ahead."""

    candidate: Annotated[str, Field("its name")]
    latency_s: Annotated[float, Field("its cost: the sum of latencies", "s")]
    inputs: Annotated[list[float], Field("inputs for [a model](../concepts/tenants.md#a-learned-allocator)")]


class Window(Section):
    """A window of requests."""

    window: Annotated[int, Field("its number")]
    start_s: Annotated[float, Field("its start", "s")]
    end_s: Annotated[float, Field("its end", "s")]
    requests: Annotated[int, Field("its requests")]
    reads: Annotated[int, Field("reads among them")]
    writes: Annotated[int, Field("writes among them")]
    level: Annotated[int, Field("its level")]
    channels: Annotated[int, Field("channels of the drive")]
    tenants: Annotated[
        Each[Asked],
        Field(
            "features of each tenant, as [an allocator](../guide/allocators.md#input-the-features-of-a-window) gets"
            " them",
            keys=TENANT,
        ),
    ]
    allocation: Annotated[Each[Given], Field("channels and placement of each tenant", keys=TENANT)]
    turns: Annotated[
        str,
        Field(
            "[order of waiting pages](../concepts/tenants.md#order-of-waiting-pages): `arrival`, `shortest` or"
            " `shortest-fair`"
        ),
    ]
    candidates: Annotated[
        Rows, Field("with `tenants.channels=look-ahead`: the candidates", each=Candidate, optional=True)
    ]


class Allocation(Section):
    """Work of an allocator of channels."""

    windows: Annotated[int, Field("windows of requests, the last one included that the end of the run cut short")]
    changes: Annotated[int, Field("how often channels, placement or turns changed from one window to the next")]
    spilled_pages: Annotated[
        int,
        Field("that went to other channels than those of their group, because these had no room", "pages"),
    ]
    levels: Annotated[Rows, Field("each level that occurred", each=Level)]
    each: Annotated[
        Rows, Field("with `--windows` (`windows=True`): every window", each=Window, optional=True, below="windows")
    ]
    wall_s: Annotated[float, Field("with an allocator outside: wall time that it took in all", "s", optional=True)]
    longest_wall_s: Annotated[float, Field("the same, for one window", "s", optional=True)]


class Warmup(Section):
    """The part that was removed."""

    method: Annotated[str, Field("`mser-5`, `steady` or `requests`")]
    found: Annotated[bool, Field("whether the method found an end of the warm-up; if not, nothing is removed")]
    requests: Annotated[int, Field("how many requests were removed")]
    of_requests: Annotated[int, Field("of how many")]
    simulated_s: Annotated[
        float,
        Field("how much of the run was removed: up to the entry of the first request that remains", "s"),
    ]


class Series(Section):
    """The whole run, warm-up included, in at most 1000 windows."""

    requests_per_window: Annotated[int, Field("requests of a window, a power of two")]
    end_s: Annotated[
        list[float],
        Field(
            "when each window ended: the entry of the next one's first request; for the last one, the end of the run",
            "s",
        ),
    ]
    requests: Annotated[list[int], Field("requests of each window; only the last one may have fewer")]
    iops: Annotated[list[float | None], Field("requests a simulated second; null where a window took no time", "1/s")]
    latency_us: Annotated[
        Each[list[float | None]], Field("mean latency of the window's reads and writes; null where it has none", "us")
    ]
    write_amplification: Annotated[list[float | None], Field("null where the window's requests wrote nothing")]


class ChannelCourse(Section):
    """Shares of a channel's time in each bin."""

    host: Annotated[list[float], Field("for each bin, the share of the time of its dies for requests of the host")]
    gc: Annotated[list[float], Field("the same for collections")]
    mapping: Annotated[list[float], Field("the same for the map on flash")]
    waiting: Annotated[
        list[float],
        Field("the share in which dies had no command although a write waited for room in the write buffer"),
    ]
    idle: Annotated[list[float], Field("the rest: the five shares of a bin add up to 1")]
    dirty_pages: Annotated[
        list[float],
        Field(
            "mean over the bin's time of the pages in the write buffer that the channel will have to program", "pages"
        ),
    ]


class Activity(Section):
    """Activity of the channels over time."""

    from_s: Annotated[float, Field("start of the simulated time that it covers", "s")]
    to_s: Annotated[
        float,
        Field(
            "its end: that of the run, the [drain](result.md#the-drain) included, if that comes before the window's",
            "s",
        ),
    ]
    bin_s: Annotated[
        float,
        Field("width of a bin: bin i begins at `from_s` + i x `bin_s`, and the last one ends at `to_s`", "s"),
    ]
    channels: Annotated[Rows, Field("each channel", each=ChannelCourse)]
    dirty_pages: Annotated[list[float], Field("the same for all pages in the write buffer", "pages")]


class Loss(Section):
    """A loss over all cuts."""

    total: Annotated[int, Field("in all cuts")]
    mean: Annotated[float, Field("mean of a cut")]
    max: Annotated[int, Field("most of a cut")]


class Cut(Section):
    """One power cut."""

    time_s: Annotated[float, Field("its time", "s")]
    acknowledged_sectors_lost: Annotated[int, Field("as above, of this cut", "sectors")]
    flushed_sectors_lost: Annotated[int, Field("as above", "sectors")]
    writes_lost: Annotated[int, Field("as above", "requests")]
    violations: Annotated[int, Field("as above", "requests")]
    torn_requests: Annotated[int, Field("as above", "requests")]
    prefix: Annotated[bool, Field("whether a prefix of the writes survives")]


class PowerCuts(Section):
    """Losses of power cuts."""

    cuts: Annotated[int, Field("number of cuts")]
    acknowledged_sectors_lost: Annotated[Loss, Field("of which the last acknowledged write is not found", "sectors")]
    flushed_sectors_lost: Annotated[
        int, Field("older than a completed flush promised, in all cuts; always 0", "sectors")
    ]
    writes_lost: Annotated[
        Loss,
        Field(
            "acknowledged writes of which a sector is not found, nor a newer write of it, and that was not trimmed"
            " since",
            "requests",
        ),
    ]
    violations: Annotated[
        Loss,
        Field("writes that survive, at least in part, though an older acknowledged one is lost", "requests"),
    ]
    torn_requests: Annotated[Loss, Field("writes of which some sectors are found and some not", "requests")]
    prefixes: Annotated[int, Field("that leave a prefix of the writes, of which the last one may be torn", "cuts")]
    worst: Annotated[
        Cut,
        Field(
            "the cut that lost the most acknowledged sectors; of several, the one with most violations, then the first"
        ),
    ]
    details: Annotated[
        Rows,
        Field(
            "one object for each cut, by time; of more than 1000 cuts, 1000 spread evenly over their order", each=Cut
        ),
    ]
