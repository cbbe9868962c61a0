"""`flashweir diagnose`: symptoms of a drive, in a log of requests or by tests that write it."""

from pathlib import Path
from typing import Annotated, Any

import typer

from flashweir import api
from flashweir._native import ConfigError, FlashweirError, TraceError
from flashweir.assumptions import print_of
from flashweir.cli.common import Json, console, watched, write_json
from flashweir.cli.derived import takes
from flashweir.cli.health import print_health
from flashweir.cli.outputs import Force, check_outputs
from flashweir.diagnosis import diagnose as diagnosed
from flashweir.healthlogs.around import Health
from flashweir.notices import say
from flashweir.options.option import Row
from flashweir.options.pages import Html
from flashweir.results.section import Section
from flashweir.targets import PREFIX
from flashweir.whole import STANDARD

_HEALTH = ("health_before", "health_after")
_READING = ("format", "columns", "skip_bad", "hint")


@takes(diagnosed)
def diagnose(
    log: Annotated[
        str,
        typer.Argument(
            metavar="LOG|TARGET", help="A log or trace with response times; with --active a drive, as for probe."
        ),
    ],
    active: Annotated[
        bool,
        typer.Option("--active", help="Write the whole drive TARGET several times, and measure it."),
        Row("tests TARGET (a block device, a file, `sim:...`, `py:...`) instead of reading a log"),
    ] = False,
    empty: Annotated[
        bool,
        typer.Option("--empty", help="The drive held nothing when LOG began: needed to judge its mapping."),
        Row("the drive held nothing when the log began: needed to judge its mapping"),
    ] = False,
    html: Annotated[
        Html,
        Row(
            "writes a report: of a log with the picture in three dimensions, which can be turned round; with `--active`"
            " with the tests' ratios, their intervals and bands; it needs no network"
        ),
    ] = None,
    png: Annotated[
        Path | None,
        typer.Option("--png", metavar="F.png", help="Write the picture."),
        Row("writes the picture; `.svg` and `.pdf` too"),
    ] = None,
    json_to: Json = None,
    force: Force = False,
    capacity: Annotated[
        str | None,
        typer.Option("--capacity", metavar="SIZE", help="Capacity of the drive, such as 120GB."),
        Row("capacity of the drive, such as `120GB`; default: the range of written addresses"),
    ] = None,
    **options: Any,  # noqa: ANN401 - of several kinds, each checked
) -> None:
    """Find the poor part of a drive, in a log of requests or by tests that write it."""
    if active:
        of_logs = {"--png": png, "--capacity": capacity, "--empty": empty or None}
        _refuse_given(
            of_logs | {f"--{name.replace('_', '-')}": options.get(name) for name in _READING}, "with --active"
        )
        watch = Health(log, options.get("health_before"), options.get("health_after"))
        return _active(log, options.get("erase"), options.get("seed", 1), (json_to, html), watch, force=force)
    _refuse_given({"--erase": options.get("erase"), "--seed": options.get("seed")}, "without --active")
    if log.startswith(("sim:", PREFIX)) or Path(log).is_block_device():
        raise ConfigError(f"{log}: is a drive: expected a log of requests, or --active, which tests a drive by writes")
    reading = {name: options[name] for name in (*_READING, *_HEALTH) if name in options}
    return _passive(log, html, png, json_to, force=force, capacity=capacity, empty=empty, reading=reading)


def _refuse_given(options: dict[str, object], where: str) -> None:
    for option, value in options.items():
        if value is not None:
            raise ConfigError(f"{option}: has no effect {where}")


def _active(
    target: str,
    erase: str | None,
    seed: int,
    outputs: tuple[str | None, Path | None],
    watch: Health,
    *,
    force: bool,
) -> None:
    from flashweir.diagnosis.active import diagnose_target

    json_to, html = outputs
    check_outputs({"--html": html, "--json": json_to}, [target], force=force)
    found = watched(lambda progress: diagnose_target(target, erase=erase, seed=seed, progress=progress, tell=say))
    found["health"] = health = watch.end()
    if html is not None:
        from flashweir.diagnosis.active import page

        try:
            page.write(found, html)
        except OSError as error:
            raise FlashweirError(f"{html}: can't be written: {error.strerror or error}") from error
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
    *,
    force: bool,
    capacity: str | None,
    empty: bool,
    reading: dict[str, Any],
) -> None:
    check_outputs({"--html": html, "--png": png, "--json": json_to}, [log], force=force)
    if png is not None and png.suffix.lower() not in (".png", ".svg", ".pdf") and str(png) != STANDARD:
        raise ConfigError(f"--png {png}: a picture is written as .png, .svg or .pdf, expected a name that ends so")

    def run(progress: api.Progress | None) -> Section:
        return diagnosed(log, capacity=capacity, empty=empty, progress=progress, **reading)

    found = watched(run).to_dict()
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
        print_health(found["health"], console())


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
