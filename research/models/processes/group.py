"""The interface of a translation layer of one group of dies, and the flash work that it owes."""

from abc import ABC, abstractmethod
from random import Random

from research.models.processes.settings import Settings


class Group(ABC):
    """Dies whose blocks work as one, with a translation layer of their own. Addresses are units of this group.

    State changes at once; the flash work that belongs to it is added up by die in `reads`, `programs` and `erases`
    (frames and blocks) until the caller takes it. Dies serve in order, so that a block is erased before it is written.
    """

    def __init__(self, settings: Settings, random: Random) -> None:
        self.random = random
        self.policy = settings.victims
        self.window = settings.window
        self.width = settings.width
        self.units_per_frame = max(1, settings.page // settings.unit_bytes)
        self.frames_per_die = max(1, settings.pages_per_block * settings.page // settings.frame_bytes)
        self.reads = [0] * self.width
        self.programs = [0] * self.width
        self.erases = [0] * self.width
        self.copied = 0  # units, over all time
        self.padded = 0  # units that a program wasted

    def take_work(self) -> list[tuple[int, int, int, int]]:
        """Die of the group, reads, programs, erases: all that is owed, which is then forgotten."""
        rows = zip(range(self.width), self.reads, self.programs, self.erases, strict=True)
        work = [row for row in rows if row[1] or row[2] or row[3]]
        if work:
            self.reads = [0] * self.width
            self.programs = [0] * self.width
            self.erases = [0] * self.width
        return work

    def owe_copies(self, frames: int) -> None:
        """Copies spread over the dies."""
        each, rest = divmod(frames, self.width)
        for die in range(self.width):
            count = each + (die < rest)
            self.reads[die] += count
            self.programs[die] += count

    def owe_erase(self) -> None:
        """An erase on each die."""
        for die in range(self.width):
            self.erases[die] += 1

    @abstractmethod
    def write(self, units: list[int]) -> int:
        """Programs at most one frame of units and returns its die. Work that must precede it is owed."""

    @abstractmethod
    def locate(self, unit: int) -> tuple[int, int] | None:
        """Die and number of the frame that holds a unit; None if it has no data."""

    @abstractmethod
    def discard(self, unit: int) -> None:
        """Forgets a unit."""

    @abstractmethod
    def slack(self) -> float:
        """Share of the spare blocks that are free."""

    @abstractmethod
    def collect_some(self, frames: int) -> bool:
        """Collects about so many frames ahead of need. False if there is nothing to gain."""
