"""`flashweir trace characterize`: says what workloads are like."""

from typing import Annotated

import typer

from flashweir import api
from flashweir.cli.common import Columns, Format, Json, SkipBad, check_outputs, console, watched, write_json
from flashweir.result import Section

Gap = Annotated[
    int,
    typer.Option("--gap", metavar="K", help="Other requests that may come between two of a sequential run."),
]
Small = Annotated[str, typer.Option("--small", metavar="SIZE", help="The longest request that counts as small.")]
Segments = Annotated[
    int, typer.Option("--segments", metavar="N", help="Parts of equal time that are looked at one by one.")
]


def trace_characterize(
    trace: Annotated[str, typer.Argument(metavar="TRACE", help="A trace file, a generator, or mix:FILE.")],
    gap: Gap = 10,
    small: Small = "4KiB",
    segments: Segments = 10,
    json_to: Json = None,
    format: Format = None,
    columns: Columns = None,
    skip_bad: SkipBad = 0,
) -> None:
    """Say what a workload is like, and which suite it belongs to."""
    check_outputs({"--json": json_to}, [trace])

    def run(progress: api.Progress | None) -> Section:
        from flashweir.character import characterize

        return characterize(
            trace,
            gap=gap,
            small=small,
            segments=segments,
            format=format,
            columns=columns,
            skip_bad=skip_bad,
            progress=progress,
        )

    found = watched(run)
    if json_to is not None:
        write_json(found.to_dict(), json_to)
        return
    from flashweir.character.summary import print_character

    print_character(found, console())
