"""Files that are whole or absent: what every text that flashweir writes goes through."""

import os
import sys
from pathlib import Path

# Stands for standard output where a file is written.
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
    target = Path(path).resolve()
    if target.is_block_device():
        raise OSError(None, "that is a block device; expected a file", str(path))
    try:
        if target.exists() and not target.is_file():
            target.write_text(text, encoding="utf-8", newline="\n")
            return
        part = target.with_name(f".{target.name}.{os.getpid()}.part")
        try:
            part.write_text(text, encoding="utf-8", newline="\n")
            part.replace(target)
        finally:
            part.unlink(missing_ok=True)
    except OSError as error:
        # Nobody asked for the name under which it is written first.
        raise OSError(error.errno, error.strerror, str(path)) from error


def same_file(left: Path, right: Path) -> bool:
    """True if two paths lead to the same file, existing or not; standard input and output are no files."""
    if STANDARD in (str(left), str(right)):
        return False
    try:
        return left.samefile(right)
    except OSError:
        return left.resolve() == right.resolve()
