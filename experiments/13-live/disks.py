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
from dataclasses import dataclass
from pathlib import Path

TOOLS = ("nbdfuse", "fusermount3", "losetup", "mount", "umount")
_LIMIT_S = 60
_TRIES = 50
_PATHS = os.pathsep.join((os.environ.get("PATH", ""), "/usr/sbin", "/sbin"))


@dataclass(frozen=True)
class FileSystem:
    """The commands of a file system, which get the device as their last word, and the smallest drive that it takes."""

    name: str
    make: tuple[str, ...]
    check: tuple[str, ...]
    capacity: str


# Everything is initialized at once, so that nothing runs in between; blocks that were free are not trimmed.
FILE_SYSTEMS = {
    one.name: one
    for one in (
        FileSystem(
            "ext4",
            ("mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0,nodiscard"),
            ("e2fsck", "-f", "-n"),
            "64MiB",
        ),
        FileSystem("xfs", ("mkfs.xfs", "-q", "-f", "-K"), ("xfs_repair", "-n"), "320MiB"),
        FileSystem("btrfs", ("mkfs.btrfs", "-q", "-f", "-K"), ("btrfs", "check", "--readonly"), "160MiB"),
        FileSystem("f2fs", ("mkfs.f2fs", "-q", "-f", "-t", "0"), ("fsck.f2fs", "--dry-run"), "128MiB"),
    )
}


def missing(on: str = "ext4") -> str:
    """Names what this machine lacks to mount a served drive with this file system; empty if nothing."""
    if os.geteuid() != 0:
        return "root, to mount"
    tools = (*TOOLS, FILE_SYSTEMS[on].make[0], FILE_SYSTEMS[on].check[0])
    lacks = [name for name in tools if shutil.which(name, path=_PATHS) is None]
    lacks += [path for path in ("/dev/fuse", "/dev/loop-control") if not Path(path).exists()]
    if on not in Path("/proc/filesystems").read_text(encoding="utf-8").split():
        # It may be a module that is not loaded.
        module = shutil.which("modprobe", path=_PATHS)
        if module is None or subprocess.run([module, "-q", on], check=False, timeout=_LIMIT_S).returncode:  # noqa: S603
            lacks.append(f"{on} in its kernel")
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

    def __init__(self, folder: Path, uri: str, on: str = "ext4") -> None:
        self.file_system = FILE_SYSTEMS[on]
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

    def make(self) -> None:
        """Makes its file system."""
        for _ in range(_TRIES):
            made = tool(*self.file_system.make, self.device, fails=True)
            # mkfs.btrfs looks at all loop devices, and another one may just have lost its drive.
            if "Transport endpoint" not in made.stderr:
                break
            time.sleep(0.1)
        if made.returncode:
            raise RuntimeError(f"{self.file_system.make[0]}: {made.stderr.strip() or made.stdout.strip()}")

    def check(self) -> str:
        """Checks its file system, which is not mounted, without a change. A line of a fault, or nothing."""
        checked = tool(*self.file_system.check, self.device, fails=True)
        lines = (checked.stdout + checked.stderr).strip().splitlines()
        first = next((line for line in lines if "error" in line.lower()), lines[0] if lines else "")
        return f"{self.file_system.check[0]}: {first}" if checked.returncode else ""

    def mount(self) -> Path:
        """Mounts its file system; the journal is replayed.

        Raises:
            RuntimeError: it can't be mounted.
        """
        tool("mount", "-t", self.file_system.name, "-o", "noatime", self.device, self.place)
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
def disk_of(folder: Path, uri: str, on: str = "ext4") -> Iterator[Disk]:
    """A served drive as a disk with this file system, until the end of the block."""
    disk = Disk(folder, uri, on)
    try:
        yield disk
    finally:
        disk.close()
