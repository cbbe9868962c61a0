"""Test suites of file systems and block devices on a served drive, over the kernel's nbd in a virtual machine.

    python suites.py [--here] [--xfstests DIR] [--blktests DIR] [--on ext4] [--minutes 30] [--root DIR] [--accel uml]

xfstests: the group `quick` of its generic tests, two exports of one drive as its test and scratch disks. blktests:
those of its group `block` that take a device. DIR is the built source of a suite (`make` in it); Debian has neither as
a package. With --here there is no virtual machine: nbdfuse and loop devices make disks of the exports, and tests of
swap, shutdown and what the suites call dangerous are left out, for the sake of this machine. Tests run in order until
the minutes are over. Prints the names of those that failed and those that did not apply, each with its reason. Ends
with 1 if one failed that is not expected to (`EXPECTED`).
"""

import argparse
import contextlib
import os
import queue
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import debian
from disks import FILE_SYSTEMS, disk_of, missing
from machine import ENDED, Machine

import flashweir

EXPORTS = {"test": "1GiB", "scratch": "1GiB"}
# Tests of this kernel and these tools that fail on a disk of this machine, too: none of the drive's doing.
EXPECTED: frozenset[str] = frozenset()
CONFIG = """\
export FSTYP={on} TEST_DEV={test} TEST_DIR=/mnt/test SCRATCH_DEV={scratch} SCRATCH_MNT=/mnt/scratch
export RESULT_BASE=/tmp/results DUMP_CORRUPT_FS=0
"""


def connect(machine: Machine, live: flashweir.LiveDrive) -> None:
    """Makes each export a disk of the machine."""
    port = urlsplit(live.uri).port
    machine.ready()
    machine.run(
        "mount -o remount,size=80% /tmp; hostname live; for i in fsgqa fsgqa2 123456-fsgqa; do useradd $i; done"
    )
    for number, name in enumerate(EXPORTS):
        machine.run(debian.nbd_client(f"-N {name} 10.0.2.2 {port} /dev/nbd{number}"))


def lines_until(machine: Machine, end: float) -> Iterator[str]:
    """Lines that a command prints, until its end or that of the time."""
    while (left := end - time.monotonic()) > 0:
        try:
            (line,) = machine.wait_for("", left)
        except RuntimeError:
            return
        if ENDED in line:
            return
        yield line


def lines_here(words: list[str], folder: Path, end: float) -> Iterator[str]:
    """Lines that a command of this machine prints, until its end or that of the time, which stops its processes."""
    lines: queue.Queue[str] = queue.Queue()
    process = subprocess.Popen(  # noqa: S603
        words,
        cwd=folder,
        text=True,
        errors="replace",
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        process_group=0,
        stdin=subprocess.DEVNULL,
    )
    with process, contextlib.suppress(queue.Empty):
        threading.Thread(target=lambda: deque(map(lines.put, process.stdout or ()), 0), daemon=True).start()
        try:
            while process.poll() is None or not lines.empty():
                yield lines.get(timeout=max(end - time.monotonic(), 0.001)).rstrip("\n")
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def shown(lines: Iterable[str]) -> Iterator[str]:
    """The lines without colours and moves of the cursor; they are printed, too."""
    for line in lines:
        plain = re.sub(r"\x1b(\[[0-9;]*[A-Za-z]|\([A-Z0-9])|[\r\x0f]", "", line)
        print(plain, file=sys.stderr, flush=True)
        yield plain


def outcome_of(line: str) -> tuple[str, str, str] | None:
    """Test, outcome and reason of a line of a suite; nothing if it is another line."""
    if (found := re.match(r"(\w+/\d+)\s+(.*)", line)) is None:
        return None
    name, said = found.groups()
    # xfstests, or blktests, which gives a line to the begin and the end of a test.
    if "[not run]" in said:
        return name, "not run", said.split("[not run]")[1].strip()
    if any(word in said for word in ("mismatch", "[failed", "_check_", "[expunged]")):
        return name, "failed", said
    if "[passed]" in said or re.search(r"\b\d+s$", said.strip()):
        return name, "passed", said
    return None


def of_xfstests(lines: Iterable[str]) -> Iterator[tuple[str, str, str]]:
    """The outcome of each test of xfstests."""
    return (found for line in lines if (found := outcome_of(line)) is not None)


def of_blktests(lines: Iterable[str]) -> Iterator[tuple[str, str, str]]:
    """The outcome of each test of blktests: the reason of one that did not apply is on the next line."""
    waits = ""
    for line in lines:
        found = outcome_of(re.sub(r"^(block/\d+) .*(\[.*\])", r"\1 \2", line))
        if waits:
            yield waits, "not run", "" if found else line.strip()
        waits = found[0] if found and found[1] == "not run" else ""
        if found and not waits:
            yield found


def command_of(suite: str, source: Path, on: str, disks: tuple[str, str], without: str) -> str:
    """The command of the shell that runs a suite in its folder."""
    if suite == "xfstests":
        text = CONFIG.format(on=on, test=disks[0], scratch=disks[1]).replace("\n", "\\n")
        made = " && ".join(f"{' '.join(FILE_SYSTEMS[on].make)} {disk}" for disk in disks)
        run = f"HOST_OPTIONS=/tmp/live.config bash ./check -g generic/quick {without}"
        folders = "mkdir -p /mnt/test /mnt/scratch /tmp/results"
        return f"{folders}; printf '{text}' > /tmp/live.config; {made} && {run}"
    names = [f"block/{path.name}" for path in sorted((source / "tests/block").glob("[0-9][0-9][0-9]"))]
    names = [name for name in names if "test_device()" in (source / "tests" / name).read_text(encoding="utf-8")]
    config = f"TEST_DEVS=({disks[0]})\\nQUICK_RUN=1\\nTIMEOUT=60\\n"
    return f"printf '{config}' > config; bash ./check -o /tmp/results {' '.join(names)}"


def ran(suite: str, given: argparse.Namespace, boot: tuple[Path, Path], source: Path) -> list[tuple[str, str, str]]:
    """Runs a suite on a new drive: test, outcome and reason of each test."""
    outcomes = of_xfstests if suite == "xfstests" else of_blktests
    with tempfile.TemporaryDirectory(prefix="flashweir-") as name, ExitStack() as stack:
        folder = Path(name)
        exports = [f"{export}={size}" for export, size in EXPORTS.items()]
        drive = {"channels": 8, "capacity": "2GiB", "buffer.bytes": "16MiB", "pages_per_block": 128}
        nbd = f"unix:{folder / 'nbd.sock'}" if given.here else "tcp:127.0.0.1:0"
        live = stack.enter_context(flashweir.serve(nbd=nbd, clock="virtual", data=folder, exports=exports, set=drive))
        if given.here:
            disks = []
            for export in EXPORTS:
                (folder / export).mkdir()
                uri = f"nbd+unix:///{export}?socket={folder / 'nbd.sock'}"
                disks.append(stack.enter_context(disk_of(folder / export, uri, given.on)).device)
            without = "-x swap,shutdown,dangerous,dangerous_fuzzers,soak,stress"
            command = command_of(suite, source, given.on, (disks[0], disks[1]), without)
            lines = lines_here(["bash", "-c", command], source, time.monotonic() + 60 * given.minutes)
            return list(outcomes(shown(lines)))
        # The source is at the same path in the machine: its programs name it.
        debian.make_image(source, folder / "suite", 2048)
        machine = stack.enter_context(debian.machine(*boot, given.accel, 2048, 2, [folder / "suite"]))
        connect(machine, live)
        machine.run(f"mkdir -p {source} && mount {machine.disk(1)} {source}; modprobe {given.on}; cd {source}")
        machine.send(command_of(suite, source, given.on, ("/dev/nbd0", "/dev/nbd1"), ""))
        return list(outcomes(shown(lines_until(machine, time.monotonic() + 60 * given.minutes))))


def summary(suite: str, found: list[tuple[str, str, str]]) -> str:
    """Counts, and the tests that failed or did not apply by their reasons."""
    of = {outcome: [one for one in found if one[1] == outcome] for outcome in ("passed", "failed", "not run")}
    lines = [f"{suite}: " + ", ".join(f"{len(ones)} {outcome}" for outcome, ones in of.items())]
    lines += [f"failed: {name}: {said}" for name, _, said in of["failed"]]
    reasons: dict[str, list[str]] = {}
    for name, _, reason in of["not run"]:
        reasons.setdefault(reason, []).append(name.split("/")[1])
    return "\n".join(lines + [f"not run: {' '.join(names)}: {reason}" for reason, names in reasons.items()])


def main() -> None:
    """Runs the suites that are given, and prints."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--here", action="store_true")
    options.add_argument("--xfstests", type=Path)
    options.add_argument("--blktests", type=Path)
    options.add_argument("--on", choices=FILE_SYSTEMS, default="ext4")
    options.add_argument("--minutes", type=float, default=30)
    options.add_argument("--root", type=Path)
    options.add_argument("--accel", default="tcg")
    given = options.parse_args()
    os.environ["PATH"] += os.pathsep + "/usr/sbin" + os.pathsep + "/sbin"
    if lacks := missing(given.on) if given.here else debian.missing(given.accel):
        print(f"not run: this machine lacks {lacks}")
        return
    failed: set[str] = set()
    with tempfile.TemporaryDirectory(prefix="flashweir-") as folder:
        root = given.root or Path(folder) / "root"
        if not given.here:
            debian.make_root(root)
            debian.make_image(root, Path(folder) / "image")
        for suite, source in {"blktests": given.blktests, "xfstests": given.xfstests}.items():
            if source is None:
                print(f"{suite}: not run: give --{suite} with the folder of its built source")
                continue
            found = ran(suite, given, (root, Path(folder) / "image"), source.resolve())
            print(summary(suite, found), flush=True)
            failed |= {name for name, outcome, _ in found if outcome == "failed"}
    sys.exit(bool(failed - EXPECTED))


if __name__ == "__main__":
    main()
