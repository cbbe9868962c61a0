"""Outputs of the commands: one rule for files that exist, and `-`, which is standard output.

A file of the kind that the option writes, made by flashweir, is replaced with `--force` only. Any other file is never
replaced. An empty file, a pipe or `/dev/null` is no loss. Most formats of traces have no place for a mark of flashweir:
a trace without one is replaced by the same bytes only.
"""

import filecmp
import json
import os
import re
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, TypeVar

import typer

from flashweir import _native, targets
from flashweir._native import ConfigError, FlashweirError
from flashweir.results.kinds import command_of
from flashweir.tenants import FIO
from flashweir.whole import STANDARD, same_file

T = TypeVar("T")
Force = Annotated[bool, typer.Option("--force", help="Replace outputs that flashweir made before.")]

# Bytes at the start and the end of a file in which its kind is looked for.
_LOOKED_AT = 64 << 10
# First line of an MSR trace that flashweir wrote: time, host, disk, operation.
_MSR = re.compile(rb"\d+,flashweir,\d+,(?:Read|Write),")
# Larger ones are no JSON of ours.
_MAX_JSON = 1 << 30
_taken = {"standard": False}


def standard_output_is_taken() -> bool:
    """True if an output goes to standard output: summaries then go to standard error."""
    return _taken["standard"]


def check_output(option: str, target: str | Path | None, *, force: bool = False, kind: str = "") -> None:
    """Refuses, before a long run, a file that can't be written after it or may not be replaced.

    Args:
        option: names the output in messages.
        target: where it goes; `-` is standard output, None is nowhere.
        force: lets it replace a file that flashweir made.
        kind: what the option writes, a key of `KINDS`; that of its name if not given.
    """
    if target is None:
        return
    if str(target) == STANDARD:
        if _taken["standard"]:
            raise ConfigError(f"{option} -: another output goes to standard output already: expected a file")
        _taken["standard"] = True
        return
    path = Path(target)
    if path.is_dir():
        raise ConfigError(f"{option} {path}: that is a folder")
    if path.is_block_device():
        raise ConfigError(f"{option} {path}: that is a block device; expected a file")
    if not path.absolute().parent.is_dir():
        raise ConfigError(f"{option} {path}: there is no folder {path.parent}")
    check_existing(option, path, force=force, kind=kind or _OF_OPTION.get(option, "result"))


def check_existing(option: str, path: Path, *, force: bool, kind: str) -> None:
    """Refuses a file that is there, unless it is an output of this kind and `force` is given."""
    if not path.is_file() or not path.stat().st_size:
        return
    name, is_one = KINDS[kind]
    try:
        ours = is_one(path)
    except OSError as error:
        raise ConfigError(f"{option} {path}: {error.strerror}") from error
    if not ours:
        raise ConfigError(f"{option} {path}: is there already, and is no {name}: expected another name")
    if not force:
        ways = "--resume goes on with it, --force replaces it" if kind in _CONTINUED else "--force replaces it"
        ways += " by the same bytes only: it has no mark of flashweir" if kind == "rewritten" and unmarked(path) else ""
        raise ConfigError(f"{option} {path}: is there already: {ways}")


def check_outputs(
    outputs: Mapping[str, str | Path | None],
    inputs: Sequence[str | None],
    *,
    force: bool = False,
    kinds: Mapping[str, str] | None = None,
    files: Sequence[str] = (),
) -> None:
    """Refuses outputs that can't be written, or that would replace one another, an input, or a file of somebody else.

    Args:
        outputs: where each option's output goes.
        inputs: what the run reads.
        force: lets outputs replace files that flashweir made.
        kinds: kinds of outputs whose option does not say it, such as `-o`.
        files: options whose output is written bit by bit, so that it can't be standard output.
    """
    taken = [file for text in inputs if text for file in _files(text)]
    for option, target in outputs.items():
        if str(target) == STANDARD and option in files:
            instead = "; --json - writes the result to standard output" if "--json" in outputs else ""
            raise ConfigError(f"{option} -: expected the name of a file: it is written bit by bit{instead}")
        if target is not None and str(target) != STANDARD:
            place = Path(target)
            other = next((other for other in taken if same_file(other, place)), None)
            if other is not None and (place.is_file() or not place.exists()):
                raise ConfigError(f"{option} {target}: expected a file of its own: {other} is read or written already")
            taken.append(place)
        check_output(option, target, force=force, kind=(kinds or {}).get(option, ""))


def unmarked(path: Path) -> bool:
    """True if a file has content and is no trace with a mark of flashweir."""
    return path.is_file() and bool(path.stat().st_size) and not _is_marked(path)


def rewrite(option: str, target: str, write: Callable[[str], T]) -> T:
    """Calls `write` with the name of a trace to write: `target`, after `check_output` for the kind `rewritten`.

    A trace that is there without a mark of flashweir is replaced if the new one has the same bytes: else it may be the
    only copy of a recording. It is compared beside its place.

    Raises:
        ConfigError: it has other bytes.
    """
    path = Path(target)
    if target == STANDARD or not unmarked(path):
        return write(target)
    with tempfile.TemporaryDirectory(prefix=".flashweir-", dir=path.resolve().parent) as beside:
        anew = Path(beside) / path.name
        try:
            done = write(str(anew))
        except FlashweirError as error:
            error.args = (str(error).replace(str(anew), target), *error.args[1:])
            raise
        if not filecmp.cmp(anew, path, shallow=False):
            raise ConfigError(f"{option} {target}: is there already, has no mark of flashweir, and would get other "
                              "content: expected another name")  # fmt: skip
        anew.replace(path.resolve())
    return done


def check_folder(option: str, folder: Path | None) -> None:
    """Refuses standard output where a folder is written."""
    if str(folder) == STANDARD:
        raise ConfigError(f"{option} -: expected the name of a folder: standard output is none (./- is one)")


def check_figures(folder: Path | None, *, force: bool) -> None:
    """Refuses a folder for figures that can't be made, or that holds figures already without `force`."""
    check_folder("--figures", folder)
    if folder is None:
        return
    if folder.exists() and not folder.is_dir():
        raise ConfigError(f"--figures {folder}: expected a folder")
    if not folder.absolute().parent.is_dir():
        raise ConfigError(f"--figures {folder}: there is no folder {folder.parent}")
    if not force:
        there = (path for path in folder.rglob("*") if path.suffix in _FIGURES and path.is_file())
        if (one := next(there, None)) is not None:
            raise ConfigError(f"--figures {folder}: holds figures already, such as {one.name}: --force replaces them")


def _files(text: str) -> list[Path]:
    """Paths that an argument may name: a file, that of NAME=FILE, or that of sim:FILE,KEY=VALUE."""
    if text == STANDARD:
        return []
    if text.startswith("sim:"):
        return [Path(text.removeprefix("sim:").partition(",")[0])]
    if text.startswith(targets.PREFIX):
        return [Path(targets.file_of(text))]
    names = (text, text.partition("=")[2])
    return [Path(name.removeprefix(FIO)) for name in names if name]


def _ends(path: Path) -> bytes:
    """The start and the end of a file."""
    with path.open("rb") as file:
        start = file.read(_LOOKED_AT)
        file.seek(max(0, file.seek(0, os.SEEK_END) - _LOOKED_AT))
        return start + file.read()


def _is_json(path: Path) -> bool:
    if path.stat().st_size > _MAX_JSON:
        return False
    try:
        value = json.loads(path.read_bytes())
    except (ValueError, RecursionError):
        return False
    return command_of(value) is not None


def _is_lines(path: Path) -> bool:
    with path.open("rb") as file:
        line = file.readline(_MAX_JSON)
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return False
    return isinstance(row, dict) and {"trace", "key", "settings"} <= row.keys()


def _is_trace(path: Path) -> bool:
    """True if a file begins like a trace; reading it is stopped after a moment."""
    try:
        _native.trace_info(str(path), "{}", lambda _: False)
    except FlashweirError as error:
        return "stopped while" in str(error)
    return True


def _is_marked(path: Path) -> bool:
    """True if a trace names flashweir as its writer: in the metadata of Parquet, or as host of an MSR line."""
    ends = _ends(path)
    return (ends.startswith(b"PAR1") and b"flashweir.schema" in ends) or _MSR.match(ends) is not None


def _is_state(path: Path) -> bool:
    from flashweir.serving import is_saved

    return is_saved(path)


def _is_bundle(path: Path) -> bool:
    from flashweir.bundles.archive import is_bundle

    return is_bundle(path)


def _has(*marks: bytes) -> Callable[[Path], bool]:
    def found(path: Path) -> bool:
        ends = _ends(path)
        return all(mark in ends for mark in marks)

    return found


def _is_device(path: Path) -> bool:
    return _ends(path).startswith((b"# Probed from ", b"# Imported from ", b"# Fitted to "))


def _is_figure(path: Path) -> bool:
    ends = _ends(path)
    return ends.startswith((b"\x89PNG", b"<?xml", b"%PDF")) and b"flashweir" in ends


# Outputs that a command goes on with where it was stopped.
_CONTINUED = ("grades", "lines")
_FIGURES = (".png", ".svg", ".pdf")
# Outputs by what they are: in words, and how one is known.
KINDS: Mapping[str, tuple[str, Callable[[Path], bool]]] = {
    "result": ("JSON of flashweir", _is_json),
    "grades": ("result of flashweir bench", _is_json),
    "page": ("report of flashweir", _has(b'<meta name="generator" content="flashweir')),
    "log": ("log of requests of flashweir", _has(b"PAR1", b"flashweir.schema")),
    "timeline": ("timeline of flashweir", _has(b"dirty pages", b"free blocks", b"host")),
    "markdown": ("document of flashweir", _has(b"Made by flashweir ")),
    "figure": ("figure of flashweir", _is_figure),
    "device": ("device file of flashweir", _is_device),
    "trace": ("trace that flashweir marked as its own", _is_marked),
    "rewritten": ("trace", _is_trace),
    "lines": ("lines of flashweir trace characterize", _is_lines),
    "bundle": ("bundle of flashweir", _is_bundle),
    "state": ("saved drive of flashweir", _is_state),
}
_OF_OPTION = {"--html": "page", "--requests": "log", "--log": "log", "--timeline": "timeline",
              "--markdown": "markdown", "--png": "figure", "--save-state": "state", "--record": "trace"}  # fmt: skip
