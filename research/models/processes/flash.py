"""Flash of the drive: dies on channels, the translation layers of their groups, a fast region, the cached map."""

from collections import deque
from collections.abc import Sequence
from random import Random

from research.models.processes.block_map import BlockGroup
from research.models.processes.group import Group
from research.models.processes.kernel import BACKGROUND, READ, WORK, Act, Calendar, Die, Line, Operation
from research.models.processes.log_map import LogGroup
from research.models.processes.map_cache import MapCache
from research.models.processes.page_map import PageGroup
from research.models.processes.settings import Settings

SUSPEND_NS = 20_000


class Flash:
    """Dies and groups. A unit of the drive belongs to one group by its number; `route` gives its place there."""

    def __init__(self, settings: Settings, calendar: Calendar, random: Random) -> None:
        self.settings = settings
        self.channels = [Line() for _ in range(settings.channels)]
        suspend_ns = SUSPEND_NS if settings.suspend else 0
        self.dies = [
            Die(
                calendar,
                self.channels[number % settings.channels],
                random,
                settings.noise,
                reads_first=settings.order == "reads",
                suspend_ns=suspend_ns,
            )
            for number in range(settings.die_count)
        ]
        count = settings.die_count // settings.width
        make: type[PageGroup | LogGroup | BlockGroup] = PageGroup
        if settings.mapping in ("hybrid", "block"):
            make = LogGroup if settings.mapping == "hybrid" else BlockGroup
        units = settings.capacity // settings.unit_bytes
        stride = max(1, settings.page // settings.unit_bytes)
        if make is not PageGroup:
            stride = settings.pages_per_block * settings.page // settings.frame_bytes * settings.width
        self.stride = stride  # consecutive units of one group
        self.group_units = -(-units // (stride * count)) * stride
        self.groups: list[PageGroup | LogGroup | BlockGroup] = [
            make(settings, self.group_units, random) for _ in range(count)
        ]
        self.cache = MapCache(settings.map_cache, settings.unit_bytes) if settings.mapping == "cached" else None
        pages = settings.frame_bytes // settings.page
        self.read_ns = int(settings.read_us * 1000)
        self.program_ns = int(settings.program_us * 1000) * pages
        self.slc_program_ns = int(settings.slc_program_us * 1000) * pages
        self.erase_ns = int(settings.erase_us * 1000)
        self.frame_read_ns = self.read_ns * pages
        self.transfer_ns = self.channel_ns(settings.frame_bytes)
        self.slc_frames = settings.slc // settings.frame_bytes
        self.in_slc: deque[int] = deque()  # dies of the frames in the fast region
        self.host_units = 0

    def channel_ns(self, count: int) -> int:
        """Time of a transfer of bytes over a channel."""
        return int(count * 1000 / self.settings.channel_mbps)

    def route(self, unit: int) -> tuple[int, int]:
        """Group of a unit, and its number there."""
        row, rest = divmod(unit, self.stride)
        turn, group = divmod(row, len(self.groups))
        return group, turn * self.stride + rest

    def group(self, number: int) -> Group:
        """A group by its number."""
        return self.groups[number]

    def pay(self, number: int, urgency: int, done: Act | None = None) -> int:
        """Queues the work that a group owes, in pieces, and returns their number."""
        group = self.groups[number]
        if self.cache is not None and isinstance(group, PageGroup) and group.moved:
            base = number * self.group_units
            reads, programs = self.cache.update({base + unit for unit in group.moved})
            group.moved.clear()
            for turn in range(max(reads, programs)):
                group.reads[turn % group.width] += turn < reads
                group.programs[turn % group.width] += turn < programs
        first, count = number * group.width, 0
        chunk = self.settings.chunk
        for die, reads, programs, erases in group.take_work():
            most = max(reads, programs)
            pieces = -(-most // chunk) if chunk else min(1, most)
            array_ns = reads * self.frame_read_ns + programs * self.program_ns
            transfer_ns = (reads + programs) * self.transfer_ns
            for _ in range(pieces):
                piece = Operation(urgency, transfer_ns // pieces, array_ns // pieces, done, number)
                self.dies[first + die].submit(piece)
            if erases:
                self.dies[first + die].submit(Operation(urgency, 0, erases * self.erase_ns, done, number))
            count += pieces + (erases > 0)
        return count

    def program(self, number: int, units: list[int], old_reads: int, done: Act, argument: object) -> None:
        """Programs a frame for the host, behind the work that makes room for it and the look-ups of its units."""
        group = self.groups[number]
        self.host_units += len(units)
        die_in_group = group.write(units)
        self.pay(number, WORK)
        place = number * group.width + die_in_group
        die = self.dies[place]
        array_ns, transfer_ns = old_reads * self.frame_read_ns, old_reads * self.transfer_ns
        if self.cache is not None:
            for unit in units:
                read, written = self.cache.touch(number * self.group_units + unit, is_write=True)
                array_ns += read * self.read_ns + written * self.program_ns
                transfer_ns += (read + written) * self.transfer_ns
        if array_ns:
            die.submit(Operation(WORK, transfer_ns, array_ns, None, None))
        program_ns = self.program_ns
        if len(self.in_slc) < self.slc_frames:
            program_ns = self.slc_program_ns
            self.in_slc.append(place)
        die.submit(Operation(WORK, self.transfer_ns, program_ns, done, argument))

    def read(self, number: int, units: Sequence[int], wanted_bytes: int, done: Act, argument: object) -> None:
        """Reads units of one frame; `done` is called when the array has given them up."""
        group = self.groups[number]
        found = group.locate(units[0])
        if found is None:
            raise RuntimeError("expected a unit with data")
        die = self.dies[number * group.width + found[0]]
        array_ns = self.read_ns * -(-wanted_bytes // self.settings.page)
        if self.cache is not None:
            read, written = self.cache.touch(number * self.group_units + units[0], is_write=False)
            array_ns += read * self.read_ns
            if written:
                die.submit(Operation(WORK, self.transfer_ns, self.program_ns, None, None))
        die.submit(Operation(READ, 0, array_ns, done, argument))

    def fold(self, done: Act) -> None:
        """Moves a frame out of the fast region."""
        die = self.dies[self.in_slc.popleft()]
        array_ns = self.frame_read_ns + self.program_ns
        die.submit(Operation(BACKGROUND, 2 * self.transfer_ns, array_ns, done, None))
