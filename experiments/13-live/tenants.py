"""Two virtual machines on two exports of one drive: does the neighbour's writing show in the reads?

    python tenants.py [--seconds 40] [--dilate 200] [--kernel VMLINUZ --modules DIR]

Both machines run fio: the first reads 4 KiB at random, four at a time; the second writes 16 KiB at random, eight at a
time, or is idle. With striped allocation each of them uses all channels; with `tenants.channels=isolated` each has half
of them. Latencies are those that the drive measured, in simulated time. The paced clock lets the requests of both meet
as on a real drive: with the virtual one time would pass only while a request is outstanding, so that two machines as
slow as these would hardly meet. `--dilate` slows the drive down until the machines are fast enough for it; the verdict
says if they were. One seed, one run a row.
"""

import argparse
import math
import random
import sys
import tempfile
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from guest import initramfs, kernel, missing, parsed
from kills import WRITE, Client
from machine import INIT, Machine, shared_memory, vhost_disk

import flashweir

MIB = 1 << 20
# Each export.
SPAN = 128 * MIB
DRIVE = {
    "channels": 8,
    "dies": 1,
    "page": "4KiB",
    "pages_per_block": 64,
    "capacity": 2 * SPAN,
    "op_ratio": 0.5,
    "timing.read": "40us",
    "timing.program": "300us",
    "buffer.bytes": "1MiB",
    "host.mode": "open",
    "precondition": "full",
}
NAMES = ("reader", "writer")
HEAD = """\
| channels | neighbour | reads | reads/s | p50 (us) | p99 (us) | p99.9 (us) | writes (MB/s) | amplification | late |
|---|---|---|---|---|---|---|---|---|---|"""
ALLOCATIONS: dict[str, dict[str, object]] = {"striped": {}, "own channels": {"tenants.channels": "isolated"}}
FIO = "/bin/fio --name=v --filename=/dev/vda --direct=1 --ioengine=io_uring --time_based --randrepeat=1 --output=/log"
READS = f"{FIO} --rw=randread --bs=4k --iodepth=4"
WRITES = f"{FIO} --rw=randwrite --bs=16k --iodepth=8"


def write(nbd: Path) -> None:
    """Writes the exports: the first in order, the second in order and then twice over at random."""
    draw = random.Random(1)  # noqa: S311 - nothing to hide
    for name in NAMES:
        with Client(nbd, name) as client:
            for at in range(0, SPAN, MIB):
                client.ask(WRITE, at, MIB, bytes(MIB))
            for _ in range(2 * SPAN // (16 << 10) if name == "writer" else 0):
                client.ask(WRITE, draw.randrange(SPAN >> 14) << 14, 16 << 10, bytes(16 << 10))


def measured(
    settings: dict[str, object], boot: tuple[Path, Path], given: argparse.Namespace, *, busy: bool
) -> dict[str, Any]:
    """Writes a drive, and runs both machines on it: requests, latencies and lateness of the time of the reads."""
    with tempfile.TemporaryDirectory(prefix="flashweir-") as folder, ExitStack() as stack:
        sockets = [Path(folder) / f"{name}.sock" for name in NAMES]
        served = flashweir.serve(
            nbd=f"unix:{folder}/nbd.sock",
            vhost_user_blk=[f"{name}={path}" for name, path in zip(NAMES, sockets, strict=True)],
            exports=[f"{name}={SPAN}" for name in NAMES],
            data="none",
            set={**DRIVE, **settings},
        )
        live = stack.enter_context(served)
        write(Path(folder) / "nbd.sock")
        live.control("set", {"dilate": given.dilate})
        options = [[*shared_memory(512), *vhost_disk(path)] for path in sockets]
        reader, writer = [stack.enter_context(Machine(*boot, words, accel=given.accel)) for words in options]
        reader.ready()
        writer.ready()
        if busy:
            writer.send(f"{WRITES} --runtime={10 * given.seconds}")
            time.sleep(given.seconds / 4)
        before = live.control("sample"), live.control("status")
        reader.run(f"{READS} --runtime={given.seconds}", 10 * given.seconds)
        after = live.control("sample"), live.control("status")
        return between(before, after)


def between(before: tuple[dict[str, Any], ...], after: tuple[dict[str, Any], ...]) -> dict[str, Any]:
    """The difference of two samples and states."""
    (old, old_status), (new, new_status) = before, after
    reads = counts_of(new)
    reads.subtract(counts_of(old))
    seconds = new["time_s"] - old["time_s"]
    late, all_ = (new_status["lateness"][key] - old_status["lateness"][key] for key in ("late", "completions"))
    written = new["written_bytes"] - old["written_bytes"]
    programmed = new["programmed_bytes"] - old["programmed_bytes"]
    return {
        "reads": sum(reads.values()),
        "p50": quantile(reads, 0.5),
        "p99": quantile(reads, 0.99),
        "p999": quantile(reads, 0.999),
        "reads/s": sum(reads.values()) / seconds,
        "MB/s": written / seconds / 1e6,
        "amplification": programmed / written if written else 0,
        "late": late / all_,
    }


def counts_of(sample: dict[str, Any]) -> Counter[int]:
    """Reads of the first export by the upper edge of their latency, ns."""
    return Counter(dict(sample["tenants"]["reader"]["latency_ns"].get("read", [])))


def quantile(counts: Counter[int], share: float) -> float:
    """The latency in us that this share of requests does not exceed: the upper edge of its bucket."""
    left = share * counts.total()
    for edge in sorted(counts):
        left -= counts[edge]
        if left <= 0:
            return edge / 1000
    return math.nan


def row_of(name: str, found: dict[str, Any], *, busy: bool) -> str:
    """A row of the table."""
    values = [name, "writes" if busy else "idle", f"{found['reads']:,}", f"{found['reads/s']:,.0f}"]
    values += [f"{found[key]:,.0f}" for key in ("p50", "p99", "p999", "MB/s")]
    values += [f"{found['amplification']:.2f}", f"{found['late']:.2%}"]
    return "| " + " | ".join(values) + " |"


def main() -> None:
    """Runs, and prints the table."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--seconds", type=int, default=40)
    options.add_argument("--dilate", type=float, default=200)
    options.add_argument("--kernel", type=Path)
    options.add_argument("--modules", type=Path)
    options.add_argument("--accel", default="tcg")
    given = parsed(options, missing)
    if given is None:
        return
    with tempfile.TemporaryDirectory(prefix="flashweir-") as folder:
        image, modules = (given.kernel, given.modules) if given.kernel else kernel(Path(folder))
        archive, fio = initramfs(Path(folder), modules, INIT)
        if not fio:
            sys.exit("not run: this machine lacks fio")
        print(HEAD)
        for name, settings in ALLOCATIONS.items():
            for busy in (False, True):
                print(row_of(name, measured(settings, (image, archive), given, busy=busy), busy=busy), flush=True)


if __name__ == "__main__":
    main()
