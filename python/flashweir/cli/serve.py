"""`flashweir serve`: a simulated drive as a disk, until it is stopped."""

import json
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from flashweir import _native, api, serving
from flashweir._native import FlashweirError
from flashweir.cli.common import Json, Settings, Stopped, console, note_import, pair, watched, write_json
from flashweir.cli.outputs import Force, check_outputs
from flashweir.importing.device import converted
from flashweir.result import Result

# Between two looks for a signal.
_LOOK_MS = 100


def serve(
    device: Annotated[
        str | None,
        typer.Argument(metavar="DEVICE", help="A preset, a TOML or JSON file, or one of another simulator."),
    ] = None,
    settings: Settings = None,
    nbd: Annotated[
        str, typer.Option("--nbd", metavar="unix:PATH|tcp:HOST:PORT", help="Address that clients connect to.")
    ] = "unix:./flashweir.sock",
    exposed: Annotated[bool, typer.Option("--exposed", help="Allow an address that other machines reach.")] = False,
    exports: Annotated[
        list[str] | None,
        typer.Option("--export", metavar="NAME[=SIZE]", help="A part of the drive, and tenant; may be repeated."),
    ] = None,
    data: Annotated[
        str | None,
        typer.Option("--data", metavar="FILE|DIR|memory|none", help="Place of the bytes; none: a pattern is read."),
    ] = None,
    clock: Annotated[
        Literal["paced", "virtual"],
        typer.Option("--clock", help="paced: requests take their simulated time; virtual: they are answered at once."),
    ] = "paced",
    dilate: Annotated[
        float, typer.Option("--dilate", metavar="K", help="Wall time over simulated time, from 1 on.")
    ] = 1.0,
    control: Annotated[
        str | None, typer.Option("--control", metavar="SOCKET", help="Take commands of `flashweir ctl` at a socket.")
    ] = None,
    record: Annotated[
        str | None, typer.Option("--record", metavar="F.parquet", help="Keep the arrivals as a trace.")
    ] = None,
    state: Annotated[
        str | None, typer.Option("--state", metavar="DIR", help="Folder that the drive lives in: it opens as it was.")
    ] = None,
    power_cuts: Annotated[
        bool, typer.Option("--power-cuts", help="Follow what flash holds, so that power can be cut.")
    ] = False,
    protected_buffer: Annotated[
        bool, typer.Option("--protected-buffer", help="Capacitors write the buffer to flash when power fails.")
    ] = False,
    ignore_flush: Annotated[
        bool, typer.Option("--ignore-flush", help="Answer flushes without effect: a drive that lies.")
    ] = False,
    seed: Annotated[
        int | None, typer.Option("--seed", metavar="N", min=0, max=2**64 - 1, help="Seed of the drive.")
    ] = None,
    json_to: Json = None,
    force: Force = False,
) -> None:
    """Serve a simulated drive as a disk over NBD, until Ctrl-C or SIGTERM."""
    inputs = [device] if data in ("memory", "none") else [device, data]
    check_outputs({"--json": json_to, "--record": record}, inputs, force=force, files=["--record"])
    saved = serving.is_saved(device)
    spec = {
        "load": device if saved else None,
        "drive": {
            "device": None if saved else device and converted(device),
            "overrides": dict(pair(text, "--set", "KEY=VALUE") for text in settings or []),
            "options": {"seed": seed},
        },
        "nbd": nbd,
        "exposed": exposed,
        "exports": exports or [],
        "data": data,
        "clock": clock,
        "dilate": dilate,
        "control": control,
        "record": record,
        "state": state,
        "power_cuts": power_cuts,
        "protected_buffer": protected_buffer,
        "ignore_flush": ignore_flush,
    }
    with _signals() as asked:
        server = _started(spec, asked)
        note_import(None if saved else device)
        print(server.ready, flush=True)
        while not asked and not server.wait(_LOOK_MS):
            pass
        result = json.loads(server.stop())
    if json_to is not None:
        write_json(result, json_to)
    if json_to != "-":
        _print(result, device)


@contextmanager
def _signals() -> Iterator[list[int]]:
    """The signals that asked to stop, SIGINT and SIGTERM, as they come."""
    asked: list[int] = []
    kinds = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(kind, lambda number, _: asked.append(number)) for kind in kinds]
    try:
        yield asked
    finally:
        for kind, handler in zip(kinds, before, strict=True):
            signal.signal(kind, handler)


def _started(spec: dict[str, Any], asked: list[int]) -> _native.Server:
    """The drive, once clients can connect."""

    def start(progress: api.Progress | None) -> _native.Server:
        def tell(state: dict[str, Any]) -> bool:
            return not asked and (progress is None or progress(state) is not False)

        return _native.Server(api.as_json(spec), api.as_native_progress(tell))

    try:
        return watched(start)
    except FlashweirError as error:
        if asked:
            raise Stopped("no client was served") from error
        raise


def _print(result: dict[str, Any], device: str | None) -> None:
    """The verdict, then the summary of a run."""
    from flashweir.summary import print_result

    out = console()
    out.print(result["verdict"], highlight=False, markup=False, soft_wrap=True)
    print_result(Result(json.dumps(result)), out, "default drive" if device is None else Path(device).name)
