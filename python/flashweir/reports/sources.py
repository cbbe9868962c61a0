"""Sources of a report: a sweep, or results, in files or in memory; each gives title, figures and sections."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flashweir import jsontext
from flashweir._native import ConfigError
from flashweir.charts.model import Chart
from flashweir.fio import results as of_fio
from flashweir.reports import build, sweep
from flashweir.reports.beside import Run
from flashweir.reports.model import Section
from flashweir.reports.names import names_of
from flashweir.reports.shape import difference
from flashweir.whole import STANDARD

if TYPE_CHECKING:
    from flashweir.sweeps.frame import SweepFrame

Parts = tuple[str, list[Chart], list[Section]]


def of_sweep(folder: Path) -> Parts:
    """The parts of a report on the sweep in a folder."""
    from flashweir.sweeps import read_sweep

    return of_frame(read_sweep(folder))


def of_frame(frame: "SweepFrame") -> Parts:
    """The parts of a report on a sweep.

    Raises:
        ConfigError: the frame is what an operation of polars made of one.
    """
    if frame.meta is None:
        raise ConfigError("this frame is no sweep: expected what sweep(), compare() or read_sweep() returned")
    charts = sweep.charts_of_sweep(frame) if frame["error"].null_count() else []
    return f"Sweep {frame.meta['name']}", charts, sweep.report_of_sweep(frame, frame.meta, charts)


def of_files(files: Sequence[Path]) -> Parts:
    """The parts of a report on results in files."""
    return of_results(results_of(files))


def results_of(files: Sequence[Path]) -> list[tuple[str, dict[str, Any]]]:
    """Results in files by their names; of fio with the names of the jobs."""
    return [(one.name, one.result) for one in runs_of(files)]


def runs_of(files: Sequence[Path]) -> list[Run]:
    """The same with the names of file and job apart."""
    read = [(name, read_results(file)) for name, file in zip(names_of(files), files, strict=True)]
    return [Run(f"{name}: {job}" if job else name, name, job, result) for name, found in read for job, result in found]


def of_results(results: Sequence[tuple[str, dict[str, Any]]]) -> Parts:
    """The parts of a report on results, each with its name."""
    names = [name for name, _ in results]
    title = names[0] if len(names) == 1 else f"{len(names)} runs: {', '.join(names)}"
    charts = build.charts_of_results(results)
    return title, charts, build.report_of_results(results, charts)


def read_result(file: Path) -> dict[str, Any]:
    """The result that `flashweir simulate --json` wrote to `file`.

    Raises:
        ConfigError: it can't be read, or is something else.
    """
    results = read_results(file)
    if results[0][0]:
        raise ConfigError(f"{file}: not a result of flashweir simulate --json: a result of fio")
    return results[0][1]


def read_results(file: Path) -> list[tuple[str, dict[str, Any]]]:
    """The result that `flashweir simulate --json` wrote to `file`, or those of the jobs that fio wrote there, by name.

    Raises:
        ConfigError: it can't be read, or is something else.
    """
    try:
        text = sys.stdin.read() if str(file) == STANDARD else file.read_text(encoding="utf-8")
        if (jobs := of_fio.parsed(text)) is not None:
            return list(of_fio.runs(jobs, str(file)).items())
        result = jsontext.loads(text)
    except jsontext.TwiceError as error:
        raise ConfigError(f"{file}: {error}; expected each key once") from error
    except OSError as error:
        raise ConfigError(f"{file}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{file}: not a result of flashweir simulate --json: not JSON ({error})") from error
    if wrong := difference(result):
        raise ConfigError(f"{file}: not a result of flashweir simulate --json: expected {wrong}")
    return [("", result)]
