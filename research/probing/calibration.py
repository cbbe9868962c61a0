"""Calibration of the probe: of answers that are so sure, how many are right, on the models of `research/models`."""

import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flashweir._native import FlashweirError
from flashweir.probing import probe
from flashweir.quantity import number_of
from research.diagnosis.measure import Share
from research.models.arrays.parameters import Parameters
from research.models.processes.settings import Settings
from research.probing.bench import KEYS

KIB = 1 << 10
# Ends of the bins of `sure`.
BINS = ((0.0, 0.35), (0.35, 0.55), (0.55, 0.75), (0.75, 0.95), (0.95, 1.01))
# Keys that requests show on drives whose pages move: where a page lies is seen on none of these.
SHOWN = ("mapping_unit_bytes", "buffer.bytes", "flush_waits", "map_cache_bytes", "slc_cache_bytes")
_SURE = 0.75
# Errors within which the sizes of caches count as right: a map cache holds entries of 4 to 8 bytes.
_WIDE = {"map_cache_bytes": 1.0, "slc_cache_bytes": 0.3}


@dataclass(frozen=True)
class Answered:
    """An answer to a key whose truth is known."""

    key: str
    sure: float
    right: bool
    noiseless: bool
    drive: str
    value: object = None
    truth: object = None


def truth_of(target: str, texts: Mapping[str, str]) -> tuple[dict[str, object], bool]:
    """Keys of a drive, and true if it has no noise."""
    if "/arrays/" in target:
        one = Parameters.read(texts)
        flash = (one.page_kib * KIB, one.channels, one.dies, one.block_pages, one.spare)
        times = (one.read_us, one.program_us, one.erase_us)
        pages = one.ftl in ("page", "cached")
        found = {"mapping_unit_bytes": one.mapping_kib * KIB} if pages else {}
        found["map_cache_bytes"] = one.map_cache_kib * KIB if one.ftl == "cached" else 0
        found |= {"buffer.bytes": one.buffer_kib * KIB, "slc_cache_bytes": 0, "flush_waits": one.flush_waits}
        return found | _flash(flash, times), not (one.noise or one.hiccup_rate)
    other = Settings.parse(dict(texts))
    flash = (other.page, other.channels, other.dies, other.pages_per_block, other.spare)
    times = (other.read_us, other.program_us, other.erase_us)
    found = {"mapping_unit_bytes": other.unit_bytes} if other.mapping in ("page", "cached") else {}
    found["map_cache_bytes"] = other.map_cache if other.mapping == "cached" else 0
    found |= {"buffer.bytes": other.buffer, "slc_cache_bytes": other.slc, "flush_waits": not other.protected}
    return found | _flash(flash, times), not (other.noise or other.jitter or other.hiccup_s)


def _flash(flash: tuple[float, ...], times: tuple[float, ...]) -> dict[str, object]:
    names = ("page", "channels", "dies", "pages_per_block", "op_ratio")
    timed = {f"timing.{name}": us * 1e3 for name, us in zip(("read", "program", "erase"), times, strict=True)}
    return {**dict(zip(names, flash, strict=True)), **timed}


def is_right(key: str, value: object, truth: object) -> bool:
    """If an answer is within its error."""
    if isinstance(truth, bool) or isinstance(value, bool) or value is None:
        return value == truth
    found, true = number_of(value) if not isinstance(value, list) else None, number_of(truth)
    if found is None or true is None:
        return False
    if key.startswith("timing."):
        found = float(str(value).removesuffix("ns"))
    return abs(found - true) <= _WIDE.get(key, KEYS) * true


def answers(line: Mapping[str, Any]) -> Iterator[Answered]:
    """The answers of the probe on one drive of a list."""
    truth, noiseless = truth_of(line["target"], line["parameters"])
    for answer in probe(line["target"]).to_dict()["answers"]:
        if answer["key"] in truth:
            key, true = answer["key"], truth[answer["key"]]
            right = is_right(key, answer["value"], true)
            yield Answered(key, answer["sure"], right, noiseless, line["target"], answer["value"], true)


def lines(found: list[Answered]) -> Iterator[str]:
    """Share that is right by `sure`, by key, and what is answered of what requests show."""
    for low, high in BINS:
        mine = [one.right for one in found if low <= one.sure < high]
        yield f"sure {low:.2f} to {min(high, 1):.2f}: right {Share(sum(mine), len(mine))}"
    for key in sorted({one.key for one in found}):
        sure = [one.right for one in found if one.key == key and one.sure >= _SURE]
        count = sum(one.key == key for one in found)
        yield f"  {key}: sure of {len(sure)} of {count}, {sum(sure)} of them right"
    shown = [one.sure >= _SURE for one in found if one.noiseless and one.key in SHOWN]
    yield f"of what requests show of noiseless drives, sure: {Share(sum(shown), len(shown))}"


def main(arguments: list[str]) -> int:
    """Probes the drives of lists: `python -m research.probing.calibration DRIVES.jsonl... [FIRST:LAST]`."""
    found: list[Answered] = []
    span = slice(*(int(part) for part in arguments.pop().split(":"))) if ":" in arguments[-1] else slice(None)
    for path in arguments:
        for text in Path(path).read_text(encoding="utf-8").splitlines()[span]:
            try:
                mine = list(answers(json.loads(text)))
            except FlashweirError as error:
                print(f"failed: {error}")
                continue
            found += mine
            for one in mine:
                if one.sure >= _SURE and not one.right:
                    said = f"{one.key} is {one.truth}, said {one.value} (sure {one.sure:.2f})"
                    print(f"{said}: {one.drive}", flush=True)
    for line in lines(found):
        print(line)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
