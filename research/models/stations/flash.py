"""Dies with queues, and the buses that they share (research/models/stations/README.md)."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

Kind = Literal["read", "write", "copy", "erase"]
Order = Literal["fifo", "read-first", "preempt-gc"]

# Commands that wait and that a read passes, by the order of a die's commands.
PASSED: dict[Order, tuple[Kind, ...]] = {
    "fifo": (),
    "read-first": ("write",),
    "preempt-gc": ("write", "copy", "erase"),
}


@dataclass
class Times:
    """Times of an operation, ns."""

    read: int
    program: int
    erase: int
    transfer: int


@dataclass(eq=False)
class Command:
    """An operation that a die runs from start to end. `done` is called at its end."""

    kind: Kind
    done: Callable[[], None]
    left: list[tuple[str, int]] = field(default_factory=list)


@dataclass(eq=False)
class Die:
    """A die: the command that it runs, and those that wait."""

    channel: int
    queue: deque[Command] = field(default_factory=deque)
    runs: Command | None = None
    until: int | None = None
    began: int = 0


class Flash:
    """All dies. A die runs a command at a time; a bus goes to the die that asked first."""

    def __init__(self, channels: int, dies: int, times: Times, order: Order) -> None:
        self.times, self.order = times, order
        self.dies = [Die(number // dies) for number in range(channels * dies)]
        self.asking: list[deque[tuple[Die, int]]] = [deque() for _ in range(channels)]
        self.holder: list[Die | None] = [None] * channels
        self.ready: list[Die] = []
        self.steps = 0

    def phases(self, kind: Kind) -> list[tuple[str, int]]:
        """Phases of a command: on the array, or on the bus."""
        times = self.times
        read, program, bus = ("array", times.read), ("array", times.program), ("bus", times.transfer)
        return {
            "read": [read, bus],
            "write": [bus, program],
            "copy": [read, ("bus", 2 * times.transfer), program],
            "erase": [("array", times.erase)],
        }[kind]

    def add(self, number: int, command: Command, now: int) -> None:
        """Queues a command. A read moves forward from the tail, past what its order lets it pass."""
        command.left = self.phases(command.kind)
        queue = self.dies[number].queue
        place = len(queue)
        while command.kind == "read" and place and queue[place - 1].kind in PASSED[self.order]:
            place -= 1
        queue.insert(place, command)
        self._ready(self.dies[number], now)

    def _ready(self, die: Die, now: int) -> None:
        """A die may take a command: by arrival at once, where reads go first when all of an instant is known."""
        if die.queue and die not in self.ready:
            self.ready.append(die)
        if self.order == "fifo":
            self.start(now)

    def start(self, now: int) -> None:
        """Dies that are ready take their next command."""
        ready, self.ready = self.ready, []
        for die in ready:
            if die.runs is None and die.queue:
                die.runs = die.queue.popleft()
                self._next(die, die.runs, now)

    def _next(self, die: Die, command: Command, now: int) -> None:
        """The next phase of the die's command."""
        self.steps += 1
        die.began = self.steps
        place, length = command.left[0]
        if place == "array":
            die.until = now + length
            return
        die.until = None
        self.asking[die.channel].append((die, length))
        self._grant(die.channel, now)

    def _grant(self, channel: int, now: int) -> None:
        """Gives an idle bus to the die that asked first; the transfer begins now."""
        if self.holder[channel] is None and self.asking[channel]:
            die, length = self.asking[channel].popleft()
            self.holder[channel] = die
            die.until = now + length
            self.steps += 1
            die.began = self.steps

    def next_end(self) -> int | None:
        """When the next phase ends."""
        return min((die.until for die in self.dies if die.until is not None), default=None)

    def end(self, now: int) -> None:
        """Ends the phases that end now, in the order in which they began."""
        for die in sorted((die for die in self.dies if die.until == now), key=lambda die: die.began):
            command, die.until = die.runs, None
            if command is None:
                continue
            place, _ = command.left.pop(0)
            if place == "bus":
                self.holder[die.channel] = None
            if command.left:
                self._next(die, command, now)
            else:
                die.runs = None
                command.done()
                self._ready(die, now)
            if place == "bus":
                self._grant(die.channel, now)
