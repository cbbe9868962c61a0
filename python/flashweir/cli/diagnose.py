"""`flashweir diagnose`: symptoms of a drive, in a log of requests or by tests that write it."""

from pathlib import Path
from typing import Annotated, Any

import typer

from flashweir import api
from flashweir._native import ConfigError, FlashweirError, TraceError
from flashweir.assumptions import print_of
from flashweir.cli.common import Columns, Format, Json, SkipBad, console, watched, write_json
from flashweir.cli.health import Health, HealthAfter, HealthBefore, print_health
from flashweir.cli.outputs import Force, check_outputs
from flashweir.diagnosis import diagnose as diagnosed
from flashweir.notices import say
from flashweir.result import Section
from flashweir.whole import STANDARD


def diagnose(
    log: Annotated[
        str,
        typer.Argument(
            metavar="LOG|TARGET", help="A log or trace with response times; with --active a drive, as for probe."
        ),
    ],
    active: Annotated[
        bool, typer.Option("--active", help="Write the whole drive TARGET several times, and measure it.")
    ] = False,
    erase: Annotated[
        str | None,
        typer.Option("--erase", metavar="TARGET", help="Name of the target again: permission to destroy its data."),
    ] = None,
    empty: Annotated[
        bool, typer.Option("--empty", help="The drive held nothing when LOG began: needed to judge its mapping.")
    ] = False,
    seed: Annotated[
        int | None, typer.Option("--seed", metavar="N", min=0, max=2**63, help="With --active: of random addresses.")
    ] = None,
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
    """Find the poor part of a drive, in a log of requests or by tests that write it."""
    if active:
        of_logs = {"--html": html, "--png": png, "--capacity": capacity, "--format": format, "--columns": columns}
        _refuse_given(of_logs | {"--skip-bad": skip_bad or None, "--empty": empty or None}, "with --active")
        watch = Health(log, health_before, health_after)
        return _active(log, erase, 1 if seed is None else seed, json_to, watch, force=force)
    _refuse_given({"--erase": erase, "--seed": seed}, "without --active")
    reading = (format, columns, skip_bad)
    watch = Health(log, health_before, health_after)
    return _passive(log, html, png, json_to, watch, force=force, capacity=capacity, empty=empty, reading=reading)


def _refuse_given(options: dict[str, object], where: str) -> None:
    for option, value in options.items():
        if value is not None:
            raise ConfigError(f"{option}: has no effect {where}")


def _active(target: str, erase: str | None, seed: int, json_to: str | None, watch: Health, *, force: bool) -> None:
    from flashweir.diagnosis.active import diagnose_target

    check_outputs({"--json": json_to}, [target], force=force)
    found = watched(lambda progress: diagnose_target(target, erase=erase, seed=seed, progress=progress, tell=say))
    found["health"] = health = watch.end()
    if json_to is not None:
        write_json(found, json_to)
        return
    from flashweir.diagnosis.active.showing import lines

    out = console()
    for text in lines(found):
        out.print(text, highlight=False, markup=False, soft_wrap=True)
    print_health(health, out)


def _passive(
    log: str,
    html: Path | None,
    png: Path | None,
    json_to: str | None,
    watch: Health,
    *,
    force: bool,
    capacity: str | None,
    empty: bool,
    reading: tuple[str | None, str | None, int],
) -> None:
    check_outputs({"--html": html, "--png": png, "--json": json_to}, [log], force=force)
    if png is not None and png.suffix.lower() not in (".png", ".svg", ".pdf") and str(png) != STANDARD:
        raise ConfigError(f"--png {png}: a picture is written as .png, .svg or .pdf, expected a name that ends so")

    def run(progress: api.Progress | None) -> Section:
        named, columns, skip_bad = reading
        arguments: dict[str, Any] = {"format": named, "columns": columns, "skip_bad": skip_bad}
        return diagnosed(log, capacity=capacity, empty=empty, progress=progress, **arguments)

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


def print_found(found: dict[str, Any]) -> None:
    """Prints a diagnosis: the verdict, each symptom with its evidence, and the contents of the log."""
    from flashweir.diagnosis import report

    out = console()

    def line(text: str = "") -> None:
        out.print(text, highlight=False, markup=False, soft_wrap=True)

    symptoms, findings, bounds = found["symptoms"], found["findings"], found["write_amplification"]
    line(f"{found['verdict']}: {found['sentence']}")
    line()
    for name, one in symptoms.items():
        line(f"{report.NAMES[name]}: {one['verdict']}: {one['reason']}")
    for finding in findings:
        # Evidence of a symptom that the log can't decide would be taken for one.
        if symptoms[finding["symptom"]]["verdict"] == "bad":
            line()
            line(f"{report.NAMES[finding['symptom']]}:")
            for name, said in zip(("where", "when", "how strongly"), report.evidence(finding), strict=True):
                line(f"  {name}: {said}")
    line()
    most = "unknown" if bounds["high"] is None else f"at most {bounds['high']:.3g}"
    line(f"write amplification: {most}")
    for name, said in report.facts(found):
        line(f"{name}: {said}")
