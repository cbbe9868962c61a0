"""Lines of JSON, one a trace: appended and synced as they come, so that a killed run is readable and can go on."""

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from flashweir import _native
from flashweir._native import ConfigError, FlashweirError
from flashweir.locks import lock

Row = dict[str, Any]


def key_of(path: Path, settings: Mapping[str, Any]) -> str:
    """Identity of a line: this trace in its present state, these settings, this version."""
    state = path.stat()
    identity = [path.name, state.st_size, state.st_mtime_ns, dict(sorted(settings.items()))]
    identity += [_native.__version__, _native.__build__]
    return hashlib.blake2b(json.dumps(identity, default=str).encode(), digest_size=12).hexdigest()


class Kept:
    """The file of lines; a context manager that closes it."""

    def __init__(self, path: Path, *, resume: bool) -> None:
        """Opens or makes the file; a line that was not finished is taken off, and lines of failures are not counted.

        Raises:
            ConfigError: it is there and has lines, without `resume`; or it is something else.
            FlashweirError: it can't be written, or another process is writing it.
        """
        self.path = path
        self.rows: dict[str, Row] = {}
        whole = self._read(resume=resume)
        try:
            self._file = path.open("ab", buffering=0)
            try:
                lock(self._file, str(path))
                self._file.truncate(whole)
            except BaseException:
                self._file.close()
                raise
        except OSError as error:
            raise FlashweirError(f"{path}: {error.strerror}") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def _read(self, *, resume: bool) -> int:
        """Knows the lines that are there; how many bytes they have."""
        try:
            content = self.path.read_bytes()
        except FileNotFoundError:
            return 0
        except OSError as error:
            raise ConfigError(f"{self.path}: {error.strerror}") from error
        if content and not resume:
            raise ConfigError(f"{self.path}: is there already: --resume goes on with it; expected a new file otherwise")
        whole = content.rfind(b"\n") + 1
        for number, line in enumerate(content[:whole].splitlines(), 1):
            try:
                row = json.loads(line)
                key, failed = str(row["key"]), row["error"] is not None
                row["trace"]
            except (ValueError, TypeError, KeyError, RecursionError):
                message = f"{self.path}: line {number}: expected a line that trace characterize wrote"
                raise ConfigError(message) from None
            if not failed:
                self.rows[key] = row
        return whole

    def add(self, path: Path, key: str, settings: Mapping[str, Any], text: str | None, error: str | None) -> None:
        """Appends the line of a trace: its character as JSON text, or why there is none.

        Raises:
            FlashweirError: it can't be written.
        """
        character = None if text is None else _lighter(json.loads(text))
        row = {"trace": path.name, "key": key, "settings": dict(settings), "error": error, "character": character}
        line = json.dumps(row, separators=(",", ":"), default=str).encode() + b"\n"
        end = self._file.seek(0, os.SEEK_END)
        try:
            left = memoryview(line)
            while left:
                left = left[self._file.write(left) or 0 :]
            os.fsync(self._file.fileno())
        except OSError as failure:
            self._file.truncate(end)
            raise FlashweirError(
                f"{self.path}: {failure.strerror}: traces before are kept, --resume goes on"
            ) from failure
        self.rows[key] = row


def _lighter(character: Row) -> Row:
    """Without the cells of pictures, which are nine tenths of it."""
    for side in (character.get("microscopic") or {}).values():
        for part in side.values():
            part.pop("cells", None)
    return character
