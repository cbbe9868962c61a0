"""Standard streams of the command: closed ones, full ones and those whose reader has gone.

Output that can't be written is an error that names standard output; text for standard error is lost without one, as
there is nowhere to say it.
"""

import codecs
import io
import os
import sys
from collections.abc import Sequence
from typing import TextIO

from flashweir.whole import STANDARD

STDIN, STDOUT, STDERR = 0, 1, 2
# Files that standard output is, too: as a pipe they have no name that a file could be written under.
_STANDARD_OUTPUT = ("/dev/stdout", "/dev/fd/1", "/proc/self/fd/1")
# Names of files need not be text: their bytes are written as they are, other characters as escapes.
_AS_BYTES = "flashweir-bytes"


class _Output(io.FileIO):
    """Standard output: its errors name it."""

    def write(self, data: "bytes | bytearray | memoryview") -> int:  # type: ignore[override]
        try:
            return super().write(data)
        except OSError as error:
            raise OSError(error.errno, error.strerror, "standard output") from error


class _Messages(io.FileIO):
    """Standard error: what can't be written is dropped."""

    def write(self, data: "bytes | bytearray | memoryview") -> int:  # type: ignore[override]
        try:
            return super().write(data)
        except OSError:
            return len(data)


def prepare() -> None:
    """Opens the standard streams that are closed, so that no file gets their number, and makes writing to them safe.

    What is closed can be neither read nor written afterwards, except that messages go nowhere.
    """
    for number, flags in ((STDIN, os.O_WRONLY), (STDOUT, os.O_RDONLY), (STDERR, os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:
            # The lowest free number is this one: those below are open.
            os.set_inheritable(os.open(os.devnull, flags), True)
    codecs.register_error(_AS_BYTES, _as_bytes)
    sys.stdout = _text(_Output(STDOUT, "w", closefd=False), sys.stdout)
    sys.stderr = _text(_Messages(STDERR, "w", closefd=False), sys.stderr)


def with_standard(words: Sequence[str]) -> list[str]:
    """A command line with `-` where it names standard output as a file; what follows `--` is of another program."""
    found: list[str] = []
    for place, word in enumerate(words):
        if word == "--":
            return [*found, *words[place:]]
        option, equals, value = word.partition("=") if word.startswith("--") else ("", "", word)
        found.append(f"{option}{equals}{STANDARD if value in _STANDARD_OUTPUT else value}")
    return found


def abandon_output() -> None:
    """Drops what is left to be written to standard output, at exit too."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, STDOUT)
    os.close(null)


def _text(raw: io.FileIO, before: TextIO | None) -> TextIO:
    """A text stream over `raw`, like the one `before` it."""
    encoding = "utf-8" if before is None else before.encoding
    terminal = raw.isatty()
    return io.TextIOWrapper(io.BufferedWriter(raw), encoding, _AS_BYTES, "\n", terminal or raw.fileno() == STDERR)


def _as_bytes(error: UnicodeError) -> tuple[str | bytes, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end]
    try:
        return text.encode("utf-8", "surrogateescape") if error.encoding == "utf-8" else _escaped(text), error.end
    except UnicodeEncodeError:
        return _escaped(text), error.end


def _escaped(text: str) -> str:
    return text.encode("ascii", "backslashreplace").decode("ascii")
