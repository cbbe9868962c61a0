"""Power cuts under a file system in a virtual machine, for one that this machine's kernel lacks: f2fs.

    python guest_cuts.py [--on f2fs] [--drive NAME] [--cuts N] [--root DIR] [--accel uml] [WORKLOAD ...]

The turns are those of cuts.py, with the same drives and workloads; the file system is mounted in a machine with
Debian's kernel, which reaches the drive by that kernel's nbd. Each turn has a new drive and connection; the machine
goes on. After a cut the old connection is dead, and nothing that the machine still holds in memory reaches the drive.
Ends as cuts.py does.
"""

import argparse
import base64
import json
import os
import random
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import debian
import workloads
from cuts import BALLAST_BYTES, DRIVE, DRIVES, WRONG, Turn, dies_ns, row_of
from disks import FILE_SYSTEMS
from machine import Machine

import flashweir

HEAD = """\
| file system | drive | workload | cuts | promised | sectors not flushed and lost | copies | broken |
|---|---|---|---|---|---|---|---|"""
PLACE = "/mnt/test"
_LIMIT_S = 120


class Guest:
    """The machine, and the disk that it has at the time. Each connection has a device of its own."""

    def __init__(self, machine: Machine) -> None:
        """Of a machine that takes commands."""
        self.machine, self.run, self.number = machine, machine.run, 0

    @property
    def disk(self) -> str:
        """The device."""
        return f"/dev/nbd{self.number % debian.NBDS}"

    def connect(self, live: flashweir.LiveDrive) -> None:
        """Makes the drive a disk of the machine."""
        self.number += 1
        command = debian.nbd_client(f"10.0.2.2 {urlsplit(live.uri).port} {self.disk}")
        if self.run(command, fails=True)[0]:
            self.machine.renew_network()
            self.run(command)

    def disconnect(self) -> None:
        """Ends the file system and the disk, whole or not."""
        # Requests that the drive did not answer fail by that, and the writer with them.
        self.run(
            f"nbd-client -d {self.disk} > /dev/null 2>&1; pkill -9 -f workloads.py; (umount -l {PLACE} 2> /dev/null &)"
        )
        # Without the disk it may not come to its end.
        self.run(f"for i in $(seq 50); do mountpoint -q {PLACE} || break; sleep 0.1; done")


def write_until_cut(workload: str, guest: Guest, live: flashweir.LiveDrive, draw: random.Random) -> list[str]:
    """Runs the workload until power fails; what it was promised."""
    guest.run(f"head -c {BALLAST_BYTES} /dev/zero > {PLACE}/ballast; sync -f {PLACE}/ballast")
    guest.run(f"(python3 /tmp/workloads.py write {workload} {PLACE} > /tmp/promised 2> /tmp/fault; true) & true")
    guest.run(f"for i in $(seq {_LIMIT_S * 5}); do [ -s /tmp/promised ] && break; sleep 0.2; done")
    way = draw.choice(("flushes", "time", "now"))
    if way == "flushes":
        live.control("power-cut", {"after_flushes": draw.randrange(5, 60)})
    elif way == "time":
        at_s = live.control("status")["simulated_s"] + draw.uniform(0.01, 0.5)
        live.control("power-cut", {"at": f"{at_s * 1e9:.0f}ns"})
    else:
        time.sleep(5 * draw.random())
    end = time.monotonic() + _LIMIT_S
    while way != "now" and not live.control("status")["power_cuts"] and time.monotonic() < end:
        time.sleep(0.02)
    if not live.control("status")["power_cuts"]:
        live.control("power-cut")
    guest.disconnect()
    return workloads.whole_lines(guest.run("cat /tmp/promised")[1] + "\n")


def cut(workload: str, guest: Guest, draw: random.Random, on: str = "f2fs", drive: str = "volatile") -> Turn:
    """A turn: a file system, the workload, a power cut, and what is there after it."""
    settings, options = DRIVES[drive]
    settings = {**DRIVE, "capacity": FILE_SYSTEMS[on].capacity, **settings}
    served = flashweir.serve(nbd="tcp:127.0.0.1:0", clock="virtual", power_cuts=True, set=settings, **options)  # type: ignore[arg-type]
    with served as live:
        guest.connect(live)
        guest.run(f"{' '.join(FILE_SYSTEMS[on].make)} {guest.disk} > /dev/null")
        guest.run(f"mount -t {on} -o noatime {guest.disk} {PLACE}")
        before = dies_ns(live)
        promised = write_until_cut(workload, guest, live, draw)
        busy_ns, copies_ns = (now - then for now, then in zip(dies_ns(live), before, strict=True))
        turn = Turn(len(promised), report=live.control("status")["power_cuts"][0], copying=copies_ns / max(busy_ns, 1))
        guest.connect(live)
        code, said = guest.run(f"mount -t {on} -o noatime {guest.disk} {PLACE}", fails=True)
        if code:
            turn.broken.append(said or "it can't be mounted")
        else:
            code, said = guest.run(f"python3 /tmp/workloads.py check {workload} {PLACE} < /tmp/promised", fails=True)
            turn.broken += [said] if code else json.loads(said)
            guest.run(f"umount {PLACE}", fails=True)
            code, said = guest.run(f"{' '.join(FILE_SYSTEMS[on].check)} {guest.disk}", fails=True)
            turn.broken += [f"{FILE_SYSTEMS[on].check[0]}: {said[-300:]}"] if code else []
        guest.disconnect()
    return turn


def main() -> None:
    """Cuts, and prints a row of the table for each workload."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("workloads", nargs="*", default=["files"], metavar="WORKLOAD")
    options.add_argument("--on", choices=FILE_SYSTEMS, default="f2fs")
    options.add_argument("--drive", choices=DRIVES, default="volatile")
    options.add_argument("--cuts", type=int, default=20)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--root", type=Path)
    options.add_argument("--accel", default="tcg")
    given = options.parse_args()
    os.environ["PATH"] += os.pathsep + "/usr/sbin" + os.pathsep + "/sbin"
    if lacks := debian.missing(given.accel):
        print(f"{given.on}: not run: this machine lacks {lacks}")
        return
    draw = random.Random(given.seed)  # noqa: S311 - nothing to hide
    broken = 0
    with tempfile.TemporaryDirectory(prefix="flashweir-") as folder, ExitStack() as stack:
        root = given.root or Path(folder) / "root"
        debian.make_root(root)
        debian.make_image(root, Path(folder) / "image")
        machine = stack.enter_context(debian.machine(root, Path(folder) / "image", given.accel))
        prepare(machine, given.on)
        guest = Guest(machine)
        print(HEAD)
        for workload in given.workloads:
            turns = []
            for _ in range(given.cuts):
                turns.append(cut(workload, guest, draw, given.on, given.drive))
                print(json.dumps({"promised": turns[-1].promised, "broken": turns[-1].broken[:2]}), file=sys.stderr)
            print(row_of(turns, given.on, given.drive, workload), flush=True)
            broken += sum(bool(turn.broken) for turn in turns)
    sys.exit(int((broken > 0) != (given.drive in WRONG)))


def prepare(machine: Machine, on: str) -> None:
    """Waits until the machine takes commands, and brings it what a turn needs."""
    machine.ready()
    machine.run(f"modprobe {on}")
    text = base64.b64encode(Path(workloads.__file__).read_bytes()).decode()
    machine.run(": > /tmp/text")
    for at in range(0, len(text), 2000):
        machine.run(f"printf %s {text[at : at + 2000]} >> /tmp/text")
    machine.run("base64 -d < /tmp/text > /tmp/workloads.py")


if __name__ == "__main__":
    main()
