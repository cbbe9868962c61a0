"""The drive: a host queue, a write buffer, a translation layer and dies (docs/guide/drive-in-python.md).

Requests are computed one after the other in the order in which they come; a later one never delays an earlier one.
"""

from collections.abc import Mapping
from heapq import heappop, heappush
from typing import Any

import numpy as np
from numpy.typing import NDArray

from research.models.arrays.clocks import Clocks
from research.models.arrays.log_blocks import Bast, Fast, LogBlocks
from research.models.arrays.page_map import PageMap
from research.models.arrays.parameters import KIB, SECTOR, Parameters
from research.models.arrays.states import bring_to

READ, WRITE, DISCARD, FLUSH = range(4)


class ArrayDrive:
    """A target; `settings` are those of `Parameters`.

    Attributes:
        absorbed: bytes that were acknowledged from memory without a wait since it was set to 0.
    """

    def __init__(self, **settings: str) -> None:
        self.parameters = p = Parameters.read(settings)
        self.size_bytes, self.block_bytes, self.depth = p.size_bytes, SECTOR, 1
        self.ftl: PageMap | LogBlocks = {"bast": Bast, "fast": Fast}.get(p.ftl, PageMap)(p)
        self.clocks = Clocks(p)
        bring_to(p.state, self.ftl, p)
        self.sectors = p.unit_bytes // SECTOR  # of a mapping unit
        self.whole = (1 << self.sectors) - 1
        self.page_sectors = p.page_kib * KIB // SECTOR
        self.outstanding: list[float] = []
        self.last_issue = self.controller = self.link = self.last_end = 0.0
        self.overhead_ns, self.link_ns = p.overhead_us * 1e3, 1e3 / p.link_mbps
        self.idle_ns = p.idle_us * 1e3
        # The buffer, in sectors: those that wait by unit as bits, and those that are on their way to flash.
        self.room = p.buffer_kib * KIB // SECTOR
        self.used = self.waiting = 0
        self.dirty: dict[int, int] = {}
        self.inflight: list[tuple[float, int]] = []
        self.until: dict[int, float] = {}  # when a unit in flight is on flash
        self.last_admitted = 0.0
        self.absorbed = 0
        self.jitter = np.random.default_rng([p.seed, 1])
        self.luck = np.random.default_rng([p.seed, 2])

    def submit(self, requests: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[np.int64]]:
        """Executes requests in their order.

        Raises:
            ValueError: a request outside the drive, or not of whole blocks.
        """
        self._check(requests)
        count = len(requests["op"])
        noise = 1 + self.parameters.noise * np.clip(self.jitter.standard_normal(count), -2, 4)
        hiccups = self.luck.random(count) < self.parameters.hiccup_rate
        issues, ends = np.empty(count), np.empty(count)
        outstanding, clocks = self.outstanding, self.clocks
        columns = [requests[name].tolist() for name in ("due_ns", "op", "offset", "length")]
        for index, (due, op, offset, length, factor, hiccup) in enumerate(
            zip(*columns, noise.tolist(), hiccups.tolist(), strict=True)
        ):
            issue = float(due) if due >= 0 else self.last_issue
            while len(outstanding) >= self.depth:
                issue = max(issue, heappop(outstanding))
            self.last_issue = issue
            if issue > self.last_end + self.idle_ns:
                self._rest(issue)
            clocks.factor = factor
            start = max(issue, self.controller, clocks.gate) + self.overhead_ns * factor
            if hiccup:
                start += self.parameters.hiccup_ms * 1e6
            if op == WRITE:
                start += length * self.link_ns
                self.controller = start
                end = self._write(offset // SECTOR, length // SECTOR, start)
            elif op == READ:
                self.controller = start
                sent = length * self.link_ns
                self.link = max(self.link, start) + sent
                end = max(self._read(offset // SECTOR, length // SECTOR, start) + sent, self.link)
            else:
                self.controller = start
                end = self._discard(offset, length, start) if op == DISCARD else self._flush(start)
            issues[index], ends[index] = issue, end
            heappush(outstanding, end)
            self.last_end = max(self.last_end, end)
        return {"issue_ns": issues.astype(np.int64), "complete_ns": ends.astype(np.int64)}

    def _check(self, requests: Mapping[str, NDArray[Any]]) -> None:
        offset, length = requests["offset"].astype(np.uint64), requests["length"].astype(np.uint64)
        flush = requests["op"] == FLUSH
        bad = (offset % SECTOR != 0) | (length % SECTOR != 0) | (length == 0) & ~flush
        bad |= (length > self.size_bytes) | (offset > self.size_bytes - np.minimum(length, self.size_bytes))
        bad |= requests["op"] > FLUSH
        if bad.any():
            first = int(np.argmax(bad))
            values = {name: int(requests[name][first]) for name in ("op", "offset", "length")}
            raise ValueError(f"request {first}: {values}: expected whole blocks of {SECTOR} within {self.size_bytes}")

    def _read(self, first: int, count: int, ready: float) -> float:
        end = ready
        last = first + count
        while first < last:
            unit, within = divmod(first, self.sectors)
            size = min(self.sectors - within, last - first)
            bits = ((1 << size) - 1) << within
            if self.dirty.get(unit, 0) & bits != bits and self.until.get(unit, 0.0) <= ready:
                at = self._look_up(unit, ready, False)
                slot = self.ftl.locate(unit)
                if slot >= 0:
                    pages = (within + size - 1) // self.page_sectors - within // self.page_sectors + 1
                    end = max(end, self.clocks.read(slot, pages, at))
            first += size
        return end

    def _look_up(self, unit: int, ready: float, write: bool) -> float:
        """When the map entry of a unit is at hand."""
        cache = self.ftl.cache
        if cache is not None:
            loads, stores = cache.touch(unit, write)
            # Translation pages are spread over the dies as data is.
            slot = unit // cache.entries * self.clocks.per_page
            if stores:
                ready = self.clocks.program(slot + self.clocks.per_page, ready)
            if loads:
                ready = self.clocks.read(slot, 1, ready)
        return ready

    def _write(self, first: int, count: int, ready: float) -> float:
        if not self.room:
            return self._write_through(first, count, ready)
        now = max(ready, self.last_admitted)
        last = first + count
        while first < last:
            unit, within = divmod(first, self.sectors)
            size = min(self.sectors - within, last - first, self.room)
            now = self._admit(unit, ((1 << size) - 1) << within, now)
            first += size
        self.last_admitted = now
        if now == ready:
            self.absorbed += count * SECTOR
        return now

    def _write_through(self, first: int, count: int, ready: float) -> float:
        end = ready
        last = first + count
        group: list[tuple[int, int]] = []
        while first < last:
            unit, within = divmod(first, self.sectors)
            size = min(self.sectors - within, last - first)
            group.append((unit, ((1 << size) - 1) << within))
            first += size
            if len(group) == self.ftl.group or first == last:
                end = max(end, self._program(group, ready))
                group = []
        return end

    def _program(self, group: list[tuple[int, int]], ready: float) -> float:
        """Writes units with their bits to one page, after reads of the rest of partial ones; the end."""
        now = ready
        for unit, bits in group:
            at = self._look_up(unit, now, True)
            if bits != self.whole:
                slot = self.ftl.locate(unit)
                if slot >= 0:
                    at = self.clocks.read(slot, self.clocks.pages, at)
            ready = max(ready, at)
        slot = self.ftl.program([unit for unit, _ in group])
        work = self.ftl.work
        if work.erases:
            self.clocks.charge(self._take_work(), now, self.ftl.span)
            if self.clocks.mode == "block":
                ready = max(ready, self.clocks.gate)
        return self.clocks.program(slot, ready)

    def _take_work(self) -> float:
        work = self.ftl.work
        took = self.clocks.work_ns(work.copies, work.pages, work.erases)
        work.copies = work.pages = work.erases = 0
        return took

    def _admit(self, unit: int, bits: int, now: float) -> float:
        """Puts sectors into the buffer; when there was room."""
        while True:
            while self.inflight and self.inflight[0][0] <= now:
                self.used -= heappop(self.inflight)[1]
            old = self.dirty.get(unit, 0)
            fresh = (bits & ~old).bit_count()
            if self.used + fresh <= self.room:
                break
            if not self.inflight:
                self._make_room(now)
            else:
                now = max(now, self.inflight[0][0])
        self.dirty[unit] = old | bits
        self.used += fresh
        self.waiting += fresh
        if self.parameters.destage == "eager":
            # The youngest units stay for what coalesces with them.
            while len(self.dirty) > self.ftl.group:
                self._destage(now)
        return now

    def _make_room(self, now: float) -> None:
        """Destages half of the buffer, or with a program for each die if it destages on idle."""
        if self.parameters.destage == "full":
            # Half may already be free, and a request still too long for it.
            self._destage(now)
            while self.waiting > self.room // 2:
                self._destage(now)
            return
        for _ in range(self.clocks.lanes):
            if self.dirty:
                self._destage(now)

    def _destage(self, now: float) -> None:
        """The oldest units, as many as fill a page."""
        group: list[tuple[int, int]] = []
        while self.dirty and len(group) < self.ftl.group:
            unit = next(iter(self.dirty))
            group.append((unit, self.dirty.pop(unit)))
        end = self._program(group, now)
        sectors = sum(bits.bit_count() for _, bits in group)
        self.waiting -= sectors
        heappush(self.inflight, (end, sectors))
        for unit, _ in group:
            self.until[unit] = end

    def _discard(self, offset: int, length: int, now: float) -> float:
        if self.parameters.discard:
            first = -(-offset // (self.sectors * SECTOR))
            for unit in range(first, (offset + length) // (self.sectors * SECTOR)):
                gone = self.dirty.pop(unit, 0).bit_count()
                self.used -= gone
                self.waiting -= gone
                self.ftl.trim(unit)
        return now

    def _flush(self, now: float) -> float:
        if not self.parameters.flush_waits:
            return now
        while self.dirty:
            self._destage(now)
        return max([now, *(end for end, _ in self.inflight)])

    def _rest(self, until: float) -> None:
        """Work of the drive for itself while the host pauses: destage, then collection ahead."""
        p, clocks = self.parameters, self.clocks
        now = max(self.last_end, clocks.idle_since()) + self.idle_ns
        if p.destage != "full":
            while self.dirty and now < until:
                self._destage(now)
            now = max(now, clocks.idle_since())
        while p.idle_blocks and now < until and self.ftl.collect_ahead(p.reserve + p.idle_blocks):
            work = self._take_work()
            clocks.occupy(work, now)
            now += work
