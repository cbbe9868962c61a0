"""A page map over stripes: one write frontier, victims of four policies, and a map cache.

Only state, no time. Work that a program caused is left in `work` for the drive to charge. The valid units of a victim
go to the frontier, before the host's next ones: data that survived and new data share stripes.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass

from research.models.arrays.parameters import KIB, Parameters

OPEN = 1 << 40  # added to the count of valid units of stripes that are no candidates
ENTRY_BYTES = 4  # of a map entry in a translation page


@dataclass
class Work:
    """Copies in mapping units, copies of translation pages, and erases of stripes that nobody was charged for."""

    copies: int = 0
    pages: int = 0
    erases: int = 0


class MapCache:
    """Translation pages in RAM, least recently used first; a dirty one that leaves is written to flash."""

    def __init__(self, parameters: Parameters) -> None:
        self.entries = parameters.page_kib * KIB // ENTRY_BYTES
        self.room = max(1, parameters.map_cache_kib // parameters.page_kib)
        self.dirty: dict[int, bool] = {}

    def touch(self, unit: int, write: bool) -> tuple[int, int]:
        """Translation pages that are read and written so that the entry of `unit` is at hand."""
        page = unit // self.entries
        was = self.dirty.pop(page, None)
        self.dirty[page] = write or bool(was)
        if was is not None:
            return 0, 0
        if len(self.dirty) <= self.room:
            return 1, 0
        return 1, int(self.dirty.pop(next(iter(self.dirty))))

    def moved(self, units: Sequence[int]) -> int:
        """Translation pages on flash that are rewritten since units moved; those in RAM become dirty."""
        outside = 0
        for page in {unit // self.entries for unit in units}:
            if page in self.dirty:
                self.dirty[page] = True
            else:
                outside += 1
        return outside


class PageMap:
    """Any unit in any slot."""

    def __init__(self, parameters: Parameters) -> None:
        self.slots = parameters.slots
        self.group = parameters.group
        self.victims = parameters.victims
        self.reserve = parameters.reserve
        self.random = random.Random(parameters.seed)  # noqa: S311 - a model, no secret
        self.cache = MapCache(parameters) if parameters.ftl == "cached" else None
        count = parameters.stripes + parameters.spare_stripes
        self.where = [-1] * (parameters.size_bytes // parameters.unit_bytes)
        self.holds = [-1] * (count * self.slots)
        self.valid = [OPEN] * count
        self.free = list(range(count - 1, -1, -1))
        self.closed: dict[int, None] = {}  # in the order in which they were filled
        self.open = self.free.pop()
        self.next = 0  # slot of the frontier
        self.work = Work()
        self.written = self.copied = self.erased = 0
        self.charges_map = True

    @property
    def span(self) -> int:
        """Programs of the host until the next collection."""
        return max(1, (self.slots - self.next) // self.group)

    def locate(self, unit: int) -> int:
        """The slot of a unit within its stripe; -1 if it has no data."""
        at = self.where[unit]
        return at if at < 0 else at % self.slots

    def trim(self, unit: int) -> None:
        """Declares a unit obsolete."""
        at = self.where[unit]
        if at >= 0:
            self.where[unit] = self.holds[at] = -1
            self.valid[at // self.slots] -= 1

    def program(self, units: Sequence[int]) -> int:
        """Writes at most `group` units; returns their first slot within its stripe."""
        while self.next == self.slots:
            self._advance()
            while len(self.free) < self.reserve:
                self.collect()
        at = self.next
        place = self.open * self.slots + at
        where, holds, valid = self.where, self.holds, self.valid
        for unit in units:
            old = where[unit]
            if old >= 0:
                holds[old] = -1
                valid[old // self.slots] -= 1
            where[unit] = place
            holds[place] = unit
            place += 1
        valid[self.open] += len(units)
        self.next = at + self.group
        self.written += len(units)
        return at

    def _advance(self) -> None:
        self.closed[self.open] = None
        self.valid[self.open] -= OPEN
        self.open = self.free.pop()
        self.next = 0

    def collect_ahead(self, free: int) -> bool:
        """Collects once if fewer than `free` stripes are; False if there is nothing to do."""
        if len(self.free) >= free or not self.closed:
            return False
        if min(self.valid) > 0.9 * self.slots:
            return False
        self.collect()
        return True

    def collect(self) -> None:
        """Frees one victim."""
        victim = self._victim()
        del self.closed[victim]
        first = victim * self.slots
        units = [unit for unit in self.holds[first : first + self.slots] if unit >= 0]
        self._append(units)
        self.holds[first : first + self.slots] = [-1] * self.slots
        self.valid[victim] = OPEN
        self.free.insert(0, victim)
        self.copied += len(units)
        self.erased += 1
        self.work.copies += len(units)
        self.work.erases += 1
        if self.cache is not None and self.charges_map:
            self.work.pages += self.cache.moved(units)

    def _append(self, units: list[int]) -> None:
        """Units of a victim go to the frontier."""
        where = self.where
        while units:
            if self.next == self.slots:
                self._advance()
            part = units[: self.slots - self.next]
            units = units[len(part) :]
            place = self.open * self.slots + self.next
            self.holds[place : place + len(part)] = part
            for unit in part:
                where[unit] = place
                place += 1
            self.valid[self.open] += len(part)
            self.next = min(self.slots, self.next + -(-len(part) // self.group) * self.group)

    def _victim(self) -> int:
        if self.victims == "greedy":
            return self.valid.index(min(self.valid))
        if self.victims == "fifo":
            return next(iter(self.closed))
        closed = list(self.closed)
        if self.victims == "random":
            return self.random.choice(closed)
        # The fuller one of two, as long as it frees anything.
        pair = [one for one in (self.random.choice(closed), self.random.choice(closed)) if self._frees(one)]
        if not pair:
            pair = [one for one in closed if self._frees(one)] or closed
        return max(pair, key=self.valid.__getitem__)

    def _frees(self, stripe: int) -> bool:
        return self.valid[stripe] < self.slots
