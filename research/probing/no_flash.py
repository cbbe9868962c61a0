"""Targets that are no flash: a file or memory behind a path, and a limit of the rate before a drive.

`py:research/probing/no_flash.py:Store,key=value...` and `...:Limited,...`; settings that `Limited` does not know are
those of the drive behind it, an `ArrayDrive`.
"""

import sys
from collections.abc import Mapping
from heapq import heappop, heappush
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

ROOT = str(Path(__file__).resolve().parents[2])
if ROOT not in sys.path:
    sys.path.append(ROOT)

from research.models.arrays.drive import ArrayDrive  # noqa: E402 - found by the line above

FLUSH = 3
_Columns = Mapping[str, NDArray[Any]]


class Store:
    """Memory: every command takes its time and its transfer, in one of `ways` queues; nothing depends on the past."""

    def __init__(self, **settings: str) -> None:
        number = {"size_mib": 64.0, "read_us": 20.0, "write_us": 20.0, "flush_us": 20.0, "mbps": 2000.0, "ways": 1.0}
        number |= {"noise": 0.0, "seed": 1.0} | {name: float(text) for name, text in settings.items()}
        self.size_bytes, self.block_bytes, self.depth = int(number["size_mib"]) << 20, 4096, 1
        self.taken_ns = [number[name] * 1e3 for name in ("read_us", "write_us", "write_us", "flush_us")]
        self.byte_ns, self.noise = 1e3 / number["mbps"], number["noise"]
        self.free = [0.0] * int(number["ways"])
        self.outstanding: list[float] = []
        self.last = 0.0
        self.random = np.random.default_rng(int(number["seed"]))

    def submit(self, requests: _Columns) -> dict[str, NDArray[np.int64]]:
        """Executes requests in their order."""
        issues, ends = np.empty(len(requests["op"])), np.empty(len(requests["op"]))
        factors = 1 + self.noise * np.abs(self.random.standard_normal(len(issues)))
        columns = [requests[name].tolist() for name in ("due_ns", "op", "length")]
        for at, (due, op, length, factor) in enumerate(zip(*columns, factors.tolist(), strict=True)):
            issue = float(due) if due >= 0 else self.last
            while len(self.outstanding) >= self.depth:
                issue = max(issue, heappop(self.outstanding))
            self.last = issue
            way = self.free.index(min(self.free))
            moved = length * self.byte_ns if op <= 1 else 0.0
            end = self.free[way] = max(issue, self.free[way]) + self.taken_ns[op] * factor + moved
            heappush(self.outstanding, end)
            issues[at], ends[at] = issue, end
        return {"issue_ns": issues.astype(np.int64), "complete_ns": ends.astype(np.int64)}


class Limited:
    """A drive behind a bucket of tokens, for bytes and for requests, as volumes of clouds have it.

    The bucket delays completions; the drive behind it goes on at its own speed.
    """

    def __init__(self, **settings: str) -> None:
        known = {"limit_mbps": 100.0, "limit_iops": 3000.0, "burst_s": 0.0}
        mine = {name: float(settings.pop(name, str(value))) for name, value in known.items()}
        self.drive = ArrayDrive(**settings)
        self.size_bytes, self.block_bytes, self.depth = self.drive.size_bytes, self.drive.block_bytes, 1
        self.byte_ns, self.request_ns = 1e3 / mine["limit_mbps"], 1e9 / mine["limit_iops"]
        self.burst_ns = mine["burst_s"] * 1e9
        self.paid = -self.burst_ns
        self.last = 0.0

    def submit(self, requests: _Columns) -> dict[str, NDArray[np.int64]]:
        """Executes requests in their order, each when the bucket has its tokens."""
        count = len(requests["op"])
        issues, ends = np.empty(count), np.empty(count)
        outstanding: list[float] = []
        columns = [requests[name].tolist() for name in ("due_ns", "op", "offset", "length")]
        self.drive.depth = 1 << 16
        for at, (due, op, offset, length) in enumerate(zip(*columns, strict=True)):
            issue = float(due) if due >= 0 else self.last
            while len(outstanding) >= self.depth:
                issue = max(issue, heappop(outstanding))
            self.last = issue
            start = max(issue, self.paid)
            if op != FLUSH:
                self.paid = max(self.paid, issue - self.burst_ns) + max(length * self.byte_ns, self.request_ns)
            one = {"due_ns": [int(start)], "op": [op], "offset": [offset], "length": [length]}
            done = self.drive.submit({name: np.array(value) for name, value in one.items()})
            end = max(float(done["complete_ns"][0]), issue)
            heappush(outstanding, end)
            issues[at], ends[at] = issue, end
        self.last = max(self.last, float(ends.max()) if count else 0.0)
        return {"issue_ns": issues.astype(np.int64), "complete_ns": np.maximum(ends, issues).astype(np.int64)}
