"""Health logs around a run: of files, or of the target itself where it is a drive with such logs."""

import os
from collections.abc import Sequence
from typing import Any

from flashweir._native import ConfigError
from flashweir.arguments import check_files, in_words, on_command_line
from flashweir.healthlogs.difference import difference
from flashweir.healthlogs.drives import read_drive
from flashweir.healthlogs.logs import Log, read
from flashweir.notices import warn

_Path = str | os.PathLike[str]
Files = _Path | Sequence[_Path] | None


class Health:
    """Health logs before a run, and what has changed after it."""

    def __init__(self, target: object, before: Files, after: Files) -> None:
        """Reads the logs before the run.

        Args:
            target: of the run; a block device is asked for its logs where no files are given.
            before: files of one drive.
            after: the same logs, which are read at the end of the run.

        Raises:
            ConfigError: a file is no health log, or only one side is given.
        """
        first, self._after = _listed("health_before", before), _listed("health_after", after)
        if bool(first) != bool(self._after):
            given, missing = ("before", "after") if first else ("after", "before")
            raise ConfigError(f"--health-{given}: expected --health-{missing} with it")
        self._target = os.fsdecode(target) if isinstance(target, str | bytes | os.PathLike) else ""
        self._before = [_named("before", file) for file in first]
        if not first and self._target.startswith("/dev/"):
            self._before = read_drive(self._target)

    def end(self) -> dict[str, Any] | None:
        """Changes in the logs; None if there are none. A bad log after the run is a warning: the run is done."""
        if not self._before:
            return None
        before = self._before
        try:
            later = [_named("after", file) for file in self._after] or read_drive(self._target)
            if not self._after:
                # A log that was not given the second time is left out.
                kinds = {log.kind for log in later} & {log.kind for log in before}
                before = [log for log in before if log.kind in kinds]
                later = [log for log in later if log.kind in kinds]
            return difference(before, later)
        except ConfigError as error:
            warn(f"health: {error if on_command_line() else in_words(str(error))}")
            return None


def _listed(name: str, files: Files) -> list[_Path]:
    if files is None:
        return []
    check_files(name, files)
    return [files] if isinstance(files, str | os.PathLike) else list(files)


def _named(side: str, file: _Path) -> Log:
    try:
        return read(os.fspath(file))
    except ConfigError as error:
        raise ConfigError(f"--health-{side} {error}") from error
