"""`flashweir compare`: policies on the same workloads."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flashweir._native import ConfigError, FlashweirError
from flashweir.api import simulate
from flashweir.assumptions import of_sweep, print_of
from flashweir.cli.common import (
    Device,
    Json,
    Settings,
    console,
    pair,
    watched_sweep,
    write_json,
    write_text,
)
from flashweir.cli.derived import takes
from flashweir.cli.outputs import Force, check_folder, check_outputs
from flashweir.notices import say
from flashweir.options.many import Seeds
from flashweir.options.option import Row, options_of
from flashweir.options.pages import Html
from flashweir.policies import compare as compared
from flashweir.policies.workloads import named

if TYPE_CHECKING:
    from flashweir.policies.matrix import Matrix
    from flashweir.sweeps import Progress as SweepProgress
    from flashweir.sweeps.frame import SweepFrame

_LIST = "LIST"
_OWN = tuple(one.option for one in options_of(compared).values())


@takes(compared, simulate, only=lambda option: option.in_sweeps or option in _OWN)
def compare(
    workloads: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME=]WORKLOAD...", help="Traces, generators, fio:FILE; or results in .json."),
    ] = None,
    policies: Annotated[
        list[str] | None,
        typer.Option(
            "--policies", metavar=_LIST, help="Policies, such as fast+none,fast+forwarding; FILE.toml; default."
        ),
    ] = None,
    ftl: Annotated[str | None, typer.Option("--ftl", metavar=_LIST, help="Translation layers to cross.")] = None,
    planner: Annotated[str | None, typer.Option("--planner", metavar=_LIST, help="Planners to cross.")] = None,
    units: Annotated[str | None, typer.Option("--units", metavar=_LIST, help="Units to cross.")] = None,
    buffer: Annotated[str | None, typer.Option("--buffer", metavar=_LIST, help="Sizes of the buffer to cross.")] = None,
    throttle: Annotated[str | None, typer.Option("--throttle", metavar=_LIST, help="Throttles to cross.")] = None,
    matrix: Annotated[
        Path | None,
        typer.Option("--matrix", metavar="FILE.toml", help="A trial of a frozen policy instead."),
        Row("runs [a trial](#a-trial) instead"),
    ] = None,
    device: Device = None,
    settings: Annotated[Settings, Row("sets a key of the drive for all policies; may be repeated")] = None,
    seeds: Annotated[
        Seeds,
        Row("seeds 1 to N, which replace those of the workload; 5 if not given", help="Seeds 1 to N; default 5."),
    ] = None,
    json_to: Json = None,
    force: Force = False,
    html: Annotated[
        Html,
        Row("writes the [report](report.md) with all figures"),
    ] = None,
    markdown: Annotated[
        Path | None,
        typer.Option("--markdown", metavar="FILE", help="Write the tables as Markdown."),
        Row("writes the tables for a document"),
    ] = None,
    **options: Any,  # noqa: ANN401 - of several kinds, each checked
) -> None:
    """Compare policies on the same workloads."""
    shared = {name: options.pop(name) for name in options_of(compared) if name in options}
    baseline, latency = shared.pop("baseline", None), shared.pop("latency", None)
    of_life = {name: shared.pop(name, None) for name in ("metric", "cycles", "price", "per_day")}
    output = shared.pop("directory", None)
    check_folder("-o", output)
    lists = {"ftl": ftl, "planner": planner, "units": units, "buffer": buffer, "throttle": throttle}
    outputs = {"--json": json_to, "--html": html, "--markdown": markdown}
    if "resume" in shared and output is None:
        raise ConfigError("--resume goes with -o DIR, the directory to go on with")
    if matrix is not None:
        others = {**lists, **options, "policies": policies, "device": device, "set": settings, "seeds": seeds,
                  "baseline": baseline, "latency": latency, **of_life, "WORKLOAD": workloads}  # fmt: skip
        if given := next((name for name, value in others.items() if value), None):
            said = given if given == "WORKLOAD" else f"--{given.replace('_', '-')}"
            raise ConfigError(f"--matrix {matrix}: goes without {said}: the file says what to run")
        check_outputs(outputs, [str(matrix)], force=force)
        _trial(matrix, output, {**shared, "force": force}, json_to, html, markdown)
        return
    if not workloads:
        raise ConfigError("no workload: give trace files or generators, such as random:count=100000")
    check_outputs(outputs, [device, *(named(one)[1] for one in workloads)], force=force)
    if all(name.endswith(".json") for name in workloads):
        without = {**lists, **options, "policies": policies, "device": device, "set": settings, "seeds": seeds,
                   "latency": latency, **of_life, "threads": shared.get("threads"),
                   "memory": shared.get("memory_bytes")}  # fmt: skip
        places = {"output": output, "markdown": markdown}
        _results(workloads, {**without, **places}, baseline, json_to, html)
        return
    from flashweir.policies.api import planned
    from flashweir.policies.setup import SEEDS, life_of

    spec = planned(
        workloads,
        policies,
        {name: _split(name, text) for name, text in lists.items()},
        device=device,
        set=dict(pair(text, "--set", "KEY=VALUE") for text in settings or []),
        seeds=seeds or SEEDS,
        baseline=baseline,
        latency=latency or "write",
        options={**options, **life_of(**of_life)},
    )
    from flashweir.sweeps import sweep

    def run(progress: "SweepProgress") -> "SweepFrame":
        return sweep(spec, output, force=force, progress=progress, **shared)

    _show(watched_sweep(output, run), json_to, html, markdown)


def _results(
    files: list[str], others: Mapping[str, object], baseline: str | None, json_to: str | None, html: Path | None
) -> None:
    """Sets results side by side: those of simulate, replay, bench and fio."""
    if given := next((name for name, value in others.items() if value), None):
        raise ConfigError(f"--{given.replace('_', '-')}: has no effect on results; expected workloads with it")
    from flashweir.reports import beside
    from flashweir.reports.sources import of_results, runs_of

    runs = runs_of([Path(file) for file in files])
    found = beside.table(runs, baseline)
    if alone := beside.unpaired(found):
        say(f"note: compared with no other: {', '.join(alone)}: no job of this name is in the other file")
    if html is not None:
        from flashweir.reports import page

        title, _, sections = of_results([(one.name, one.result) for one in runs])
        try:
            page.write(html, title, sections)
        except OSError as error:
            raise FlashweirError(f"{html}: can't be written: {error.strerror or error}") from error
    if json_to is not None:
        write_json(found, json_to)
    else:
        beside.show(found, console())


def _split(name: str, text: str | None) -> list[str]:
    values = [] if text is None else [value.strip() for value in text.split(",")]
    if not all(values):
        raise ConfigError(f"--{name} {text}: expected values separated by commas")
    return values


def _show(frame: "SweepFrame", json_to: str | None, html: Path | None, markdown: Path | None) -> None:
    from flashweir.policies import markdown as document
    from flashweir.policies.outcome import as_json
    from flashweir.policies.terminal import print_comparison
    from flashweir.tails import print_tails_of

    print_of(of_sweep(frame))
    if frame["error"].null_count():
        if html is not None:
            frame.report(html)
        if markdown is not None:
            write_text(document.comparison(frame), str(markdown))
        if json_to is not None:
            write_json(as_json(frame), json_to)
        else:
            print_comparison(frame, console())
            print_tails_of(frame, console())
    _check_failed(frame)


def _trial(
    file: Path,
    output: Path | None,
    shared: Mapping[str, Any],
    json_to: str | None,
    html: Path | None,
    markdown: Path | None,
) -> None:
    from flashweir.policies import markdown as document
    from flashweir.policies.api import judge
    from flashweir.policies.html import write_trial
    from flashweir.policies.terminal import print_matrix

    def run(progress: "SweepProgress") -> "Matrix":
        return judge(file, output, progress=progress, **shared)

    found = watched_sweep(output, run)
    print_of(of_sweep(found.frame))
    if html is not None:
        write_trial(found, html)
    if markdown is not None:
        write_text(document.trial(found), str(markdown))
    if json_to is not None:
        write_json(found.as_json(), json_to)
    else:
        print_matrix(found, console())
    _check_failed(found.frame)


def _check_failed(frame: "SweepFrame") -> None:
    failed = frame["error"].drop_nulls()
    if failed.len():
        raise FlashweirError(f"{failed.len():,} of {frame.height:,} runs failed, the first: {failed[0]}")
