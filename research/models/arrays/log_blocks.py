"""Block maps with log blocks: BAST (a log block for one logical block) and FAST (log blocks for all of them).

Kim et al. 2002 and Lee et al. 2007. Only state, no time. A write goes to its own page if that page is erased, else to
a log block; a merge makes data blocks whole again. Blocks are stripes.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence

from research.models.arrays.page_map import MapCache, Work
from research.models.arrays.parameters import Parameters


class LogBlocks(ABC):
    """Parts of both: data blocks, counts, merges. `where` is a page's slot; in log blocks, above those of a block."""

    cache: MapCache | None = None

    def __init__(self, parameters: Parameters) -> None:
        self.slots = parameters.slots
        self.group = 1
        room = parameters.spare_stripes - parameters.reserve  # merges need a free block
        self.logs = max(2, min(room, parameters.logs or room))
        self.where = [-1] * (parameters.size_bytes // parameters.unit_bytes)
        self.filled = [0] * parameters.stripes  # pages of a data block that are not erased
        self.work = Work()
        self.written = self.copied = self.erased = 0
        self.charges_map = True

    @property
    def span(self) -> int:
        """Programs of the host until the next merge, in the mean."""
        return max(1, self.slots // 4)

    def locate(self, unit: int) -> int:
        """The slot of a page within its block; -1 if it has no data."""
        at = self.where[unit]
        return at if at < 0 else at % self.slots

    def trim(self, unit: int) -> None:
        """Declares a page obsolete; a merge does not copy it."""
        self.where[unit] = -1

    def collect_ahead(self, free: int) -> bool:
        """Merges wait for writes."""
        del free
        return False

    def program(self, units: Sequence[int]) -> int:
        """Writes one page; returns its slot."""
        unit = units[0]
        block, page = divmod(unit, self.slots)
        self.written += 1
        if page >= self.filled[block]:
            self.filled[block] = page + 1
            self.where[unit] = page
            return page
        at = self.append(block, page)
        self.where[unit] = self.slots + at
        return at % self.slots

    @abstractmethod
    def append(self, block: int, page: int) -> int:
        """The slot in a log block that takes an overwrite."""

    def merge(self, block: int, in_order: int, erases: int) -> None:
        """Makes a data block whole: the first `in_order` pages stay in the log block, the others are copied."""
        first = block * self.slots
        pages = self.where[first : first + self.slots]
        rest = pages[in_order:]
        copies = len(rest) - rest.count(-1)
        if -1 in pages:
            self.where[first : first + self.slots] = [page if at >= 0 else -1 for page, at in enumerate(pages)]
            filled = max((page + 1 for page, at in enumerate(pages) if at >= 0), default=0)
            self.filled[block] = max(filled, in_order)
        else:
            self.where[first : first + self.slots] = range(self.slots)
            self.filled[block] = self.slots
        self.copied += copies
        self.erased += erases
        self.work.copies += copies
        self.work.erases += erases


class Bast(LogBlocks):
    """A log block belongs to one data block; the oldest one gives way."""

    def __init__(self, parameters: Parameters) -> None:
        super().__init__(parameters)
        self.log: dict[int, list[int]] = {}  # data block -> pages in its log block, pages of those in order

    def append(self, block: int, page: int) -> int:
        """The next slot of the block's own log block."""
        log = self.log.get(block)
        if log is None or log[0] == self.slots:
            if log is not None:
                self._merge(block)
            elif len(self.log) == self.logs:
                self._merge(next(iter(self.log)))
            log = self.log[block] = [0, 0]
        at = log[0]
        log[0] = at + 1
        if page == at == log[1]:
            log[1] = at + 1
        return at

    def _merge(self, block: int) -> None:
        count, in_order = self.log.pop(block)
        if count == in_order:  # switch or partial: the log block becomes the data block
            self.merge(block, in_order, 1)
        else:
            self.merge(block, 0, 2)


class Fast(LogBlocks):
    """Log blocks are filled with overwrites of any block, but for one that takes a sequential stream.

    Log blocks are numbered in the order of their first write; number 0 is the stream's.
    """

    def __init__(self, parameters: Parameters) -> None:
        super().__init__(parameters)
        self.full: list[list[int]] = []  # units in shared log blocks that are full, oldest first
        self.taken: list[int] = []  # units in the one that is filled
        self.number = 1  # of that one
        self.stream = -1  # data block of the sequential log block
        self.streamed = 0

    def append(self, block: int, page: int) -> int:
        """The slot in the stream's or in the shared log block."""
        if page == 0 or self.streamed == self.slots:
            self._end_stream()
            if page == 0:
                self.stream = block
        if block == self.stream and page == self.streamed:
            self.streamed += 1
            return page
        if len(self.taken) == self.slots:
            self.full.append(self.taken)
            self.taken = []
            self.number += 1
            if len(self.full) >= self.logs - 1:
                self._free_oldest()
        self.taken.append(block * self.slots + page)
        return self.number * self.slots + len(self.taken) - 1

    def _end_stream(self) -> None:
        if self.stream >= 0:
            first = self.stream * self.slots
            whole = self.where[first : first + self.streamed] == list(range(self.slots, self.slots + self.streamed))
            self.merge(self.stream, self.streamed if whole else 0, 1 if whole else 2)
        self.stream, self.streamed = -1, 0

    def _free_oldest(self) -> None:
        """Full merges of all blocks with a current page in the oldest log block."""
        number = self.number - len(self.full)
        for unit in self.full.pop(0):
            if self.where[unit] // self.slots - 1 == number:
                block = unit // self.slots
                if block == self.stream:
                    self._end_stream()
                else:
                    self.merge(block, 0, 1)
        self.erased += 1
        self.work.erases += 1
