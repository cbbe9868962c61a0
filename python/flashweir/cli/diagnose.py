"""`flashweir diagnose`: symptoms of a drive in a log of requests."""

from pathlib import Path
from typing import Annotated

import typer

from flashweir import api
from flashweir._native import ConfigError, FlashweirError, TraceError
from flashweir.assumptions import print_of
from flashweir.cli.common import Columns, Format, Json, SkipBad, console, watched, write_json
from flashweir.cli.health import Health, HealthAfter, HealthBefore, print_health
from flashweir.cli.outputs import Force, check_outputs
from flashweir.diagnosis import diagnose as diagnosed
from flashweir.result import Section
from flashweir.whole import STANDARD


def diagnose(
    log: Annotated[str, typer.Argument(metavar="LOG", help="A request log, or a trace that has response times.")],
    html: Annotated[Path | None, typer.Option("--html", metavar="F.html", help="Write a report.")] = None,
    png: Annotated[Path | None, typer.Option("--png", metavar="F.png", help="Write the picture.")] = None,
    json_to: Json = None,
    force: Force = False,
    capacity: Annotated[
        str | None, typer.Option("--capacity", metavar="SIZE", help="Capacity of the drive, such as 120GB.")
    ] = None,
    format: Format = None,
    columns: Columns = None,
    skip_bad: SkipBad = 0,
    health_before: HealthBefore = None,
    health_after: HealthAfter = None,
) -> None:
    """Find the poor part of a drive in a log of requests."""
    check_outputs({"--html": html, "--png": png, "--json": json_to}, [log], force=force)
    if png is not None and png.suffix.lower() not in (".png", ".svg", ".pdf") and str(png) != STANDARD:
        raise ConfigError(f"--png {png}: a picture is written as .png, .svg or .pdf, expected a name that ends so")

    watch = Health(log, health_before, health_after)

    def run(progress: api.Progress | None) -> Section:
        return diagnosed(log, capacity=capacity, format=format, columns=columns, skip_bad=skip_bad, progress=progress)

    found = watched(run).to_dict()
    found["health"] = health = watch.end()
    print_of([(Path(log).name, found.get("trace"))])
    if not found["writes"]:
        raise TraceError(
            f"{log}: no write in it has a response time: expected a log of requests, or a trace with completion times"
        )
    if html is not None:
        from flashweir.diagnosis import report

        try:
            report.write(found, Path(log).name, html)
        except OSError as error:
            raise FlashweirError(f"{html}: can't be written: {error.strerror or error}") from error
    if png is not None:
        from flashweir.charts.matplotlib import write
        from flashweir.diagnosis import report

        write(report.cloud(found), png)
    if json_to is not None:
        write_json(found, json_to)
    else:
        print_found(found)
        print_health(health, console())


def print_found(found: dict[str, object]) -> None:
    """Prints a diagnosis: the verdict, each symptom with its evidence, and the contents of the log."""
    from flashweir.diagnosis import report

    out = console()

    def line(text: str = "") -> None:
        out.print(text, highlight=False, markup=False, soft_wrap=True)

    symptoms = found["symptoms"]
    line(f"{found['verdict']}: {found['sentence']}")
    for finding in symptoms if isinstance(symptoms, list) else []:
        shown = "bad" if finding["shown"] else "good"
        line()
        line(f"{report.NAMES[finding['symptom']]}: {shown} (probability of being bad {finding['probability']:.2f})")
        line(f"  {finding['sentence']}")
        if finding["shown"]:
            for name, said in zip(("where", "when", "how strongly"), report.evidence(finding), strict=True):
                line(f"  {name}: {said}")
    line()
    for name, said in report.facts(found):
        line(f"{name}: {said}")
