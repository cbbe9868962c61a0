"""Files that are whole or absent: what every text that flashweir writes goes through."""

import os
import shutil
import sys
from pathlib import Path

# Stands for standard output where a file is written, and for standard input where one is read.
STANDARD = "-"


def write(path: str | os.PathLike[str], text: str) -> None:
    """Writes a file that appears when it is complete.

    `-` is standard output. A link is followed; what is no file (a pipe, `/dev/null`) is written as it is.

    Raises:
        OSError: it can't be written, or is a block device: what is on a drive is not lost by an option for outputs.
    """
    if str(path) == STANDARD:
        sys.stdout.write(text)
        return
    given = Path(path)
    if given.is_block_device():
        raise OSError(None, "that is a block device; expected a file", str(path))
    # A pipe behind `/dev/fd/N` has no name that a link leads to.
    target = given.resolve()
    try:
        if given.exists() and not given.is_file():
            given.write_text(text, encoding="utf-8", newline="\n")
            return
        part = target.with_name(f".{target.name}.{os.getpid()}.part")
        try:
            part.touch()
            if given.exists():
                shutil.copymode(target, part)
            part.write_text(text, encoding="utf-8", newline="\n")
            part.replace(target)
        finally:
            part.unlink(missing_ok=True)
    except OSError as error:
        # Nobody asked for the name under which it is written first.
        raise OSError(error.errno, error.strerror, str(path)) from error


def read_standard(most: int) -> bytes:
    """Standard input, but at most so many bytes and one.

    Raises:
        OSError: it is closed.
    """
    if sys.stdin is None:
        raise OSError(None, "standard input is closed", STANDARD)
    return sys.stdin.buffer.read(most + 1)


def same_file(left: Path, right: Path) -> bool:
    """True if two paths lead to the same file, existing or not; standard input and output are no files."""
    if STANDARD in (str(left), str(right)):
        return False
    try:
        return left.samefile(right)
    except OSError:
        return left.resolve() == right.resolve()
