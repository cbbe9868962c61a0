"""Sources of a report: a sweep, or results, in files or in memory; each gives title, figures and sections."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flashweir import jsontext
from flashweir._native import ConfigError
from flashweir.benchmark import comparing
from flashweir.charts.model import Chart
from flashweir.fio import results as of_fio
from flashweir.reports import about, build, measured, sweep
from flashweir.reports.beside import Run
from flashweir.reports.model import Section
from flashweir.reports.names import names_of
from flashweir.reports.shape import difference
from flashweir.results.kinds import command_of
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
    """The parts of a report on results in files. Those of benchmarks alone get the page that `bench` makes.

    Raises:
        ConfigError: one can't be read, or is something else.
    """
    found = [_parsed(file) for file in files]
    if all(map(measured.is_bench, found)):
        return of_benchmarks([comparing.checked(one, str(file)) for one, file in zip(found, files, strict=True)], files)
    return of_results([(one.name, one.result) for one in _runs(found, files)])


def of_benchmarks(results: Sequence[dict[str, Any]], files: Sequence[Path]) -> Parts:
    """The parts of a report on results of `bench`."""
    from flashweir.benchmark import showing
    from flashweir.benchmark.naming import label, labels

    called = [label(results[0])] if len(results) == 1 else labels(results, files)
    sections = showing.sections(results, called, comparing.compare(results))
    return showing.title(called), showing.charts(results, called), sections


def runs_of(files: Sequence[Path]) -> list[Run]:
    """Results in files, each with the names of its file and, where the file has several, of its job or workload.

    Raises:
        ConfigError: one can't be read, or is something else.
    """
    return _runs([_parsed(file) for file in files], files)


def of_results(results: Sequence[tuple[str, dict[str, Any]]]) -> Parts:
    """The parts of a report on results, each with its name."""
    names = [name for name, _ in results]
    title = names[0] if len(names) == 1 else f"{len(names)} runs: {', '.join(names)}"
    charts = build.charts_of_results(results)
    return title, charts, [*build.report_of_results(results, charts), about.section()]


def read_result(file: Path) -> dict[str, Any]:
    """The result that `flashweir simulate --json` wrote to `file`.

    Raises:
        ConfigError: it can't be read, or is something else.
    """
    found = _parsed(file)
    if isinstance(found, of_fio.Jobs):
        raise ConfigError(f"{file}: not a result of flashweir simulate --json: a result of fio")
    if (command := command_of(found)) not in ("simulate", None):
        raise ConfigError(f"{file}: not a result of flashweir simulate --json: one of {command}")
    return _checked(found, file)


def _parsed(file: Path) -> object:
    """The JSON of a file, or the jobs of fio in it.

    Raises:
        ConfigError: it can't be read, or is no JSON.
    """
    try:
        text = sys.stdin.read() if str(file) == STANDARD else file.read_text(encoding="utf-8")
        if (jobs := of_fio.parsed(text)) is not None:
            return of_fio.Jobs(jobs)
        if not text.strip():
            raise ConfigError(f"{file}: not a result of flashweir simulate --json: it is empty")
        return jsontext.loads(text)
    except jsontext.TwiceError as error:
        raise ConfigError(f"{file}: {error}; expected each key once") from error
    except OSError as error:
        raise ConfigError(f"{file}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{file}: not a result of flashweir simulate --json: not UTF-8 text") from error
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{file}: not a result of flashweir simulate --json: not JSON ({error})") from error


def _runs(found: Sequence[object], files: Sequence[Path]) -> list[Run]:
    return [
        Run(f"{name}: {job}" if job else name, name, job, result)
        for name, file, one in zip(names_of(files), files, found, strict=True)
        for job, result in _results(one, file)
    ]


def _results(found: object, file: Path) -> list[tuple[str, dict[str, Any]]]:
    """Results by job or workload; one of a simulation or a replay has no such name."""
    if isinstance(found, of_fio.Jobs):
        return list(of_fio.runs(found.data, str(file)).items())
    runs = measured.runs_of(found, str(file))
    return [("", _checked(found, file))] if runs is None else runs


def _checked(found: object, file: Path) -> dict[str, Any]:
    wrong = difference(found)
    if wrong or not isinstance(found, dict):
        raise ConfigError(f"{file}: not a result of flashweir simulate --json: expected {wrong}")
    return found
