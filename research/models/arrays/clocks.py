"""Times of dies, buses and the controller, in ns. Each resource works in the order in which commands come to it.

Limits: a bus is a queue of transfers from the moment at which each could begin at the earliest; reads that go before
programs wait for half a program. Work of a collection or a merge is spread evenly over all dies.
"""

from research.models.arrays.parameters import KIB, Parameters


class Clocks:
    """All dies and channels."""

    def __init__(self, parameters: Parameters) -> None:
        p = parameters
        self.lanes, self.channels = p.lanes, p.channels
        self.pages = max(1, p.unit_bytes // (p.page_kib * KIB))  # of a mapping unit
        self.per_page = p.group  # mapping units
        self.read_ns = p.read_us * 1e3
        self.program_ns = p.program_us * 1e3
        self.erase_ns = p.erase_us * 1e3
        self.page_ns = p.page_kib * KIB * 1e3 / p.bus_mbps
        self.die = [0.0] * p.lanes  # when each is free
        self.read_free = [0.0] * p.lanes  # when its reads are done, if those go first
        self.bus = [0.0] * p.channels
        self.reads_first = p.buffer_kib > 0
        self.mode = p.collect
        self.gate = 0.0  # when host commands may begin again
        self.debt = 0.0  # ns of each die, for paced collection
        self.rate = 0.0  # ns of debt that a program pays
        self.factor = 1.0  # jitter of the request
        self.busy_ns = 0.0  # of all dies together

    def read(self, slot: int, pages: int, ready: float) -> float:
        """Reads pages of a mapping unit; the end of the transfer."""
        lane = slot // self.per_page % self.lanes
        work = self.read_ns * pages * self.factor
        free = self.die[lane]
        if self.reads_first and free > ready:
            start = max(ready + 0.5 * min(self.program_ns, free - ready), self.read_free[lane])
            end = self.read_free[lane] = start + work
            self.die[lane] = free + work
        else:
            end = max(ready, free) + work
            self.die[lane] = end
        self.busy_ns += work
        return self._transfer(lane, pages, ready, end)

    def _transfer(self, lane: int, pages: int, ready: float, end: float) -> float:
        channel = lane % self.channels
        took = self.page_ns * pages
        free = self.bus[channel]
        self.bus[channel] = done = max(ready, free) + took
        end += took
        return max(done, end)

    def program(self, slot: int, ready: float) -> float:
        """Transfers and programs the pages at a slot; the end of the program."""
        lane = slot // self.per_page % self.lanes
        channel = lane % self.channels
        free = self.bus[channel]
        sent = max(ready, free) + self.page_ns * self.pages
        self.bus[channel] = sent
        work = self.program_ns * self.pages * self.factor
        if self.debt > 0:
            paid = min(self.rate, self.debt * self.lanes)
            self.debt -= paid / self.lanes
            work += paid
        free = self.die[lane]
        end = self.die[lane] = max(sent, free) + work
        self.busy_ns += work
        return end

    def work_ns(self, copies: int, pages: int, erases: int) -> float:
        """Time of each die for copies of mapping units, copies of pages, and erases of stripes."""
        moved = -(-copies * self.pages // self.per_page) + pages
        each = self.read_ns + self.program_ns + 2 * self.page_ns * (self.lanes / self.channels)
        return moved * each / self.lanes + erases * self.erase_ns

    def charge(self, work: float, now: float, span: int) -> None:
        """Work that a program brought about: at once, with the host stopped, or spread over `span` programs."""
        if self.mode == "paced":
            self.debt += work
            self.rate = self.debt * self.lanes / span
            return
        self.occupy(work, now)
        if self.mode == "block":
            self.gate = max(self.gate, now) + work

    def occupy(self, work: float, now: float) -> None:
        """Work of every die."""
        self.busy_ns += work * self.lanes
        self.die = [max(now, free) + work for free in self.die]

    def idle_since(self) -> float:
        """When the last die ends."""
        return max(self.die)
