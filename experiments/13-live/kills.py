"""A served drive that lives in a folder, killed at any time (SIGKILL).

    python kills.py [--kills N] [--seed N]

Each turn opens the drive, reads all that earlier turns wrote, writes and flushes over two connections, and kills the
process: while it starts, while it serves, while it saves, or while it stops. Every sector says which write it is from.
A sector must be from the last write that a flush acknowledged, or from a later one, and the state must open. Ends with
1 if a promise was broken.
"""

import argparse
import contextlib
import random
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

CAPACITY = 8 << 20
SETTINGS = ("channels=2", f"capacity={CAPACITY}", "pages_per_block=8", "buffer.bytes=256KiB", "precondition=full")
BLOCK, SECTOR = 4096, 512
BLOCKS = CAPACITY // BLOCK
READ, WRITE, FLUSH = 0, 1, 3
# The answer of a process that was asked to stop.
SHUT_DOWN = 108
MOMENTS = ("starting", "serving", "serving", "serving", "saving", "stopping")
_LIMIT_S = 120


class Lost(Exception):
    """The process has gone."""


class Client:
    """A client of NBD, for one request at a time."""

    def __init__(self, path: Path, export: str = "") -> None:
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(_LIMIT_S)
        try:
            self.socket.connect(str(path))
            self._take(18)
            name = export.encode()
            self.socket.sendall(struct.pack(">IQII", 3, 0x49484156454F5054, 1, len(name)) + name)
            self._take(10)
        except OSError as error:
            self.socket.close()
            raise Lost from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def _take(self, count: int) -> bytes:
        found = b""
        while len(found) < count:
            more = self.socket.recv(count - len(found))
            if not more:
                raise Lost
            found += more
        return found

    def ask(self, command: int, offset: int = 0, length: int = 0, data: bytes = b"") -> bytes:
        """Sends a request and waits for its answer: the bytes read.

        Raises:
            Lost: the process has gone.
            RuntimeError: the request was refused.
        """
        try:
            self.socket.sendall(struct.pack(">IHHQQI", 0x25609513, 0, command, 7, offset, length) + data)
            error = struct.unpack(">I", self._take(16)[4:8])[0]
            if error == SHUT_DOWN:
                raise Lost
            if error:
                raise RuntimeError(f"request {command} at {offset}: error {error}")
            return self._take(length) if command == READ else b""
        except OSError as gone:
            raise Lost from gone


@dataclass
class Model:
    """Promises of the drive: for each block, the numbers of its last write and of its last write that was flushed."""

    written: list[int] = field(default_factory=lambda: [0] * BLOCKS)
    flushed: list[int] = field(default_factory=lambda: [0] * BLOCKS)
    count: int = 0
    acknowledged: int = 0
    flushes: int = 0


def body_of(block: int, number: int) -> bytes:
    """The bytes of a block: its sectors say where they are and which write they are from."""
    return b"".join(struct.pack("<QQQ", block, sector, number) + bytes(SECTOR - 24) for sector in range(8))


def check(client: Client, model: Model) -> list[str]:
    """Reads all blocks. Returns what is wrong; the model goes on from what is there."""
    broken = []
    for block in range(BLOCKS):
        body = client.ask(READ, block * BLOCK, BLOCK)
        numbers = []
        for sector in range(8):
            at, part, number = struct.unpack_from("<QQQ", body, sector * SECTOR)
            if number and (at, part) != (block, sector):
                broken.append(f"block {block}, sector {sector}: bytes of block {at}, sector {part}")
            if not model.flushed[block] <= number <= model.written[block]:
                broken.append(
                    f"block {block}, sector {sector}: from write {number}, and {model.flushed[block]} was flushed"
                )
            numbers.append(number)
        # A write that has not reached the drive by now never will.
        model.flushed[block], model.written[block] = min(numbers), max(numbers)
    return broken


def write(path: Path, model: Model, lock: threading.Lock, seed: int, half: int) -> None:
    """Writes blocks of one half and flushes, until the process is gone."""
    draw = random.Random(seed)  # noqa: S311 - nothing to hide
    with contextlib.suppress(Lost), Client(path) as client:
        while True:
            for _ in range(draw.randint(1, 20)):
                block = draw.randrange(BLOCKS // 2) + half * BLOCKS // 2
                with lock:
                    model.count += 1
                    number = model.written[block] = model.count
                client.ask(WRITE, block * BLOCK, BLOCK, body_of(block, number))
                with lock:
                    model.acknowledged += 1
            written = list(model.written)
            # Blocks of this half: nobody else writes them, and all writes have been acknowledged.
            client.ask(FLUSH)
            mine = range(half * BLOCKS // 2, (half + 1) * BLOCKS // 2)
            with lock:
                model.flushes += 1
                for block in mine:
                    model.flushed[block] = max(model.flushed[block], written[block])


def started(folder: Path, *, new: bool) -> subprocess.Popen[str]:
    """The process that serves the drive."""
    words = [sys.executable, "-m", "flashweir", "serve", "--state", "state", "--clock", "virtual"]
    words += ["--nbd", "unix:nbd.sock", "--control", "ctl.sock"]
    settings = [word for setting in SETTINGS for word in ("--set", setting)] if new else []
    return subprocess.Popen(  # noqa: S603
        [*words, *settings], cwd=folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


def is_ready(run: subprocess.Popen[str]) -> bool:
    """Waits until clients can connect; False if the process ends instead."""
    return run.stdout is not None and bool(run.stdout.readline())


def ask_to_save(folder: Path) -> None:
    """Asks for a save without waiting for it."""
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as control:
        control.connect(str(folder / "ctl.sock"))
        control.sendall(b'{"cmd": "save"}\n')


def turn(folder: Path, model: Model, draw: random.Random, *, new: bool) -> tuple[str, list[str]]:
    """Opens the drive, checks it, writes and kills. Returns the moment of the kill, and what was broken."""
    moment = draw.choice(MOMENTS)
    run = started(folder, new=new)
    try:
        if moment == "starting" and not new:
            time.sleep(draw.random() * 1.5)
            return moment, []
        if not is_ready(run):
            return moment, [f"the state does not open: {run.communicate(timeout=_LIMIT_S)[1].strip()}"]
        socket_path = folder / "nbd.sock"
        with Client(socket_path) as client:
            broken = check(client, model)
        lock = threading.Lock()
        seeds = [draw.getrandbits(32) for _ in range(2)]
        threads = [
            threading.Thread(target=write, args=(socket_path, model, lock, seed, half), daemon=True)
            for half, seed in enumerate(seeds)
        ]
        for thread in threads:
            thread.start()
        time.sleep(draw.random() * 0.4)
        if moment == "saving":
            ask_to_save(folder)
            time.sleep(draw.random() * 0.05)
        if moment == "stopping":
            run.send_signal(signal.SIGTERM)
            time.sleep(draw.random() * 0.2)
        run.kill()
        for thread in threads:
            thread.join(_LIMIT_S)
            if thread.is_alive():
                broken.append("a client waits for a process that was killed")
        return moment, broken
    finally:
        run.kill()
        run.communicate(timeout=_LIMIT_S)


def kill(folder: Path, kills: int, seed: int) -> tuple[Model, dict[str, int], list[str]]:
    """Kills a drive so many times, and opens it once more. Returns its promises, moments, and what was broken."""
    draw = random.Random(seed)  # noqa: S311 - nothing to hide
    model, moments, broken = Model(), dict.fromkeys(MOMENTS, 0), []
    for number in range(kills):
        moment, found = turn(folder, model, draw, new=not (folder / "state").exists())
        moments[moment] += 1
        broken += [f"after {number} kills: {line}" for line in found]
    run = started(folder, new=False)
    try:
        if not is_ready(run):
            return model, moments, [*broken, f"the state does not open: {run.communicate(timeout=_LIMIT_S)[1].strip()}"]
        with Client(folder / "nbd.sock") as client:
            broken += [f"at the end: {line}" for line in check(client, model)]
        run.terminate()
        _, err = run.communicate(timeout=_LIMIT_S)
        if run.returncode:
            broken.append(f"it does not stop as asked: {err.strip()}")
    finally:
        run.kill()
        run.communicate(timeout=_LIMIT_S)
    return model, moments, broken


def main() -> None:
    """Kills and prints."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--kills", type=int, default=200)
    options.add_argument("--seed", type=int, default=1)
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        model, moments, broken = kill(Path(folder), given.kills, given.seed)
    found = ", ".join(f"{count} while {moment}" for moment, count in moments.items())
    print(f"{given.kills} kills: {found}")
    print(f"{model.acknowledged} writes and {model.flushes} flushes acknowledged; {len(broken)} broken promises")
    for line in broken[:20]:
        print(line)
    sys.exit(bool(broken))


if __name__ == "__main__":
    main()
