"""Draws drives with their labels: `python -m research.models.arrays.drives --count 160 --seed 1 > drives.jsonl`.

In each 15 drives, 4 are meant to be ill in each symptom; the labels are those of truth.py, never the intention. A
drive depends on the seed and on its number only. `borderline` names symptoms whose label hangs on little.
`--divisor 4` makes blocks and capacities a quarter, so that a diagnosis takes seconds.
"""

import argparse
import json
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial

import numpy as np

from research.models.arrays.parameters import Parameters
from research.models.arrays.truth import label

TARGET = "py:research/models/arrays/target.py:ArrayDrive"
SYMPTOMS = ("mapping", "collection", "buffer")
ROUND, ILL = 15, 4
STRIPES = 256
MAX_LANES = 16
STRIPE_KIB = range(1024, 2049)
MAX_BUFFER_KIB = 65536

Settings = dict[str, str]


class Draw:
    """Random choices of one drive."""

    def __init__(self, seed: int, number: int) -> None:
        self.random = np.random.default_rng([seed, 1, number])

    def one(self, *choices: object) -> str:
        """One of the choices, as text."""
        return str(choices[int(self.random.integers(len(choices)))])

    def chance(self, share: float) -> bool:
        """True in a share of the cases."""
        return bool(self.random.random() < share)

    def between(self, low: float, high: float) -> float:
        """A number, even on a scale of logarithms."""
        return float(np.exp(self.random.uniform(np.log(low), np.log(high))))

    def text(self, low: float, high: float) -> str:
        """The same as text of three digits."""
        return f"{self.between(low, high):.3g}"


def intended(seed: int, number: int) -> dict[str, bool]:
    """Symptoms that a drive is meant to have."""
    in_round = np.random.default_rng([seed, 0, number // ROUND])
    return {symptom: bool(in_round.permutation(ROUND)[number % ROUND] < ILL) for symptom in SYMPTOMS}


def draw(seed: int, number: int, divisor: int = 1) -> Settings:
    """Settings of a drive whose blocks and capacity are smaller by `divisor`, a power of two up to 8."""
    ill = intended(seed, number)
    d = Draw(seed, number)
    settings = _buffer(d, ill["buffer"], divisor) | _layout(d, divisor)
    settings |= _mapping(d, ill, settings)
    # Collection is ill by its victims, and healthy with fifo as well; bad victims with much spare are still bad.
    bad = ill["collection"]
    settings["victims"] = d.one("random", "poor") if bad else d.one("greedy", "greedy", "fifo")
    settings |= _collection(d, bad) | _times(d)
    settings["state"] = d.one("new", "full", "full", "used", "used", "used", "fragmented")
    settings["discard"] = d.one("true", "true", "true", "false")
    settings["seed"] = str(number + 1)
    return settings


def _buffer(d: Draw, ill: bool, divisor: int) -> Settings:
    destage = d.one("eager", "eager", "full", "idle")
    small = 1024 if destage == "full" else 256
    sizes = [size for size in (256, 512, 1024, 2048, 4096, 16384, 65536) if small <= size <= MAX_BUFFER_KIB // divisor]
    size = d.one(0, 0, 16, 32, 64) if ill else d.one(*sizes)
    return {"buffer_kib": size, "destage": destage, "flush_waits": d.one("true", "true", "false")}


def _layout(d: Draw, divisor: int) -> Settings:
    """Geometry: 256 stripes, of a size that makes a small capacity."""
    channels = int(d.one(1, 1, 2, 2, 4, 4, 8, 16))
    dies = int(d.one(*(count for count in (1, 2, 3, 4, 8, 16) if channels * count <= MAX_LANES)))
    page = int(d.one(4, 8, 16))
    row = channels * dies * page  # KiB
    sizes = [pages // divisor for pages in (8, 16, 32, 64, 128, 256) if row * pages in STRIPE_KIB]
    pages = int(d.one(*sizes))
    return {
        "channels": str(channels),
        "dies": str(dies),
        "page_kib": str(page),
        "block_pages": str(pages),
        "capacity_mib": str(row * pages * STRIPES // 1024),
    }


def _mapping(d: Draw, ill: dict[str, bool], settings: Settings) -> Settings:
    page = int(settings["page_kib"])
    entries_kib = int(settings["capacity_mib"]) * 1024 // page * 4 // 1024  # the whole map
    # Log blocks have no victims, so that a drive which is meant to collect badly has a map of pages.
    kind = d.one("coarse", "cached", *(() if ill["collection"] else ("bast", "fast", "bast")))
    if not ill["mapping"]:
        fine = page if ill["buffer"] or d.chance(0.4) else 4
        if d.chance(0.25):
            whole = entries_kib * page // fine
            return {"ftl": "cached", "mapping_kib": str(fine), "map_cache_kib": str(whole + page)}
        return {"ftl": "page", "mapping_kib": str(fine)}
    if kind == "coarse":
        return {"ftl": "page", "mapping_kib": d.one(*(size for size in (16, 32, 64) if size > page))}
    if kind == "cached":
        share = d.between(0.02, 0.4)
        return {"ftl": "cached", "mapping_kib": str(page), "map_cache_kib": str(max(page, int(entries_kib * share)))}
    return {"ftl": kind, "mapping_kib": str(page), "logs": d.one(0, 0, 4, 8, 16)}


def _collection(d: Draw, bad: bool) -> Settings:
    spare = d.between(0.05, 0.4) if bad else d.between(0.03, 0.4)
    beyond = int(STRIPES * spare) - 2
    early = max(1, int(beyond * d.between(0.1, 0.5)))
    return {
        "spare": f"{spare:.3f}",
        "reserve": d.one(1, 1, min(early, max(1, beyond - 2))),
        "idle_blocks": d.one(0, max(1, beyond // 4)),
        "collect": d.one("die", "die", "block", "paced"),
    }


def _times(d: Draw) -> Settings:
    hiccups = d.chance(0.4)
    return {
        "read_us": d.text(20, 90),
        "program_us": d.text(150, 1500),
        "erase_us": d.text(1000, 5000),
        "bus_mbps": d.text(100, 1200),
        "link_mbps": d.text(250, 3000),
        "overhead_us": d.text(3, 40),
        "idle_us": d.text(500, 20000),
        "noise": f"{d.random.uniform(0, 0.2):.3f}",
        "hiccup_rate": d.text(1e-4, 1e-3) if hiccups else "0",
        "hiccup_ms": d.text(2, 50),
    }


def target(settings: Settings) -> str:
    """The name of a target, from the top of the source tree."""
    return ",".join([TARGET, *(f"{key}={value}" for key, value in settings.items())])


def drive(seed: int, number: int, divisor: int = 1) -> dict[str, object]:
    """One drive with its labels."""
    settings = draw(seed, number, divisor)
    Parameters.read(settings)
    truth = label(settings)
    return {
        "target": target(settings),
        "labels": truth.labels,
        "parameters": settings,
        "saved": truth.saved,
        "absorbed_bytes": truth.absorbed_bytes,
        "borderline": truth.borderline,
    }


def drives(seed: int, count: int, workers: int = 1, divisor: int = 1) -> Iterator[dict[str, object]]:
    """Drives in the order of their numbers."""
    one = partial(drive, seed, divisor=divisor)
    if workers == 1:
        yield from map(one, range(count))
        return
    with ProcessPoolExecutor(workers) as pool:
        yield from pool.map(one, range(count))


def main() -> None:
    """Writes JSON lines to stdout, and the number of ill drives to stderr."""
    parser = argparse.ArgumentParser(description="Drives with labels, as JSON lines.")
    parser.add_argument("--count", type=int, default=160)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--divisor", type=int, choices=(1, 2, 4, 8), default=1, help="of blocks and capacities")
    options = parser.parse_args()
    ill = dict.fromkeys(SYMPTOMS, 0)
    for found in drives(options.seed, options.count, options.workers, options.divisor):
        sys.stdout.write(json.dumps(found) + "\n")
        sys.stdout.flush()
        labels = found["labels"]
        assert isinstance(labels, dict)  # noqa: S101 - for the type checker
        for symptom in SYMPTOMS:
            ill[symptom] += labels[symptom]
    sys.stderr.write(f"{options.count} drives; ill: {ill}\n")


if __name__ == "__main__":
    main()
