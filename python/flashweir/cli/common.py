"""What the commands share: options, checks of outputs, JSON out, Ctrl-C."""

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from flashweir import api, whole
from flashweir._native import ConfigError
from flashweir.progress import bar_on_terminal
from flashweir.result import Section
from flashweir.whole import same_file

if TYPE_CHECKING:
    from rich.console import Console

    from flashweir.sweeps import Progress as SweepProgress
    from flashweir.sweeps import State

T = TypeVar("T")

Format = Annotated[str | None, typer.Option("--format", metavar="F", help="Trace format, instead of detecting it.")]
Columns = Annotated[
    str | None,
    typer.Option("--columns", metavar="C", help="Any other table: time=3:us,op=1,lba=4:bytes,size=5:bytes"),
]
SkipBad = Annotated[
    int, typer.Option("--skip-bad", metavar="N", min=0, max=2**63, help="Unreadable lines to tolerate.")
]
Json = Annotated[str | None, typer.Option("--json", metavar="FILE|-", help="Write the result as JSON; - is stdout.")]


class Stopped(Exception):
    """Ctrl-C; the message says what was done until then."""


def check_output(option: str, target: str | Path | None) -> None:
    """Refuses, before a long run, a file that can't be written after it."""
    if target is None or target == "-":
        return
    path = Path(target)
    if path.is_dir():
        raise ConfigError(f"{option} {path}: that is a folder")
    if path.is_block_device():
        raise ConfigError(f"{option} {path}: that is a block device; expected a file")
    if not path.absolute().parent.is_dir():
        raise ConfigError(f"{option} {path}: there is no folder {path.parent}")


def check_outputs(outputs: Mapping[str, str | Path | None], inputs: Sequence[str | None]) -> None:
    """Refuses outputs that can't be written, or that would replace one another or what the run reads."""
    taken = [file for text in inputs if text for file in _files(text)]
    for option, target in outputs.items():
        check_output(option, target)
        if target is None or str(target) == "-":
            if target is not None and option != "--json":
                raise ConfigError(f"{option} -: expected the name of a file; only --json goes to standard output")
            continue
        place = Path(target)
        other = next((other for other in taken if same_file(other, place)), None)
        if other is not None and (place.is_file() or not place.exists()):
            raise ConfigError(f"{option} {target}: expected a file of its own: {other} is read or written already")
        taken.append(place)


def _files(text: str) -> list[Path]:
    """What an argument may name: a file, that of NAME=FILE, or that of sim:FILE,KEY=VALUE."""
    if text.startswith("sim:"):
        return [Path(text.removeprefix("sim:").partition(",")[0])]
    return [Path(name) for name in (text, text.partition("=")[2]) if name]


def write_json(value: object, target: str) -> None:
    """Writes JSON to standard output (`-`), or to a file that appears when it is complete.

    What is no file (a pipe, `/dev/null`) is written as it is, a link is followed, and a block device is refused.
    """
    write_text(json.dumps(value, indent=2) + "\n", target)


def write_text(text: str, target: str) -> None:
    """Writes a text as `write_json` does."""
    if target == "-":
        sys.stdout.write(text)
        return
    whole.write(target, text)


def show(fields: Section, json_to: str | None) -> None:
    """Prints a JSON object as lines, or writes it where `--json` says."""
    if json_to is not None:
        write_json(fields.to_dict(), json_to)
        return
    from flashweir.summary import print_fields

    print_fields(fields.to_dict(), console())


def watched(run: Callable[[api.Progress | None], T]) -> T:
    """Runs until done or Ctrl-C, with a progress bar where there is a terminal to draw it on."""
    bar = bar_on_terminal()
    try:
        if bar is None:
            return run(None)
        with bar:
            return run(bar.update)
    except KeyboardInterrupt as interrupt:
        raise Stopped(str(interrupt)) from interrupt


def watched_sweep(directory: Path | None, run: "Callable[[SweepProgress], T]") -> T:
    """Runs a sweep until done or Ctrl-C, with a progress bar where there is a terminal to draw it on.

    Args:
        directory: where its runs are kept; None if they are not.
        run: takes what is to be told how far the sweep is.
    """
    from flashweir.sweeps.terminal import progress_on

    last: list[State] = []

    def tell(state: "State") -> bool:
        last[:] = [state]
        return shown.update(state)

    try:
        with progress_on(sys.stderr) as shown:
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
    """What tables are printed on."""
    from rich.console import Console

    return Console()
