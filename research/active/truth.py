"""Truth of a drive: the same random writes on the drive and on its twin without the fault.

Mapping or collection is bad if the twin (a page map in RAM, greedy at the same spare) needs at least 20% less time, or
has a 99th percentile at least 20% shorter; a buffer is bad if it absorbs less than 128 KiB.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from flashweir import _native

SYMPTOMS = ("mapping", "collection", "buffer")
SAVED = 0.2
BUFFER_BYTES = 128 << 10
_LONG, _SHORT, _BATCH = 128 << 10, 4 << 10, 16_384
# Random writes before the measured ones, and these, in multiples of the capacity.
_BEFORE, _MEASURED = 2.0, 0.5


@dataclass(frozen=True)
class Drive:
    """A drive to be graded.

    Attributes:
        target: its name.
        labels: truth that is known: symptoms, and if the drive has them.
        twins: drives without the fault of a symptom, by which truth is measured.
        depth: outstanding requests of the random writes by which truth is measured.
        group: drives of one group are counted together as well.
        groups: further ones.
    """

    target: str
    labels: Mapping[str, bool] = field(default_factory=dict)
    twins: Mapping[str, str] = field(default_factory=dict)
    buffer_bytes: int | None = None
    depth: int = 8
    group: str = ""
    groups: tuple[str, ...] = ()

    @staticmethod
    def of(given: Mapping[str, Any]) -> "Drive":
        """A drive of a line of a list.

        Raises:
            ValueError: it has other keys, or a symptom without a truth.
        """
        known = set(Drive.__dataclass_fields__)
        if unknown := sorted(set(given) - known):
            raise ValueError(f"{unknown[0]}: unknown key; expected {', '.join(sorted(known))}")
        drive = Drive(**given)
        for name in SYMPTOMS:
            if name not in drive.labels and name not in drive.twins and not (name == "buffer" and drive.buffer_bytes):
                if name == "buffer" and drive.buffer_bytes == 0:
                    continue
                raise ValueError(f"{drive.target}: {name} has no truth; expected it in labels, twins or buffer_bytes")
        return drive


def truth(drive: Drive, seed: int = 7) -> dict[str, bool]:
    """Every symptom, and if the drive has it."""
    found = {name: bool(drive.labels[name]) for name in SYMPTOMS if name in drive.labels}
    if drive.buffer_bytes is not None:
        found.setdefault("buffer", drive.buffer_bytes < BUFFER_BYTES)
    own: tuple[float, float] | None = None
    for name, twin in drive.twins.items():
        if name in found:
            continue
        if twin == drive.target:
            found[name] = False
            continue
        own = measured(drive.target, drive.depth, seed) if own is None else own
        found[name] = is_bad(own, measured(twin, drive.depth, seed))
    return found


def is_bad(own: tuple[float, float], twin: tuple[float, float]) -> bool:
    """True if the twin saves enough of the time, or of the 99th percentile."""
    return any(other <= (1 - SAVED) * mine for mine, other in zip(own, twin, strict=True))


def measured(target: str, depth: int, seed: int) -> tuple[float, float]:
    """Time and 99th percentile, ns, of short random writes on a drive that is full and in steady state."""
    session = _native.Session(json.dumps({"target": target, "seed": seed}))
    random = np.random.default_rng(seed)
    size = session.size_bytes // _LONG * _LONG
    _run(session, np.arange(0, size, _LONG, dtype=np.uint64), _LONG, 32)
    count = size // _SHORT
    places = random.integers(0, count, int(count * (_BEFORE + _MEASURED))).astype(np.uint64) * np.uint64(_SHORT)
    before = int(count * _BEFORE)
    _run(session, places[:before], _SHORT, depth)
    begin = session.now_ns
    latencies = _run(session, places[before:], _SHORT, depth)
    return float(session.now_ns - begin), float(np.quantile(latencies, 0.99))


def _run(session: _native.Session, offsets: "np.ndarray[Any, Any]", length: int, depth: int) -> "np.ndarray[Any, Any]":
    latencies = []
    for first in range(0, len(offsets), _BATCH):
        part = offsets[first : first + _BATCH]
        columns = np.full(len(part), -1, np.int64), np.ones(len(part), np.uint8), part
        issue, complete = session.execute(*columns, np.full(len(part), length, np.uint64), depth)
        latencies.append(np.frombuffer(complete, "<i8") - np.frombuffer(issue, "<i8"))
    return np.concatenate(latencies)
