"""Files of other simulators wherever a device is taken: converted on the way in, and named as they were in messages."""

import atexit
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from flashweir._native import FlashweirError
from flashweir.arguments import on_command_line
from flashweir.notices import say, warn

if TYPE_CHECKING:
    from flashweir.importing.model import ImportedDrive

# Bytes at the start of a file in which its kind is looked for.
_LOOKED_AT = 64 << 10
_OURS = (".toml", ".json")
_SIM = "sim:"
# Device files that were made for this process, by the file that they were made of and its state.
_made: dict[tuple[str, int, int], Path] = {}
_folder: list[Path] = []
_said: set[str] = set()


def kind_of(path: str) -> str | None:
    """The simulator that a file is the configuration of; None of device files, presets and everything else."""
    file = Path(path)
    try:
        if path.lower().endswith(_OURS) or not file.is_file():
            return None
        with file.open("rb") as stream:
            text = stream.read(_LOOKED_AT).decode("utf-8-sig", errors="replace")
    except (OSError, ValueError):
        return None
    if text.lstrip().startswith("<"):
        return "mqsim"
    if "#define" in text and "NAND_CHANNELS" in text:
        return "nvmevirt"
    if re.search(r"^t_PROG\s*=", text, re.MULTILINE):
        return "ssdsim"
    return "femu" if "femu" in text.lower() and "=" in text else None


def imported(path: str) -> "ImportedDrive | None":
    """The drive of a file of another simulator; None if it is none.

    Raises:
        ConfigError: it is one, and makes no drive.
    """
    kind = kind_of(path)
    if kind is None:
        return None
    from flashweir.importing.api import import_drive

    return import_drive(kind, path)


def note(path: str) -> None:
    """Says of a device of another simulator how much was imported: a warning, on the command line a line, once."""
    drive = imported(path)
    if drive is None:
        return
    line = f"{path}: {drive.simulator}: {drive.summary}"
    if not on_command_line():
        warn(f"{line}; flashweir.import_drive({drive.kind!r}, {path!r}) lists them")
    elif line not in _said:
        _said.add(line)
        say(f"note: {line}; `flashweir import {drive.kind} {path}` lists them")


def converted(path: str) -> str:
    """The path of a device file, made of a file of another simulator where it is one; it lasts as long as the process.

    Raises:
        ConfigError: the file makes no drive.
    """
    if kind_of(path) is None:
        return path
    status = Path(path).stat()
    key = (str(Path(path).resolve()), status.st_mtime_ns, status.st_size)
    if key not in _made and (drive := imported(path)) is not None:
        if not _folder:
            _folder.append(Path(tempfile.mkdtemp(prefix="flashweir-import-")))
            atexit.register(shutil.rmtree, _folder[0], ignore_errors=True)
        made = _folder[0] / f"{len(_made)}.toml"
        made.write_text(drive.device_file, encoding="utf-8")
        _made[key] = made
    return str(_made[key])


def target(text: str) -> str:
    """A target in which the file of a simulated drive (`sim:FILE[,KEY=VALUE...]`) is converted where it has to be."""
    if not text.startswith(_SIM):
        return text
    file, comma, settings = text.removeprefix(_SIM).partition(",")
    note(file)
    return f"{_SIM}{converted(file)}{comma}{settings}"


@contextmanager
def named(given: str, asked: str) -> Iterator[None]:
    """Names a target in errors as it was given, and not as it was asked for."""
    try:
        yield
    except FlashweirError as error:
        error.args = (original(str(error), given, asked), *error.args[1:])
        raise


def original(text: str, given: str, asked: str) -> str:
    """A text with the file of a target as it was given."""
    if given == asked:
        return text
    left, right = (name.removeprefix(_SIM).partition(",")[0] for name in (asked, given))
    return text.replace(left, right)
