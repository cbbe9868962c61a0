"""`flashweir trace characterize`: measures workloads."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flashweir import api
from flashweir._native import ConfigError, FlashweirError, TraceError
from flashweir.assumptions import print_of
from flashweir.character import characterize
from flashweir.cli.common import Json, console, watched, write_json
from flashweir.cli.derived import takes
from flashweir.cli.outputs import Force, check_figures, check_outputs
from flashweir.options.many import On, Resume, Threads
from flashweir.options.option import Row, options_of
from flashweir.options.pages import FIGURES, Html
from flashweir.results.section import Section

if TYPE_CHECKING:
    from flashweir.character.kept import Row as Line

FigureFormat = Annotated[
    str | None, typer.Option("--figure-format", metavar="png|svg|pdf", help="Format of --figures; default png.")
]
Output = Annotated[
    Path | None,
    typer.Option("-o", "--output", metavar="FILE", help="For a folder: file of JSON lines; default DIR.jsonl"),
]
OnPlace = Annotated[
    On,
    Row(
        "for a folder: `local`, or the address of a Dask scheduler",
        help="For a folder: local, or the address of a Dask scheduler.",
    ),
]
Match = Annotated[str, typer.Option("--match", metavar="PATTERN", help="For a folder: pattern of file names.")]
TracesAtATime = Annotated[
    Threads, Row("for a folder: how many traces at a time", help="For a folder: number of traces at a time.")
]
Continue = Annotated[Resume, Row("for a folder: goes on with its output", help="For a folder: continue the output.")]


@takes(characterize)
def trace_characterize(
    trace: Annotated[
        str, typer.Argument(metavar="TRACE|DIR", help="A trace, generator, mix:FILE, fio:FILE, or folder.")
    ],
    html: Html = None,
    figures: Annotated[Path | None, FIGURES] = None,
    figure_format: FigureFormat = None,
    json_to: Json = None,
    output: Output = None,
    match: Match = "*",
    on: OnPlace = "local",
    threads: TracesAtATime = None,
    resume: Continue = False,
    force: Force = False,
    **settings: Any,  # noqa: ANN401 - of several kinds, each checked
) -> None:
    """Characterize a workload, or every trace of a folder: sizes, rates, reuse, suite."""
    shown = {name: one for name, one in options_of(characterize).items() if one.option.on_command_line}
    settings = {name: one.default for name, one in shown.items()} | settings
    if figure_format not in (None, "png", "svg", "pdf"):
        raise ConfigError(f"--figure-format {figure_format}: expected one of png, svg, pdf")
    if figure_format is not None and figures is None:
        raise ConfigError("--figure-format goes with --figures DIR")
    of_folder = {"-o": output, "--match": match != "*", "--on": on != "local", "--threads": threads, "--resume": resume}
    if Path(trace).is_dir():
        if figures is not None:
            raise ConfigError(f"--figures {figures}: expected one trace: {trace} is a folder")
        lines = output or Path(f"{Path(trace).resolve().name}.jsonl")
        outputs: dict[str, str | Path | None] = {"--html": html, "--json": json_to}
        outputs |= {} if resume else {"-o": lines}
        check_outputs(outputs, [], force=force, kinds={"-o": "lines"}, files=["-o"])
        if force and not resume:
            lines.unlink(missing_ok=True)
        _folder(trace, lines, html, json_to, match=match, on=on, threads=threads, resume=resume, **settings)
        return
    for option, given in of_folder.items():
        if given:
            raise ConfigError(f"{option}: expected a folder of traces: {trace} is none")
    check_outputs({"--html": html, "--json": json_to}, [trace], force=force)
    check_figures(figures, force=force)
    _one(trace, html, figures, figure_format or "png", json_to, settings, force=force)


def _one(
    trace: str,
    html: Path | None,
    figures: Path | None,
    format: str,
    json_to: str | None,
    settings: dict[str, Any],
    *,
    force: bool,
) -> None:
    def run(progress: api.Progress | None) -> Section:
        from flashweir.character import characterize

        return characterize(trace, progress=progress, **settings)

    found = watched(run).to_dict()
    print_of(_reports(found))
    if html is not None or figures is not None:
        from flashweir.character import report
        from flashweir.charts import from_character
        from flashweir.cli.report import write_figures

        charts = from_character.figures(found)
        if figures is not None:
            write_figures(charts, figures, format, [Path(trace)], html, force=force)
        if html is not None:
            _write_page(html, report.title_of(found), report.sections(found, charts))
    if json_to is not None:
        write_json(found, json_to)
        return
    from flashweir.character.summary import print_character

    print_character(found, console())


def _reports(found: dict[str, Any]) -> "list[tuple[str, dict[str, Any] | None]]":
    tenants = [(one["workload"], one.get("trace")) for one in found.get("tenants") or ()]
    return tenants or [(found["workload"], found.get("trace"))]


def _folder(folder: str, output: Path, html: Path | None, json_to: str | None, **options: Any) -> None:  # noqa: ANN401
    from flashweir.character.summary import print_table
    from flashweir.character.volumes import characterize_all, row_of

    def run(progress: api.Progress | None) -> "list[Line]":
        return characterize_all(folder, output, progress=progress, **options)

    rows = watched(run)
    print_of((row["trace"], (row["character"] or {}).get("trace")) for row in rows)
    if html is not None:
        from flashweir.character import report

        _write_page(html, f"Traces in {Path(folder).name or folder}", report.table_sections(rows))
    if json_to is not None:
        write_json([row_of(row) for row in rows], json_to)
    else:
        print_table([row_of(row) for row in rows], console())
    failed = [row["error"] for row in rows if row["error"]]
    if failed:
        raise TraceError(f"{output}: {len(failed)} of {len(rows)} traces can't be read, the first: {failed[0]}")


def _write_page(path: Path, title: str, sections: Any) -> None:  # noqa: ANN401 - a report's sections
    from flashweir.reports import page

    try:
        page.write(path, title, sections)
    except OSError as error:
        # It would name the temporary file.
        raise FlashweirError(f"{path}: can't be written: {error.strerror or error}") from error
