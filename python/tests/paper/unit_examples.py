"""Examples of unit tests of the papers, on drives of the package; keywords make them wrong."""

from collections.abc import Callable, Sequence
from typing import Any

from unit_rig import COPY, MS, WRITE, Access, Span, apart, read, run, write

from flashweir import simulate

# huang2010, figures 8 to 13, 16 and 17: two channels, blocks of 4 pages; page p is on channel p mod 2.
_PAIR = {
    "channels": 2,
    "page": 512,
    "capacity": 225_280,
    "op_ratio": 0.0546,
    "ftl.kind": "log-block",
    "precondition": "full",
}
# The oldest log block of channel 1 gets pages 423, 405 and 431, that of channel 0 pages 410, 414 and 404, the second
# one there 434 and 418; the fourth page of each oldest block is overwritten later.
_LAID = [423, 405, 431, 1, 410, 414, 404, 2, 1, 3, 9, 11, 2, 434, 418, 4, 17, 19, 25, 27, 12]


def collected(channel: int, *, planner: str = "none", throttle: int = 0, more: Sequence[int] = ()) -> Any:
    """Commands of a channel as page 433 needs a log block on channel 1."""
    pages = [*_LAID, *more, 433]
    requests = [Access(number * 100 * MS, "W", page, 1) for number, page in enumerate(pages)]
    units = {} if planner == "none" else {"gc.planner": planner, "clock": "lock-step"}
    found = run({**_PAIR, **units, "gc.throttle": throttle}, requests)
    return found.kinds(channel, since=requests[-1].time_ns)


MERGE = [("copy", 4), ("erase", 1)]
# All three data blocks are merged, the log block erased, and the page written.
WHOLE = [*MERGE * 3, ("erase", 1), ("program", 1)]
THROTTLED = [*MERGE * 2, ("copy", 1), ("erase", 1), ("program", 1)]


def first_flush(*, order: str = "any") -> int:
    """Pages of the first write cycle: requests on channels {1,2}, {0,1}, {0,3}, {1,2}, {2,3}, a buffer of 8 pages."""
    settings = {
        "channels": 4,
        "capacity": "1MiB",
        "ftl.kind": "log-block",
        "clock": "lock-step",
        "buffer.bytes": "32KiB",
        "buffer.order": order,
        "host.mode": "closed",
    }
    found = run(settings, [write(0, page, 2) for page in (1, 4, 7, 9, 14)])
    return sum(any(span.start == 0 for span in die) for die in found.dies)


def cycles_of_super_pages(*, units: str = "synchronized") -> int:
    """Write cycles for the first page of super page 0, the second of 1 and the third of 2, of three channels."""
    settings = {"channels": 3, "capacity": "768KiB", "clock": "lock-step", "ftl.kind": "log-block", "units": units}
    found = run({**settings, "buffer.bytes": "36KiB"}, [write(0, page) for page in (0, 4, 8)])
    return len({span.start for die in found.dies for span in die})


def waits_for_channel_0(*, buffer: str = "8KiB") -> list[int]:
    """Completions of four pages of channel 0 with a buffer that two of them fill."""
    return run({"channels": 2, "buffer.bytes": buffer}, [write(0, page) for page in (0, 2, 4, 6)]).completions


def read_and_program(**settings: Any) -> list[int]:
    found = run({"precondition": "full", **settings}, [read(0, 3), write(MS, 3)])
    return [found.completions[0], found.completions[1] - MS]


def channels_of_a_stripe(*, order: str = "CDPW") -> int:
    """Channels that take the first four pages of a drive of four."""
    settings = {"channels": 4, "chips": 3, "dies": 2, "planes": 2, "capacity": "12MiB", "alloc.order": order}
    found = run(settings, [write(0, page) for page in range(4)])
    return len({name.partition(".")[0] for name in found.names})


# wen2012, figures 4 to 7: two channels of four blocks of four pages, of which one stays free.
_TWO = {"channels": 2, "capacity": "64KiB", "op_ratio": 0.5, "timing.erase": "100us", "buffer.bytes": "0B"}
_HYBRID = {"ftl.kind": "log-block", "op_ratio": 0.75, "capacity": "128KiB", "precondition": "full"}
_ERASE = 100_000
PROGRAMMED, COPIED, ERASED = ("program", 1, WRITE), ("copy", 1, COPY), ("erase", 1, _ERASE)
MERGED = ("copy", 4, 4 * COPY)


def schedule(settings: dict[str, Any], laid: Sequence[Sequence[int]], burst: Sequence[int]) -> list[list[Span]]:
    """Commands of both channels from a burst on, after pages that channel 1 and then channel 0 got one by one."""
    requests = apart([2 * page + channel for channel in (1, 0) for page in laid[channel]])
    begin = len(requests) * 10 * MS
    found = run({**_TWO, **settings}, [*requests, *(write(begin, page) for page in burst)])
    return [
        [span._replace(start=span.start - begin, end=span.end - begin) for span in die if span.start >= begin]
        for die in found.dies
    ]


def lengths(spans: Sequence[Span]) -> list[tuple[str, int, int]]:
    return [(span.kind, span.pages, span.end - span.start) for span in spans]


_OVERLAP = ([0, 1, 2, 3, 2, 3, 4, 5, 6, 7, 4, 5], [0, 1, 2, 3, 3, 4, 5, 6, 7, 4])


def erases_overlap(**settings: Any) -> bool:
    """True if channel 1 collects, and erases while channel 0 does: figure 4 (b)."""
    asked = {"buffer.bytes": "8KiB", "gc.planner": "forwarding", "timing.erase": "1ms", **settings}
    first, second = schedule(asked, _OVERLAP, [0, 2, 12, 1, 4, 3, 5, 7])
    erases = [next((span for span in die if span.kind == "erase"), None) for die in (first, second)]
    return None not in erases and erases[1].start < erases[0].end  # type: ignore[union-attr]


def suspended_between_copies(*, planner: str = "forwarding") -> Any:
    laid = ([0, 1, 2, 3, 0, 1, 2, 3, 4, 5, 6, 7], [0, 1, 2, 3, 3, 4, 5, 6, 7, 4])
    return lengths(schedule({"buffer.bytes": "8KiB", "gc.planner": planner}, laid, [0, 2, 1, 3])[1])


def suspended_between_blocks(*, planner: str = "forwarding") -> Any:
    laid = ([1, 5, 9, 1, 2, 6, 10, 2, 3, 7, 3, 7], [1, 5, 9, 1, 2, 6, 10, 2])
    settings = {**_HYBRID, "buffer.bytes": "8KiB", "gc.planner": planner}
    return lengths(schedule(settings, laid, [2, 10, 18, 4, 1, 3])[1])[:5]


def blocks_filled(*, planner: str = "cycle-filling", spare_blocks: int = 200) -> Any:
    laid = ([1, 5, 1, 5, 9], [1, 5, 9, 1, 2, 6, 10, 2, 3, 7, 3, 7])
    settings = {**_HYBRID, "gc.planner": planner, "gc.spare_blocks": spare_blocks}
    return [lengths(die) for die in schedule(settings, laid, [11])]


def pages_filled(*, planner: str = "cycle-filling", **settings: Any) -> Any:
    laid = ([0, 1, 2, 3, 1, 2, 3, 4, 3, 4], [0, 1, 2, 3, 2, 3, 4, 5, 6, 7, 4, 5])
    return [lengths(die) for die in schedule({"gc.planner": planner, **settings}, laid, [1])]


def of_one_unit(pages: int, op_ratio: float, written: Sequence[int], last: Sequence[int], **settings: Any) -> Any:
    """Copies and erases of one channel that was filled, as the last pages are written."""
    shape = {"page": 512, "capacity": pages * 512, "op_ratio": op_ratio, "host.mode": "open"}
    requests = [Access(at * 100 * MS, "W", page, 1) for at, page in enumerate([*range(pages), *written, *last])]
    found = run({**shape, **settings}, requests)
    return [one for one in found.kinds(0, since=requests[-len(last)].time_ns) if one[0] != "program"]


def page_map(*, victim: str = "greedy") -> Any:
    return of_one_unit(12, 0.7, [0, 5, 10, 3, 8, 1, 6, 11], [4, 9, 2, 7], **{"gc.victim": victim})


def block_map(*, kind: str = "log-block") -> Any:
    return of_one_unit(40, 0.3, [1, 1, 1, 5, 9, 13, 17, 21, 25, 29, 33, 37], [2], **{"ftl.kind": kind})


def joined(*, buffer: str = "8KiB") -> int:
    """Commands for three writes of parts of one page, which together are the whole page."""
    parts = [Access(0, "W", 0, 4), Access(0, "W", 4, 4), Access(0, "W", 2, 4)]
    found = run({"buffer.bytes": buffer, "host.mode": "closed", "precondition": "full"}, parts)
    return len(found.dies[0])


def four_reads(**settings: Any) -> list[int]:
    """zhu2017, figure 6: completions, us, of a write and four reads that arrive behind it."""
    drive = {
        "precondition": "full",
        "timing.read": "20us",
        "timing.program": "200us",
        "timing.bus": 0,
        "timing.command": 0,
        "sched.kind": "read-first",
        "sched.write_bound": "220us",
    }
    found = run({**drive, **settings}, [write(0, 0), *(read(0, page) for page in range(1, 5))])
    return [end // 1000 for end in found.completions]


def behind_writes(*, pages: Sequence[int] = (9, 10), **settings: Any) -> list[int]:
    """Completions of two reads behind three writes, of pages 0, 1 and 2."""
    drive = {"sched.kind": "read-priority", "precondition": "full", **settings}
    requests = [write(0, 0), write(1, 1), write(2, 2), *(read(3 + at, page) for at, page in enumerate(pages))]
    return run(drive, requests).completions[3:]


def two_dies(*, channels: int = 1) -> list[int]:
    settings = {"channels": channels, "chips": 2 // channels, "precondition": "full"}
    return run(settings, [read(0, 0), read(0, 1)]).completions


def like(example: Callable[[], float], tolerance: float) -> Callable[[float], bool]:
    """A check that a value is the example's, within the tolerance at which models and simulator are compared.

    It holds for the example itself by construction: that policies differ by more is all that a twin shows here.
    """
    return lambda value: abs(value / example() - 1) <= tolerance


def lock_step_iops(*, planner: str = "cycle-stealing") -> float:
    drive = {"capacity": "384MiB", "channels": 4, "op_ratio": 0.05, "gc.throttle": 8, "buffer.bytes": "32KiB"}
    settings = {**drive, "clock": "lock-step", "ftl.kind": "log-block", "precondition": "full", "gc.planner": planner}
    return simulate("random:span=384MiB,align=512,count=30000,write=1", "huang2010-mlc", set=settings).iops or 0.0


def page_map_iops(*, planner: str = "forwarding") -> float:
    drive = {"capacity": "384MiB", "channels": 4, "op_ratio": 0.125, "buffer.bytes": "64KiB", "precondition": "full"}
    spec = "random:span=384MiB,align=512,count=100000,write=1"
    return simulate(spec, "wen2012", set={**drive, "gc.planner": planner}).iops or 0.0
