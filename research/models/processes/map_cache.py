"""Cached map: translation pages on flash, of which RAM holds those used last."""

from collections import OrderedDict

ENTRY_BYTES = 8


class MapCache:
    """LRU over translation pages of one unit size. A dirty page is written back when it leaves."""

    def __init__(self, cache_bytes: int, page_bytes: int) -> None:
        self.covered = page_bytes // ENTRY_BYTES  # units
        self.room = max(1, cache_bytes // page_bytes)
        self.pages: OrderedDict[int, bool] = OrderedDict()  # page: dirty

    def touch(self, unit: int, *, is_write: bool) -> tuple[int, int]:
        """Looks a unit of the drive up, and returns pages read and written."""
        page = unit // self.covered
        pages = self.pages
        if page in pages:
            pages.move_to_end(page)
            if is_write:
                pages[page] = True
            return 0, 0
        written = 0
        if len(pages) >= self.room:
            _, is_dirty = pages.popitem(last=False)
            written = int(is_dirty)
        pages[page] = is_write
        return 1, written

    def update(self, units: set[int]) -> tuple[int, int]:
        """Pages read and written because copies moved units: pages in RAM become dirty, others change on flash."""
        absent = 0
        for page in {unit // self.covered for unit in units}:
            if page in self.pages:
                self.pages[page] = True
            else:
                absent += 1
        return absent, absent
