"""The write buffer, and the flusher processes (one a group) that empty it."""

from collections import deque
from collections.abc import Callable, Generator
from itertools import islice

from research.models.processes.flash import Flash
from research.models.processes.kernel import Calendar, Process
from research.models.processes.page_map import PageGroup

HIGH, LOW = 0.5, 0.25  # watermarks


class Request:
    """A request in the drive. `left` counts what it still waits for; `at` is the next unit to take in."""

    __slots__ = ("at", "index", "left", "length", "offset", "op", "ready_ns")

    def __init__(self, index: int, op: int, offset: int, length: int) -> None:
        self.index = index
        self.op = op
        self.offset = offset
        self.length = length
        self.left = 0
        self.ready_ns = 0
        self.at = 0


Finished = Callable[[Request], None]
Frame = tuple[int, list[int], int, Request | None]


class Buffer:
    """Units with data that is not on flash. Without room for a frame every write waits for its programs."""

    def __init__(self, flash: Flash, calendar: Calendar, finished: Finished) -> None:
        settings = flash.settings
        self.flash = flash
        self.finished = finished
        self.policy = settings.flushing
        self.protected = settings.protected
        self.unit, self.block = settings.unit_bytes, settings.block
        self.whole = (1 << self.unit // self.block) - 1
        self.room = settings.buffer // self.unit if settings.buffer >= settings.frame_bytes else 0
        count = len(flash.groups)
        self.dirty: list[dict[int, int]] = [{} for _ in range(count)]  # unit: its blocks that were written, as bits
        self.in_air: list[dict[int, int]] = [{} for _ in range(count)]  # unit: its last program
        self.flying: list[set[int]] = [set() for _ in range(count)]
        self.used = 0
        self.waiting: deque[Request] = deque()
        self.barriers: list[tuple[Request, set[int]]] = []
        self.draining = self.idle = False
        self.programs = 0
        self.waits = 0  # writes that waited for flash
        self.after_program: Callable[[int], None] = lambda _: None
        self.max_flying = 2 * flash.groups[0].width
        self.flushers = [Process(calendar, self._flusher(group)) for group in range(count)]

    def units_of(self, request: Request) -> range:
        """Units that a request touches."""
        return range(request.offset // self.unit, -(-(request.offset + request.length) // self.unit))

    def bits(self, request: Request, unit: int) -> int:
        """Blocks of a unit that a request covers."""
        start = unit * self.unit
        first = max(0, request.offset - start) // self.block
        end = min(self.unit, request.offset + request.length - start) // self.block
        return (1 << end) - (1 << first)

    def holds(self, group: int, unit: int) -> bool:
        """True if RAM has the data of a unit."""
        return unit in self.dirty[group] or unit in self.in_air[group]

    def write(self, request: Request) -> None:
        """Takes a write in as soon as there is room."""
        if not self.room:
            self._write_through(request)
            return
        request.at = request.offset // self.unit
        self.waiting.append(request)
        if len(self.waiting) == 1:
            self._admit()
        else:
            self.waits += 1

    def _write_through(self, request: Request) -> None:
        self.waits += 1
        touched: dict[int, dict[int, int]] = {}
        for unit in self.units_of(request):
            group, place = self.flash.route(unit)
            touched.setdefault(group, {})[place] = self.bits(request, unit)
        for group, dirty in touched.items():
            while dirty:
                request.left += 1
                self._program(group, dirty, request)

    def _admit(self) -> None:
        """Takes in waiting writes in their order."""
        while self.waiting and not (self.policy == "full" and self.draining):
            request = self.waiting[0]
            end = -(-(request.offset + request.length) // self.unit)
            while request.at < end:
                group, place = self.flash.route(request.at)
                dirty = self.dirty[group]
                if place not in dirty:
                    if self.used >= self.room:
                        self.waits += request.left == 0
                        request.left = 1
                        self._drain()
                        return
                    self.used += 1
                dirty[place] = dirty.get(place, 0) | self.bits(request, request.at)
                request.at += 1
            self.waiting.popleft()
            self.finished(request)
        if self.policy == "watermark" and not self.draining and self.used >= HIGH * self.room:
            self._drain()

    def _drain(self) -> None:
        self.draining = True
        for flusher in self.flushers:
            flusher.wake()

    def set_idle(self, *, idle: bool) -> None:
        """Begins or ends the emptying in idle time."""
        self.idle = idle
        if idle and self.policy == "idle" and self.used:
            self._drain()

    def flush(self, request: Request) -> None:
        """Programs all that is dirty, and finishes the request when it is on flash."""
        if not self.protected:
            for group, dirty in enumerate(self.dirty):
                while dirty:
                    self._program(group, dirty, None)
        pending = set() if self.protected else set().union(*self.flying)
        if pending:
            self.barriers.append((request, pending))
        else:
            self.finished(request)

    def discard(self, group: int, unit: int) -> None:
        """Forgets a dirty unit."""
        if self.dirty[group].pop(unit, None) is not None:
            self.used -= 1
            self._end_of_draining()
            self._admit()

    def _flusher(self, group: int) -> Generator[int | None, None, None]:
        dirty, flying = self.dirty[group], self.flying[group]
        while True:
            if self.draining and dirty and len(flying) < self.max_flying:
                self._program(group, dirty, None)
            else:
                yield None

    def _program(self, group: int, dirty: dict[int, int], request: Request | None) -> None:
        """Programs a frame: the oldest dirty unit, those beside it in its page, and with a page map the next ones."""
        owner = self.flash.groups[group]
        per_frame = owner.units_per_frame
        first = next(iter(dirty))
        if per_frame == 1:
            units = [first]
        else:
            base = first - first % per_frame
            units = [unit for unit in range(base, base + per_frame) if unit in dirty]
            if len(units) < per_frame and isinstance(owner, PageGroup):
                chosen = set(units)
                oldest = (unit for unit in dirty if unit not in chosen)
                units += islice(oldest, per_frame - len(units))
        old_reads = 0
        self.programs += 1
        in_air = self.in_air[group]
        for unit in units:
            if dirty.pop(unit) != self.whole and owner.locate(unit) is not None:
                old_reads += 1
            in_air[unit] = self.programs
        self.flying[group].add(self.programs)
        frame: Frame = (group, units, self.programs, request)
        self.flash.program(group, units, old_reads, self._programmed, frame)
        self.after_program(group)

    def _programmed(self, frame: Frame) -> None:
        group, units, number, request = frame
        self.flying[group].discard(number)
        in_air = self.in_air[group]
        for unit in units:
            if in_air.get(unit) == number:
                del in_air[unit]
        if request is not None:
            request.left -= 1
            if not request.left:
                self.finished(request)
        else:
            self.used -= len(units)
            self._end_of_draining()
            if self.waiting:
                self._admit()
            self.flushers[group].wake()
        if self.barriers:
            for _, pending in self.barriers:
                pending.discard(number)
            for entry in [entry for entry in self.barriers if not entry[1]]:
                self.barriers.remove(entry)
                self.finished(entry[0])

    def _end_of_draining(self) -> None:
        if self.policy == "full":
            self.draining = self.draining and self.used > 0
        elif self.policy == "watermark":
            self.draining = self.draining and self.used > LOW * self.room
        else:
            self.draining = bool(self.waiting) or (self.idle and self.used > 0)
