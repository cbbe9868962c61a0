"""Answers of the engine against the path to the drive: no answer that can't be, none surer than it can be."""

import json
from typing import Any

from flashweir.diagnosis.active.buffer import Buffer
from flashweir.diagnosis.active.ratios import rounded
from flashweir.probing.path import Path

# An answer that rests on a time below the path's own overhead and jitter, or on another such answer.
_BELOW = 0.5
# Answers that another measurement contradicts, and all of a target that is no flash.
_CONTRADICTED, _NO_FLASH = 0.1, 0.3
_PAGES = (512, 128 << 10)
# Two measurements of one buffer agree within this share.
_AGREE = 0.2
_AGREED = 0.9
# Reads in parallel are at least this share of the dies.
_BUSY = 0.75
# Keys that the order of pages shows, and those that collections show.
_LAYOUT = ("channels", "dies", "timing.bus", "alloc.order")
_COLLECTED = ("planes", "pages_per_block", "timing.erase", "op_ratio", "gc.frontiers")
_SHOWED = {
    "capacity": "the size that the target says",
    "page": "reads of 4 KiB around a block written after a discard; else writes and reads of growing sizes",
    "channels": "pairs of reads at a time, by the distance of their addresses",
    "dies": "pairs of reads at a time, by the distance of their addresses",
    "alloc.order": "pairs of reads at a time, by the distance of their addresses",
    "alloc.kind": "writes of one page again and again, then reads",
    "planes": "random writes over a full die, until pages are moved",
    "pages_per_block": "writes in order over discarded pages",
    "op_ratio": "random writes over a full die, until pages are moved",
    "gc.frontiers": "random writes over a full die, until pages are moved",
    "sched.kind": "reads behind a long queue of writes",
    "timing.read": "single reads of a page",
    "timing.program": "single writes, each with a flush",
    "timing.bus": "pairs of reads of one channel",
    "timing.erase": "writes in order over discarded pages",
    "buffer.bytes": "bursts of writes to an idle drive",
}


def calibrated(answers: list[dict[str, Any]], path: Path, held: Buffer) -> dict[str, dict[str, Any]]:
    """Changes answers in place; the changed ones by key."""
    known = {str(answer["key"]): answer for answer in answers}
    before = {key: dict(answer) for key, answer in known.items()}
    _page(known, path)
    _layout(known, path)
    _times(known, path)
    _buffer(known, held)
    for key, answer in known.items():
        if path.not_flash and key != "capacity":
            _cap(answer, _NO_FLASH, "the target does not behave like flash")
        answer["showed_by"] = _SHOWED.get(key, "")
    return {
        key: answer for key, answer in known.items() if any(answer[name] != before[key][name] for name in before[key])
    }


def _cap(answer: dict[str, Any], most: float, why: str) -> None:
    if answer["sure"] > most:
        answer["sure"] = most
        answer["how"] = f"{answer['how']}; but {why}"


def _page(known: dict[str, dict[str, Any]], path: Path) -> None:
    page = known.get("page")
    if page is None:
        return
    size = int(page["value"])
    least, most = _PAGES
    if size & (size - 1) or not least <= size <= most:
        page["how"] = f"not shown: {size} bytes were found, and no page has that size; the default"
        page["value"], page["sure"] = 4096, 0.0
    elif not path.discards and "without data" in page["how"]:
        _cap(page, _BELOW, "reads of discarded addresses are not faster")
    if page["sure"] <= _BELOW:
        for key, answer in known.items():
            if key not in ("capacity", "page", "buffer.bytes"):
                _cap(answer, _BELOW, "the page is not sure")


def _layout(known: dict[str, dict[str, Any]], path: Path) -> None:
    """A drive whose reads overlap has several dies, wherever its pages lie."""
    if "channels" not in known or "dies" not in known:
        return
    units = known["channels"]["value"] * known["dies"]["value"]
    if units >= _BUSY * path.parallel:
        return
    why = f"reads at a depth of 32 are {path.parallel:.1f} times as fast as one at a time: pages do not stay in place"
    for key in (*_LAYOUT, *_COLLECTED):
        if key in known:
            _cap(known[key], _CONTRADICTED, why)
    for key in ("timing.read", "timing.program"):
        if key in known:
            _cap(known[key], _BELOW, "the time on the bus is part of it")
    if "page" in known:
        _cap(known["page"], _BELOW, "it may be a mapping unit, several of which share a page")


def _times(known: dict[str, dict[str, Any]], path: Path) -> None:
    """Answers that rest on a time that the path hides."""
    named = ("timing.read", "timing.program", "timing.erase")
    times: dict[str, float] = {key: _nanoseconds(known[key]["value"]) for key in named if key in known}
    bus = known.get("timing.bus")
    if bus is not None and "page" in known:
        times["timing.bus"] = float(bus["value"]) * float(known["page"]["value"])
    rests = {
        "timing.read": ("page", "dies", "timing.read"),
        "timing.program": ("timing.program", "op_ratio", "buffer.bytes"),
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
                _cap(known[key], _BELOW, hidden)


def _buffer(known: dict[str, dict[str, Any]], held: Buffer) -> None:
    """The buffer of the engine's bursts against that of bursts of another size."""
    answer = known.get("buffer.bytes")
    if answer is None or held.at_least:
        return
    mine, other = held.size.value, float(answer["value"])
    if abs(mine - other) <= _AGREE * max(mine, other):
        answer["sure"] = max(answer["sure"], _AGREED)
        return
    _cap(answer, _BELOW, f"bursts of 16 KiB find {mine:,.0f} bytes")


def _nanoseconds(value: object) -> float:
    """The least time of an answer, `"60000ns"` or a list of these."""
    listed = value if isinstance(value, list) else [value]
    return min(float(str(one).removesuffix("ns")) for one in listed)


def in_file(text: str, changed: dict[str, dict[str, Any]], extra: list[dict[str, Any]]) -> str:
    """A device file with changed answers, and those without a key as comments."""
    lines, section = [], ""
    for line in text.splitlines():
        name = line.partition(" = ")[0]
        if line.startswith("["):
            section = line.strip("[]") + "."
        key = section + name
        if " = " in line and not line.startswith("#") and key in changed:
            answer = changed[key]
            line = f"{name} = {json.dumps(answer['value'])} # sure: {answer['sure']:.1f}; {answer['how']}"  # noqa: PLW2901
        lines.append(line)
    lines += ["", "# No keys yet:"]
    lines += [f"# {one['key']} = {json.dumps(one['value'])} # sure: {one['sure']:.1f}; {one['how']}" for one in extra]
    return "\n".join(lines) + "\n"
