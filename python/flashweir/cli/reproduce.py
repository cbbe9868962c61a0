"""`flashweir reproduce`: published values beside measured ones."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flashweir import reproduction
from flashweir._native import ConfigError, FlashweirError
from flashweir.assumptions import print_of
from flashweir.cli.common import Json, Stopped, console, write_json
from flashweir.cli.derived import takes
from flashweir.cli.outputs import Force, check_existing, check_figures, check_folder, check_outputs
from flashweir.options.option import Row, options_of
from flashweir.options.pages import Html
from flashweir.reports.api import report as reported

if TYPE_CHECKING:
    from collections.abc import Mapping

    from flashweir.reproduction import Reproduction
    from flashweir.sweeps import State


@takes(reproduction.reproduce, reported, without=("output",))
def reproduce(
    paper: Annotated[
        str | None, typer.Argument(metavar="PAPER", help="Name of the paper; default: all papers.")
    ] = None,
    coverage: Annotated[
        bool,
        typer.Option("--coverage", help="List figures, tables and claims with their checks; run nothing."),
        Row(
            "runs nothing: lists every figure, table and numbered claim of the papers with its check, or the reason why"
            " it has none"
        ),
    ] = False,
    json_to: Annotated[Json, Row("the rows as JSON instead of tables")] = None,
    force: Force = False,
    html: Annotated[
        Html,
        Row("a page with both tables, and the figures of each experiment"),
    ] = None,
    **options: Any,  # noqa: ANN401 - of several kinds, each checked
) -> None:
    """Run the experiments of a paper, and compare them with its published values."""
    from flashweir.sweeps.recorded import TracesMissingError

    check_outputs({"--json": json_to, "--html": html}, [], force=force)
    if coverage:
        _check_alone({"--html": html, **_by_flag(options)})
        _cover(paper, options.get("experiments"), json_to)
        return
    figures, kind = options.pop("figures", None), options.pop("format", None)
    output = options.get("directory")
    _check(figures, kind, output)
    check_figures(figures, force=force)
    reproduction.choose(paper, options.get("figure"), options.get("experiments"))
    last: list[State] = []
    found = _watched(output, last, lambda progress: reproduction.reproduce(paper, progress=progress, **options))
    print_of(trace for one in found for trace in one.traces)
    # The result first: a page that can't be written must not take it with it.
    if json_to is not None:
        results = [one.to_dict() for one in found]
        write_json(results if paper is None else results[0], json_to)
    else:
        from flashweir.reproduction.showing import print_opening, print_reproduction

        print_opening(found, console())
        for one in found:
            print_reproduction(one, console())
    if html is not None:
        _write_page(html, found)
    if figures is not None:
        _write_figures(figures, kind or "svg", found, force=force)
    skipped = [reason for one in found for reason in one.skipped]
    failed = [error for one in found for error in one.failed]
    if failed:
        raise FlashweirError(
            f"{len(failed):,} of {last[-1].total if last else 0:,} runs failed, the first: {failed[0]}"
        )
    if skipped:
        more = f" ({len(skipped) - 1} more experiments were not run)" if len(skipped) > 1 else ""
        raise TracesMissingError(f"{skipped[0]}{more}")


def _check(figures: Path | None, format: str | None, output: Path | None) -> None:
    if format is not None and figures is None:
        raise ConfigError("--format goes with --figures DIR")
    options_of(reported)["format"].option.check("format", format)
    for option, folder in (("--figures", figures), ("-o", output)):
        check_folder(option, folder)
        if folder is not None and folder.exists() and not folder.is_dir():
            raise ConfigError(f"{option} {folder}: expected a folder")
        if folder is not None and not folder.absolute().parent.is_dir():
            raise ConfigError(f"{option} {folder}: there is no folder {folder.parent}")


def _by_flag(options: "Mapping[str, object]") -> dict[str, object]:
    """Options of runs under their names on the command line."""
    declared = {**options_of(reproduction.reproduce), **options_of(reported)}
    return {declared[name].option.names(name)[0]: value for name, value in options.items() if name != "experiments"}


def _check_alone(options: "Mapping[str, object]") -> None:
    """Refuses options of runs beside --coverage."""
    for option, value in options.items():
        if value not in (None, False):
            raise ConfigError(f"{option}: expected without --coverage, which runs nothing")


def _cover(paper: str | None, experiments: Path | None, json_to: str | None) -> None:
    from flashweir.reproduction import covered

    rows = covered(paper, experiments=experiments)
    if json_to is not None:
        write_json([row.to_dict() for row in rows], json_to)
    else:
        from flashweir.reproduction.showing import print_coverage

        print_coverage(rows, console())
    open_rows = [row for row in rows if not row.is_covered]
    if open_rows:
        first = f"{open_rows[0].paper}, {open_rows[0].where}: {open_rows[0].claim}"
        raise FlashweirError(f"{len(open_rows)} of {len(rows)} rows have neither check nor reason, the first: {first}")


def _watched(output: Path | None, last: "list[State]", run) -> "list[Reproduction]":  # type: ignore[no-untyped-def]  # noqa: ANN001
    """Runs until done or Ctrl-C, with a progress bar where there is a terminal to draw it on."""
    from flashweir.sweeps.terminal import progress_on

    def tell(state: "State") -> bool:
        last[:] = [state]
        return shown.update(state)

    try:
        with progress_on(sys.stderr) as shown:
            found: list[Reproduction] = run(tell)
            return found
    except KeyboardInterrupt as interrupt:
        done = f"{last[0].ready + last[0].done:,} of {last[0].total:,}" if last else "no"
        kept = f"are done and kept in {output}; the same command goes on" if output else "were done; -o DIR keeps them"
        raise Stopped(f"{done} runs {kept}") from interrupt


def _write_page(target: Path, found: "list[Reproduction]") -> None:
    from flashweir.reports import page
    from flashweir.reproduction.showing import sections

    try:
        page.write(target, f"Reproduction of {', '.join(one.paper.name for one in found)}", sections(found))
    except OSError as error:
        raise FlashweirError(f"{target}: can't be written: {error.strerror or error}") from error


def _write_figures(folder: Path, format: str, found: "list[Reproduction]", *, force: bool) -> None:
    """Writes each figure into a folder of its experiment, as the experiments themselves lie."""
    from flashweir.charts.matplotlib import write

    for one in found:
        for experiment, charts in one.figures:
            target = folder / one.paper.folder.name / experiment.name
            try:
                target.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise FlashweirError(f"--figures {target}: can't be made: {error.strerror or error}") from error
            for chart in charts:
                check_existing("--figures", target / f"{chart.name}.{format}", force=force, kind="figure")
                write(chart, target / f"{chart.name}.{format}")
