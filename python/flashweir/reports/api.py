"""`flashweir.report`: what the command of that name does, from Python."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flashweir._native import ConfigError, FlashweirError
from flashweir.arguments import in_python
from flashweir.options import pages
from flashweir.options.option import checked, declared
from flashweir.result import Result
from flashweir.results.section import Section

if TYPE_CHECKING:
    from flashweir.reports.sources import Parts
    from flashweir.sweeps.frame import SweepFrame

AnyPath = str | os.PathLike[str]


@declared
@in_python
def report(
    source: "AnyPath | Result | SweepFrame | Mapping[str, Any] | Sequence[AnyPath]",
    output: pages.Page = None,
    *,
    figures: pages.Figures = None,
    format: pages.Format = "svg",
) -> None:
    """Writes a report as one HTML file that needs no network, and its figures as files. Files that exist are replaced.

    Args:
        source: a result of `simulate`, or a mapping of names to several; a result of `replay` or `bench`; a frame of
            `sweep` or `compare`; a sweep's directory; or files that `simulate`, `replay` and `bench --json` or fio
            wrote.

    Raises:
        ConfigError: there is nothing to write, or the source is none of these.
        FlashweirError: a file can't be written.
    """
    checked(report, locals())
    from flashweir.charts.matplotlib import write
    from flashweir.reports import page

    if output is None and figures is None:
        raise ConfigError("nothing to write: expected output, figures or both")
    title, charts, sections = _parts(source)
    if figures is not None:
        folder = Path(figures)
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise FlashweirError(f"figures {folder}: can't be made: {error.strerror or error}") from error
        for chart in charts:
            write(chart, folder / f"{chart.name}.{format}")
    if output is not None:
        try:
            page.write(output, title, sections)
        except OSError as error:
            raise FlashweirError(f"{output}: can't be written: {error.strerror or error}") from error


def _parts(source: Any) -> "Parts":  # noqa: ANN401 - whatever is given
    from flashweir.benchmark import comparing
    from flashweir.reports import measured, sources
    from flashweir.sweeps.frame import SweepFrame

    if isinstance(source, SweepFrame):
        return sources.of_frame(source)
    if isinstance(source, Result):
        return sources.of_results([("result", source.to_dict())])
    if isinstance(source, Mapping) and source and all(isinstance(one, Result) for one in source.values()):
        return sources.of_results([(str(name), one.to_dict()) for name, one in source.items()])
    if isinstance(source, Mapping):
        found = source.to_dict() if isinstance(source, Section) else dict(source)
        if measured.is_bench(found):
            return sources.of_benchmarks([comparing.checked(found, "source")], [Path("result")])
        if runs := measured.runs_of(found, "source"):
            return sources.of_results([(job or "replay", result) for job, result in runs])
    files = [source] if isinstance(source, str | os.PathLike) else source
    if not isinstance(files, Sequence) or not files or not all(isinstance(one, str | os.PathLike) for one in files):
        raise ConfigError(f"source: {source!r}: expected results, a sweep, its directory, or files with results")
    paths = [Path(one) for one in files]
    return sources.of_sweep(paths[0]) if paths[0].is_dir() and len(paths) == 1 else sources.of_files(paths)
