"""A probe: the path and further questions in Python, then the engine's, whose answers are held against both."""

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from flashweir import _native
from flashweir._native import FlashweirError
from flashweir.api import as_json, as_native_progress
from flashweir.diagnosis.active.ratios import rounded
from flashweir.diagnosis.active.session import MIB, STOPPED, Bench
from flashweir.probing import cells
from flashweir.probing.calibrated import calibrated, lone_block, trusted
from flashweir.probing.device_file import taken
from flashweir.probing.path import measured
from flashweir.probing.plausible import withdrawn
from flashweir.probing.questions import MAX_BYTES, asked, host_read

if TYPE_CHECKING:
    from flashweir.api import Progress
    from flashweir.diagnosis.active.buffer import Buffer
    from flashweir.diagnosis.active.ratios import Span
    from flashweir.probing.cells import Cells
    from flashweir.probing.path import Path
    from flashweir.probing.questions import Answer

# Smaller drives, and those of larger blocks, are asked by the engine alone.
_MIN_BYTES, _MAX_BLOCK = 8 * MIB, 16 << 10
# Random writes of units below this were not made.
_SMALL = 4 << 10


@dataclass
class _Measured:
    """Findings of the requests from Python."""

    requests: int
    written_bytes: int
    path: "Path"
    further: "list[Answer]"
    """Answers without a key of the device."""
    by_bursts: "Buffer"
    """Write buffer by bursts to an idle drive."""
    read_back: "Span"
    """Size of the write buffer by reading back."""
    flash: "Cells"


def probed(spec: dict[str, Any], progress: "Progress | None") -> str:
    """The probe's JSON."""
    own = _measured(spec, progress)
    found = json.loads(_native.probe(as_json(spec), as_native_progress(progress)))
    known = {answer["key"]: answer for answer in found["answers"]}
    if own is None:
        withdrawn(known)
        found["device_file"] = taken(found["device_file"], dict(known), known, [])
        return json.dumps(found | {"admissible": None, "not_flash": None, "path": None})
    lone, path = lone_block(found["answers"], _SMALL), own.path
    changed = calibrated(found["answers"], path, own.by_bursts, own.read_back, own.flash)
    further = [answer.to_dict() for answer in own.further]
    for answer in further:
        trusted(answer, path, lone)
    found["device_file"] = taken(found["device_file"], changed, known, further)
    found["answers"] += further
    found["requests"] += own.requests
    found["written_bytes"] += own.written_bytes
    times = {"overhead_us": path.overhead_ns, "jitter_us": path.jitter_ns, "read_us": path.read.value}
    found["path"] = {name: rounded(time / 1e3) for name, time in times.items()}
    return json.dumps(found | {"admissible": not path.not_flash, "not_flash": path.not_flash or None})


def _measured(spec: dict[str, Any], progress: "Progress | None") -> _Measured | None:
    """Measures a drive; None if it is too small or its blocks are too large."""
    session = _native.Session(as_json(spec))
    if session.size_bytes < _MIN_BYTES or session.block_bytes > _MAX_BLOCK:
        return None
    bench = Bench(session, spec["seed"], progress)
    bench.size = min(bench.size, MAX_BYTES)
    high = bench.size / 2
    bench.expected_bytes = 3 * bench.size
    try:
        path = measured(bench, high)
        answers, by_bursts, read_back = asked(bench, path, high)
        unit = next((one.value for one in answers if one.key == "mapping_unit_bytes"), None)
        unit = unit if isinstance(unit, int) else None
        buffered = by_bursts.size.value > 0 or read_back.value > 0
        waits = by_bursts.flush_waits
        flash = cells.measured(bench, high, unit, discards=path.discards, waits=waits, buffered=buffered)
    except FlashweirError as error:
        if progress is None or STOPPED not in str(error):
            raise
        raise FlashweirError(f"{error}: there is no device file") from error
    further = [*answers, host_read(flash)]
    return _Measured(bench.requests, bench.written_bytes, path, further, by_bursts, read_back, flash)
