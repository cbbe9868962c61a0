"""Locks on what one process at a time may write; they end with the process, however that ends."""

import fcntl
import os
from pathlib import Path
from typing import IO, Any, Self

from flashweir._native import FlashweirError


class Lock:
    """A lock of the system on a file; a context manager that lets go of it."""

    def __init__(self, path: Path, what: str) -> None:
        """Makes the file if it is not there, and locks it.

        Args:
            path: the file, which may be one that is written as well.
            what: what it stands for, in messages.

        Raises:
            FlashweirError: another process has it; the message names that one.
        """
        self._file = path.open("ab")
        try:
            lock(self._file, what)
        except BaseException:
            self._file.close()
            raise

    def close(self) -> None:
        """Lets go of it."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def lock(file: IO[Any], what: str) -> None:
    """Locks an open file for as long as it is open.

    Raises:
        FlashweirError: another process has it; the message names that one.
    """
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise FlashweirError(
            f"{what}: {_owner(file)} is writing here: wait for its end, or name another place"
        ) from error
    except OSError:
        # A file system without locks.
        return


def _owner(file: IO[Any]) -> str:
    """The process that has a lock on a file, as the system lists them."""
    inode = f":{os.fstat(file.fileno()).st_ino}"
    try:
        for line in Path("/proc/locks").read_text(encoding="ascii").splitlines():
            # 1: FLOCK ADVISORY WRITE 1234 08:01:5678 0 EOF
            words = line.split()
            if words[1] == "FLOCK" and words[5].endswith(inode):
                name = Path(f"/proc/{words[4]}/comm").read_text(encoding="utf-8", errors="replace").strip()
                return f"process {words[4]} ({name})"
    except (OSError, IndexError):
        pass
    return "another process"
