"""Options of a recorded run that is watched."""

from typing import Annotated

from flashweir.options.option import Option

Speed = Annotated[
    float | None,
    Option(
        "number",
        "Simulated time over wall time.",
        doc="simulated time over wall time; `None`: the run in a minute.",
        row="simulated time over wall time (the run in a minute)",
        metavar="X",
    ),
]
