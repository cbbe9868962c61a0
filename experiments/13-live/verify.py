"""fio on a served drive: random reads and writes whose checksums are verified, over several connections.

    python verify.py [--bytes 10GiB] [--connections 4] [--depth 16]

Each connection has a part of the drive of its own, which fio (engine nbd) reads and writes at random in blocks of 4 to
64 KiB, with a CRC-32C in each; then it reads all of it again and compares. So many bytes are written. A machine without
fio, or whose fio lacks the engine, says so. Ends with 1 if a byte differs.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import flashweir

_LIMIT_S = 3 * 3600


def missing() -> str:
    """Names what this machine lacks; empty if nothing."""
    fio = shutil.which("fio")
    if fio is None:
        return "fio"
    engines = subprocess.run([fio, "--enghelp"], capture_output=True, text=True, check=True).stdout  # noqa: S603
    return "" if "nbd" in engines.split() else "an fio with the engine nbd"


def verify(folder: Path, size: int, connections: int, depth: int) -> dict[str, object]:
    """Serves a drive kept in a folder, of which fio writes `size` bytes. Returns the job of fio's report.

    Raises:
        RuntimeError: a byte differed, or fio failed.
    """
    # Seven in ten blocks of each part are written.
    part = (size * 10 // 7 // connections + (1 << 20) >> 20) << 20
    path = folder / "nbd.sock"
    drive = {
        "channels": 8,
        "capacity": part * connections,
        "buffer.bytes": "16MiB",
        "pages_per_block": 64 if part * connections < 1 << 30 else 256,
        "op_ratio": 0.25,
    }
    with flashweir.serve(nbd=f"unix:{path}", clock="virtual", data=folder, set=drive) as live:
        words = [shutil.which("fio") or "fio", "--name=verify", "--ioengine=nbd", f"--uri=nbd+unix:///?socket={path}"]
        words += ["--rw=randrw", "--rwmixread=30", "--bsrange=4k-64k", "--verify=crc32c", "--verify_fatal=1"]
        words += [f"--size={part}", f"--offset_increment={part}"]
        words += [
            f"--numjobs={connections}",
            f"--iodepth={depth}",
            "--randseed=7",
            "--fsync=1000",
            "--thread",
            "--verify_state_save=0",
        ]
        words += ["--group_reporting", "--output-format=json"]
        run = subprocess.run(words, capture_output=True, text=True, timeout=_LIMIT_S, check=False)  # noqa: S603
    if run.returncode:
        raise RuntimeError((run.stderr + run.stdout).strip()[:2000])
    job: dict[str, object] = json.loads(run.stdout[run.stdout.index("{") :])["jobs"][0]
    if live.result["serve"]["connections"] < connections:
        raise RuntimeError(f"{live.result['serve']['connections']} connections, expected {connections}")
    return job


def main() -> None:
    """Runs and prints."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--bytes", type=float, default=10, help="GiB")
    options.add_argument("--connections", type=int, default=4)
    options.add_argument("--depth", type=int, default=16)
    options.add_argument("--folder", type=Path, help="of the bytes; a temporary one if not given")
    given = options.parse_args()
    if lacks := missing():
        print(f"not run: this machine lacks {lacks}")
        return
    began = time.monotonic()
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        try:
            job = verify(Path(folder), int(given.bytes * (1 << 30)), given.connections, given.depth)
        except RuntimeError as error:
            sys.exit(f"fio: {error}")
    read, write = (job[way]["io_bytes"] / (1 << 30) for way in ("read", "write"))  # type: ignore[index]
    print(
        f"fio randrw, verify=crc32c, {given.connections} connections of depth {given.depth}: {write:.2f} GiB written, "
        f"{read:.2f} GiB read and verified, no difference, {time.monotonic() - began:.0f} s"
    )


if __name__ == "__main__":
    main()
