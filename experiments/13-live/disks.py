"""File systems on a drive that is served: nbdfuse shows its export as a file, a loop device makes a disk of that.

Needs root, FUSE, loop devices and the tools below; `missing` says what this machine lacks. A power cut drops the
connection, so a `Disk` is left after one and another one is made: that is the machine that starts again.
"""

import contextlib
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

TOOLS = ("nbdfuse", "fusermount3", "losetup", "mkfs.ext4", "e2fsck", "mount", "umount")
_LIMIT_S = 60
_PATHS = os.pathsep.join((os.environ.get("PATH", ""), "/usr/sbin", "/sbin"))


def missing() -> str:
    """Names what this machine lacks to mount a served drive; empty if nothing."""
    if os.geteuid() != 0:
        return "root, to mount"
    lacks = [name for name in TOOLS if shutil.which(name, path=_PATHS) is None]
    lacks += [path for path in ("/dev/fuse", "/dev/loop-control") if not Path(path).exists()]
    return ", ".join(lacks)


def tool(*words: object, fails: bool = False) -> subprocess.CompletedProcess[str]:
    """Runs a tool of the system. `fails`: it may end with an error.

    Raises:
        RuntimeError: it ended with an error.
    """
    name = str(words[0])
    found = shutil.which(name, path=_PATHS) or name
    done = subprocess.run(  # noqa: S603
        [found, *map(str, words[1:])], capture_output=True, text=True, timeout=_LIMIT_S, check=False
    )
    if done.returncode and not fails:
        raise RuntimeError(f"{name}: {done.stderr.strip() or done.stdout.strip()}")
    return done


class Disk:
    """A served drive as a disk of this machine."""

    def __init__(self, folder: Path, uri: str) -> None:
        self.point, self.place = folder / "fuse", folder / "mounted"
        self.point.mkdir(exist_ok=True)
        self.place.mkdir(exist_ok=True)
        self._shown = subprocess.Popen(  # noqa: S603
            [shutil.which("nbdfuse", path=_PATHS) or "nbdfuse", self.point / "disk", uri],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        end = time.monotonic() + _LIMIT_S
        while not (self.point / "disk").exists():
            if self._shown.poll() is not None or time.monotonic() > end:
                raise RuntimeError("nbdfuse does not show the drive")
            time.sleep(0.01)
        made = tool("losetup", "--find", "--show", "--direct-io=on", self.point / "disk")
        self.device = made.stdout.strip()
        self._is_mounted = False

    def mount(self) -> Path:
        """Mounts its file system; the journal is replayed.

        Raises:
            RuntimeError: it can't be mounted.
        """
        tool("mount", "-t", "ext4", "-o", "noatime", self.device, self.place)
        self._is_mounted = True
        return self.place

    def unmount(self) -> None:
        """Ends the file system, whole or not. After a power cut nothing of it reaches the drive."""
        if self._is_mounted and tool("umount", self.place, fails=True).returncode:
            tool("umount", "-l", self.place)
        self._is_mounted = False

    def close(self) -> None:
        """Ends the disk."""
        self.unmount()
        tool("losetup", "--detach", self.device, fails=True)
        end = time.monotonic() + _LIMIT_S
        while self._shown.poll() is None and time.monotonic() < end:
            # Busy until the loop device is gone.
            tool("fusermount3", "-u", self.point, fails=True)
            time.sleep(0.01)
        tool("fusermount3", "-u", "-z", self.point, fails=True)
        self._shown.kill()
        self._shown.wait(_LIMIT_S)


@contextlib.contextmanager
def disk_of(folder: Path, uri: str) -> Iterator[Disk]:
    """A served drive as a disk, until the end of the block."""
    disk = Disk(folder, uri)
    try:
        yield disk
    finally:
        disk.close()


def make_ext4(disk: Disk) -> None:
    """Makes an ext4 file system with a journal of data and everything initialized, so that nothing runs in between."""
    tool("mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0,nodiscard", disk.device)
