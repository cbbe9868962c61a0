"""Labels of a drive, by runs of the model itself: its faults are those that a better part in its place would cure.

All runs are random writes of 4 KiB to a used drive, without noise and hiccups. The state that the drive begins in does
not matter to its labels.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from research.models.arrays.drive import WRITE, ArrayDrive
from research.models.arrays.parameters import KIB, SECTOR, Parameters

SAVED = 0.2  # share of the time a write, or of p99, from which a part is ill
ABSORBED = 128 * KIB
NEAR_SAVED = (0.1, 0.3)
NEAR_ABSORBED = (96 * KIB, 192 * KIB)
DEPTH = 8
MEASURED = 12_000
BURSTS = 7
BURST = 256  # writes
PAUSE_NS = 600_000_000_000  # long enough for merges of a whole buffer

LOG_BLOCKS = ("bast", "fast")


@dataclass(frozen=True)
class Run:
    """Random writes in a closed loop."""

    write_ns: float  # elapsed time a write, the inverse of throughput
    p99_ns: float


@dataclass(frozen=True)
class Truth:
    """Labels, with the shares of time that they come from."""

    labels: dict[str, bool]
    saved: dict[str, dict[str, float]]
    absorbed_bytes: int

    @property
    def borderline(self) -> list[str]:
        """Symptoms near a limit, or with throughput on one side of it and p99 on the other."""
        found = []
        for symptom, shares in self.saved.items():
            low, high = sorted(shares.values())
            if low < SAVED <= high or NEAR_SAVED[0] <= high < NEAR_SAVED[1]:
                found.append(symptom)
        if NEAR_ABSORBED[0] <= self.absorbed_bytes < NEAR_ABSORBED[1]:
            found.append("buffer")
        return found


def label(settings: Mapping[str, str], measured: int = MEASURED) -> Truth:
    """The labels `mapping`, `collection` and `buffer` of a drive; true is ill."""
    used = {**settings, "state": "used", "noise": "0", "hiccup_rate": "0"}
    drive = ArrayDrive(**used)
    base = random_writes(drive, measured)
    saved = {}
    for symptom, change in cures(settings).items():
        other = random_writes(ArrayDrive(**{**used, **change}), measured) if change else base
        saved[symptom] = {
            "throughput": round(1 - other.write_ns / base.write_ns, 4),
            "p99": round(1 - other.p99_ns / base.p99_ns, 4),
        }
    absorbed = absorbed_bytes(drive)
    labels = {symptom: max(shares.values()) >= SAVED for symptom, shares in saved.items()}
    labels["buffer"] = absorbed < ABSORBED
    return Truth(labels, saved, absorbed)


def cures(settings: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """Settings of the drive with a page map in RAM, and with greedy victims; none where that is no change.

    A log-block FTL has no victims: its merges belong to its mapping. A unit smaller than a page stays as it is.
    """
    p = Parameters.read(settings)
    mapping = {"ftl": "page", "mapping_kib": str(min(p.mapping_kib, p.page_kib))}
    if p.ftl in LOG_BLOCKS:
        mapping |= {"mapping_kib": str(p.page_kib), "victims": "greedy"}
    if p.ftl == "page" and p.mapping_kib <= p.page_kib:
        mapping = {}
    collection = {} if p.ftl in LOG_BLOCKS or p.victims == "greedy" else {"victims": "greedy"}
    return {"mapping": mapping, "collection": collection}


def random_writes(drive: ArrayDrive, measured: int = MEASURED) -> Run:
    """Writes until the buffer is full and then measures, over at least two fillings of the buffer."""
    drive.depth = DEPTH
    random = np.random.default_rng(1)
    before = _write(drive, random, drive.room + 1000)
    issue, complete = _write(drive, random, max(measured, 2 * drive.room))
    elapsed = complete.max() - before[1].max()
    return Run(float(elapsed) / len(issue), float(np.quantile(complete - issue, 0.99)))


def absorbed_bytes(drive: ArrayDrive) -> int:
    """Bytes of a burst that are acknowledged before the first write that waits for flash; the median of bursts.

    Each burst follows a pause, and random writes that leave the buffer in a state of its own.
    """
    random = np.random.default_rng(2)
    found = []
    for _ in range(BURSTS):
        drive.depth = DEPTH
        _write(drive, random, 100 + int(random.integers(0, 2 * min(drive.room, 2000) + 1)))
        drive.depth = BURST
        now = int(max(drive.last_end, drive.clocks.idle_since())) + PAUSE_NS
        drive.absorbed = 0
        for count in range(BURST):
            _write(drive, random, 1, now)
            if drive.absorbed < (count + 1) * SECTOR:
                break
        found.append(drive.absorbed)
    return int(np.median(found))


def _write(
    drive: ArrayDrive, random: np.random.Generator, count: int, due: int = -1
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    if not count:
        return np.zeros(1, np.int64), np.zeros(1, np.int64)
    requests: dict[str, NDArray[Any]] = {
        "due_ns": np.full(count, due, np.int64),
        "op": np.full(count, WRITE, np.uint8),
        "offset": random.integers(0, drive.size_bytes // SECTOR, count).astype(np.uint64) * np.uint64(SECTOR),
        "length": np.full(count, SECTOR, np.uint64),
    }
    done = drive.submit(requests)
    return done["issue_ns"], done["complete_ns"]
