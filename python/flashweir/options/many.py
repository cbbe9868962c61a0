"""Options of what makes many runs: sweep, search, comparison, reproduction and checks of bundles."""

import os
from collections.abc import Sequence
from typing import Annotated

from flashweir._native import ConfigError
from flashweir.options.option import Option, said
from flashweir.quantity import number_of

AnyPath = str | os.PathLike[str]

Directory = Annotated[
    AnyPath | None,
    Option(
        "path",
        "Directory of the runs; default SPEC.sweep.",
        doc="where the results go and stay. Without one they are kept for as long as the frame is.",
        row="the directory; `SPEC.sweep` in the current one if not given",
        metavar="DIR",
        flags=("-o", "--output"),
    ),
]
On = Annotated[
    str,
    Option(
        "text",
        "local, a Dask scheduler's tcp://HOST:PORT, or slurm[:JOBS].",
        doc="`local`, the address of a Dask scheduler such as `tcp://10.0.0.1:8786`, `file:` and a scheduler file, or"
        " a batch system and how many jobs to ask it for, such as `slurm:8`.",
        row="`local`, the address of a Dask scheduler, or a batch system such as `slurm`"
        " ([clusters](../guide/cluster.md))",
        metavar="WHERE",
    ),
]
Resume = Annotated[
    bool,
    Option(
        "flag",
        "Continue the runs in DIR; failed ones are run again.",
        doc="go on in a directory that holds runs already; failed runs are tried again.",
        row="go on in a directory that holds runs; failed runs are tried again",
    ),
]
Reuse = Annotated[
    Sequence[AnyPath],
    Option(
        "path",
        "Reuse the runs of another sweep; may be repeated.",
        doc="directories of other sweeps, whose results are taken where they are the same run.",
        row="take over the runs that another sweep has made; may be repeated",
        metavar="DIR",
        several=True,
        also=Sequence,
    ),
]
# Of commands alone: in Python the seeds are a list.
Seeds = Annotated[
    int | None,
    Option("whole", "Seeds 1 to N.", row="seeds 1 to N", metavar="N", low=1, high=10_000),
]
Threads = Annotated[
    int | None,
    Option(
        "whole",
        "Number of parallel runs on this machine; default: cores.",
        doc="how many runs at a time on this machine; one a core if not given.",
        row="how many runs at a time on this machine; one a core if not given",
        metavar="N",
        low=1,
        high=4096,
    ),
]
Memory = Annotated[
    int | str | None,
    Option(
        "text",
        "Memory of all local runs together; default: 80% of the free memory.",
        doc='what the runs on this machine may take together, bytes or text such as `"8GiB"`; 80% of what is free if'
        " not given.",
        row="what the runs on this machine may take together; 80% of the free memory if not given. A run that alone"
        " needs more runs alone",
        metavar="SIZE",
        flags=("--memory",),
        also=object,
    ),
]


def memory_of(memory: object) -> int | None:
    """The bytes of the option `memory_bytes`.

    Raises:
        ConfigError: it is no size.
    """
    if memory is None:
        return None
    size = number_of(memory)
    if size is None or size < 1:
        raise ConfigError(f"{said('memory_bytes', Memory)} {memory}: expected a size such as 8GiB")
    return int(size)
