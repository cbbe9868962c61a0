"""Options of searches for drives: `search` among designs, `fit` to measurements."""

import os
from typing import Annotated

from flashweir.options.option import Option

AnyPath = str | os.PathLike[str]

Directory = Annotated[
    AnyPath | None,
    Option(
        "path",
        "Keep runs, front and device files here.",
        doc="where runs and the front go and stay; a sweep's directory.",
        row="keep the runs, `front.csv` and device files `front/DESIGN.toml`; without it nothing is kept",
        metavar="DIR",
        flags=("-o", "--output"),
    ),
]
Budget = Annotated[
    int | str,
    Option(
        "text",
        "Designs to run, or a time such as 10min.",
        doc='designs to run, or a time such as `"10min"`. The same number and seed find the same.',
        row="designs to run (100), each with all workloads and seeds, or a time such as `10min`",
        metavar="N|TIME",
        also=object,
    ),
]
Seed = Annotated[
    int,
    Option(
        "whole",
        "Seed of the search.",
        doc="of the sampler; workloads have the seeds of the spec.",
        row="of the search (1); those of the workloads are the spec's `seeds`",
        metavar="N",
        high=2**63 - 1,
    ),
]
Batch = Annotated[
    int,
    Option(
        "whole",
        "Designs that run at a time.",
        doc="designs that run at a time, before the next are chosen.",
        row="designs that run at a time (4), before the next are chosen",
        metavar="N",
        low=1,
        high=4096,
    ),
]
Output = Annotated[
    AnyPath | None,
    Option(
        "path",
        "Write the drive as a device file.",
        doc="a device file to write; evaluations are kept beside it in `OUTPUT.runs.jsonl`, from where a search that"
        " was stopped goes on.",
        row="the drive, each key with its source; evaluations are kept in `DRIVE.toml.runs.jsonl`",
        metavar="DRIVE.toml",
        flags=("-o", "--output"),
    ),
]
Check = Annotated[
    AnyPath | None,
    Option(
        "path",
        "Predict these measurements instead.",
        doc="other measurements, which the drive then predicts; the outcome's points are these.",
        row="measurements to predict instead of those that were fitted",
        metavar="OTHER.toml",
    ),
]
Base = Annotated[
    str | None,
    Option(
        "text",
        "Drive below the keys that are searched.",
        doc="a preset or device file below the searched keys.",
        row="the drive below the searched keys",
        metavar="PRESET|FILE",
    ),
]
DriveName = Annotated[
    str | None,
    Option(
        "text",
        "Drive to take, of a file that has several.",
        doc="the drive to take, of a file that has several.",
        row="the drive to take, of a file that has several",
        metavar="NAME",
    ),
]
LeaveOut = Annotated[
    bool,
    Option(
        "flag",
        "Fit without every second rate, and predict these.",
        doc="True: every second rate is left out of the fit, and is what the outcome's points are.",
        row="fit without every second rate below saturation, and predict these",
    ),
]
Evaluations = Annotated[
    int | str,
    Option(
        "text",
        "Evaluations, or a time such as 10min; 0: predict --base.",
        doc='evaluations, or a time such as `"10min"`. 0 searches nothing and predicts `base` as it is.',
        row="evaluations (100), or a time such as `10min`; 0 predicts `--base`",
        metavar="N|TIME",
        flags=("--budget",),
        also=object,
    ),
]
FitSeed = Annotated[
    int, Option("whole", "Seed of everything random.", doc="of everything random.", metavar="N", high=2**63 - 1)
]
