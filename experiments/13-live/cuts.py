"""Power cuts under a file system on a served drive.

    python cuts.py [--on FS] [--drive NAME] [--cuts N] [WORKLOAD ...]

Each turn makes a file system on a new drive, runs a workload that notes what the system calls have acknowledged, cuts
the power through the control of the drive, and looks: the file system is mounted, which replays its journal, and
checked; what was acknowledged must be there. The drives `lying` and `reordering` break their promise, and the same
turns must find it. A machine that lacks something says so. Ends with 1 if a promise was broken on a drive that keeps
its own, or not on one that does not.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import postgres
import workloads
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
# Of drives that must be larger than the file system alone needs.
CAPACITIES = {("ext4", "postgres"): "192MiB"}
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


def write_until_cut(workload: str, disk: Disk, live: flashweir.LiveDrive, draw: random.Random) -> list[str]:
    """Runs the workload until power fails; what it was promised."""
    place = disk.mount()
    if workload == "postgres":
        postgres.make(place)
    # Pushes what mkfs wrote out of the write buffer, so that a drive that lies is one that lies about the workload.
    (place / "ballast").write_bytes(bytes(BALLAST_BYTES))
    os.sync()
    words = [sys.executable, workloads.__file__, "write", workload, str(place)]
    with tempfile.TemporaryFile("w+") as lines:
        writer = subprocess.Popen(words, stdout=lines, stderr=subprocess.DEVNULL)  # noqa: S603
        end = time.monotonic() + _LIMIT_S
        way = draw.choice(("flushes", "time", "now"))
        # A server that starts has promised nothing yet.
        while (way == "now" or workload == "postgres") and not os.fstat(lines.fileno()).st_size:
            if time.monotonic() > end or writer.poll() is not None:
                break
            time.sleep(0.01)
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
            time.sleep(draw.random())
        if not live.control("status")["power_cuts"]:
            live.control("power-cut")
        writer.wait(_LIMIT_S)
        lines.seek(0)
        return workloads.whole_lines(lines.read())


def dies_ns(live: flashweir.LiveDrive) -> tuple[int, int]:
    """Busy time of all dies, and that of collections and folds."""
    dies = live.control("sample")["dies"]
    copies = [dies["work"].index(name) for name in dies["work"] if name not in ("host", "mapping")]
    return sum(map(sum, dies["busy_ns"])), sum(row[at] for row in dies["busy_ns"] for at in copies)


def cut(workload: str, folder: Path, draw: random.Random, on: str = "ext4", drive: str = "volatile") -> Turn:
    """A turn: a file system, the workload, a power cut, and what is there after it."""
    address = f"unix:{folder / 'sock'}"
    settings, options = DRIVES[drive]
    capacity = CAPACITIES.get((on, workload), FILE_SYSTEMS[on].capacity)
    # For the user that PostgreSQL runs as.
    folder.chmod(0o711)
    settings = {**DRIVE, "capacity": capacity, **settings}
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
            try:
                turn.broken += workloads.WORKLOADS[workload][1](place, promised)
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
    print(row_of(turns, given.on, given.drive, workload), flush=True)
    return sum(bool(turn.broken) for turn in turns)


def row_of(turns: list[Turn], on: str, drive: str, workload: str) -> str:
    """A row of the table."""
    lost = sum(int(str(turn.report["acknowledged_sectors_lost"])) for turn in turns)
    promised, broken = sum(turn.promised for turn in turns), sum(bool(turn.broken) for turn in turns)
    copying = sum(turn.copying for turn in turns) / len(turns)
    row = (on, drive, workload, len(turns), f"{promised:,}", f"{lost:,}", f"{copying:.0%}", broken)
    return "| " + " | ".join(map(str, row)) + " |"


def main() -> None:
    """Cuts, and prints a row of the table for each workload."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("workloads", nargs="*", default=list(workloads.WORKLOADS), metavar="WORKLOAD")
    options.add_argument("--on", choices=FILE_SYSTEMS, default="ext4")
    options.add_argument("--drive", choices=DRIVES, default="volatile")
    options.add_argument("--cuts", type=int, default=20)
    options.add_argument("--seed", type=int, default=1)
    given = options.parse_args()
    if lacks := missing(given.on):
        print(f"{given.on}: not run: this machine lacks {lacks}")
        return
    print(HEAD)
    broken = 0
    for workload in given.workloads:
        if workload == "postgres" and (lacks := postgres.missing()):
            print(f"postgres: not run: this machine lacks {lacks}")
        else:
            broken += cuts_of(workload, given)
    sys.exit(int((broken > 0) != (given.drive in WRONG)))


if __name__ == "__main__":
    main()
