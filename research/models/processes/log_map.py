"""A hybrid map: data blocks in the order of addresses, and log blocks for overwrites that are merged with them."""

from math import ceil
from random import Random

from research.models.processes.group import Group
from research.models.processes.settings import Settings
from research.models.processes.victims import choose


class Log:
    """A log block. `parts` counts its valid units by logical block."""

    __slots__ = ("is_sequential", "opened_at", "parts", "units")

    def __init__(self, opened_at: int, *, is_sequential: bool) -> None:
        self.units: list[int] = []
        self.parts: dict[int, int] = {}
        self.opened_at = opened_at
        self.is_sequential = is_sequential


class LogGroup(Group):
    """Log blocks of one logical block each, of a few, or shared by any number. A unit is a frame."""

    def __init__(self, settings: Settings, units: int, random: Random) -> None:
        super().__init__(settings, random)
        self.size = self.frames_per_die * self.width
        blocks = ceil(units / self.size)
        self.max_logs = max(2, int(blocks * settings.spare))
        self.share = settings.log_share or blocks
        self.has_data = bytearray(blocks * self.size)
        self.fill = [0] * blocks  # next offset that the data block can take
        self.in_logs: list[dict[int, tuple[int, int]]] = [{} for _ in range(blocks)]  # unit: log and index
        self.log_of: dict[int, int] = {}  # the log that takes a logical block's overwrites
        self.logs: dict[int, Log] = {}
        self.newest = self.sequential = -1
        self.numbers = 0
        self.written = 0

    def write(self, units: list[int]) -> int:
        """Writes in place while offsets rise, else to a log."""
        (unit,) = units
        block, offset = divmod(unit, self.size)
        self.written += 1
        if offset >= self.fill[block]:
            self.fill[block] = offset + 1
            self.has_data[unit] = 1
            return offset % self.width
        number = self._log_for(block, offset)
        log = self.logs[number]
        self._forget(block, unit)
        self.has_data[unit] = 1
        index = len(log.units)
        log.units.append(unit)
        log.parts[block] = log.parts.get(block, 0) + 1
        self.in_logs[block][unit] = number, index
        return index % self.width

    def _forget(self, block: int, unit: int) -> None:
        old = self.in_logs[block].pop(unit, None)
        if old is not None:
            parts = self.logs[old[0]].parts
            parts[block] -= 1
            if not parts[block]:
                del parts[block]

    def _log_for(self, block: int, offset: int) -> int:
        if self.share > 1:
            if offset == 0:
                if self.sequential in self.logs:
                    self._merge_log(self.sequential)
                self.sequential = self._open(is_sequential=True)
                return self.sequential
            log = self.logs.get(self.sequential)
            if log is not None and log.units[0] // self.size == block and len(log.units) == offset:
                return self.sequential
        number = self.log_of.get(block, -1)
        if number in self.logs:
            if len(self.logs[number].units) < self.size:
                return number
            if self.share == 1:
                self._merge_log(number)
        newest = self.logs.get(self.newest)
        if self.share == 1 or newest is None or len(newest.units) == self.size or len(newest.parts) >= self.share:
            self.newest = self._open(is_sequential=False)
        self.log_of[block] = self.newest
        return self.newest

    def _open(self, *, is_sequential: bool) -> int:
        while len(self.logs) >= self.max_logs:
            self._merge_log(self._choose())
        self.numbers += 1
        self.logs[self.numbers] = Log(self.written, is_sequential=is_sequential)
        return self.numbers

    def _choose(self) -> int:
        logs = self.logs
        most = max(1, self.size)
        return choose(
            self.policy,
            logs,
            lambda number: min(1.0, len(logs[number].parts) / most),
            lambda number: self.written - logs[number].opened_at,
            self.window,
            self.random,
        )

    def _merge_log(self, number: int) -> None:
        log = self.logs[number]
        block = log.units[0] // self.size if log.units else 0
        first = block * self.size
        in_order = all(unit == first + index for index, unit in enumerate(log.units))
        if log.units and in_order and log.parts.get(block, 0) == len(log.units):
            # Switch: the log becomes the data block. Partial: the rest of the data block is copied behind it first.
            rest = self.has_data.count(1, first + len(log.units), first + self.size)
            rest -= sum(unit >= first + len(log.units) for unit in self.in_logs[block])
            self.copied += rest
            self.owe_copies(rest)
            self.owe_erase()
            for unit in log.units:
                del self.in_logs[block][unit]
        else:
            for part in list(log.parts):
                self._merge_block(part)
            self.owe_erase()
        del self.logs[number]

    def _merge_block(self, block: int) -> None:
        """Full merge: all units of a logical block go to a new data block."""
        first = block * self.size
        count = self.has_data.count(1, first, first + self.size)
        self.copied += count
        self.owe_copies(count)
        self.owe_erase()
        for unit in list(self.in_logs[block]):
            self._forget(block, unit)
        self.log_of.pop(block, None)

    def locate(self, unit: int) -> tuple[int, int] | None:
        """Die of the log or of the data block."""
        if not self.has_data[unit]:
            return None
        block, offset = divmod(unit, self.size)
        entry = self.in_logs[block].get(unit)
        return ((entry[1] if entry else offset) % self.width), unit

    def discard(self, unit: int) -> None:
        """Makes the newest version of a unit invalid."""
        self._forget(unit // self.size, unit)
        self.has_data[unit] = 0

    def slack(self) -> float:
        """Free log blocks, as a share of all."""
        return (self.max_logs - len(self.logs)) / self.max_logs

    def collect_some(self, frames: int) -> bool:  # noqa: ARG002 - a merge is one piece of work
        """Merges one log ahead of need."""
        if not self.logs:
            return False
        self._merge_log(self._choose())
        return True
