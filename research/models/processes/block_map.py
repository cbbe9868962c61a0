"""A block map: each unit has one place in its data block; overwrites go to the same place of replacement blocks."""

from math import ceil
from random import Random

from research.models.processes.group import Group
from research.models.processes.settings import Settings
from research.models.processes.victims import choose

ONCE = bytes([0] + [1] * 255)


class BlockGroup(Group):
    """Chains of replacement blocks, folded into a new data block when a chain or the pool ends. A unit is a frame."""

    def __init__(self, settings: Settings, units: int, random: Random) -> None:
        super().__init__(settings, random)
        self.size = self.frames_per_die * self.width
        self.blocks = ceil(units / self.size)
        self.pool = max(1, int(self.blocks * settings.spare))
        self.used = 0
        self.max_chain = settings.chain
        self.versions = bytearray(self.blocks * self.size)  # versions of a unit since its block was folded
        self.chains: dict[int, int] = {}  # logical block: its replacement blocks; the oldest chain first
        self.opened_at: dict[int, int] = {}
        self.in_order: dict[int, int] = {}  # units that a first replacement block took in order; -1: out of order
        self.written = 0

    def write(self, units: list[int]) -> int:
        """Writes to the first block of the chain in which the place is free."""
        (unit,) = units
        block, offset = divmod(unit, self.size)
        self.written += 1
        version = self.versions[unit]
        if version > self.max_chain:
            self._fold(block)
            version = 1
        while self.chains.get(block, 0) < version:
            if self.used >= self.pool:
                self._fold(self._choose())
                version = min(version, self.versions[unit])
                continue
            self.used += 1
            if block not in self.chains:
                self.opened_at[block], self.in_order[block] = self.written, 0
            self.chains[block] = self.chains.get(block, 0) + 1
        if version:
            follows = version == 1 and self.in_order[block] == offset
            self.in_order[block] = offset + 1 if follows else -1
        self.versions[unit] = version + 1
        return offset % self.width

    def _choose(self) -> int:
        return choose(self.policy, self.chains, self._cost, self._age, self.window, self.random)

    def _cost(self, block: int) -> float:
        return self._rest(block) / self.size

    def _age(self, block: int) -> int:
        return self.written - self.opened_at[block]

    def _rest(self, block: int) -> int:
        """Units that a fold copies: none or few if one replacement block took the units in order."""
        first = block * self.size
        skipped = self.in_order[block] if self.chains[block] == 1 else 0
        first += max(0, skipped)
        end = (block + 1) * self.size
        return end - first - self.versions.count(0, first, end)

    def _fold(self, block: int) -> None:
        if block not in self.chains:
            return
        rest = self._rest(block)
        self.copied += rest
        self.owe_copies(rest)
        in_place = self.chains[block] == 1 and self.in_order[block] > 0
        for _ in range(self.chains[block] + (not in_place)):
            self.owe_erase()
        self.used -= self.chains.pop(block)
        del self.opened_at[block], self.in_order[block]
        first = block * self.size
        self.versions[first : first + self.size] = self.versions[first : first + self.size].translate(ONCE)

    def locate(self, unit: int) -> tuple[int, int] | None:
        """Die of the unit's place, in any block of the chain."""
        return (unit % self.size % self.width, unit) if self.versions[unit] else None

    def discard(self, unit: int) -> None:
        """Forgets a unit that was not overwritten; the chain keeps the places of others."""
        if self.versions[unit] == 1:
            self.versions[unit] = 0

    def slack(self) -> float:
        """Free replacement blocks, as a share of all."""
        return (self.pool - self.used) / self.pool

    def collect_some(self, frames: int) -> bool:  # noqa: ARG002 - a fold is one piece of work
        """Folds one chain ahead of need."""
        if not self.chains:
            return False
        self._fold(self._choose())
        return True
