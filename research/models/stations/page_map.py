"""Page mapping of one die: a write frontier, and collections page by page (research/models/stations/README.md)."""


class Block:
    """A block of flash: the page at each place, None where it is obsolete."""

    __slots__ = ("changed", "pages")

    def __init__(self, pages: list[int | None] | None = None) -> None:
        self.pages = pages or []
        self.changed = 0

    def valid(self) -> int:
        """Pages that hold the current version."""
        return sum(page is not None for page in self.pages)


class PageMap:
    """The map of one die. Pages are numbered by die."""

    def __init__(self, data_blocks: int, spare_blocks: int, per_block: int) -> None:
        """All pages written once, in order; `spare_blocks` are erased, and one more is kept for collections."""
        self.per_block = per_block
        self.free = spare_blocks + data_blocks + 1
        self.blocks: list[Block] = []
        # The frontier; before the first one a block that takes nothing.
        self.open = Block([None] * per_block)
        self.home: dict[int, tuple[Block, int]] = {}
        self.victim: Block | None = None
        self.changes = 0
        for page in range(data_blocks * per_block):
            self.write(page)

    def open_has_room(self) -> bool:
        """True if the frontier takes another page."""
        return len(self.open.pages) < self.per_block

    def has_room(self) -> bool:
        """True if a page of the host can be written; the last erased block is for collections."""
        return self.free > 1 or (self.free == 1 and self.open_has_room())

    def can_copy(self) -> bool:
        """True if a collection can copy a page."""
        return self.open_has_room() or self.free > 0

    def spare(self) -> int:
        """Erased blocks that may be filled before a collection is mandatory."""
        return max(0, self.free - 1)

    def write(self, page: int) -> None:
        """Writes a page to the frontier."""
        if not self.open_has_room():
            self.free -= 1
            self.open = Block()
            self.blocks.append(self.open)
        before = self.home.get(page)
        self.open.pages.append(page)
        self.home[page] = self.open, len(self.open.pages) - 1
        self._changed(self.open)
        if before is not None:
            block, place = before
            block.pages[place] = None
            self._changed(block)

    def _changed(self, block: Block) -> None:
        self.changes += 1
        block.changed = self.changes

    def candidates(self) -> list[Block]:
        """Full blocks with anything to reclaim: the fewest valid pages first, of equals the block that changed last."""
        full = [block for block in self.blocks if len(block.pages) == self.per_block and block.valid() < self.per_block]
        return sorted(full, key=lambda block: (block.valid(), -block.changed))

    def begin(self) -> None:
        """A collection begins, or goes on after a suspension: the victim is chosen anew."""
        self.victim = next(iter(self.candidates()), None)

    def copy(self, *, follows: bool = False) -> bool:
        """Copies the next page of the victim; one that follows goes on to the next-best. False if there is none."""
        for block in [self.victim, *(self.candidates() if follows else [])]:
            page = next((page for page in block.pages if page is not None), None) if block else None
            if page is not None and self.can_copy():
                self.write(page)
                return True
        return False

    def can_erase(self) -> bool:
        """True if nothing of the victim is left to copy."""
        return self.victim is not None and self.victim.valid() == 0

    def erase(self) -> None:
        """Erases the victim, if there is one."""
        if self.victim is not None:
            self.blocks.remove(self.victim)
            self.victim = None
            self.free += 1
