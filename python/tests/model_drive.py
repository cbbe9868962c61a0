"""A small model of a drive as a target, with a fault or without: `py:model_drive.py:Drive,fault=...`.

It shares nothing with flashweir's drives: one log over all dies, one collector, times by busy dies. Labels of truth:
fault `none`, `static` (each address has its die), `unit` (mapping unit above the page), `blocks` (blocks are merged
from a log), `cache` (map on flash), `random`, `fifo`, `fullest` (the fuller of two random blocks; discarded ones are
collected like others), `early` (collection), `buffer` (none or small).
"""

import heapq
import random
from collections import OrderedDict, deque

import numpy as np

KIB = 1024
_NONE = -1


class Drive:
    """See the module."""

    def __init__(self, **given: str) -> None:
        settings = {"mib": 48, "page": 4, "unit": 4, "dies": 8, "pages": 64, "spare": 0.12, "buffer": 1024, "noise": 0}
        settings |= {
            "seed": 1,
            "log": 0.1,
            "cached": 8,
            "early": 0.5,
            "hiccup": 0,
            "discards": 1,
            "silent": 0,
            "used": 0,
        }
        settings |= {"d": 0}
        settings |= {key: float(value) for key, value in given.items() if key != "fault"}
        self.fault = given.get("fault", "none")
        self.size_bytes, self.block_bytes, self.depth = int(settings["mib"]) << 20, 512, 1
        self.set = settings
        self.random = random.Random(settings["seed"])  # noqa: S311 - a model
        self.unit = int(settings["unit"]) * KIB
        self.units = self.size_bytes // self.unit
        self.dies = int(settings["dies"])
        # Times, ns: of one unit, as a share of its page.
        share = max(1.0, self.unit / (settings["page"] * KIB))
        self.parallel = min(self.unit / (settings["page"] * KIB), 1.0)
        self.program, self.sense, self.erase = 400_000 * share * self.parallel, 50_000, 3_000_000
        self.overhead = 6_000
        self.free_at = [0.0] * self.dies
        self.turn = 0
        self.held: list[float] = []
        self.slots = int(settings["buffer"]) * KIB // self.unit
        self.running: list[float] = []
        self.now = 0.0
        self._format()
        if settings["used"]:
            for _ in range(int(settings["used"] * self.units)):
                self._map(self.random.randrange(self.units))
            self.free_at = [0.0] * self.dies

    def _format(self) -> None:
        per = int(self.set["pages"])
        spare = int(self.units * self.set["spare"] / per) + 2
        self.per = per
        count = -(-self.units // per) + spare
        self.where = [_NONE] * self.units
        self.owner = [[] for _ in range(count)]
        self.valid = [0] * count
        self.empty = deque(range(1, count))
        self.open = 0
        self.full: OrderedDict[int, None] = OrderedDict()
        self.low = 2 if self.fault != "early" else max(3, int(count * self.set["early"]))
        # Pages of each logged block in the order of their writes; an overwritten or discarded one keeps its place.
        self.logged: OrderedDict[int, list[int]] = OrderedDict()
        self.log_pages = 0
        self.written: set[int] = set()
        self.cache: OrderedDict[int, None] = OrderedDict()
        self.cached = int(self.set["cached"])

    # Work of the flash: each returns when it is complete.
    def _busy(self, cost: float, start: float, die: int | None = None) -> float:
        if die is None:
            self.turn = (self.turn + 1) % self.dies
            die = self.turn
        self.free_at[die] = max(self.free_at[die], start) + cost
        return self.free_at[die]

    def _copies(self, count: int, start: float) -> None:
        cost = count * (self.program + self.sense) / self.dies
        for die in range(self.dies):
            self.free_at[die] = max(self.free_at[die], start) + cost

    def _append(self, unit: int) -> None:
        if len(self.owner[self.open]) == self.per:
            self.full[self.open] = None
            self.open = self.empty.popleft()
        self.where[unit] = self.open
        self.owner[self.open].append(unit)
        self.valid[self.open] += 1

    def _victim(self) -> int:
        if self.fault == "random":
            return self.random.choice(list(self.full))
        if self.fault == "fullest":
            return max(self.random.choices(list(self.full), k=2), key=self.valid.__getitem__)
        if self.fault == "fifo":
            return next(iter(self.full))
        if self.set["d"]:
            return min(self.random.choices(list(self.full), k=int(self.set["d"])), key=self.valid.__getitem__)
        return min(self.full, key=self.valid.__getitem__)

    def _collect(self) -> int:
        victim = self._victim()
        del self.full[victim]
        moved = [unit for unit in dict.fromkeys(self.owner[victim]) if self.where[unit] == victim]
        self.owner[victim], self.valid[victim] = [], 0
        self.empty.append(victim)
        for unit in moved:
            self._append(unit)
        return len(moved)

    def _map(self, unit: int) -> int:
        """Writes a unit; copies that this costs."""
        if self.fault == "blocks":
            return self._log(unit)
        old = self.where[unit]
        if old != _NONE:
            self.valid[old] -= 1
        copies = 0
        # Early collection gives up where a victim frees next to nothing.
        tries = 0
        while len(self.empty) < self.low and self.full and tries < 4:
            if self.fault == "early" and len(self.empty) > 2:
                best = min(self.full, key=self.valid.__getitem__)
                if self.valid[best] >= 0.95 * self.per:
                    break
            copies += self._collect()
            tries += 1
        while len(self.empty) < 2 and self.full:
            copies += self._collect()
        self._append(unit)
        return copies + (self._look_up(unit) if self.fault == "cache" else 0)

    def _log(self, unit: int) -> int:
        block = unit // self.per
        if unit not in self.written:
            if unit % self.per == 0 or unit - 1 in self.written:
                self.written.add(unit)
                return 0
            self.written.add(unit)
        self.logged.setdefault(block, []).append(unit)
        self.log_pages += 1
        copies = 0
        while self.log_pages > self.set["log"] * self.units:
            oldest, pages = self.logged.popitem(last=False)
            self.log_pages -= len(pages)
            # All pages of a block in order are the block; else it is copied, and two blocks are erased.
            if pages != list(range(oldest * self.per, (oldest + 1) * self.per)):
                copies += self.per + round(2 * self.erase / (self.program + self.sense))
        return copies

    def _look_up(self, unit: int) -> int:
        page = unit // 1024 if self.set["cached"] > 1 else unit // 256
        if page in self.cache:
            self.cache.move_to_end(page)
            return 0
        self.cache[page] = None
        if len(self.cache) > self.cached:
            self.cache.popitem(last=False)
        return 1

    def _write(self, issue: float, offset: int, length: int) -> float:
        first, last = offset // self.unit, (offset + length - 1) // self.unit
        end = issue
        for unit in range(first, last + 1):
            begin = unit * self.unit
            partial = offset > begin or offset + length < begin + self.unit
            joined = self.slots and partial and unit == self.last_unit
            self.last_unit = unit
            if joined:
                # Data that joins a unit in the buffer waits until the unit has entered.
                end = max(end, self.entered)
                continue
            copies = self._map(unit)
            if copies:
                self._copies(copies, issue)
            cost = self.program + (self.sense if partial and self.where[unit] != _NONE else 0)
            die = unit % self.dies if self.fault == "static" else None
            if self.slots:
                while self.held and self.held[0] <= end:
                    heapq.heappop(self.held)
                # Pages enter the buffer in order.
                end = max(end, self.entered)
                if len(self.held) >= self.slots:
                    end = max(end, heapq.heappop(self.held))
                self.entered = end
                heapq.heappush(self.held, self._busy(cost, end, die))
            else:
                end = max(end, self._busy(cost, issue, die))
        return end

    last_unit, entered = _NONE, 0.0

    def _read(self, issue: float, offset: int, length: int) -> float:
        end = issue
        for unit in range(offset // self.unit, (offset + length - 1) // self.unit + 1):
            # Of a unit above the page only the pages that are asked for are read.
            asked = min(offset + length, (unit + 1) * self.unit) - max(offset, unit * self.unit)
            cost = self.sense * -(-asked // int(self.set["page"] * KIB))
            if self.fault == "blocks":
                cost = cost if unit in self.written else 0
            elif self.where[unit] == _NONE:
                cost = 0
            if self.fault == "cache":
                cost += self.sense * self._look_up(unit)
            if cost:
                end = max(end, self._busy(cost, issue, unit * 7 % self.dies))
        return end

    def _discard(self, offset: int, length: int) -> None:
        if not self.set["discards"]:
            raise OSError("discard is not supported")
        if self.set["silent"]:
            return
        for unit in range(offset // self.unit, (offset + length) // self.unit):
            if self.where[unit] != _NONE:
                self.valid[self.where[unit]] -= 1
                self.where[unit] = _NONE
            self.written.discard(unit)
            block = self.logged.get(unit // self.per)
            if block is not None:
                block[:] = [_NONE if page == unit else page for page in block]
                if not any(page != _NONE for page in block):
                    self.log_pages -= len(self.logged.pop(unit // self.per))
        if self.fault == "fullest":
            # Discarded blocks are collected like others.
            return
        for block in [block for block in self.full if self.valid[block] == 0]:
            del self.full[block]
            self.owner[block] = []
            self.empty.append(block)

    def submit(self, requests: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Executes requests, as `flashweir.targets` says."""
        issues, ends = [], []
        noise, hiccup, random_of = self.set["noise"], self.set["hiccup"], self.random.random
        columns = (requests[name].tolist() for name in ("due_ns", "op", "offset", "length"))
        for due, op, offset, length in zip(*columns, strict=True):
            while len(self.running) >= self.depth:
                self.now = max(self.now, heapq.heappop(self.running))
            issue = self.now = max(self.now, float(due))
            self.link = max(self.link, issue) + self.overhead * 0.3
            begin = max(self.link, issue + self.overhead)
            if op == 0:
                end = self._read(begin, offset, length)
            elif op == 1:
                end = self._write(begin, offset, length)
            elif op == 2:
                end = begin
                self._discard(offset, length)
            else:
                end = max([begin, *self.held])
            if noise:
                end += (end - issue) * noise * random_of()
            if hiccup and random_of() < hiccup:
                end += 2_000_000
            heapq.heappush(self.running, end)
            issues.append(int(issue))
            ends.append(int(end) + 1)
        return {"issue_ns": np.array(issues, dtype=np.int64), "complete_ns": np.array(ends, dtype=np.int64)}

    link = 0.0
