"""`flashweir report`: results or a sweep in, one HTML file and figures out."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flashweir._native import ConfigError
from flashweir.cli.common import check_output

if TYPE_CHECKING:
    from flashweir.charts.model import Chart
    from flashweir.report.model import Section

FORMATS = ("png", "svg")
_PAIR = 2

# What a result has at least (docs/reference/result.md), and what each is.
_EXPECTED: dict[str, tuple[type, ...]] = {
    "version": (str,),
    "requests": (int,),
    "simulated_s": (int, float),
    "iops": (int, float, type(None)),
    "latency_us": (dict,),
    "latency_histogram_ns": (dict,),
    "write_amplification": (int, float, type(None)),
    "flash": (dict,),
    "time_share": (dict,),
    "channels": (list,),
    "workloads": (list,),
    "config": (dict,),
}


def report(
    inputs: Annotated[
        list[str],
        typer.Argument(metavar="DIR|RUN.json...", help="A sweep's folder, or results written by simulate --json."),
    ],
    output: Annotated[Path | None, typer.Option("-o", "--output", metavar="FILE.html", help="Write a report.")] = None,
    figures: Annotated[
        Path | None, typer.Option("--figures", metavar="DIR", help="Write each figure as a file of its own.")
    ] = None,
    format: Annotated[
        str | None, typer.Option("--format", metavar="png|svg", help="Of --figures; svg if not given.")
    ] = None,
) -> None:
    """Write a report that needs no network, from a sweep or from results of simulate."""
    write_report([Path(name) for name in inputs], output, figures, format)


def write_report(inputs: Sequence[Path], output: Path | None, figures: Path | None, format: str | None) -> None:
    """Writes the report to `output` and the figures into `figures`.

    Raises:
        ConfigError: an input that is no sweep and no result, or an output that can't be written or would replace one.
    """
    if output is None and figures is None:
        raise ConfigError("nothing to write: give -o FILE.html, --figures DIR or both")
    if format is not None and figures is None:
        raise ConfigError("--format goes with --figures DIR")
    if format is not None and format not in FORMATS:
        raise ConfigError(f"--format {format}: expected {' or '.join(FORMATS)}")
    _check_outputs(inputs, output, figures)
    title, charts, sections = _of_sweep(inputs[0]) if inputs[0].is_dir() else _of_results(inputs)
    if figures is not None:
        from flashweir.charts.matplotlib import write as write_figure

        targets = [figures / f"{chart.name}.{format or 'svg'}" for chart in charts]
        for target in targets:
            _keep("--figures", target, inputs)
        figures.mkdir(exist_ok=True)
        for chart, target in zip(charts, targets, strict=True):
            write_figure(chart, target)
    if output is not None:
        from flashweir.report import page

        page.write(output, title, sections)


def _of_sweep(folder: Path) -> "tuple[str, list[Chart], list[Section]]":
    from flashweir.report import build
    from flashweir.sweeps import read_sweep

    frame = read_sweep(folder)
    meta = frame.meta or {}
    charts = build.charts_of_sweep(frame) if frame["error"].null_count() else []
    return f"Sweep {meta['name']}", charts, build.report_of_sweep(frame, meta, charts)


def _of_results(files: Sequence[Path]) -> "tuple[str, list[Chart], list[Section]]":
    from flashweir.report import build

    results = list(zip(_names(files), map(read_result, files), strict=True))
    names = [name for name, _ in results]
    title = names[0] if len(names) == 1 else f"{len(names)} runs: {', '.join(names)}"
    charts = build.charts_of_results(results)
    return title, charts, build.report_of_results(results, charts)


def read_result(file: Path) -> dict[str, Any]:
    """The result that `flashweir simulate --json` wrote to `file`.

    Raises:
        ConfigError: it can't be read, or is something else.
    """
    try:
        result = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"{file}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{file}: not a result of flashweir simulate --json: not JSON ({error})") from error
    if wrong := _difference(result):
        raise ConfigError(f"{file}: not a result of flashweir simulate --json: expected {wrong}")
    found: dict[str, Any] = result
    return found


def _difference(result: object) -> str:
    """What a result would have that `result` has not; empty if it is one."""
    if not isinstance(result, dict):
        return "an object"
    for key, types in _EXPECTED.items():
        if key not in result:
            return f"key {key}"
        if not isinstance(result[key], types) or isinstance(result[key], bool):
            return f"key {key} to be {_kind(types)}"
    for key in ("latency_us", "channels"):
        parts = result[key].values() if isinstance(result[key], dict) else result[key]
        if not all(isinstance(part, dict) for part in parts):
            return f"key {key} to hold objects"
    for pairs in result["latency_histogram_ns"].values():
        if not (isinstance(pairs, list) and all(isinstance(pair, list) and len(pair) == _PAIR for pair in pairs)):
            return "key latency_histogram_ns to hold pairs"
    return ""


def _kind(types: Sequence[type]) -> str:
    names = {str: "a text", int: "a number", float: "a number", dict: "an object", list: "a list", type(None): "null"}
    return " or ".join(dict.fromkeys(names[kind] for kind in types))


def _names(files: Sequence[Path]) -> list[str]:
    """Each file's name without its suffix; with its folder, and then a number, where several have the same."""
    names: list[str] = []
    for file in files:
        alike = [other for other in files if other.stem == file.stem]
        base = name = file.stem if len(alike) == 1 else str(file.with_suffix(""))
        count = 1
        while name in names:
            count += 1
            name = f"{base} ({count})"
        names.append(name)
    return names


def _check_outputs(inputs: Sequence[Path], output: Path | None, figures: Path | None) -> None:
    """Refuses inputs of two kinds, and outputs that can't be written or would replace what is read."""
    for path in inputs:
        if path.is_dir() and len(inputs) > 1:
            raise ConfigError(f"{path}: expected one folder of a sweep and nothing else, or files with results")
        if not path.exists():
            raise ConfigError(f"{path}: there is no such file or folder")
    if output is not None:
        if str(output) == "-":
            raise ConfigError("-o -: expected the name of a file; only --json goes to standard output")
        check_output("-o", output)
        _keep("-o", output, inputs)
    if figures is not None:
        if figures.exists() and not figures.is_dir():
            raise ConfigError(f"--figures {figures}: expected a folder")
        if not figures.absolute().parent.is_dir():
            raise ConfigError(f"--figures {figures}: there is no folder {figures.parent}")


def _keep(option: str, target: Path, inputs: Sequence[Path]) -> None:
    """Refuses a target that is one of the inputs, under whatever name, or a file of the sweep that is read."""
    if not target.exists():
        return
    for source in inputs:
        read = [source / "sweep.json", *source.glob("runs*")] if source.is_dir() else [source]
        for file in read:
            if file.exists() and file.samefile(target):
                raise ConfigError(f"{option} {target}: expected a file of its own: {file} is read already")
