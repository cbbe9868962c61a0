"""`flashweir ctl`: a command to a drive that is being served."""

import json
import socket
import sys
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

import typer

from flashweir import serving
from flashweir._native import FlashweirError
from flashweir.cli.common import pair


class NobodyThereError(FlashweirError):
    """No drive answers at the socket."""

    exit_code = 4


def ctl(
    path: Annotated[Path, typer.Argument(metavar="SOCKET", help="The socket of `flashweir serve --control`.")],
    command: Annotated[str, typer.Argument(metavar="COMMAND", help="status, counters, smart, ocp, set, fork, ...")],
    arguments: Annotated[
        list[str] | None, typer.Argument(metavar="[KEY=VALUE]...", help="Arguments of the command.")
    ] = None,
) -> None:
    """Send a command to a drive that is being served, and print its answer as JSON."""
    values = dict(pair(text, command, "KEY=VALUE") for text in arguments or [])
    if command == "save" and values.get("path"):
        # From this folder, not the server's.
        values["path"] = str(Path.cwd() / values["path"])
    line = json.dumps({"id": 1, "cmd": command, "args": values}) + "\n"
    found = serving.answer(_asked(path, line.encode()))
    sys.stdout.write(json.dumps(found, indent=2) + "\n")


def _asked(path: Path, line: bytes) -> dict[str, Any]:
    """The answer to a line."""
    with socket.socket(socket.AF_UNIX) as client:
        try:
            client.connect(str(path))
            # One that takes no more clients has said so, and reads nothing.
            with suppress(BrokenPipeError):
                client.sendall(line)
            with client.makefile("rb") as answers:
                found = answers.readline()
        except OSError as error:
            reason = error.strerror or str(error)
            raise NobodyThereError(f"{path}: {reason}; expected the socket of a drive that is being served") from error
    if not found:
        raise NobodyThereError(f"{path}: the drive ended before it answered")
    reply: dict[str, Any] = json.loads(found)
    return reply
