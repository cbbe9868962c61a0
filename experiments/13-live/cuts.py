"""Power cuts under a file system on a served drive.

    python cuts.py [--on FS] [--drive NAME] [--cuts N] [WORKLOAD ...]

Each turn makes a file system on a new drive, runs a workload that notes what the system calls have acknowledged, cuts
the power through the control of the drive, and looks: the file system is mounted, which replays its journal, and
checked; what was acknowledged must be there. The drives `lying` and `reordering` break their promise, and the same
turns must find it. A machine that lacks something says so. Ends with 1 if a promise was broken on a drive that keeps
its own, or not on one that does not.
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

from disks import FILE_SYSTEMS, Disk, disk_of, missing

import flashweir

DRIVE = {"channels": 2, "pages_per_block": 32, "buffer.bytes": "2MiB", "precondition": "full"}
# TLC whose writes wait, once the cache is full, until its oldest block was folded.
FOLDING = {
    "nand.cell": "tlc",
    "pages_per_block": 96,
    "timing.program": "1ms",
    "slc.kind": "static",
    "slc.static_blocks": 4,
    "slc.when_full": "fold",
}
# Settings beside those of `DRIVE`, and options of `flashweir.serve`.
DRIVES: dict[str, tuple[dict[str, object], dict[str, bool]]] = {
    "volatile": ({}, {}),
    "protected": ({}, {"protected_buffer": True}),
    "collecting": ({"precondition": "steady", "op_ratio": 0.1, "buffer.bytes": "256KiB"}, {}),
    "folding": ({**FOLDING, "buffer.bytes": "256KiB"}, {}),
    # Flushes have no effect, and writes reach flash in their order: what is found is old, and consistent.
    "lying": ({"buffer.order": "in-order"}, {"ignore_flush": True}),
    # Flushes have no effect, and what was written again waits longer: later writes pass earlier ones.
    "reordering": ({"buffer.replacement": "lru"}, {"ignore_flush": True}),
}
WRONG = ("lying", "reordering")
WORKLOADS = ("files", "sqlite-wal", "sqlite-rollback")
# More than the write buffer.
BALLAST_BYTES = 8 << 20
_LIMIT_S = 120
HEAD = """\
| file system | drive | workload | cuts | promised | sectors not flushed and lost | copies | broken |
|---|---|---|---|---|---|---|---|"""


@dataclass
class Turn:
    """The outcome of a cut: what broke a promise, in words, and how much was promised."""

    promised: int
    broken: list[str] = field(default_factory=list)
    report: dict[str, object] = field(default_factory=dict)
    # Share of the busy time of dies that collections and folds took while the workload ran.
    copying: float = 0.0


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
        way = draw.choice(("flushes", "time", "now"))
        if way == "flushes":
            live.control("power-cut", {"after_flushes": draw.randrange(5, 150)})
        elif way == "time":
            # Between the completions of requests, too.
            at_s = live.control("status")["simulated_s"] + draw.uniform(0.01, 1.5)
            live.control("power-cut", {"at": f"{at_s * 1e9:.0f}ns"})
        if way != "now":
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


def dies_ns(live: flashweir.LiveDrive) -> tuple[int, int]:
    """Busy time of all dies, and that of collections and folds."""
    dies = live.control("sample")["dies"]
    copies = [dies["work"].index(name) for name in dies["work"] if name not in ("host", "mapping")]
    return sum(map(sum, dies["busy_ns"])), sum(row[at] for row in dies["busy_ns"] for at in copies)


def cut(workload: str, folder: Path, draw: random.Random, on: str = "ext4", drive: str = "volatile") -> Turn:
    """A turn: a file system, the workload, a power cut, and what is there after it."""
    address = f"unix:{folder / 'sock'}"
    settings, options = DRIVES[drive]
    settings = {**DRIVE, "capacity": FILE_SYSTEMS[on].capacity, **settings}
    with flashweir.serve(nbd=address, clock="virtual", power_cuts=True, set=settings, **options) as live:  # type: ignore[arg-type]
        with disk_of(folder, live.uri, on) as disk:
            disk.make()
            before = dies_ns(live)
            promised = write_until_cut(workload, disk, live, draw)
            busy_ns, copies_ns = (now - then for now, then in zip(dies_ns(live), before, strict=True))
        turn = Turn(len(promised), report=live.control("status")["power_cuts"][0], copying=copies_ns / max(busy_ns, 1))
        with disk_of(folder, live.uri, on) as disk:
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
            if wrong := disk.check():
                turn.broken.append(wrong)
    return turn


def cuts_of(workload: str, given: argparse.Namespace) -> int:
    """Cuts, and prints a row of the table. Returns the number of turns with a broken promise."""
    draw = random.Random(given.seed)  # noqa: S311 - nothing to hide
    turns = []
    for _ in range(given.cuts):
        with tempfile.TemporaryDirectory(prefix="flashweir-") as folder:
            turns.append(cut(workload, Path(folder), draw, given.on, given.drive))
            print(json.dumps({"promised": turns[-1].promised, "broken": turns[-1].broken[:2]}), file=sys.stderr)
    lost = sum(int(str(turn.report["acknowledged_sectors_lost"])) for turn in turns)
    promised, broken = sum(turn.promised for turn in turns), sum(bool(turn.broken) for turn in turns)
    copying = sum(turn.copying for turn in turns) / len(turns)
    row = (given.on, given.drive, workload, len(turns), f"{promised:,}", f"{lost:,}", f"{copying:.0%}", broken)
    print("| " + " | ".join(map(str, row)) + " |", flush=True)
    return broken


def main() -> None:
    """Cuts, and prints a row of the table for each workload."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("workloads", nargs="*", default=WORKLOADS, metavar="WORKLOAD")
    options.add_argument("--on", choices=FILE_SYSTEMS, default="ext4")
    options.add_argument("--drive", choices=DRIVES, default="volatile")
    options.add_argument("--cuts", type=int, default=20)
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
    if lacks := missing(given.on):
        print(f"{given.on}: not run: this machine lacks {lacks}")
        return
    print(HEAD)
    broken = sum([cuts_of(workload, given) for workload in given.workloads])
    sys.exit(int((broken > 0) != (given.drive in WRONG)))


if __name__ == "__main__":
    main()
