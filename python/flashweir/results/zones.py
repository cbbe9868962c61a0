"""Structures of a result about zones."""

from typing import Annotated

from flashweir.results.section import Field, Section


class Failures(Section):
    """Commands that failed, by the specification's status."""

    invalid_field: Annotated[
        int, Field("writes and appends of a part of a page, and commands that name no zone (02h)", "commands")
    ]
    zone_boundary: Annotated[
        int, Field("writes and appends beyond the capacity of their zone, commits beyond their zone (B8h)", "commands")
    ]
    zone_full: Annotated[int, Field("writes and appends to a full zone (B9h)", "commands")]
    invalid_write: Annotated[int, Field("writes elsewhere than at the write pointer (BCh)", "commands")]
    too_many_active: Annotated[
        int, Field("writes and opens that would make one zone too many active (BDh)", "commands")
    ]
    too_many_open: Annotated[int, Field("writes and opens that would make one zone too many open (BEh)", "commands")]
    invalid_transition: Annotated[int, Field("commands that the state of their zone does not allow (BFh)", "commands")]
    invalid_zone_operation: Annotated[
        int,
        Field(
            "where there were any: appends to a zone with a random write area, and openings with one where there is"
            " none or the write pointer is not at its granularity (B6h)",
            "commands",
            optional=True,
        ),
    ]
    zrwa_unavailable: Annotated[
        int,
        Field("where there were any: openings with one random write area too many (B7h)", "commands", optional=True),
    ]
    zone_read_only: Annotated[
        int, Field("where there were any: writes and appends to a read-only zone (BAh)", "commands", optional=True)
    ]
    zone_offline: Annotated[
        int,
        Field("where there were any: reads, writes and appends of an offline zone (BBh)", "commands", optional=True),
    ]


class States(Section):
    """Zones by state."""

    empty: Annotated[int, Field("empty", "zones")]
    implicitly_opened: Annotated[int, Field("opened by a write", "zones")]
    explicitly_opened: Annotated[int, Field("opened by a command", "zones")]
    closed: Annotated[int, Field("closed: written in part, not open", "zones")]
    full: Annotated[int, Field("full", "zones")]
    read_only: Annotated[
        int, Field("where there are any: with a block that was retired; can only be read", "zones", optional=True)
    ]
    offline: Annotated[
        int,
        Field(
            "where there are any: with a block that was retired, and no data that can be read", "zones", optional=True
        ),
    ]


class RandomWriteAreas(Section):
    """Random write areas of zones (ZRWA)."""

    commits: Annotated[int, Field("by a command", "requests")]
    implicit_commits: Annotated[int, Field("by a write beyond the area", "requests")]
    committed_pages: Annotated[int, Field("pages with data that left areas for the flash", "pages")]
    rewritten_pages: Annotated[
        int, Field("pages written again while they were in an area: they cost no flash", "pages")
    ]


class Zones(Section):
    """Zones, and amplification by host and drive."""

    zones: Annotated[int, Field("[zones](../concepts/zones.md) of the drive", "zones")]
    zone_bytes: Annotated[int, Field("capacity of a zone", "bytes")]
    host_amplification: Annotated[
        float | None,
        Field("bytes that the host writes to zones / bytes that the workload writes; null without writes"),
    ]
    device_amplification: Annotated[
        float | None, Field("bytes programmed / bytes that the host writes to zones; null without writes")
    ]
    copied_pages: Annotated[int, Field("pages that the host's log relocated; they are in `flash.gc`", "pages")]
    resets: Annotated[int, Field("zones reset that were not empty", "zones")]
    finished: Annotated[int, Field("zones finished that were not full", "zones")]
    padded_pages: Annotated[
        int, Field("pages without data programmed to finish zones or commit areas; they are in `flash.host`", "pages")
    ]
    closed: Annotated[int, Field("closed by the drive so that another one could be opened", "zones")]
    refused_bytes: Annotated[int, Field("of writes and appends that failed", "bytes")]
    errors: Annotated[
        Failures,
        Field("commands that failed, by status; a request is cut into commands at `host.max_transfer`"),
    ]
    states: Annotated[States, Field("zones by state at the end")]
    zrwa: Annotated[RandomWriteAreas, Field("with `ftl.zrwa_size`: random write areas", optional=True)]
