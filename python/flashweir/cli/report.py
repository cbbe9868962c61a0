"""`flashweir report`: results or a sweep in, one HTML file and figures out."""

import os
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flashweir._native import ConfigError, FlashweirError
from flashweir.cli.derived import takes
from flashweir.cli.outputs import Force, check_existing, check_figures, check_output
from flashweir.options.option import options_of
from flashweir.reports.api import report as reported
from flashweir.whole import STANDARD

if TYPE_CHECKING:
    from flashweir.charts.model import Chart

# Files that sweeps own in their folder: no report may take such a path, whether the file exists or not.
_OF_SWEEPS = ("sweep.json", ".lock", "runs*", "earlier-*", ".*.part")


@takes(reported)
def report(
    inputs: Annotated[
        list[str],
        typer.Argument(
            metavar="DIR|RUN.json...", help="A sweep's folder, or results: simulate, replay, bench --json; fio."
        ),
    ],
    force: Force = False,
    **options: Any,  # noqa: ANN401 - of several kinds, each checked
) -> None:
    """Write a report that needs no network, from a sweep or from results."""
    output, figures = options.get("output"), options.get("figures")
    if output is not None and output.endswith(("/", os.sep)):
        raise ConfigError(f"-o {output}: that is a folder: expected the name of a file, such as report.html")
    target = None if output is None else Path(output)
    write_report([Path(name) for name in inputs], target, figures, options.get("format"), force=force)


def write_report(
    inputs: Sequence[Path], output: Path | None, figures: Path | None, format: str | None, *, force: bool = False
) -> None:
    """Writes the report to `output` and the figures into `figures`.

    Raises:
        ConfigError: an input that is no sweep and no result, or an output that has no place to be written, or would
            replace an input or another output.
        FlashweirError: writing failed.
    """
    if output is None and figures is None:
        raise ConfigError("nothing to write: give -o FILE.html, --figures DIR or both")
    if format is not None and figures is None:
        raise ConfigError("--format goes with --figures DIR")
    options_of(reported)["format"].option.check("format", format)
    _check_outputs(inputs, output, figures, force=force)
    from flashweir.reports.sources import of_files, of_sweep

    title, charts, sections = of_sweep(inputs[0]) if inputs[0].is_dir() else of_files(inputs)
    if figures is not None:
        write_figures(charts, figures, format or "svg", inputs, output, force=force)
    if output is not None:
        from flashweir.reports import page

        try:
            page.write(output, title, sections)
        except OSError as error:
            # It would name the temporary file.
            raise FlashweirError(f"{output}: can't be written: {error.strerror or error}") from error


def write_figures(
    charts: "Sequence[Chart]",
    folder: Path,
    format: str,
    inputs: Sequence[Path],
    output: Path | None,
    *,
    force: bool = False,
) -> None:
    """Writes each chart into `folder` under its own name, none of them over an input or the report at `output`.

    Raises:
        ConfigError: one of them would be.
        FlashweirError: the folder can't be made.
    """
    from flashweir.charts.matplotlib import write

    targets = [folder / f"{chart.name}.{format}" for chart in charts]
    for target in targets:
        _keep("--figures", target, inputs)
        check_existing("--figures", target, force=force, kind="figure")
        if output is not None and (_same(target, output) or _same(folder, output)):
            raise ConfigError(f"-o {output}: expected a file of its own: --figures {folder} writes it already")
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise FlashweirError(f"--figures {folder}: can't be made: {error.strerror or error}") from error
    for chart, target in zip(charts, targets, strict=True):
        write(chart, target)


def _check_outputs(inputs: Sequence[Path], output: Path | None, figures: Path | None, *, force: bool) -> None:
    """Refuses inputs of two kinds, and outputs that can't be written or would replace what is read."""
    for path in inputs:
        if path.is_dir() and len(inputs) > 1:
            raise ConfigError(f"{path}: expected one folder of a sweep and nothing else, or files with results")
        if not path.exists() and str(path) != STANDARD:
            raise ConfigError(f"{path}: there is no such file or folder; expected a sweep's folder, or results in JSON")
    if output is not None:
        # First whether it is an input: that says more than that it is there.
        _keep("-o", output, inputs)
        check_output("-o", output, force=force, kind="page")
    check_figures(figures, force=force)


def _keep(option: str, target: Path, inputs: Sequence[Path]) -> None:
    """Refuses a target that is one of the inputs, under whatever name, or a file of the sweep that is read."""
    if str(target) == STANDARD:
        return
    place = target.resolve()
    for source in inputs:
        if not source.is_dir():
            if _same(source, target):
                raise ConfigError(f"{option} {target}: expected a file of its own: {source} is read already")
            continue
        folder = source.resolve()
        within = place.relative_to(folder).parts[0] if folder in place.parents else ""
        # Under whatever name: a link from elsewhere is the same file.
        owned = [file for pattern in _OF_SWEEPS for file in source.glob(pattern)]
        if any(fnmatchcase(within, pattern) for pattern in _OF_SWEEPS) or any(_same(file, target) for file in owned):
            raise ConfigError(
                f"{option} {target}: expected a file of its own: this one belongs to the sweep in {source}"
            )


def _same(one: Path, other: Path) -> bool:
    """True if two paths lead to the same file, existing or not."""
    if STANDARD in (str(one), str(other)):
        return False
    if one.exists() and other.exists():
        return one.samefile(other)
    return one.resolve() == other.resolve()
