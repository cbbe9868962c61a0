"""Test suites of file systems and block devices on a served drive, over the kernel's nbd in a virtual machine.

    python suites.py [--xfstests DIR] [--blktests DIR] [--on ext4] [--minutes 30] [--root DIR]

xfstests: the group `quick` of its generic tests, two exports of one drive as its test and scratch disks. blktests:
those of its group `block` that take a device. DIR is the built source of a suite (`make` in it); Debian has neither as
a package. Tests run in order until the minutes are over. Prints the names of those that failed and those that did
not apply, each with its reason. Ends with 1 if one failed that is not expected to (`EXPECTED`).
"""

import argparse
import os
import re
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import debian
from disks import FILE_SYSTEMS
from machine import ENDED, Machine

import flashweir

EXPORTS = {"test": "1GiB", "scratch": "1GiB"}
# Tests of this kernel and these tools that fail on a disk of this machine, too: none of the drive's doing.
EXPECTED: frozenset[str] = frozenset()
CONFIG = """\
export FSTYP={on} TEST_DEV=/dev/nbd0 TEST_DIR=/mnt/test SCRATCH_DEV=/dev/nbd1 SCRATCH_MNT=/mnt/scratch
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
        machine.run(f"nbd-client -N {name} 10.0.2.2 {port} /dev/nbd{number} -b 512 > /dev/null")


def lines_until(machine: Machine, end: float) -> Iterator[str]:
    """Lines that a command prints, until its end or that of the time."""
    while (left := end - time.monotonic()) > 0:
        try:
            (line,) = machine.wait_for("", left)
        except RuntimeError:
            return
        if ENDED in line:
            return
        # Without colours and the moves of the cursor.
        line = re.sub(r"\x1b\[[0-9;]*[A-Za-z]|\r", "", line)
        print(line, file=sys.stderr, flush=True)
        yield line


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


def xfstests(machine: Machine, source: Path, on: str, end: float) -> Iterator[tuple[str, str, str]]:
    """Runs xfstests. Gives the outcome of each test as it comes."""
    make = " ".join(FILE_SYSTEMS[on].make)
    machine.run(f"modprobe {on}; {make} /dev/nbd0 && {make} /dev/nbd1", 600)
    text = CONFIG.format(on=on).replace("\n", "\\n")
    machine.run(f"printf '{text}' > /tmp/local.config; mkdir -p /tmp/results")
    machine.send(f"cd {source} && HOST_OPTIONS=/tmp/local.config bash ./check -g generic/quick")
    for line in lines_until(machine, end):
        if (found := outcome_of(line)) is not None:
            yield found


def blktests(machine: Machine, source: Path, end: float) -> Iterator[tuple[str, str, str]]:
    """Runs the tests of blktests that take a device. Gives the outcome of each as it comes."""
    names = [f"block/{path.name}" for path in sorted((source / "tests/block").glob("[0-9][0-9][0-9]"))]
    names = [name for name in names if "test_device()" in (source / "tests" / name).read_text(encoding="utf-8")]
    machine.run(f"cd {source} && printf 'TEST_DEVS=(/dev/nbd0)\\nQUICK_RUN=1\\nTIMEOUT=20\\n' > config")
    machine.send(f"bash ./check -o /tmp/results {' '.join(names)}")
    reason = ""
    for line in lines_until(machine, end):
        if (found := outcome_of(re.sub(r"^(block/\d+) .*(\[.*\])", r"\1 \2", line))) is not None:
            if reason:
                yield reason, "not run", ""
            reason = found[0] if found[1] == "not run" else ""
            if not reason:
                yield found
        elif reason:
            yield reason, "not run", line.strip()
            reason = ""


def ran(suite: str, given: argparse.Namespace, boot: tuple[Path, Path], source: Path) -> list[tuple[str, str, str]]:
    """Runs a suite on a new drive."""
    with tempfile.TemporaryDirectory(prefix="flashweir-") as name, ExitStack() as stack:
        folder = Path(name)
        # The source is at the same path in the machine: its programs name it.
        debian.make_image(source, folder / "suite", 2048)
        exports = [f"{export}={size}" for export, size in EXPORTS.items()]
        drive = {"channels": 8, "capacity": "2GiB", "buffer.bytes": "16MiB", "pages_per_block": 128}
        served = flashweir.serve(nbd="tcp:127.0.0.1:0", clock="virtual", data=folder, exports=exports, set=drive)
        live = stack.enter_context(served)
        words = ["-drive", f"file={folder / 'suite'},format=raw,if=virtio,snapshot=on"]
        machine = stack.enter_context(debian.machine(*boot, given.accel, 2048, 2, words))
        connect(machine, live)
        machine.run(f"mkdir -p {source} && mount /dev/vdb {source}")
        end = time.monotonic() + 60 * given.minutes
        outcomes = xfstests(machine, source, given.on, end) if suite == "xfstests" else blktests(machine, source, end)
        return list(outcomes)


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
    options.add_argument("--xfstests", type=Path)
    options.add_argument("--blktests", type=Path)
    options.add_argument("--on", choices=FILE_SYSTEMS, default="ext4")
    options.add_argument("--minutes", type=float, default=30)
    options.add_argument("--root", type=Path)
    options.add_argument("--accel", default="tcg")
    given = options.parse_args()
    os.environ["PATH"] += os.pathsep + "/usr/sbin" + os.pathsep + "/sbin"
    if lacks := debian.missing():
        print(f"not run: this machine lacks {lacks}")
        return
    failed: set[str] = set()
    with tempfile.TemporaryDirectory(prefix="flashweir-") as folder:
        root = given.root or Path(folder) / "root"
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
