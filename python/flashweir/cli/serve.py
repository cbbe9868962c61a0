"""`flashweir serve`: a simulated drive as a disk, until it is stopped."""

import json
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from flashweir import _native, api, serving
from flashweir._native import FlashweirError
from flashweir.cli.common import Json, Settings, Stopped, console, pair, watched, write_json
from flashweir.cli.derived import takes
from flashweir.cli.outputs import Force, check_outputs
from flashweir.importing.device import converted, note
from flashweir.options.option import Row, as_spec, defaults_of
from flashweir.result import Result

# Between two looks for a signal.
_LOOK_MS = 100


@takes(serving.serve)
def serve(
    device: Annotated[
        str | None,
        typer.Argument(metavar="DEVICE", help="A preset, a TOML or JSON file, or one of another simulator."),
        Row(
            "a preset, a TOML or JSON file, [another simulator's](import.md), or a [saved drive](serve.md#state);"
            " without it, the default drive"
        ),
    ] = None,
    settings: Settings = None,
    json_to: Json = None,
    force: Force = False,
    **options: Any,  # noqa: ANN401 - of several kinds, each checked
) -> None:
    """Serve a simulated drive as a disk over NBD, until Ctrl-C or SIGTERM."""
    data = options.get("data") and str(options["data"])
    inputs = [device] if data in ("memory", "none") else [device, data]
    check_outputs({"--json": json_to, "--record": options.get("record")}, inputs, force=force, files=["--record"])
    saved = serving.is_saved(device)
    if device is not None and not saved:
        note(device)
    spec = {
        "load": device if saved else None,
        "drive": {
            "device": None if saved else device and converted(device),
            "overrides": dict(pair(text, "--set", "KEY=VALUE") for text in settings or []),
            "options": {"seed": options.pop("seed", None)},
        },
        **as_spec(serving.serve, {**defaults_of(serving.serve), **options}),
        "watched": "dashboard" in options,
    }
    page = serving.opened_page(options.get("dashboard"), exposed=bool(options.get("exposed")))
    with _signals() as asked:
        try:
            live = serving.LiveDrive(server := _started(spec, asked), serving.title_of(device), page)
            ready = json.loads(server.ready) | ({} if page is None else {"dashboard": page.url})
            print(json.dumps(ready), flush=True)
            while not asked and not server.wait(_LOOK_MS):
                _complain(server)
            _complain(server)
            result = live.stop().to_dict()
        finally:
            if page is not None:
                page.close()
    if json_to is not None:
        write_json(result, json_to)
    if json_to != "-":
        try:
            _print(result, device)
        except (BrokenPipeError, SystemExit):
            # The reader of the first line may have gone, which rich answers with SystemExit: no failure of the drive.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


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


def _complain(server: _native.Server) -> None:
    """Prints why clients were ended, a line each."""
    for line in server.complaints():
        print(f"flashweir serve: {line}", file=sys.stderr, flush=True)


def _print(result: dict[str, Any], device: str | None) -> None:
    """The verdict, then the summary of a run."""
    from flashweir.summary import print_result

    out = console()
    out.print(result["verdict"], highlight=False, markup=False, soft_wrap=True)
    print_result(Result(json.dumps(result)), out, "default drive" if device is None else Path(device).name)
