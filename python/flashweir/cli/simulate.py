"""`flashweir simulate`: one run."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from flashweir import _native, api
from flashweir._native import ConfigError
from flashweir.assumptions import of_workloads, print_of
from flashweir.cli.common import (
    Device,
    Json,
    Settings,
    console,
    pair,
    watched,
    write_json,
)
from flashweir.cli.derived import takes
from flashweir.cli.outputs import Force, check_outputs
from flashweir.importing.device import converted
from flashweir.result import Result
from flashweir.tenants import MIX, file_of


@takes(api.simulate)
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
    streams: Annotated[
        list[str] | None,
        typer.Option("--workload", metavar="NAME=SPEC", help="A named tenant; may be repeated."),
    ] = None,
    **options: Any,  # noqa: ANN401 - of several kinds, each checked
) -> None:
    """Run a workload through a simulated drive."""
    workloads = _workloads(workload, streams or [])
    outputs = {"--json": json_to} | {
        f"--{name.replace('_', '-')}": options.get(name) for name in ("requests", "timeline", "save_state")
    }
    overrides: dict[str, Any] = dict(pair(text, "--set", "KEY=VALUE") for text in settings or [])
    inputs = [device, workload and file_of(workload), *(streams or [])]
    if workload and workload.startswith(MIX) and json_to is not None:
        implied = {"tenants.channels": "external"} if "allocator" in options else {}
        inputs += _traces(workload, device, {**implied, **overrides})
    check_outputs(outputs, inputs, force=force)

    def run(progress: api.Progress | None) -> Result:
        return api.simulate(workloads, device, latency_parts=True, progress=progress, set=overrides, **options)

    result = watched(run)
    print_of(of_workloads(result))
    if json_to is not None:
        write_json(result.to_dict(), json_to)
        return
    from flashweir.summary import print_result

    name = "default drive" if device is None else Path(device).name
    # As plain values: the declared structure of a result costs more to import than the table to print.
    print_result(result.to_dict(), console(), name)


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
