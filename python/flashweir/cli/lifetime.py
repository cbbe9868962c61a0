"""`flashweir lifetime`: time and bytes until a drive is worn out."""

from typing import Annotated, Any

import typer

from flashweir import api
from flashweir._native import FlashweirError
from flashweir.assumptions import of_workloads, print_of
from flashweir.cli.common import (
    Device,
    Json,
    Settings,
    console,
    pair,
    watched,
    write_json,
)
from flashweir.cli.derived import takes
from flashweir.cli.outputs import Force, check_outputs
from flashweir.endurance.api import lifetime as estimated
from flashweir.options.many import Seeds
from flashweir.options.option import Row
from flashweir.options.pages import Html
from flashweir.results.section import Section
from flashweir.tenants import file_of


@takes(estimated)
def lifetime(
    workload: Annotated[
        str,
        typer.Argument(
            metavar="WORKLOAD", help="A trace file, generator such as random, mix:FILE or fio:FILE; repeated."
        ),
    ],
    device: Device = None,
    settings: Settings = None,
    seeds: Annotated[Seeds, Row("seeds 1 to N; 3 if not given", help="Seeds 1 to N; default 3.")] = None,
    html: Annotated[Html, Row("writes a report with curves", help="Write a report with curves.")] = None,
    json_to: Json = None,
    force: Force = False,
    **options: Any,  # noqa: ANN401 - of several kinds, each checked
) -> None:
    """Estimate the time and the bytes written until a drive is worn out."""
    check_outputs({"--html": html, "--json": json_to}, [device, file_of(workload)], force=force)

    def run(progress: api.Progress | None) -> Section:
        return estimated(
            workload,
            device,
            seeds=seeds,
            progress=progress,
            set=dict(pair(text, "--set", "KEY=VALUE") for text in settings or []),
            **options,
        )

    found = watched(run).to_dict()
    print_of(of_workloads(found))
    if html is not None:
        from flashweir.endurance import report

        try:
            report.write(found, html)
        except OSError as error:
            raise FlashweirError(f"{html}: can't be written: {error.strerror or error}") from error
    if json_to is not None:
        write_json(found, json_to)
        return
    from flashweir.endurance.summary import finding, lines

    out = console()
    for text in (*finding(found), "", *(f"{name}: {said}" for name, said in lines(found)), "", *found["assumptions"]):
        out.print(text, highlight=False, markup=False, soft_wrap=True)
