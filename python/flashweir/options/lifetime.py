"""Options of the life of a drive."""

from typing import Annotated

from flashweir.options.option import Option


def _positive(help: str, doc: str, metavar: str, flags: tuple[str, ...] = ()) -> Option:
    """A number that `lifetime` checks itself."""
    return Option("number", help, doc=doc, metavar=metavar, flags=flags, also=object)


Seed = Annotated[
    int | None,
    Option(
        "whole",
        "One seed, instead of --seeds.",
        doc="one seed, instead of `seeds`.",
        row="one seed, instead of `--seeds`",
        metavar="N",
    ),
]
Years = Annotated[float, _positive("Horizon, and the years of DWPD.", "horizon, and the years of DWPD.", "Y")]
Temperature = Annotated[
    float | None,
    _positive(
        "Temperature of the flash, in degrees Celsius; default: that of the drive.",
        "of the flash, in degrees Celsius; `ageing.temperature` of the drive (30) if not given.",
        "C",
    ),
]
Cycles = Annotated[
    float | None,
    _positive(
        "Rated program/erase cycles; default: typical of the cell.",
        "rated program/erase cycles; typical ones of the cell if not given.",
        "N",
    ),
]
Cell = Annotated[
    str | None,
    Option(
        "text",
        "Kind of cell; default: the drive's.",
        doc='`"slc"`, `"mlc"`, `"tlc"` or `"qlc"`, where the drive does not say it.',
        metavar="slc|mlc|tlc|qlc",
    ),
]
BlockCycles = Annotated[
    float | None,
    _positive(
        "Cycles at which a block is retired; default: 1.25 x --cycles.",
        "cycles at which a block is retired; 1.25 times the rating if not given.",
        "N",
    ),
]
Retention = Annotated[
    float,
    _positive(
        "Age of the data that is read, in days.", "age of the data that is read, in days.", "DAYS", ("--retention",)
    ),
]
Ecc = Annotated[
    str | None,
    Option(
        "text",
        "Bits corrected in a codeword, such as 120/1KiB.",
        doc='bits that are corrected in a codeword, such as `"120/1KiB"`; by default as many as a block takes at the'
        " end of its life with data of 30 days at 30 degrees.",
        metavar="BITS/SIZE",
        also=object,
    ),
]
PerDay = Annotated[
    str | float | None,
    Option(
        "text",
        "Bytes that the host writes a day; default: the workload's.",
        doc='bytes that the host writes a day, such as `"500GB"`, instead of the workload\'s own pace.',
        metavar="SIZE",
        also=object,
    ),
]
Price = Annotated[
    float | None,
    _positive("Price of the drive: adds the cost of a TB written.", "of the drive: adds `cost_per_tbw`.", "P"),
]
Tolerance = Annotated[
    float,
    Option(
        "number",
        "Change of write amplification up to which wear is steady.",
        doc="relative change of write amplification up to which wear is steady.",
        also=object,
        on_command_line=False,
    ),
]
Full = Annotated[
    bool,
    Option(
        "flag",
        "Simulate until the rated cycles, without fast-forward.",
        doc="simulates until the rated cycles, without extrapolation.",
    ),
]
