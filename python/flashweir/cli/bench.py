"""`flashweir bench`: grades drives by the writes of known workloads."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flashweir._native import ConfigError, FlashweirError
from flashweir.benchmark import bench as graded
from flashweir.cli.common import Json, Stopped, console, write_json
from flashweir.cli.derived import takes
from flashweir.cli.health import print_health
from flashweir.cli.outputs import Force, check_figures, check_outputs
from flashweir.notices import say
from flashweir.options.many import Resume
from flashweir.options.option import Row
from flashweir.options.pages import FIGURES, Html
from flashweir.progress import bar_on_terminal

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@takes(graded)
def bench(
    targets: Annotated[
        list[str],
        typer.Argument(
            metavar="TARGET", help="sim:PRESET[,KEY=VALUE...], py:FILE.py:CLASS or a device; with --compare, results."
        ),
    ],
    suite: Annotated[
        list[str] | None,
        typer.Option(
            "--suite",
            metavar="NAME",
            help="transfer, buffer, mapping, gc, overall, linux, plain or all; may be repeated.",
        ),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help="Write the result, after each workload.")
    ] = None,
    resume: Annotated[
        Resume, Row("go on in -o FILE with a benchmark that was stopped", help="Continue the benchmark in -o FILE.")
    ] = False,
    compare: Annotated[bool, typer.Option("--compare", help="Compare results instead.")] = False,
    json_to: Json = None,
    force: Force = False,
    html: Html = None,
    figures: Annotated[
        Path | None, FIGURES, Row("writes each figure as a PNG file", help="Write each figure as a PNG file.")
    ] = None,
    **options: Any,  # noqa: ANN401 - of several kinds, each checked
) -> None:
    """Grade a drive by the writes of known workloads, or compare results."""
    outputs: dict[str, str | Path | None] = {"--html": html, "--json": json_to}
    outputs |= {} if resume else {"-o": output}
    check_outputs(outputs, targets if compare else [], force=force, kinds={"-o": "grades"}, files=["-o"])
    check_figures(figures, force=force)
    pts = options.get("pts")
    if compare:
        given = {"--suite": suite, "--pts": pts, "--scale": options.get("scale"), "--erase": options.get("erase"),
                 "-o": output, "--resume": resume or None,
                 "--health-before": options.get("health_before") or options.get("health_after")}  # fmt: skip
        for option, value in given.items():
            if value is not None:
                raise ConfigError(f"{option}: has no effect with --compare")
        return _compare(targets, json_to, html, figures)
    if len(targets) > 1:
        raise ConfigError(f"{targets[1]}: expected one drive, or --compare with results")
    if pts:
        options |= {"suites": suite, "resume": resume, "output": output}
        return _steady(targets[0], options, (json_to, html, figures))
    if resume and output is None:
        raise ConfigError("--resume: expected the result to go on with, -o FILE")
    result = _run(targets[0], suite, options, output, resume)
    _show([result], targets, json_to, html, figures)
    if json_to is None:
        print_health(result["health"], console())
    return None


def _steady(
    target: str,
    options: dict[str, Any],
    outputs: tuple[str | None, Path | None, Path | None],
) -> None:
    """Runs steady-state tests, and shows them."""
    from flashweir.benchmark.pts import showing

    output = options["output"]
    try:
        result = graded(target, tell=_tell if sys.stderr.isatty() else None, **options)
    except KeyboardInterrupt as interrupt:
        kept = f"; finished tests are in {output}" if output is not None and output.exists() else ""
        raise Stopped(f"{str(interrupt) or 'stopped'}{kept}") from interrupt
    json_to, html, figures = outputs
    if json_to is not None:
        write_json(result, json_to)
    else:
        showing.print_result(result, console())
        print_health(result["health"], console())
    if html is not None:
        from flashweir.reports import page

        try:
            page.write(html, f"Steady state of {result.get('name', target)}", showing.sections(result))
        except OSError as error:
            raise FlashweirError(f"{html}: can't be written: {error.strerror or error}") from error
    if figures is not None:
        from flashweir.charts.matplotlib import write

        figures.mkdir(exist_ok=True)
        for chart in showing.charts(result):
            write(chart, figures / f"{chart.name}.png")


def _tell(name: str, number: int, count: int) -> None:
    say(f"{number} of {count}: {name}")


def _run(
    target: str,
    suite: list[str] | None,
    options: "Mapping[str, Any]",
    output: Path | None,
    resume: bool,
) -> dict[str, Any]:
    from flashweir.benchmark import SUITES

    suites = None if suite is None else [one for name in suite for one in (SUITES[:5] if name == "all" else (name,))]
    bar = bar_on_terminal()

    try:
        arguments: dict[str, Any] = {"suites": suites, **options}
        arguments |= {"output": output, "resume": resume, "tell": _tell if sys.stderr.isatty() else None}
        if bar is None:
            return graded(target, **arguments)
        with bar:
            return graded(target, **arguments, progress=bar.update)
    except KeyboardInterrupt as interrupt:
        kept = ""
        if output is not None:
            finished = f"what was finished is in {output}" if output.exists() else "no workload is finished"
            kept = f"; {finished}, and --resume goes on"
        # Between workloads there is nobody to say more.
        raise Stopped(f"{str(interrupt) or 'stopped while no request was made'}{kept}") from interrupt


def _compare(paths: "Sequence[str]", json_to: str | None, html: Path | None, figures: Path | None) -> None:
    from flashweir.benchmark import read

    if len(paths) < 2:  # noqa: PLR2004 - a pair
        raise ConfigError(f"--compare {paths[0]}: expected at least two results")
    _show([read(path) for path in paths], paths, json_to, html, figures)


def _show(
    results: "Sequence[dict[str, Any]]",
    names: "Sequence[str]",
    json_to: str | None,
    html: Path | None,
    figures: Path | None,
) -> None:
    from dataclasses import asdict

    from flashweir.benchmark import showing
    from flashweir.benchmark.comparing import compare, warnings
    from flashweir.benchmark.naming import label, labels

    rows, warned = compare(results), warnings(results)
    called = [label(results[0])] if len(results) == 1 else labels(results, names)
    for warning in warned:
        say(f"warning: {warning}")
    if json_to is not None:
        alone = (
            results[0]
            if len(results) == 1
            else {
                "drives": called,
                "targets": [result["target"] for result in results],
                "rows": [asdict(row) for row in rows],
                "warnings": warned,
            }
        )
        write_json(alone, json_to)
    elif len(results) == 1:
        showing.print_result(results[0], console())
    else:
        showing.print_comparison(results, rows, called, console())
    if html is not None:
        from flashweir.reports import page

        try:
            page.write(html, showing.title(called), showing.sections(results, called, rows))
        except OSError as error:
            raise FlashweirError(f"{html}: can't be written: {error.strerror or error}") from error
    if figures is not None:
        from flashweir.charts.matplotlib import write

        figures.mkdir(exist_ok=True)
        for chart in showing.charts(results, called):
            write(chart, figures / f"{chart.name}.png")
