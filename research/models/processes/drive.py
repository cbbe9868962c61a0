"""The drive: host requests through a controller process, over buffer and flash, as a target of flashweir.

`py:research/models/processes/drive.py:ProcessDrive,mapping=hybrid,spare=0.07`; parameters: `Settings`.
"""

import sys
from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

if str(Path(__file__).resolve().parents[3]) not in sys.path:
    sys.path.append(str(Path(__file__).resolve().parents[3]))

from research.models.processes.background import Background
from research.models.processes.buffer import Buffer, Request
from research.models.processes.flash import Flash
from research.models.processes.kernel import Calendar, Line
from research.models.processes.precondition import precondition
from research.models.processes.settings import Settings

READ, WRITE, DISCARD, FLUSH = range(4)


class ProcessDrive:
    """A drive with a clock of its own. A batch ends with its last completion; the next one begins no earlier."""

    def __init__(self, **kwargs: str) -> None:
        settings = self.settings = Settings.parse(kwargs)
        self.size_bytes = settings.capacity
        self.block_bytes = settings.block
        self.depth = 1
        self.calendar = Calendar()
        self.random = Random(settings.seed)  # noqa: S311 - no secret
        self.flash = Flash(settings, self.calendar, self.random)
        precondition(self.flash, settings, self.random)
        self.buffer = Buffer(self.flash, self.calendar, self._finished)
        self.background = Background(self.flash, self.calendar)
        self.buffer.after_program = self.background.after_program
        self.controller, self.link = Line(), Line()
        self._controller_ns = int(settings.controller_us * 1000)
        self._idle_ns = int(settings.idle_ms * 1e6)
        self._jitter_ns = settings.jitter * settings.program_us * 1000
        self._hiccup_at = self._next_hiccup(0)
        self._outstanding = self._left = self._next = self._ended_ns = 0
        self._timer = self._waits_for_due = self._idle = False
        self._columns: list[list[int]] = []
        self._issue: list[int] = []
        self._complete: list[int] = []

    def submit(self, requests: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[np.int64]]:
        """Executes a batch."""
        self._columns = [requests[name].tolist() for name in ("due_ns", "op", "offset", "length")]
        count = len(self._columns[0])
        self._issue, self._complete = [0] * count, [0] * count
        self._next, self._left = 0, count
        self.calendar.goes_on = count > 0
        self._issue_more(None)
        self.calendar.run()
        return {
            "issue_ns": np.array(self._issue, dtype=np.int64),
            "complete_ns": np.array(self._complete, dtype=np.int64),
        }

    def _issue_more(self, is_due: object) -> None:
        if is_due is not None:
            self._waits_for_due = False
        due, op, offset, length = self._columns
        now = self.calendar.now
        while self._next < len(due) and self._outstanding < self.depth:
            index = self._next
            if due[index] > now:
                if not self._waits_for_due:
                    self._waits_for_due = True
                    self.calendar.at(due[index], self._issue_more, 1)
                return
            self._next += 1
            self._outstanding += 1
            self._issue[index] = now
            if self._idle:
                self._set_idle(idle=False)
            self._accept(Request(index, op[index], offset[index], length[index]))

    def _accept(self, request: Request) -> None:
        """The controller's part, and the data of a write over the link."""
        now = self.calendar.now
        if 0 <= self._hiccup_at <= now:
            self.controller.reserve(now, int(self.settings.hiccup_ms * 1e6 * (0.5 + self.random.random())))
            self._hiccup_at = self._next_hiccup(now)
        end = self.controller.reserve(now, self._controller_ns)
        if request.op == WRITE:
            end = self.link.reserve(end, self._link_ns(request.length))
        handle = (self._read, self.buffer.write, self._discard, self.buffer.flush)[request.op]
        self.calendar.at(end, handle, request)

    def _link_ns(self, count: int) -> int:
        return int(count * 1000 / self.settings.link_mbps)

    def _next_hiccup(self, now: int) -> int:
        mean = self.settings.hiccup_s
        return now + int(self.random.expovariate(1 / mean) * 1e9) if mean else -1

    def _read(self, request: Request) -> None:
        frames: dict[tuple[int, int], list[int]] = {}
        for unit in self.buffer.units_of(request):
            group, place = self.flash.route(unit)
            if not self.buffer.holds(group, place):
                found = self.flash.groups[group].locate(place)
                if found is not None:
                    frames.setdefault((group, found[1]), []).append(place)
        request.left = len(frames)
        request.ready_ns = self.calendar.now
        for (group, _), units in frames.items():
            wanted = min(len(units) * self.settings.unit_bytes, request.length)
            line = self.flash.channels[self._die(group, units[0]) % self.settings.channels]
            self.flash.read(group, units, wanted, self._array_read, (request, line, wanted))
        if not frames:
            self._return_data(request)

    def _die(self, group: int, unit: int) -> int:
        owner = self.flash.groups[group]
        found = owner.locate(unit)
        return group * owner.width + (found[0] if found else 0)

    def _array_read(self, part: tuple[Request, Line, int]) -> None:
        request, line, count = part
        end = line.reserve(self.calendar.now, self.flash.channel_ns(count))
        request.ready_ns = max(request.ready_ns, end)
        request.left -= 1
        if not request.left:
            self._return_data(request)

    def _return_data(self, request: Request) -> None:
        end = self.link.reserve(request.ready_ns, self._link_ns(request.length))
        self._complete_at(end, request)

    def _discard(self, request: Request) -> None:
        unit = self.settings.unit_bytes
        if self.settings.discard:
            for number in range(-(-request.offset // unit), (request.offset + request.length) // unit):
                group, place = self.flash.route(number)
                self.buffer.discard(group, place)
                self.flash.groups[group].discard(place)
        self._finished(request)

    def _finished(self, request: Request) -> None:
        self._complete_at(self.calendar.now, request)

    def _complete_at(self, end: int, request: Request) -> None:
        if self._jitter_ns:
            end += int(self.random.expovariate(1 / self._jitter_ns))
        self.calendar.at(end, self._completed, request)

    def _completed(self, request: Request) -> None:
        now = self._ended_ns = self.calendar.now
        self._complete[request.index] = now
        self._outstanding -= 1
        self._left -= 1
        self.calendar.goes_on = self._left > 0
        if not self._outstanding and not self._timer:
            self._timer = True
            self.calendar.at(now + self._idle_ns, self._check_idle)
        self._issue_more(None)

    def _check_idle(self, _: object) -> None:
        self._timer = False
        if self._outstanding:
            return
        if self.calendar.now >= self._ended_ns + self._idle_ns:
            self._set_idle(idle=True)
        else:
            self._timer = True
            self.calendar.at(self._ended_ns + self._idle_ns, self._check_idle)

    def _set_idle(self, *, idle: bool) -> None:
        self._idle = idle
        self.buffer.set_idle(idle=idle)
        self.background.set_idle(idle=idle)
