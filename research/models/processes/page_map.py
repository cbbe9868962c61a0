"""A page map in RAM: any unit may be anywhere in its group; blocks are collected when free ones run out."""

from collections import deque
from math import ceil
from random import Random

from research.models.processes.group import Group
from research.models.processes.settings import Settings
from research.models.processes.victims import choose

RESERVE = 2  # free blocks that the host never gets
NONE = -1


class PageGroup(Group):
    """Page map of one group. A position is block x units_per_block + index; indices go over the dies by frame."""

    def __init__(self, settings: Settings, units: int, random: Random) -> None:
        super().__init__(settings, random)
        data_dies = self.width - settings.parity
        self.frames = self.frames_per_die * data_dies
        self.size = self.frames * self.units_per_frame  # units of a block
        # A frame's die, and the die that gets the parity after it (row by row on another die).
        self.die_of, self.parity_after = [], [NONE] * self.frames
        for frame in range(self.frames):
            row, column = divmod(frame, data_dies)
            parity = row % self.width if settings.parity else NONE
            self.die_of.append((parity + 1 + column) % self.width)
            if settings.parity and column == data_dies - 1:
                self.parity_after[frame] = parity
        self.fronts_apart = settings.separate
        fronts = 1 + settings.separate
        self.spare_blocks = max(1, ceil(units * settings.spare / self.size))
        blocks = ceil(units / self.size) + self.spare_blocks + RESERVE + fronts
        self.where = [NONE] * units
        self.owner = [NONE] * (blocks * self.size)
        self.valid = [0] * blocks
        self.filled_at = [0] * blocks
        self.free = deque(range(blocks))
        self.full: dict[int, None] = {}
        self.fronts = [[self.free.popleft(), 0] for _ in range(fronts)]  # block and next index
        self.written = 0
        self.victim, self.cursor = NONE, 0
        self.moved: set[int] | None = set() if settings.mapping == "cached" else None  # units copied, for their map

    def write(self, units: list[int]) -> int:
        """Programs a frame at the front for the host."""
        if not self.free:
            self._collect_block()  # its copies took the last free block: the host must not fill that
        front = self.fronts[0]
        front[1] += -front[1] % self.units_per_frame  # copies may have ended within a frame
        if front[1] >= self.size:
            self._open(0)
            while len(self.free) < RESERVE:
                self._collect_block()
            front = self.fronts[0]
            front[1] += -front[1] % self.units_per_frame
            if front[1] >= self.size:
                self._open(0)
                front = self.fronts[0]
        self.written += len(units)
        self.padded += self.units_per_frame - len(units)
        frame = front[1] // self.units_per_frame
        self._place(front, units)
        front[1] = (frame + 1) * self.units_per_frame
        if self.parity_after[frame] != NONE:
            self.programs[self.parity_after[frame]] += 1
        return self.die_of[frame]

    def _open(self, number: int) -> None:
        block = self.fronts[number][0]
        self.full[block] = None
        self.filled_at[block] = self.written
        self.fronts[number] = [self.free.popleft(), 0]

    def _place(self, front: list[int], units: list[int]) -> None:
        """Maps units to the next positions of a front that has room for them."""
        position = front[0] * self.size + front[1]
        where, owner, valid, size = self.where, self.owner, self.valid, self.size
        for unit in units:
            old = where[unit]
            if old >= 0:
                owner[old] = NONE
                valid[old // size] -= 1
            where[unit] = position
            owner[position] = unit
            position += 1
        valid[front[0]] += len(units)
        front[1] += len(units)

    def _copy(self, positions: list[int]) -> None:
        per_frame, size, die_of = self.units_per_frame, self.size, self.die_of
        for frame in {position // per_frame for position in positions}:
            self.reads[die_of[frame % self.frames]] += 1
        units = [self.owner[position] for position in positions]
        self.copied += len(units)
        if self.moved is not None:
            self.moved.update(units)
        number = 1 if self.fronts_apart else 0
        while units:
            front = self.fronts[number]
            if front[1] >= size:
                self._open(number)
                continue
            some, units = units[: size - front[1]], units[size - front[1] :]
            first = -(-front[1] // per_frame)
            self._place(front, some)
            for frame in range(first, -(-front[1] // per_frame)):
                self.programs[die_of[frame]] += 1
                if self.parity_after[frame] != NONE:
                    self.programs[self.parity_after[frame]] += 1

    def _choose(self) -> None:
        size, valid, filled_at = self.size, self.valid, self.filled_at
        self.victim = choose(
            self.policy,
            self.full,
            lambda block: valid[block] / size,
            lambda block: self.written - filled_at[block],
            self.window,
            self.random,
        )
        del self.full[self.victim]
        self.cursor = self.victim * size

    def _collect_block(self) -> None:
        while True:
            if not self.collect_some(self.frames):
                raise RuntimeError("no block to collect")
            if self.victim == NONE:
                return

    def collect_some(self, frames: int) -> bool:
        """Copies some frames of the victim, or of a new one; the last copies free it."""
        if self.victim == NONE:
            if not self.full:
                return False
            self._choose()
        end = (self.victim + 1) * self.size
        owner, at = self.owner, self.cursor
        positions: list[int] = []
        wanted = frames * self.units_per_frame
        # A copy may need a block of its own before the victim's is free.
        while at < end and len(positions) < wanted:
            if owner[at] >= 0:
                positions.append(at)
            at += 1
        if positions:
            if not self.free and self.size - self.fronts[self.fronts_apart][1] < len(positions):
                raise RuntimeError("no free block for copies")
            self._copy(positions)
        if self.valid[self.victim] == 0:
            self.free.append(self.victim)
            self.owe_erase()
            self.victim = NONE
        else:
            self.cursor = at
        return True

    def locate(self, unit: int) -> tuple[int, int] | None:
        """Die and frame of a unit."""
        position = self.where[unit]
        if position < 0:
            return None
        frame = position // self.units_per_frame
        return self.die_of[frame % self.frames], frame

    def discard(self, unit: int) -> None:
        """Makes the position of a unit invalid."""
        old = self.where[unit]
        if old >= 0:
            self.where[unit] = self.owner[old] = NONE
            self.valid[old // self.size] -= 1

    def slack(self) -> float:
        """Free blocks beyond the reserve, as a share of the spare ones; 1 if no block is worth a collection."""
        return (len(self.free) - RESERVE) / self.spare_blocks if self.full else 1.0
