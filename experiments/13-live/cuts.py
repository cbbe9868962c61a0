"""Power cuts under ext4 and under SQLite on a served drive: `python cuts.py [--cuts N] [--lying] [WORKLOAD ...]`.

Each turn makes a file system on a new drive, runs a workload that notes what the system calls have acknowledged, cuts
the power through the control of the drive, and looks: ext4 is mounted, which replays its journal, and checked by
e2fsck; what was acknowledged must be there. `--lying` serves a drive that ignores flushes: the same turns must find it.
"""

import argparse
import hashlib
import json
import os
import random
import sqlite3
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from disks import Disk, disk_of, make_ext4, missing, tool

import flashweir

DRIVE = {"channels": 2, "capacity": "64MiB", "pages_per_block": 32, "buffer.bytes": "2MiB", "precondition": "full"}
WORKLOADS = ("files", "sqlite-wal", "sqlite-rollback")
# More than the write buffer.
BALLAST_BYTES = 8 << 20
_LIMIT_S = 120
HEAD = """\
| workload | cuts | promised | sectors not flushed and lost | turns with a broken promise |
|---|---|---|---|---|"""


@dataclass
class Turn:
    """The outcome of a cut: what broke a promise, in words, and how much was promised."""

    promised: int
    broken: list[str] = field(default_factory=list)
    report: dict[str, object] = field(default_factory=dict)


def body_of(name: str) -> bytes:
    """The bytes of a file, which follow from its name: 1 to 20 blocks."""
    seed = hashlib.sha256(name.encode()).digest()
    return seed * (128 * (1 + seed[0] % 20))


def write_files(place: Path) -> None:
    """Makes files and replaces files, each with fsync of file and folder, and prints what is acknowledged."""
    folder = os.open(place, os.O_RDONLY)
    for number in range(1_000_000):
        name = f"replaced-{number % 7}" if number % 3 == 0 else f"file-{number}"
        version = f"{name} {number}"
        part = place / "part"
        with part.open("wb") as file:
            file.write(version.encode().ljust(64) + body_of(version))
            file.flush()
            os.fsync(file.fileno())
        part.rename(place / name)
        os.fsync(folder)
        print(version, flush=True)


def write_rows(place: Path, journal: str) -> None:
    """Commits rows, and prints the number of each once it is acknowledged."""
    database = sqlite3.connect(place / "database", isolation_level=None)
    # Without shared memory, which would end the process with a signal once the disk is gone.
    database.execute("PRAGMA locking_mode=EXCLUSIVE")
    database.execute(f"PRAGMA journal_mode={journal}")
    database.execute("PRAGMA synchronous=FULL")
    database.execute("CREATE TABLE IF NOT EXISTS rows (number INTEGER PRIMARY KEY, body BLOB)")
    for number in range(1, 1_000_000):
        database.execute("INSERT INTO rows VALUES (?, ?)", (number, body_of(str(number))[:3000]))
        print(number, flush=True)


def check_files(place: Path, promised: list[str]) -> list[str]:
    """Files that are not what was acknowledged, or something later."""
    last = {line.split()[0]: int(line.split()[1]) for line in promised}
    broken = []
    for name, number in last.items():
        path = place / name
        if not path.exists():
            broken.append(f"{name}: acknowledged, and not there")
            continue
        found = path.read_bytes()
        version = found[:64].decode(errors="replace").rstrip()
        if found[64:] != body_of(version):
            broken.append(f"{name}: not whole")
        elif int(version.split()[1]) < number:
            broken.append(f"{name}: older than acknowledged")
    return broken


def check_rows(place: Path, promised: list[str]) -> list[str]:
    """Faults of the database: those of its own check, and rows that were acknowledged and are not there."""
    try:
        database = sqlite3.connect(place / "database")
        (verdict,) = database.execute("PRAGMA integrity_check(1)").fetchone()
        rows = dict(database.execute("SELECT number, body FROM rows").fetchall())
        database.close()
    except sqlite3.Error as error:
        return [f"SQLite: {error}"] if promised else []
    broken = [] if verdict == "ok" else [f"SQLite: {verdict}"]
    numbers = map(int, promised)
    return broken + [f"row {n}: lost" for n in numbers if rows.get(n) != body_of(str(n))[:3000]]


def write_until_cut(workload: str, disk: Disk, live: flashweir.LiveDrive, draw: random.Random) -> list[str]:
    """Runs the workload until power fails; what it was promised."""
    place = disk.mount()
    # Pushes what mkfs wrote out of the write buffer, so that a drive that lies is one that lies about the workload.
    (place / "ballast").write_bytes(bytes(BALLAST_BYTES))
    os.sync()
    words = [sys.executable, __file__, "--writer", workload, str(place)]
    with tempfile.TemporaryFile("w+") as lines:
        writer = subprocess.Popen(words, stdout=lines, stderr=subprocess.DEVNULL)  # noqa: S603
        end = time.monotonic() + _LIMIT_S
        if draw.randrange(2):
            live.control("power-cut", {"after_flushes": draw.randrange(5, 150)})
            while not live.control("status")["power_cuts"] and time.monotonic() < end and writer.poll() is None:
                time.sleep(0.01)
        else:
            while os.fstat(lines.fileno()).st_size == 0 and time.monotonic() < end:
                time.sleep(0.01)
            time.sleep(draw.random())
        if not live.control("status")["power_cuts"]:
            live.control("power-cut")
        writer.wait(_LIMIT_S)
        lines.seek(0)
        return [line.strip() for line in lines.readlines() if line.endswith("\n")]


def cut(workload: str, folder: Path, draw: random.Random, **options: bool) -> Turn:
    """A turn: a file system, the workload, a power cut, and what is there after it."""
    address = f"unix:{folder / 'sock'}"
    with flashweir.serve(nbd=address, clock="virtual", power_cuts=True, set=DRIVE, **options) as live:  # type: ignore[arg-type]
        with disk_of(folder, live.uri) as disk:
            make_ext4(disk)
            promised = write_until_cut(workload, disk, live, draw)
        turn = Turn(len(promised), report=live.control("status")["power_cuts"][0])
        with disk_of(folder, live.uri) as disk:
            try:
                place = disk.mount()
            except RuntimeError as error:
                turn.broken.append(str(error))
                return turn
            check = check_files if workload == "files" else check_rows
            try:
                turn.broken += check(place, promised)
            except OSError as error:
                turn.broken.append(str(error))
            disk.unmount()
            checked = tool("e2fsck", "-f", "-n", disk.device, fails=True)
            if checked.returncode:
                turn.broken.append(f"e2fsck: {checked.stdout.strip().splitlines()[0]}")
    return turn


def main() -> None:
    """Cuts, and prints a row of the table for each workload."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("workloads", nargs="*", default=WORKLOADS, metavar="WORKLOAD")
    options.add_argument("--cuts", type=int, default=20)
    options.add_argument("--lying", action="store_true")
    options.add_argument("--protected", action="store_true")
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--writer", nargs=2, help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.writer:
        kind, place = given.writer
        if kind == "files":
            write_files(Path(place))
        else:
            write_rows(Path(place), "WAL" if kind == "sqlite-wal" else "DELETE")
        return
    if lacks := missing():
        sys.exit(f"not run: this machine lacks {lacks}")
    print(HEAD)
    for workload in given.workloads:
        draw = random.Random(given.seed)  # noqa: S311 - nothing to hide
        turns = []
        for _ in range(given.cuts):
            with tempfile.TemporaryDirectory(prefix="flashweir-") as folder:
                turns.append(
                    cut(workload, Path(folder), draw, ignore_flush=given.lying, protected_buffer=given.protected)
                )
                print(json.dumps({"promised": turns[-1].promised, "broken": turns[-1].broken[:2]}), file=sys.stderr)
        lost = sum(int(str(turn.report["acknowledged_sectors_lost"])) for turn in turns)
        promised, broken = sum(turn.promised for turn in turns), sum(bool(turn.broken) for turn in turns)
        print(f"| {workload} | {len(turns)} | {promised:,} | {lost:,} | {broken} |", flush=True)


if __name__ == "__main__":
    main()
