"""Structures of a result about the drive: operations, time, wear, geometry, maps and the host's link."""

from typing import Annotated

from flashweir.results.section import Each, Field, Section

Rows = list[dict[str, object]]

_WAITING = "[while they wait for a planner](../concepts/channels.md#pages-that-wait-for-a-planner)"


class Operations(Section):
    """Counts of flash operations."""

    reads: Annotated[int, Field("page reads", "pages")]
    programs: Annotated[int, Field("page programs", "pages")]
    erases: Annotated[int, Field("block erases", "blocks")]


class Flash(Operations):
    """Flash operations for all purposes, and for each."""

    host: Annotated[Operations, Field("for requests of the host")]
    gc: Annotated[Operations, Field("for collections")]
    mapping: Annotated[Operations, Field("for the map on flash: translation pages, with `ftl.kind=dftl`")]


class Drain(Section):
    """The work that the write buffer left behind."""

    pages: Annotated[int, Field("pages in the write buffer at the last completion: [below](#the-drain)", "pages")]
    carried_pages: Annotated[
        int,
        Field("in the write buffer where the statistics begin, after a warm-up: [below](#the-drain)", "pages"),
    ]
    time_s: Annotated[
        float,
        Field("from the last completion until all of them are on flash and the drive is at rest", "s"),
    ]
    flash: Annotated[
        Operations,
        Field("flash operations of that time, collections included; they are in `flash`, too"),
    ]


class Mapping(Section):
    """The map on flash; all 0 with other maps."""

    lookups: Annotated[
        int,
        Field("with `ftl.kind=dftl`: pages looked up in the [map on flash](../concepts/mapping.md)", "pages"),
    ]
    hits: Annotated[int, Field("of these, found in RAM", "pages")]
    hit_ratio: Annotated[float | None, Field("hits by look-ups; null without any")]
    loads: Annotated[int, Field("translation pages read for a look-up", "pages")]
    write_backs: Annotated[int, Field("translation pages written because a changed entry made room", "pages")]
    updates: Annotated[int, Field("translation pages written because a collection copied pages", "pages")]
    moves: Annotated[int, Field("translation pages moved by collections (copies, in `flash.gc`)", "pages")]


class Shares(Section):
    """Shares of time by purpose; they add up to 1."""

    host: Annotated[float, Field("for requests of the host")]
    gc: Annotated[float, Field("for collections")]
    mapping: Annotated[float, Field("for the map on flash")]
    idle: Annotated[float, Field("the rest")]


class Channel(Shares):
    """Shares of the time of a channel's dies, and of its bus."""

    bus: Annotated[float, Field("share of the time in which its bus moved data")]


class Link(Section):
    """The link between host and drive."""

    write_bytes: Annotated[int, Field("data to the drive", "bytes")]
    read_bytes: Annotated[int, Field("data to the host", "bytes")]
    write_share: Annotated[float | None, Field("share of the time that data take the link to the drive")]
    read_share: Annotated[float | None, Field("the same to the host")]


class Firmware(Section):
    """The firmware's cores."""

    cores: Annotated[int, Field("number of cores")]
    share: Annotated[float | None, Field("share of the time that they work")]
    core_shares: Annotated[list[float], Field("the same of each")]


class HostMemory(Section):
    """A map in the host's memory."""

    lookups: Annotated[int, Field("segments of the map looked up")]
    misses: Annotated[int, Field("of these, fetched over the link")]
    hit_ratio: Annotated[float | None, Field("the share that was not; null without look-ups")]


class Host(Section):
    """Link, firmware and map between host and drive."""

    commands: Annotated[int, Field("commands that requests were cut into")]
    doorbells: Annotated[int, Field("doorbells of the host")]
    link: Annotated[Link, Field("the [host's link](../concepts/host.md)")]
    firmware: Annotated[Firmware, Field("the firmware's cores")]
    hmb: Annotated[HostMemory, Field("a map in the host's memory")]


class Work(Section):
    """Energy of flash operations and transfers."""

    read_j: Annotated[float, Field("of reads", "J")]
    program_j: Annotated[float, Field("of programs", "J")]
    erase_j: Annotated[float, Field("of erases", "J")]
    bus_j: Annotated[float, Field("of transfers", "J")]


class Energy(Work):
    """Energy of the flash."""

    idle_j: Annotated[float, Field("of idle dies", "J")]
    total_j: Annotated[float, Field("of all of these", "J")]
    per_host_gib_j: Annotated[
        float | None,
        Field("`total_j` for each GiB that the host read and wrote; null where it did neither", "J/GiB"),
    ]
    host: Annotated[Work, Field("the first four for requests of the host", "J")]
    gc: Annotated[Work, Field("for collections", "J")]
    mapping: Annotated[Work, Field("for the map on flash", "J")]


class Counters(Section):
    """Counters of the run."""

    requests: Annotated[Each[int], Field("requests by operation")]
    bytes: Annotated[Each[int], Field("bytes by operation", "bytes")]
    host_pages_written: Annotated[int, Field("pages that the host wrote", "pages")]
    collections: Annotated[int, Field("blocks collected", "blocks")]
    rewrite_reads: Annotated[int, Field("reads for partial writes", "pages")]
    unmapped_page_reads: Annotated[int, Field("as `unmapped_reads.pages`", "pages")]
    buffer_hits: Annotated[int, Field(f"pages read from the buffer, from random write areas or {_WAITING}", "pages")]
    coalesced_pages: Annotated[int, Field("writes to pages in the write buffer", "pages")]
    trimmed_pages: Annotated[int, Field("trimmed that had data: on flash, or versions that waited for it", "pages")]
    copybacks: Annotated[int, Field("with `gc.copyback`: pages copied within their plane", "pages", optional=True)]
    parity_programs: Annotated[
        int, Field("with `alloc.kind=superblock`: pages of parity that were programmed", "pages", optional=True)
    ]
    padded_units: Annotated[
        int, Field("with `ftl.map_unit` below the page: units of a page left empty", "units", optional=True)
    ]
    moved_units: Annotated[
        int, Field("with `ftl.map_unit` below the page: units that collections copied", "units", optional=True)
    ]


class ReadOnly(Section):
    """End of a drive that has no spare block left."""

    at_s: Annotated[float, Field("when a plane had a worn block that it could not do without", "s")]
    plane: Annotated[int, Field("number of that plane")]


class Ageing(Section):
    """Pages of flash that were not right when they were read."""

    retried_pages: Annotated[int, Field("[read again](../concepts/ageing.md) at least once", "pages")]
    retries: Annotated[int, Field("read retries")]
    soft_pages: Annotated[int, Field("decoded softly", "pages")]
    failed_pages: Annotated[int, Field("that no decoding corrected", "pages")]
    rebuilt_pages: Annotated[int, Field("of these, rebuilt of their stripe", "pages")]
    uncorrectable_pages: Annotated[int, Field("of these, lost", "pages")]
    refreshed_blocks: Annotated[
        int,
        Field(
            "[refreshed](../concepts/ageing.md#refresh-and-read-reclaim): moved because their data was old", "blocks"
        ),
    ]
    reclaimed_blocks: Annotated[int, Field("moved because they were read often, or with many retries", "blocks")]
    moved_units: Annotated[int, Field("mapping units that both copied; `gc.programs` has them, too", "units")]
    retired_blocks: Annotated[int, Field("[retired](../concepts/ageing.md#retired-blocks)", "blocks")]
    refused_requests: Annotated[int, Field("writes and TRIMs that failed because the drive was read-only")]
    refused_bytes: Annotated[int, Field("of these writes", "bytes")]
    spare_blocks: Annotated[
        int,
        Field(
            "with `ageing.retire`, but not with zones: that may still be retired, of the plane, set of dies, or planes "
            "that share pages with the fewest",
            "blocks",
            optional=True,
        ),
    ]
    read_only: Annotated[
        ReadOnly | None,
        Field("with `ageing.retire`, but not with zones: end of the drive; null before it", optional=True),
    ]


class Trim(Section):
    """TRIMs with a granularity or a backlog."""

    deferred_pages: Annotated[int, Field("that TRIMs left for later", "pages")]
    idle_pages: Annotated[int, Field("forgotten while the drive was idle", "pages")]
    must_pages: Annotated[int, Field("forgotten while a TRIM waited for it", "pages")]
    rewritten_pages: Annotated[int, Field("written again before they were forgotten", "pages")]
    backlog_pages: Annotated[int, Field("that wait at the end", "pages")]
    waited: Annotated[int, Field("that waited for the backlog", "TRIMs")]
    kept_bytes: Annotated[int, Field("of TRIMs that kept their data, being no whole range of the granularity", "bytes")]


class Unmapped(Section):
    """Reads where nothing is."""

    pages: Annotated[
        int,
        Field(
            "read though nothing is there (never written on an `empty` drive, or trimmed), so without flash", "pages"
        ),
    ]
    share: Annotated[float | None, Field("of all pages read, buffer hits included; null if none was")]


class Merges(Section):
    """Merges of data blocks with the log."""

    full: Annotated[int, Field("full merges of data blocks with the log", "blocks")]
    partial: Annotated[int, Field("partial ones", "blocks")]
    switch: Annotated[int, Field("switches", "blocks")]
    early: Annotated[int, Field("full ones of followers and of forward collection", "blocks")]


class Collections(Section):
    """Collections that a unit had to make, where blocks are mapped."""

    count: Annotated[int, Field("collections that a unit had to make")]
    merged: Annotated[int, Field("data blocks that they merged", "blocks")]
    max_merged: Annotated[int, Field("most in one", "blocks")]
    per_bin: Annotated[
        int,
        Field("collections in a bin of their course (at most 2048 bins, of the whole run, warm-up included)"),
    ]
    max: Annotated[list[int], Field("the most merged in each bin", "blocks")]
    mean: Annotated[list[float], Field("the mean merged in each bin", "blocks")]


class Bins(Section):
    """Blocks by their erases."""

    first: Annotated[int, Field("erases of the first bin", "erases")]
    width: Annotated[int, Field("numbers of erases in a bin", "erases")]
    blocks: Annotated[
        list[int],
        Field(
            "`blocks[i]` have `first` + i x `width` erases, and up to `width` - 1 more. At most 256 bins, of one number"
            " of erases each up to that",
            "blocks",
        ),
    ]


class Erases(Section):
    """Erases of a block."""

    min: Annotated[int, Field("the fewest of a block", "erases")]
    mean: Annotated[float, Field("mean over all blocks", "erases")]
    max: Annotated[int, Field("the most of a block", "erases")]
    stddev: Annotated[float, Field("standard deviation", "erases")]
    histogram: Annotated[Bins, Field("blocks by their erases", "blocks")]


class Wear(Erases):
    """Erases of a block since the drive was new."""

    preconditioned: Annotated[Erases, Field("the same of preconditioning", "erases")]
    run: Annotated[Erases, Field("the same of the run with its warm-up", "erases")]


class Units(Section):
    """Blocks of a unit."""

    min: Annotated[int, Field("of the unit with the fewest", "blocks")]
    max: Annotated[int, Field("of the unit with the most", "blocks")]


class Spare(Section):
    """Over-provisioning as asked for."""

    key: Annotated[str, Field("the key that it was asked for by, `op_ratio` or `op_raw`")]
    asked: Annotated[float, Field("how much was asked for")]
    got: Annotated[float, Field("how much the drive has")]


class Geometry(Section):
    """The drive as it was built."""

    units: Annotated[
        int,
        Field("units, each with an FTL instance: planes, or what `planes_bound` and `units` make of them"),
    ]
    logical_pages: Annotated[int, Field("capacity of the host, after rounding", "pages")]
    logical_pages_per_unit: Annotated[int, Field("the same of a unit", "pages")]
    physical_pages: Annotated[int, Field("all there are", "pages")]
    reserved_blocks: Annotated[
        int,
        Field(
            "kept erased (`gc.free_blocks`), over all units; the rest is in use: (physical_pages - reserved_blocks x"
            " pages_per_block) / logical_pages is what theory calls a",
            "blocks",
        ),
    ]
    pages_per_block: Annotated[int, Field("pages of flash in a block", "pages")]
    blocks: Annotated[int, Field("of the drive", "blocks")]
    blocks_per_unit: Annotated[Units, Field("of the units: all of them, as `blocks_per_unit` counts", "blocks")]
    op_ratio: Annotated[
        float,
        Field(
            "over-provisioning as built, a share of logical: (physical - erased) / logical - 1, where each unit has one"
            " erased block (and under `fast` and `kast` a sequential log block) that does not count"
        ),
    ]
    op_raw: Annotated[float, Field("over-provisioning as built, a share of raw: 1 - logical / physical")]
    spare: Annotated[Spare, Field("over-provisioning as asked for")]
    capacity_bytes: Annotated[int, Field("capacity of the host", "bytes")]
    bad_blocks: Annotated[
        int,
        Field(
            "bad when the drive was made, and not in `geometry.blocks`; only with `nand.bad_blocks`",
            "blocks",
            optional=True,
        ),
    ]


class Group(Section):
    """Counters of a group of open blocks."""

    written_pages: Annotated[int, Field("pages written to it", "pages")]
    relocated_pages: Annotated[int, Field("pages relocated out of it", "pages")]
    erased_blocks: Annotated[int, Field("blocks of it erased; whole superblocks where there are some", "blocks")]
    mean_life_pages: Annotated[
        float | None, Field("mean life of these, in pages that the host wrote; null without any", "pages")
    ]


class PlacementEvents(Section):
    """Events of placement, as the log of Flexible Data Placement has them (TP4146)."""

    invalid_handles: Annotated[int, Field("pages written with a handle that has no group (03h)", "pages")]
    overdue_blocks: Annotated[
        int, Field("blocks that ended before they were full because of `ftl.open_time` (00h and 01h)", "blocks")
    ]
    unwritten_pages: Annotated[int, Field("pages that these had left", "pages")]
    reallocated_blocks: Annotated[int, Field("blocks that valid pages were moved out of (80h)", "blocks")]


class Predictions(Section):
    """Predictions of `ftl.classifier=learned`."""

    known_pages: Annotated[int, Field("pages written again, so that their interval is known", "pages")]
    right_share: Annotated[float | None, Field("share of these predicted within an octave; null without any")]
    mean_error_octaves: Annotated[
        float | None, Field("mean error of these, in powers of two of the interval; null without any")
    ]
    outlived_pages: Annotated[int, Field("pages relocated after they should have died", "pages")]


class Placement(Section):
    """Groups of open blocks."""

    host_groups: Annotated[
        Rows,
        Field("each [group](../concepts/placement.md#in-the-result) of pages that the host writes", each=Group),
    ]
    relocated_groups: Annotated[Rows, Field("each group of relocated pages", each=Group)]
    host_bytes: Annotated[int, Field("written by the host", "bytes")]
    media_bytes: Annotated[int, Field("programmed", "bytes")]
    media_bytes_erased: Annotated[int, Field("erased", "bytes")]
    events: Annotated[PlacementEvents, Field("events of placement")]
    predictions: Annotated[Predictions, Field("predictions; only with `ftl.classifier=learned`", optional=True)]


class Clock(Section):
    """Channels in lock step."""

    write_cycles: Annotated[int, Field("cycles that wrote pages")]
    serving_s: Annotated[float, Field("time in which pages were written", "s")]
    collecting_s: Annotated[float, Field("time in which units collected", "s")]


class Scheduler(Section):
    """Counters of the scheduler."""

    moved: Annotated[int, Field("commands that passed others in the queue of their die", "commands")]
    passed: Annotated[int, Field("commands that they passed, one by one", "commands")]
    suspensions: Annotated[int, Field("times that a command was suspended with its array busy")]
    preemptions: Annotated[int, Field("times that a collection made way between two page copies")]
    recalls: Annotated[int, Field("times that a program which waited for the bus went back to its queue")]
    longest_read_wait_us: Annotated[float, Field("the longest that a read of the host waited for its die", "us")]
    longest_write_wait_us: Annotated[float, Field("the longest that a program of the host did", "us")]
