"""Writes a drive and its requests for SSDsim (`flashweir import ssdsim` reversed), runs it and reads its result."""

import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from to_mqsim import SECTOR, Request, Settings, quantity

TIMEOUT_S = 1800
# Static allocation by number: the digit of the page number that varies fastest first.
_ORDERS = ("WDPC", "CWDP", "CPWD", "CDWP", "CPDW", "CDPW")
_REQUEST = re.compile(r"^\s*(\d+)\s+(\d+)\s+(\d+)\s+([01])\s+(\d+)\s+(\d+)\s+(-?\d+)\s*$", re.MULTILINE)
_COUNTS = {
    "reads": "read count", "programs": "program count", "erases": "erase count",
    "copybacks": "copy back count", "plane_reads": "multi-plane read count",
    "plane_programs": "multi-plane program count",
}  # fmt: skip
# Requests after all others: SSDsim divides by the numbers of reads and of writes, and drops the last line of a trace.
_AFTER_NS = 10**9
_EXTRA = 2
# Planes of a request go together: two-plane programs and reads.
_PLANES = 4 | 16


@dataclass(frozen=True)
class Answer:
    """Result of a run: response times in the order of the requests, nanoseconds, and flash operations."""

    times_ns: list[int]
    counts: dict[str, int]


def parameters(drive: Settings) -> str:
    """The parameter file of a drive of flashweir: a bus time both ways, no buffer for writes."""
    cycle, channels, chips = round(quantity(drive["timing.bus"])), int(str(drive["channels"])), int(str(drive["chips"]))
    page = round(quantity(drive["page"]))
    static = drive["alloc.kind"] == "striped"
    free = (int(str(drive["gc.free_blocks"])) + 0.5) / int(str(drive["blocks_per_unit"]))
    values: dict[str, object] = {
        "dram capacity": 0, **{f"chip number[{number}]": chips for number in range(channels)},
        "channel number": channels, "chip number": channels * chips, "die number": drive["dies"],
        "plane number": drive["planes"], "block number": drive["blocks_per_unit"],
        "page number": drive["pages_per_block"], "subpage page": page // SECTOR, "page capacity": page,
        "subpage capacity": SECTOR, "t_PROG": round(quantity(drive["timing.program"])), "t_DBSY": 0,
        "t_BERS": round(quantity(drive["timing.erase"])), "t_R": round(quantity(drive["timing.read"])),
        "t_WC": cycle, "t_RC": cycle, "t_WB": 0, "address mapping": 1, "wear leveling": 1, "gc": 1,
        "overprovide": drive["op_raw"], "gc threshold": free, "gc hard threshold": free, "buffer management": 0,
        "scheduling algorithm": 1, "allocation": int(static),
        "static_allocation": _ORDERS.index(str(drive["alloc.order"])) if static else 0,
        "dynamic_allocation": drive.get("alloc.mode", 0),
        "advanced command": _PLANES if drive["timing.multi_plane"] else 0, "advanced command priority": 1,
        "greed CB command": 0, "greed MPW command": 1, "aged": 0, "aged ratio": 0,
        "queue_length": drive["host.slots"],
    }  # fmt: skip
    return "".join(f"{key} = {value};\n" for key, value in values.items())


def trace(requests: Sequence[Request], page: int) -> str:
    """SSDsim's trace: nanoseconds, device, sector, sectors, 1 for a read; then a read and a write of a page."""
    last = requests[-1][0]
    extra = [(last + (number + 1) * _AFTER_NS, 0, page, number == 1) for number in range(_EXTRA + 1)]
    rows = [*requests, *extra]
    lines = [f"{at} 0 {start // SECTOR} {size // SECTOR} {0 if is_write else 1}" for at, start, size, is_write in rows]
    return "\n".join(lines)


def run(program: Path, drive: Settings, requests: Sequence[Request], folder: Path) -> Answer:
    """Runs the requests.

    Raises:
        RuntimeError: the program does not answer all of them.
    """
    own = Path(tempfile.mkdtemp(dir=folder))
    (own / "page.parameters").write_text(parameters(drive), encoding="ascii")
    (own / "t.ascii").write_text(trace(requests, round(quantity(drive["page"]))), encoding="ascii")
    with (own / "log").open("w", encoding="ascii") as log:
        command = [str(program.resolve())]
        subprocess.run(  # noqa: S603 - a program that the user names
            command, cwd=own, input=b"t.ascii\n", stdout=log, timeout=TIMEOUT_S, check=False
        )
    text = (own / "ex.out").read_text(encoding="utf-8", errors="replace")
    shutil.rmtree(own)
    return read(text, len(requests))


def read(text: str, requests: int) -> Answer:
    """The answer to so many requests in SSDsim's output, without those that `trace` added."""
    rows = _REQUEST.findall(text)
    if len(rows) != requests + _EXTRA:
        raise RuntimeError(f"SSDsim: {len(rows)} answers to {requests + _EXTRA} requests")
    rows.sort(key=lambda row: int(row[0]))
    counts = {}
    for key, name in _COUNTS.items():
        found = re.search(rf"^{name}:\s*(\d+)", text, re.MULTILINE)
        if not found:
            raise RuntimeError(f"SSDsim: no `{name}` in its output")
        counts[key] = int(found[1]) - (key in ("reads", "programs"))
    return Answer([int(row[6]) for row in rows[:requests]], counts)
