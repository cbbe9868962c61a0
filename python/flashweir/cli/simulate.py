"""`flashweir simulate`: one run."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from flashweir import _native, api
from flashweir._native import ConfigError
from flashweir.assumptions import of_workloads, print_of
from flashweir.cli.common import (
    Columns,
    Device,
    Format,
    Json,
    Settings,
    SkipBad,
    console,
    note_import,
    pair,
    watched,
    write_json,
)
from flashweir.cli.outputs import Force, check_outputs
from flashweir.importing.device import converted
from flashweir.result import Result
from flashweir.tenants import MIX, file_of


def simulate(
    workload: Annotated[
        str | None,
        typer.Argument(
            metavar="WORKLOAD", help="A trace file, generator such as random:count=100000, mix:FILE or fio:FILE."
        ),
    ] = None,
    device: Device = None,
    settings: Settings = None,
    json_to: Json = None,
    force: Force = False,
    requests: Annotated[
        Path | None, typer.Option("--requests", metavar="F.parquet", help="Write a log of every request.")
    ] = None,
    timeline: Annotated[
        Path | None, typer.Option("--timeline", metavar="F", help="Write a Perfetto trace of dies and buses.")
    ] = None,
    timeline_from: Annotated[
        str | None, typer.Option("--timeline-from", metavar="T", help="Start of the timeline.")
    ] = None,
    timeline_to: Annotated[str | None, typer.Option("--timeline-to", metavar="T", help="End of the timeline.")] = None,
    explain: Annotated[
        str | None,
        typer.Option("--explain", metavar="pN", help="Explain the slowest requests, such as p99.9."),
    ] = None,
    activity: Annotated[
        str | None,
        typer.Option(
            "--activity", metavar="all|FROM..TO", help="Add the activity of each channel over time to the result."
        ),
    ] = None,
    power_cut: Annotated[
        list[str] | None,
        typer.Option(
            "--power-cut",
            metavar="T|N",
            help="Add the loss of a power cut at time T of the run (may be repeated), or of N random cuts.",
        ),
    ] = None,
    verify: Annotated[bool, typer.Option("--verify", help="Check that every read returns the last write.")] = False,
    seed: Annotated[
        int | None, typer.Option("--seed", metavar="N", min=0, max=2**64 - 1, help="Replace every seed.")
    ] = None,
    format: Format = None,
    columns: Columns = None,
    skip_bad: SkipBad = 0,
    wrap: Annotated[bool, typer.Option("--wrap", help="Fold addresses beyond the capacity into it.")] = False,
    warmup: Annotated[
        str | None,
        typer.Option("--warmup", metavar="METHOD", help="Remove the warm-up: mser-5, steady or requests=N."),
    ] = None,
    allocator: Annotated[
        str | None,
        typer.Option(
            "--allocator",
            metavar="FILE.py:FUNCTION",
            help="Python function that assigns channels to tenants, called once a window.",
        ),
    ] = None,
    model: Annotated[
        Path | None,
        typer.Option(
            "--model", metavar="F.json", help="Model of tenants.channels=learned, instead of the shipped one."
        ),
    ] = None,
    windows: Annotated[
        bool, typer.Option("--windows", help="Add each window of requests, and its channels, to the result.")
    ] = False,
    alone: Annotated[
        bool, typer.Option("--alone", help="Run each tenant alone, too, and report its slowdown.")
    ] = False,
    streams: Annotated[
        list[str] | None,
        typer.Option("--workload", metavar="NAME=SPEC", help="A named tenant; may be repeated."),
    ] = None,
) -> None:
    """Run a workload through a simulated drive."""
    workloads = _workloads(workload, streams or [])
    outputs = {"--json": json_to, "--requests": requests, "--timeline": timeline}
    overrides: dict[str, Any] = dict(pair(text, "--set", "KEY=VALUE") for text in settings or [])
    inputs = [device, workload and file_of(workload), *(streams or [])]
    if workload and workload.startswith(MIX) and json_to is not None:
        implied = {"tenants.channels": "external"} if allocator else {}
        inputs += _traces(workload, device, {**implied, **overrides})
    check_outputs(outputs, inputs, force=force)

    def run(progress: api.Progress | None) -> Result:
        return api.simulate(
            workloads,
            device,
            seed=seed,
            verify=verify,
            latency_parts=True,
            requests=requests or False,
            timeline=timeline,
            timeline_from=timeline_from,
            timeline_to=timeline_to,
            explain=explain,
            activity=False if activity is None else activity,
            power_cut=power_cut or None,
            format=format,
            columns=columns,
            skip_bad=skip_bad,
            wrap=wrap,
            warmup=warmup,
            allocator=allocator,
            model=model,
            windows=windows,
            alone=alone,
            progress=progress,
            set=overrides,
        )

    result = watched(run)
    print_of(of_workloads(result))
    note_import(device)
    if json_to is not None:
        write_json(result.to_dict(), json_to)
        return
    from flashweir.summary import print_result

    name = "default drive" if device is None else Path(device).name
    print_result(result, console(), name)


def _traces(mix: str, device: str | None, overrides: dict[str, Any]) -> list[str]:
    """The traces of a mix."""
    spec = {"workloads": [{"spec": mix}], "device": device and converted(device), "overrides": overrides}
    return [one["path"] for one in json.loads(_native.plan(api.as_json(spec)))["workloads"] if "path" in one]


def _workloads(single: str | None, named: list[str]) -> dict[str, Any] | str:
    if single is not None and named:
        raise ConfigError("a WORKLOAD and --workload exclude each other: name every stream with --workload")
    if single is not None:
        return single
    if not named:
        raise ConfigError("no workload: give a trace file or a generator, such as random:count=100000")
    streams: dict[str, Any] = {}
    for text in named:
        name, spec = pair(text, "--workload", "NAME=SPEC")
        if spec.startswith(MIX):
            raise ConfigError(f"--workload {text}: expected a trace file or a generator; a mix is the whole WORKLOAD")
        if name in streams:
            raise ConfigError(f"--workload {name} is given twice")
        streams[name] = spec
    return streams
