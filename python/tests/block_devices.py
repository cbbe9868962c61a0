"""Block devices of a test's own: loop devices on files, and on a server (nbdkit) that watches, delays or fails.

The server speaks through a socket to nbdfuse, which shows it as a file, on which a loop device stands. What is missing
(root, a tool, loop devices, FUSE) is a reason to skip.
"""

import contextlib
import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import pytest

MIB = 1 << 20
SECTOR = 512


def tool(name: str) -> str:
    """Where a tool of the system is; skips where it is not installed."""
    found = shutil.which(name) or shutil.which(name, path="/usr/sbin:/sbin")
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found


def wait_for(condition: Callable[[], bool], seconds: float = 20.0) -> bool:
    """True if something became true in time."""
    end = time.monotonic() + seconds
    while not (done := condition()) and time.monotonic() < end:
        time.sleep(0.02)
    return bool(done)


@contextlib.contextmanager
def loop_on(file: Path, *options: str) -> Iterator[str]:
    """A loop device on a file, past the page cache unless `options` say otherwise; `options` are those of losetup."""
    if os.geteuid() != 0:
        pytest.skip("loop devices need root")
    losetup = tool("losetup")
    made = subprocess.run([losetup, "--find", "--show", *options, file], check=False, capture_output=True, text=True)
    if made.returncode != 0:
        pytest.skip(f"no loop device can be made here: {made.stderr.strip()}")
    device = made.stdout.strip()
    try:
        yield device
    finally:
        subprocess.run([losetup, "--detach", device], check=True)


def discard_limit(device: str) -> Path:
    """The file with the largest discard of a block device, which may lower it."""
    return Path("/sys/block") / Path(device).name / "queue/discard_max_bytes"


def knows_trim(device: str) -> bool:
    """True if a block device discards: loop devices do as far as the file system below them does."""
    limit = discard_limit(device)
    return limit.is_file() and limit.read_text(encoding="ascii").strip() != "0"


def need_trim(device: str, what: str) -> None:
    """Skips the rest of a test, by the name of what it does not run, where a device does not discard."""
    if not knows_trim(device):
        pytest.skip(f"not run: {what}: {device} reports no discard")


def need_no_trim(device: str, what: str) -> None:
    """Turns the discards of a device off; skips the rest of a test, by the name of what it does not run, if it can't.

    A device that discards nothing anyway is left as it is.
    """
    if not knows_trim(device):
        return
    with contextlib.suppress(OSError):
        discard_limit(device).write_text("0", encoding="ascii")
    if knows_trim(device):
        pytest.skip(f"not run: {what}: the discards of {device} can't be turned off")


@contextlib.contextmanager
def loop_of(folder: Path, size_bytes: int = 64 * MIB, *options: str) -> Iterator[str]:
    """A loop device on a file without data."""
    image = folder / "image"
    with image.open("wb") as file:
        file.truncate(size_bytes)
    with loop_on(image, *options) as device:
        yield device


@contextlib.contextmanager
def mounted(point: Path, kind: str, options: str = "rw", source: str = "none") -> Iterator[Path]:
    """A file system of a test's own: in memory, or on a device."""
    if os.geteuid() != 0:
        pytest.skip("mounting needs root")
    point.mkdir()
    mount = subprocess.run(
        [tool("mount"), "-t", kind, "-o", options, source, point], check=False, capture_output=True, text=True
    )
    if mount.returncode != 0:
        pytest.skip(f"nothing can be mounted here: {mount.stderr.strip()}")
    try:
        yield point
    finally:
        subprocess.run([tool("umount"), point], check=True)


@dataclass
class Served:
    """A device whose requests a server executes."""

    device: str
    file: Path
    log: Path
    server: subprocess.Popen[bytes]

    def requests(self) -> list[tuple[str, int, int]]:
        """Requests to the server, in the order in which they came: operation, first byte, bytes."""
        found = []
        for line in self.log.read_text().splitlines():
            words = re.search(r" (Read|Write|Trim|Zero) id=\d+ offset=0x([0-9a-f]+) count=0x([0-9a-f]+)", line)
            if words:
                found.append((words[1].lower(), int(words[2], 16), int(words[3], 16)))
        return found

    def durations_us(self) -> dict[tuple[str, int], float]:
        """Duration of the last request of each operation and first byte, us."""
        began: dict[str, tuple[datetime, tuple[str, int]]] = {}
        took = {}
        for line in self.log.read_text().splitlines():
            words = re.match(
                r"(\S+ \S+) (connection=\d+) (\.\.\.)?(Read|Write) (id=\d+)(?: offset=0x([0-9a-f]+))?", line
            )
            if words is None:
                continue
            time, key = datetime.fromisoformat(words[1]), f"{words[2]} {words[5]}"
            if words[3] is None:
                began[key] = (time, (words[4].lower(), int(words[6], 16)))
            elif key in began:
                start, request = began.pop(key)
                took[request] = (time - start).total_seconds() * 1e6
        return took


@contextlib.contextmanager
def served(folder: Path, size_bytes: int = 64 * MIB, *filters: str, loop: tuple[str, ...] = ()) -> Iterator[Served]:
    """A loop device on a server; `filters` are of nbdkit, `NAME` or `NAME:KEY=VALUE`; `loop` are options of losetup."""
    nbdkit, nbdfuse, unmount = tool("nbdkit"), tool("nbdfuse"), tool("fusermount3")
    if not Path("/dev/fuse").exists():
        pytest.skip("there is no FUSE here")
    socket, point, log = folder / "nbd.socket", folder / "nbd", folder / "nbd.log"
    point.mkdir()
    names = [text.partition(":")[0] for text in filters]
    settings = [text.partition(":")[2] for text in filters if ":" in text]
    watched = [f"--filter={name}" for name in ["log", *dict.fromkeys(names)]]
    server = subprocess.Popen(
        [nbdkit, "-f", "-U", socket, *watched, "memory", str(size_bytes), f"logfile={log}", *settings],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    shown = None
    try:
        assert wait_for(lambda: socket.exists() or server.poll() is not None)
        assert server.poll() is None, "nbdkit does not run with these filters"
        shown = subprocess.Popen(
            [nbdfuse, "-C", "8", point / "disk", f"nbd+unix:///?socket={socket}"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        assert wait_for(lambda: (point / "disk").exists() or shown.poll() is not None)
        if shown.poll() is not None:
            pytest.skip("nbdfuse can't mount here")
        with loop_on(point / "disk", "--direct-io=on", *loop) as device:
            yield Served(device, point / "disk", log, server)
    finally:
        if shown is not None:
            wait_for(lambda: subprocess.run([unmount, "-u", point], check=False, capture_output=True).returncode == 0)
            shown.wait(20)
        server.terminate()
        server.wait(20)
