"""Answers of the engine against the path and the flash behind it: values, evidence, and how sure that makes them.

`sure` is the share of answers with the same evidence that were right on drives of known structure (`learned.py`);
`how` names the evidence. Conditions under which an answer can't be sure lower it further.
"""

from typing import Any

from flashweir.diagnosis.active.buffer import Buffer
from flashweir.diagnosis.active.ratios import Span, rounded
from flashweir.probing.cells import Cells
from flashweir.probing.learned import sure_of
from flashweir.probing.path import Path
from flashweir.probing.plausible import is_power_of_two, withdrawn

# An answer that rests on a time below the path's own overhead and jitter.
_BELOW = 0.5
# All answers of a target that is no flash.
_NO_FLASH = 0.3
# The engine's geometry explains all that it saw, or nearly nothing: its answers are all at this or far below.
_REGULAR = 0.9
# Equal reads differ by less on a drive without noise.
_QUIET = 0.03
# Two measurements of one buffer agree within this share.
_AGREE = 0.2
# Most addresses show one page.
_MOST = 0.75
# The smaller of array and transfer has this share of both, above which they may be exchanged.
_EXCHANGED = 0.25
_SHOWED = {
    "capacity": "the size that the target says",
    "page": "reads around an address that wait for its die; reads of growing sizes; reads around a lone block",
    "channels": "pairs of reads at a time, by the distance of their addresses",
    "dies": "pairs of reads at a time, by the distance of their addresses",
    "alloc.order": "pairs of reads at a time, by the distance of their addresses",
    "alloc.kind": "writes of one page again and again, then reads",
    "planes": "random writes over a full die, until pages are moved",
    "pages_per_block": "writes in order over discarded pages",
    "op_ratio": "random writes over a full die, until pages are moved",
    "gc.frontiers": "random writes over a full die, until pages are moved",
    "sched.kind": "reads behind a long queue of writes",
    "timing.read": "reads of one address at a time and together; reads that need no flash",
    "timing.program": "single writes of a page, each with a flush",
    "timing.bus": "pairs of reads of one channel; reads of growing sizes",
    "timing.erase": "writes in order over discarded pages",
    "buffer.bytes": "bursts of writes to an idle drive; reads of what was written last",
}
Known = dict[str, dict[str, Any]]


def calibrated(answers: list[dict[str, Any]], path: Path, by_bursts: Buffer, read_back: Span, cells: Cells) -> Known:
    """Changes answers in place; the changed ones by key. The buffer is measured `by_bursts` and `read_back`."""
    known = {str(answer["key"]): answer for answer in answers}
    before = {key: dict(answer) for key, answer in known.items()}
    is_regular = max(known[key]["sure"] if key in known else 0.0 for key in ("planes", "channels")) >= _REGULAR
    withdrawn(known)
    if is_regular:
        evidence = {key: f"regular, {answer['sure']:g}" for key, answer in known.items()}
    else:
        evidence = _irregular(known, cells)
    evidence["buffer.bytes"] = _buffer(known, by_bursts, read_back, "regular" if is_regular else _noise(cells))
    for key, answer in known.items():
        answer["evidence"] = evidence.get(key, "")
        if key != "capacity" and answer["sure"] > 0:
            answer["sure"] = sure_of(key, answer["evidence"], answer["sure"])
    _times(known, path)
    for key, answer in known.items():
        if path.not_flash and key != "capacity":
            cap(answer, _NO_FLASH, "the target does not behave like flash")
        answer["showed_by"] = _SHOWED.get(key, "")
    return {
        key: answer for key, answer in known.items() if any(answer[name] != before[key][name] for name in before[key])
    }


def trusted(answer: dict[str, Any], path: Path, lone_block: int | None) -> None:
    """An answer without a key of the device. `lone_block`: bytes that are not empty once one block is written."""
    if answer["sure"] > 0:
        answer["evidence"] = f"{answer['sure']:g}{'' if answer['value'] else ', none'}"
        if answer["key"] == "mapping_unit_bytes" and lone_block:
            same = "agree" if answer["value"] == lone_block else "other"
            answer["value"], answer["evidence"] = lone_block, f"lone block, {same}"
            answer["how"] = "what has to be read from flash once a block of a discarded drive is written"
        answer["sure"] = sure_of(answer["key"], answer["evidence"], answer["sure"])
    if path.not_flash:
        cap(answer, _NO_FLASH, "the target does not behave like flash")


def lone_block(answers: list[dict[str, Any]], smallest: int) -> int | None:
    """Bytes that the engine found by writing one block of a discarded drive; None if it did not find them so."""
    for answer in answers:
        if answer["key"] == "page" and "without data" in answer["how"]:
            return max(int(answer["value"]), smallest) if is_power_of_two(answer["value"]) else None
    return None


def cap(answer: dict[str, Any], most: float, why: str) -> None:
    """Lowers `sure` to `most`, with the reason."""
    if answer["sure"] > most:
        answer["sure"] = most
        answer["how"] = f"{answer['how']}; but {why}"


def _noise(cells: Cells) -> str:
    return "quiet" if cells.spread < _QUIET else "noisy"


def _irregular(known: Known, cells: Cells) -> dict[str, str]:
    """Answers of a drive whose pages move, or that has noise: evidence by key."""
    evidence = dict.fromkeys(known, "irregular")
    noise = _noise(cells)
    evidence["page"] = f"{_page(known, cells)}, {noise}"
    evidence["timing.read"] = f"{_read(known, cells)}, {noise}"
    evidence["timing.program"] = f"{_program(known, cells)}, {noise}"
    evidence["timing.bus"] = f"{_bus(known, cells)}, {noise}"
    return evidence


def _page(known: Known, cells: Cells) -> str:
    answer = known.get("page")
    if answer is None or cells.page is None:
        return "page by a lone block" if answer and "without data" in answer["how"] else "page by sizes"
    agrees = answer["value"] == cells.page
    how = "reads together wait for a die if they are of one page"
    if cells.stepped:
        how = "longer reads take another read of the array"
    if not agrees:
        answer["how"] = f"{how}; another test: {answer['value']} bytes"
    answer["value"], answer["sure"] = cells.page, max(answer["sure"], _BELOW)
    most = "most" if cells.agree >= _MOST else "few"
    return f"{'steps' if cells.stepped else 'dies'}, {most}, {'agree' if agrees else 'other'}"


def _read(known: Known, cells: Cells) -> str:
    """The array alone, or with all that can't be separated from it."""
    answer = known.get("timing.read")
    if answer is None or cells.read_ns is None:
        return "read unseparated"
    _set_time(answer, cells.read_ns)
    if cells.transfer_ns is None:
        _spread(answer, 0.0, cells.read_ns)
        if cells.nothing_ns is None:
            answer["how"] = "reads of one address made together; its transfer may be part of it"
            return "read of a die"
        answer["how"] = "a read, less one that needs no flash; its transfer is part of it"
        return "read with transfer"
    total = cells.host_read_ns - (cells.nothing_ns or 0.0)
    sides = sorted((cells.read_ns, total - cells.read_ns))
    answer["how"] = "reads of one address made together, which wait for their die alone"
    if cells.die_ns is None:
        answer["how"] = "a read, less one that needs no flash, less what grows with its size"
        return "read by size"
    if cells.parts > _EXCHANGED and not cells.distinguished:
        _spread(answer, *sides)
        return "read or transfer"
    _spread(answer, cells.read_ns * (1 - cells.spread / 2), cells.read_ns * (1 + cells.spread / 2))
    apart = cells.parts > _EXCHANGED
    answer["how"] += "; pairs of reads, or their growth with size, tell it from the transfer" if apart else ""
    return "read, distinguished" if apart else "read"


def _program(known: Known, cells: Cells) -> str:
    answer = known.get("timing.program")
    if answer is None or cells.program_ns is None:
        return "program unseen"
    alone = cells.program_ns - (cells.transfer_ns or 0.0)
    if alone <= 0:
        return "program unseen"
    _set_time(answer, alone)
    _spread(answer, alone * (1 - cells.spread / 2), cells.program_ns)
    apart = "" if cells.transfer_ns is not None else " with transfer"
    answer["how"] = f"a page written through, less commands{', with' if apart else ' and'} its transfer"
    return f"program{apart}"


def _bus(known: Known, cells: Cells) -> str:
    answer = known.get("timing.bus")
    if answer is None or cells.transfer_ns is None or "page" not in known:
        return "bus unseen"
    answer["value"] = rounded(cells.transfer_ns / float(known["page"]["value"]))
    answer["how"] = "what is left of a read less its array and its command"
    answer["sure"] = max(answer["sure"], _BELOW)
    if cells.parts <= _EXCHANGED:
        return "bus"
    return "bus, distinguished" if cells.distinguished else "bus or array"


def _set_time(answer: dict[str, Any], time_ns: float) -> None:
    answer["value"], answer["sure"] = f"{round(time_ns)}ns", max(answer["sure"], _BELOW)


def _spread(answer: dict[str, Any], low_ns: float, high_ns: float) -> None:
    answer["low"], answer["high"] = f"{round(low_ns)}ns", f"{round(high_ns)}ns"


def _buffer(known: Known, by_bursts: Buffer, read_back: Span, noise: str) -> str:
    """Size of the buffer by reading back; without hits, by the engine's bursts and ours. Returns the evidence."""
    answer = known.get("buffer.bytes")
    if answer is None:
        return ""
    ours, engines = by_bursts.size.value, float(answer["value"])
    agreeing = sum(_agrees(read_back.value, size) for size in (ours, engines))
    # Of a buffer that is destaged faster than a burst fills it a part is read back. The engine's bursts find all of it
    # where its geometry explains the drive.
    if read_back.value > 0 and (agreeing or noise != "regular"):
        answer["sure"] = max(answer["sure"], _BELOW)
        answer["low"], answer["high"] = round(read_back.low), round(read_back.high)
        # The engine's bursts find single pages, the reads a grid of addresses.
        if not read_back.low <= engines <= read_back.high:
            answer["value"] = round(read_back.value)
            answer["how"] = "bytes at the end of bursts that are read without flash"
        return f"read back, {('alone', 'one agrees', 'two agree')[agreeing]}, {noise}"
    if by_bursts.at_least:
        return f"not filled, {noise}"
    if _agrees(ours, engines):
        return f"agree, {noise}"
    if engines == 0:
        # Idle writes are acknowledged faster than flash reads, so there is one.
        answer["value"], answer["sure"] = round(ours), _BELOW
        answer["how"] = "bursts of 16 KiB to an idle drive"
        return f"one of two, {noise}"
    answer["how"] = f"{answer['how']}; bursts of 16 KiB find {ours:,.0f} bytes"
    return f"disagree, {noise}"


def _agrees(one: float, other: float) -> bool:
    return abs(one - other) <= _AGREE * max(one, other)


def _times(known: Known, path: Path) -> None:
    """Answers that rest on a time that the path hides."""
    named = ("timing.read", "timing.program", "timing.erase")
    times: dict[str, float] = {key: _nanoseconds(known[key]["value"]) for key in named if key in known}
    bus = known.get("timing.bus")
    if bus is not None and "page" in known:
        times["timing.bus"] = float(bus["value"]) * float(known["page"]["value"])
    rests = {
        "timing.read": ("page", "dies", "timing.read"),
        "timing.program": ("timing.program", "op_ratio"),
        "timing.erase": ("planes", "pages_per_block", "timing.erase"),
        "timing.bus": ("channels", "timing.bus"),
    }
    for time, keys in rests.items():
        # No time at all is an answer of its own: nothing was seen.
        if not 0 < times.get(time, 0.0) < path.resolution_ns:
            continue
        hidden = f"{time} is below the {rounded(path.resolution_ns / 1e3):g} us of the path and its jitter"
        for key in keys:
            if key in known:
                cap(known[key], _BELOW, hidden)


def _nanoseconds(value: object) -> float:
    """The least time of an answer, `"60000ns"` or a list of these."""
    listed = value if isinstance(value, list) else [value]
    return min(float(str(one).removesuffix("ns")) for one in listed)
