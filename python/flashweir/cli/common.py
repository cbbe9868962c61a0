"""Parts that the commands share: options, JSON out, progress, Ctrl-C."""

import functools
import inspect
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from flashweir import api, whole
from flashweir._native import ConfigError
from flashweir.cli.outputs import standard_output_is_taken
from flashweir.notices import be_quiet, is_quiet
from flashweir.options.option import Row
from flashweir.progress import progress_on
from flashweir.results.section import Section

if TYPE_CHECKING:
    from rich.console import Console

    from flashweir.sweeps import Progress as SweepProgress
    from flashweir.sweeps import State

T = TypeVar("T")

Device = Annotated[
    str | None,
    typer.Option("--device", metavar="PRESET|FILE", help="A preset, a TOML or JSON file, or one of another simulator."),
    Row("a name from `flashweir presets`, a TOML or JSON file, or a [configuration of another simulator](import.md)"),
]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Set a key of the drive; may be repeated."),
    Row("sets a key of the drive; may be repeated; the last one of a key holds"),
]
Json = Annotated[
    str | None,
    typer.Option("--json", metavar="FILE|-", help="Write the result as JSON; - is stdout."),
    Row("writes the result as JSON instead of the summary; `-` is standard output"),
]


_QUIET = typer.Option("--quiet", "-q", help="Print no progress, warnings or summary: only outputs and errors.")


def quietly(command: Callable[..., None]) -> Callable[..., None]:
    """A command with the option `--quiet`, which all of them have."""

    @functools.wraps(command)
    def run(*args: object, quiet: bool = False, **kwargs: object) -> None:
        if quiet:
            be_quiet()
        command(*args, **kwargs)

    signature = inspect.signature(command)
    kind = inspect.Parameter.KEYWORD_ONLY
    added = inspect.Parameter("quiet", kind, default=False, annotation=Annotated[bool, _QUIET])
    run.__signature__ = signature.replace(parameters=[*signature.parameters.values(), added])  # type: ignore[attr-defined]
    run.__annotations__ = {**command.__annotations__, "quiet": added.annotation}
    return run


class Stopped(Exception):
    """Ctrl-C; the message names the completed part."""


def write_json(value: object, target: str) -> None:
    """Writes JSON to standard output (`-`), or to a file that appears when it is complete.

    What is no file (a pipe, `/dev/null`) is written as it is, a link is followed, and a block device is refused.
    """
    write_text(json.dumps(value, indent=2) + "\n", target)


def write_text(text: str, target: str) -> None:
    """Writes a text as `write_json` does."""
    whole.write(target, text)


def show(fields: Section, json_to: str | None) -> None:
    """Prints a JSON object as lines, or writes it where `--json` says."""
    if json_to is not None:
        write_json(fields.to_dict(), json_to)
        return
    from flashweir.summary import print_fields

    print_fields(fields.to_dict(), console())


def watched(run: Callable[[api.Progress | None], T]) -> T:
    """Runs until done or Ctrl-C, with a progress bar where there is a terminal to draw it on, and lines elsewhere."""
    try:
        with progress_on(sys.stderr) as shown:
            return run(shown.update)
    except KeyboardInterrupt as interrupt:
        raise Stopped(str(interrupt)) from interrupt


def watched_sweep(directory: Path | None, run: "Callable[[SweepProgress], T]") -> T:
    """Runs a sweep until done or Ctrl-C, with a progress bar where there is a terminal to draw it on.

    Args:
        directory: where its runs are kept; None if they are not.
        run: takes the function that is called with the progress of the sweep.
    """
    from flashweir.sweeps.terminal import progress_on as of_sweep

    last: list[State] = []

    def tell(state: "State") -> bool:
        last[:] = [state]
        return shown.update(state)

    try:
        with of_sweep(sys.stderr) as shown:
            return run(tell)
    except KeyboardInterrupt as interrupt:
        done = f"{last[0].ready + last[0].done:,} of {last[0].total:,}" if last else "no"
        if directory is None:
            raise Stopped(f"{done} runs were done; with -o DIR they are kept") from interrupt
        raise Stopped(f"{done} runs are done and kept in {directory}; --resume goes on") from interrupt


def pair(text: str, option: str, shape: str) -> tuple[str, Any]:
    """Splits NAME=VALUE."""
    name, equals, value = text.partition("=")
    if not (equals and name.strip()):
        raise ConfigError(f"{option} {text}: expected {shape}")
    return name.strip(), value


def console() -> "Console":
    """The console for tables: standard output, or standard error where an output goes to that."""
    from rich.console import Console

    # Names of drives and workloads are no emoji.
    return Console(stderr=standard_output_is_taken(), quiet=is_quiet(), emoji=False)
