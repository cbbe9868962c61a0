"""The structure of the result of a run."""

from typing import Annotated

from flashweir.results import cache, course, drive, parts
from flashweir.results import zones as zoned
from flashweir.results.section import TENANT, Each, Field, Section

Rows = list[dict[str, object]]


class NoEffect(Section):
    """Settings without effect."""

    _keys: Annotated[list[str], Field("settings that change nothing on this drive because of others", key="keys")]
    reason: Annotated[str, Field("the reason; they are set back to their defaults in `config`")]


class Tally(Section):
    """Records of a trace that were changed or left out."""

    reason: Annotated[str, Field("the reason")]
    count: Annotated[int, Field("their number")]


class TracedDevice(Section):
    """A device of a trace."""

    name: Annotated[str, Field("its name")]
    base_lba: Annotated[int, Field("where its addresses begin on the drive", "sectors")]
    sectors: Annotated[int, Field("its range", "sectors")]


class Hinted(Section):
    """A rule that gives requests of a trace a placement handle."""

    hint: Annotated[str, Field("the rule")]
    requests: Annotated[int, Field("requests that it gave its handle")]


class Trace(Section):
    """The report on the reading of a trace."""

    format: Annotated[str, Field("its format")]
    detected_by: Annotated[str, Field("how the format was found: `content`, `name` or `option`")]
    assumptions: Annotated[list[str], Field("what had to be assumed to read it")]
    requests: Annotated[int, Field("requests read")]
    reads: Annotated[int, Field("reads among them")]
    writes: Annotated[int, Field("writes and appends among them")]
    trims: Annotated[int, Field("discards among them")]
    flushes: Annotated[int, Field("flushes among them")]
    zone_commands: Annotated[int, Field("commands to zones among them, without appends", optional=True)]
    repaired: Annotated[Rows, Field("records that were repaired, by reason", each=Tally)]
    left_out: Annotated[Rows, Field("records that were left out, by reason", each=Tally)]
    skipped_bad: Annotated[int, Field("bad lines or records skipped by `--skip-bad`")]
    skipped_messages: Annotated[list[str], Field("the first messages of these")]
    hints: Annotated[Rows, Field("rules of `--hint`, each with the requests that met it", each=Hinted, optional=True)]
    clamped_times: Annotated[int, Field("times before the one before, set to it")]
    reordered: Annotated[int, Field("records that came out of order")]
    devices: Annotated[Rows, Field("devices of the trace", each=TracedDevice)]
    first_time_ns: Annotated[int, Field("time of the first request", "ns")]
    last_time_ns: Annotated[int, Field("time of the last request", "ns")]
    duration_ns: Annotated[int, Field("their difference", "ns")]


class Workload(Section):
    """A workload of the run."""

    name: Annotated[str, Field("name of its stream")]
    workload: Annotated[str, Field("the generator's complete spec, or the trace's file name")]
    options: Annotated[
        dict[str, object],
        Field("[options](mix.md#options-of-a-tenant) that were set for its requests", optional=True),
    ]
    trace: Annotated[Trace, Field("report on the reading of a trace", optional=True)]


class Run(Section):
    """The result of a run."""

    version: Annotated[str, Field("of flashweir")]
    _requests: Annotated[int, Field("requests that completed, flushes included", key="requests")]
    simulated_s: Annotated[
        float,
        Field(
            "from time 0, at which a trace's first request arrives, to the last completion; the [drain](#the-drain) "
            "comes after it",
            "s",
        ),
    ]
    wall_s: Annotated[float, Field("wall time of the measured run alone", "s")]
    setup_wall_s: Annotated[float, Field("wall time to set up the run", "s")]
    precondition_wall_s: Annotated[float, Field("wall time of preconditioning", "s")]
    iops: Annotated[float | None, Field("requests a simulated second", "1/s")]
    bandwidth_mib_s: Annotated[float | None, Field("bytes read and written a simulated second", "MiB/s")]
    latency_us: Annotated[
        Each[parts.Latencies],
        Field(
            "from the host's issue to completion; OP is `read`, `write`, `trim`, `flush`, and each command to a zone "
            "that there was",
            "us",
        ),
    ]
    latency_histogram_ns: Annotated[
        Each[list[list[int]]],
        Field("pairs of upper edge and number of requests, of each operation that occurred", "ns"),
    ]
    latency_parts_us: Annotated[
        Each[parts.Breakdown] | None,
        Field(
            "breakdown of the mean latency of each operation that occurred: [below](#latency-breakdown); null if none"
            " was kept",
            "us",
            below="latency-breakdown",
        ),
    ]
    sched: Annotated[
        drive.Scheduler | None,
        Field(
            "counters of the scheduler: [below](#scheduler-counters); null with `sched.kind=fifo`",
            below="scheduler-counters",
        ),
    ]
    streams: Annotated[
        Each[parts.Stream], Field("each workload by itself: [tenants](#tenants)", keys=TENANT, below="tenants")
    ]
    fairness: Annotated[
        parts.Fairness | None,
        Field("with `--alone`: [how fair the drive is](#tenants) to its tenants; null without"),
    ]
    allocation: Annotated[
        course.Allocation | None,
        Field(
            "what an allocator of channels did: [below](#channels-for-tenants); null with `tenants.channels=all`",
            below="channels-for-tenants",
        ),
    ]
    write_amplification: Annotated[
        float | None,
        Field(
            "bytes programmed into flash, the drain included, for each byte that the host wrote; below 1 only by what"
            " coalesced in the buffer, or was trimmed while it waited there or"
            " [for a planner](../concepts/channels.md#pages-that-wait-for-a-planner); null where it wrote none"
        ),
    ]
    flash: Annotated[
        drive.Flash,
        Field("flash operations, for all purposes and for each; programs of parity count in `flash.programs` alone"),
    ]
    drain: Annotated[drive.Drain, Field("work that the write buffer left behind: [below](#the-drain)")]
    mapping: Annotated[drive.Mapping, Field("the map on flash; 0 with other maps")]
    time_share: Annotated[
        drive.Shares,
        Field("shares of the time of all dies, over `simulated_s` and the drain; they add up to 1"),
    ]
    bus_share: Annotated[float, Field("share of the time of all channels' buses in which they moved data")]
    bus_time_share: Annotated[drive.Shares, Field("the same by purpose")]
    channels: Annotated[Rows, Field("`time_share` and bus share of each channel", each=drive.Channel)]
    host: Annotated[
        drive.Host | None,
        Field("null where [nothing lies between host and drive](../concepts/host.md)"),
    ]
    energy: Annotated[
        drive.Energy | None,
        Field("[energy of the flash](../concepts/drive.md#energy); null where no `energy` key is set"),
    ]
    counters: Annotated[drive.Counters, Field("counters of the run")]
    unmapped_reads: Annotated[drive.Unmapped, Field("reads where nothing is")]
    preexisting_pages: Annotated[
        int,
        Field(
            "read before they were written, taken to [have been there before the"
            " run](../concepts/preconditioning.md#data-from-before-the-run)",
            "pages",
        ),
    ]
    merges: Annotated[drive.Merges, Field("merges of data blocks with the log")]
    collections: Annotated[
        drive.Collections | None, Field("collections of log blocks; null where no blocks are mapped")
    ]
    wear: Annotated[drive.Wear, Field("erases of a block, since the drive was new", "erases")]
    placement: Annotated[
        drive.Placement, Field("groups of open blocks; not there with one or two groups", optional=True)
    ]
    ageing: Annotated[
        drive.Ageing, Field("with `ageing.kind`: pages of flash that needed more than one reading", optional=True)
    ]
    slc: Annotated[cache.Slc, Field("with `slc.kind`: pages into the SLC cache and out of it", optional=True)]
    trim: Annotated[
        drive.Trim,
        Field("with `trim.granularity` or `trim.backlog` ([TRIM](../concepts/trim.md))", optional=True),
    ]
    zones: Annotated[
        zoned.Zones, Field("with `ftl.kind=zones`: zones, and amplification by host and drive", optional=True)
    ]
    clock: Annotated[drive.Clock, Field("with `clock=lock-step` alone: how the time was divided", optional=True)]
    geometry: Annotated[drive.Geometry, Field("the drive as it was built")]
    preconditioning_capacities: Annotated[
        int, Field("capacities overwritten, after filling, until the drive was steady")
    ]
    engine: Annotated[str, Field("`busy-until` or `event`: how times were worked out")]
    verified: Annotated[bool, Field("whether reads were checked")]
    seed: Annotated[int, Field("seed of the run")]
    workloads: Annotated[Rows, Field("the workloads of the run", each=Workload)]
    _config: Annotated[
        dict[str, object],
        Field("the complete configuration; a device file when saved as JSON", key="config"),
    ]
    no_effect: Annotated[Rows, Field("settings without effect", each=NoEffect)]
    warmup: Annotated[
        course.Warmup,
        Field("with `--warmup` alone: [below](#results-without-the-warm-up)", optional=True,
              below="results-without-the-warm-up"),
    ]  # fmt: skip
    series: Annotated[
        course.Series,
        Field("with `--warmup` alone: [below](#results-without-the-warm-up)", optional=True,
              below="results-without-the-warm-up"),
    ]  # fmt: skip
    explain: Annotated[
        parts.Tails,
        Field("with `--explain`: [what the slowest requests waited for](#the-slowest-requests)", optional=True,
              below="the-slowest-requests"),
    ]  # fmt: skip
    activity: Annotated[
        course.Activity,
        Field("with `--activity`: [what each channel did over time](result-files.md#activity-over-time)",
              optional=True, below="activity"),
    ]  # fmt: skip
    power_cuts: Annotated[
        course.PowerCuts,
        Field("with `--power-cut`: [what power cuts would lose](result-files.md#power-cuts)", optional=True,
              below="power-cuts"),
    ]  # fmt: skip
