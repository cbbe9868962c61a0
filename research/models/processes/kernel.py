"""The calendar of events, and the resources that processes wait for: lines (first come first served) and dies."""

from collections import deque
from collections.abc import Callable, Generator
from heapq import heappop, heappush
from random import Random
from typing import Any

READ, WORK, BACKGROUND = 0, 1, 2  # classes of a die's queue, the most urgent first
MAX_SUSPENSIONS = 4  # of one program or erase

Act = Callable[[Any], None]
Span = tuple[int, int]


class Calendar:
    """Events in the order of their times; events of one time in the order of their scheduling. Times in ns."""

    def __init__(self) -> None:
        self.now = 0
        self.goes_on = False
        self._heap: list[tuple[int, int, Act, Any]] = []
        self._count = 0

    def at(self, time: int, act: Act, argument: object = None) -> None:
        """Calls `act(argument)` at a time that is not over."""
        self._count += 1
        heappush(self._heap, (time, self._count, act, argument))

    def run(self) -> None:
        """Runs events as long as `goes_on` is set, which they may clear."""
        heap = self._heap
        while self.goes_on:
            if not heap:
                raise RuntimeError("the calendar is empty, but requests wait: a process sleeps that nothing wakes")
            self.now, _, act, argument = heappop(heap)
            act(argument)


class Process:
    """A generator that sleeps at each `yield`: for the ns that it yields, or with None until `wake` is called."""

    def __init__(self, calendar: Calendar, steps: Generator[int | None, None, None]) -> None:
        self._calendar = calendar
        self._steps = steps
        self._asleep = True
        self._resume(None)

    def wake(self) -> None:
        """Goes on, if the process sleeps without a time."""
        if self._asleep:
            self._resume(None)

    def _resume(self, _: object) -> None:
        self._asleep = False
        delay = next(self._steps)
        if delay is None:
            self._asleep = True
        else:
            self._calendar.at(self._calendar.now + delay, self._resume)


class Line:
    """A resource used by one at a time in the order of reservations: host link, channel, controller."""

    def __init__(self) -> None:
        self.free_ns = 0
        self.spans: list[Span] | None = None  # a list records all uses

    def reserve(self, now: int, duration: int) -> int:
        """The end of a use that begins as soon as the line is free."""
        begin = self.free_ns if self.free_ns > now else now  # noqa: FURB136 - `max` takes twice the time
        self.free_ns = begin + duration
        if self.spans is not None and duration:
            self.spans.append((begin, self.free_ns))
        return self.free_ns


class Operation:
    """Work of one die: a transfer over the channel (or none), then the flash array."""

    __slots__ = ("argument", "array_ns", "done", "suspensions", "transfer_ns", "urgency")

    def __init__(self, urgency: int, transfer_ns: int, array_ns: int, done: Act | None, argument: object) -> None:
        self.urgency = urgency
        self.transfer_ns = transfer_ns
        self.array_ns = array_ns
        self.done = done
        self.argument = argument
        self.suspensions = 0


class Die:
    """A die with queues by urgency. `done(argument)` of an operation is called when the flash array has ended it."""

    def __init__(
        self, calendar: Calendar, channel: Line, random: Random, noise: float, *, reads_first: bool, suspend_ns: int
    ) -> None:
        self.calendar = calendar
        self.channel = channel
        self.spans: list[Span] | None = None
        self._random = random
        self._noise = noise
        self._reads_first = reads_first
        self._suspend_ns = suspend_ns  # of one suspension and resumption; 0: no suspension
        self._queues: tuple[deque[Operation], ...] = (deque(), deque(), deque())
        self._running: Operation | None = None
        self._begin_ns = 0
        self._end_ns = 0
        self._token = 0

    def submit(self, operation: Operation) -> None:
        """Queues an operation. Reads stand behind other work if the die serves in order of arrival."""
        urgency = operation.urgency
        if urgency == READ and not self._reads_first:
            urgency = WORK
        self._queues[urgency].append(operation)
        if self._running is None:
            self._start()
        elif urgency == READ and self._suspend_ns:
            self._suspend()

    def _suspend(self) -> None:
        running, now = self._running, self.calendar.now
        if running is None or running.urgency == READ or running.suspensions >= MAX_SUSPENSIONS:
            return
        remaining = self._end_ns - now
        # A transfer is not broken off, and what is about to end ends.
        if remaining > running.array_ns or remaining <= self._suspend_ns:
            return
        running.transfer_ns, running.array_ns = 0, remaining + self._suspend_ns
        running.suspensions += 1
        if self.spans is not None:
            self.spans.append((self._begin_ns, now))
        self._queues[running.urgency].appendleft(running)
        self._token += 1
        self._start()

    def _start(self) -> None:
        reads, work, background = self._queues
        now = self.calendar.now
        if reads:
            operation = reads.popleft()
        elif work:
            operation = work.popleft()
        elif background:
            operation = background.popleft()
        else:
            self._running = None
            return
        if self._noise and not operation.suspensions:
            operation.array_ns = int(operation.array_ns * max(0.2, 1 + self._noise * self._random.gauss(0, 1)))
        begin = now
        if operation.transfer_ns:
            begin = self.channel.reserve(now, operation.transfer_ns)
        self._running, self._begin_ns, self._end_ns = operation, now, begin + operation.array_ns
        self._token += 1
        self.calendar.at(self._end_ns, self._ended, self._token)

    def _ended(self, token: int) -> None:
        operation = self._running
        if token != self._token or operation is None:
            return
        if self.spans is not None:
            self.spans.append((self._begin_ns, self._end_ns))
        self._start()
        if operation.done is not None:
            operation.done(operation.argument)
