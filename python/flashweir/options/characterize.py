"""Options of a characterization of a workload."""

from typing import Annotated

from flashweir.options.option import Option

Gap = Annotated[
    int,
    Option(
        "whole",
        "Other requests allowed between two of a sequential run.",
        doc="K, how many other requests of its operation may come between two of a sequential run (0 to 1000).",
        metavar="K",
    ),
]
Small = Annotated[
    int | str,
    Option(
        "text",
        "Largest request that counts as small.",
        doc='the longest request that counts as small: bytes, or text such as `"4KiB"`. A multiple of 512 bytes.',
        metavar="SIZE",
        also=object,
    ),
]
Align = Annotated[
    int | str,
    Option(
        "text",
        "Divisor of aligned starts and ends.",
        doc="what has to divide the start and the end of a request that is aligned.",
        also=object,
        on_command_line=False,
    ),
]
Chunk = Annotated[
    int | str,
    Option(
        "text",
        "Distance of requests that are near each other.",
        doc="how far apart requests may be and still be near each other: a chunk of 9.28 MiB (Yang 2009, section 6.3).",
        also=object,
        on_command_line=False,
    ),
]
Segments = Annotated[
    int,
    Option(
        "whole",
        "Parts of equal time, each characterized by itself.",
        doc="into how many parts of equal time the workload is cut.",
        metavar="N",
        low=1,
    ),
]
Unit = Annotated[
    int | str,
    Option(
        "text",
        "Unit of space for the mixing of hot and cold data.",
        doc="unit of space in which hot and cold data mix: a multiple of 128 KiB.",
        metavar="SIZE",
        also=object,
    ),
]
Sample = Annotated[
    float,
    Option(
        "number",
        "Blocks sampled for reuse, as a number or a share.",
        doc="how many 4 KiB blocks are followed at most for reuse distances and working sets, which are exact as long"
        " as there are no more (64 to 67108864); or, up to 1, which share of all blocks is followed.",
        metavar="N|SHARE",
    ),
]
Macroscopic = Annotated[
    bool,
    Option(
        "flag",
        "Only counts and shares: faster.",
        doc="leaves out all but the macroscopic view, which takes a fraction of the time.",
    ),
]
Seed = Annotated[
    int | None,
    Option("whole", "Seed of a generator.", doc="replaces the seed of a generator.", on_command_line=False),
]
