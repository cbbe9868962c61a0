"""A drive whose dies are managed by a planner: request by request (research/models/stations/README.md)."""

from collections import deque
from dataclasses import dataclass
from typing import Literal

from research.models.stations.flash import Command, Flash, Kind, Order, Times
from research.models.stations.page_map import PageMap

Planner = Literal["forwarding", "cycle-filling"]


@dataclass
class Shape:
    """The drive: counts, times and policies. Blocks are those of a die.

    `threshold` is the largest number of spare blocks with which a die collects ahead.
    """

    channels: int
    dies: int
    per_block: int
    data_blocks: int
    spare_blocks: int
    times: Times
    planner: Planner
    order: Order
    buffer: int
    threshold: int


@dataclass
class Access:
    """A page to read or write, from a time on, ns."""

    time: int
    reads: bool
    page: int


@dataclass(eq=False)
class Entry:
    """A page in the write buffer."""

    page: int
    leaves: bool = False


class Station:
    """A die with its map, and the collection that it is in."""

    def __init__(self, shape: Shape) -> None:
        self.map = PageMap(shape.data_blocks, shape.spare_blocks, shape.per_block)
        self.waiting: deque[Entry] = deque()
        self.busy: Kind | None = None
        self.collects: Literal["no", "ahead", "must"] = "no"
        self.follows = self.owes = False


class Drive:
    """One run of a workload."""

    def __init__(self, shape: Shape, accesses: list[Access]) -> None:
        self.shape, self.accesses = shape, accesses
        self.flash = Flash(shape.channels, shape.dies, shape.times, shape.order)
        self.stations = [Station(shape) for _ in self.flash.dies]
        self.buffered: list[Entry] = []
        self.stalled: deque[int] = deque()
        self.ends = [0] * len(accesses)
        self.now = 0
        self.initiator: Station | None = None
        self.step: Kind = "copy"
        self.counts = {"must": 0, "ahead": 0, "followed": 0, "erases": 0}

    def run(self) -> list[int]:
        """When each request is complete, ns."""
        following = 0
        while True:
            arrival = self.accesses[following].time if following < len(self.accesses) else None
            times = [time for time in (arrival, self.flash.next_end()) if time is not None]
            if not times:
                return self.ends
            self.now = min(times)
            self.flash.end(self.now)
            while following < len(self.accesses) and self.accesses[following].time == self.now:
                self.arrive(following)
                following += 1
            self.fill()
            self.decide()
            self.flash.start(self.now)

    def place(self, page: int) -> tuple[int, int]:
        """Die of a page, and its number there: consecutive pages go to the channels, then to their dies."""
        shape = self.shape
        channel, rest = page % shape.channels, page // shape.channels
        return channel * shape.dies + rest % shape.dies, rest // shape.dies

    def arrive(self, number: int) -> None:
        """A request comes. What is in the buffer is read there."""
        access = self.accesses[number]
        if not access.reads:
            self.stalled.append(number)
        elif any(entry.page == access.page for entry in self.buffered):
            self.ends[number] = self.now
        else:
            self.flash.add(self.place(access.page)[0], Command("read", lambda: self.complete(number)), self.now)

    def complete(self, number: int) -> None:
        """A read has its page."""
        self.ends[number] = self.now

    def fill(self) -> None:
        """Writes enter the buffer while there is room; one of a page that waits joins it. They are complete then."""
        while self.stalled:
            number = self.stalled[0]
            page = self.accesses[number].page
            if not any(entry.page == page and not entry.leaves for entry in self.buffered):
                if len(self.buffered) == self.shape.buffer:
                    return
                entry = Entry(page)
                self.buffered.append(entry)
                self.stations[self.place(page)[0]].waiting.append(entry)
            self.ends[number] = self.now
            self.stalled.popleft()

    def full(self) -> bool:
        """True if a write waits for room."""
        return bool(self.stalled)

    def begin(self, number: int, kind: Kind, entry: Entry | None = None) -> None:
        """A station begins a command; its effects that others see come at the end."""
        station = self.stations[number]
        station.busy = kind

        def done() -> None:
            station.busy = None
            if entry is not None:
                self.buffered.remove(entry)
            if kind == "erase":
                self.erased(station)

        self.flash.add(number, Command(kind, done), self.now)

    def erased(self, station: Station) -> None:
        """A victim is erased, and with it its collection is over."""
        self.counts["erases"] += 1
        station.map.erase()
        station.collects = "no"

    def decide(self) -> None:
        """Idle stations begin what they can."""
        filling = self.shape.planner == "cycle-filling"
        if filling:
            self.together()
        for number, station in enumerate(self.stations):
            if station.busy is None:
                self.work(number)
        if not filling:
            for number, station in enumerate(self.stations):
                if station.busy is None:
                    self.ahead(number)

    def work(self, number: int) -> None:
        """The next page of the buffer, or of the station's mandatory collection."""
        station = self.stations[number]
        if station.collects == "must":
            self.collect(number)
            return
        if not self.full() or not station.waiting or station.follows or station is self.initiator:
            return
        if not station.map.has_room():
            if self.shape.planner == "forwarding":
                self.counts["must"] += 1
                station.collects = "must"
                station.map.begin()
                self.collect(number)
            return
        station.collects = "no"
        entry = station.waiting.popleft()
        entry.leaves = True
        station.map.write(self.place(entry.page)[1])
        self.begin(number, "write", entry)

    def collect(self, number: int) -> Kind:
        """The next step of a station's own collection: a copy, or the erase at its end."""
        kind: Kind = "copy" if self.stations[number].map.copy() else "erase"
        self.begin(number, kind)
        return kind

    def ahead(self, number: int) -> None:
        """Garbage-collection forwarding: a station without a page to write collects while others must."""
        station = self.stations[number]
        if station.waiting:
            station.collects = "no"
            return
        if station.collects == "no":
            others = any(other.collects == "must" for other in self.stations)
            if not self.full() or not others or station.map.spare() > self.shape.threshold:
                return
            if not station.map.candidates():
                return
            station.map.begin()
            station.collects = "ahead"
        self.counts["ahead"] += 1
        self.collect(number)

    def together(self) -> None:
        """Cycle filling: the first station that must collect does, and with it those with few spare blocks."""
        # A station that has nothing to do in the step in progress has made it: nobody waits for that.
        self.make_owed()
        at_rest = not any(self.holds_up(station) for station in self.stations)
        if self.initiator is not None and at_rest and self.step == "erase":
            self.initiator = None
            for station in self.stations:
                station.follows = False
        if self.initiator is None:
            self.initiator = next((station for station in self.stations if self.must(station)), None)
            if self.initiator is None:
                return
            self.counts["must"] += 1
            for station in self.stations:
                station.follows = station is not self.initiator and station.map.spare() <= self.shape.threshold
                if station.follows or station is self.initiator:
                    station.map.begin()
            self.next_step(self.initiator)
        elif at_rest:
            self.next_step(self.initiator)
        self.make_owed()

    def make_owed(self) -> None:
        """Idle followers begin the step that they owe."""
        for number, station in enumerate(self.stations):
            if station.owes and station.busy is None:
                station.owes = False
                self.follow(number)

    def must(self, station: Station) -> bool:
        """True if a station at rest has a page to write and no room for it."""
        return station.busy is None and self.full() and bool(station.waiting) and not station.map.has_room()

    def holds_up(self, station: Station) -> bool:
        """True if the next step of the collection waits for this station."""
        return (station.busy is not None or station.owes) and (station.follows or station is self.initiator)

    def next_step(self, initiator: Station) -> None:
        """The initiator's next step, which each follower then owes."""
        self.step = self.collect(self.stations.index(initiator))
        for station in self.stations:
            station.owes = station.follows

    def follow(self, number: int) -> None:
        """A follower's step of the kind that the initiator makes, if there is one to make."""
        station = self.stations[number]
        begins = station.map.copy(follows=True) if self.step == "copy" else station.map.can_erase()
        if begins:
            self.counts["followed"] += self.step == "copy"
            self.begin(number, self.step)
