"""Drives drawn at random with true labels, as JSON lines.

`python -m research.models.processes.drives [COUNT [SEED [FIRST]]]`; FIRST is the number of the first drive.
"""

import json
import math
import sys
from collections.abc import Iterator
from random import Random
from typing import Any

from research.models.processes.settings import Settings
from research.models.processes.truth import SYMPTOMS, Truth, truth

COUNT, SEED, FIRST = 160, 2031, 0
MAX_ATTEMPTS = 40  # draws for one drive
MIN_MARGIN = 0.05  # between a saving and its limit: closer to it a label is a matter of luck
TARGET = "py:research/models/processes/drive.py:ProcessDrive"
# Bad parts of one in 16 drives each: every symptom in a quarter of the drives, a buffer also beside the others.
INTENTS = ("", "m", "c", "b", "", "m", "c", "mb", "", "m", "c", "b", "", "cb", "", "")
VICTIMS = ("greedy", "greedy", "cost-benefit", "window", "fifo")
LOG_VICTIMS = ("greedy", "fifo")
MIN_PAGES, MAX_PAGES = 8, 128  # of a block
KIB, MIB = 1 << 10, 1 << 20


def is_bad(intent: str, symptom: str) -> bool:
    """True if an intent names a symptom, by its first letter."""
    return symptom[0] in intent


def _happens(random: Random, share: float) -> bool:
    return random.random() < share


def draw(random: Random, intent: str) -> Settings:
    """A drive that should have the symptoms of an intent."""
    choice = random.choice
    capacity = choice((64, 64, 64, 128, 128, 128, 256, 256, 512, 1024)) * MIB
    dies = choice((1, 2, 4, 8, 16))
    channels = choice([count for count in (1, 2, 4, 8, 16) if count <= dies])
    page = choice((4, 8, 16)) * KIB
    parts = _mapping(random, page, capacity, is_bad=is_bad(intent, "mapping"))
    parts["spare"] = round(math.exp(random.uniform(math.log(0.03), math.log(0.4))), 3)
    is_fine = 0 < parts["unit"] < page
    parts["superblock"] = dies > 1 and (is_fine or _happens(random, 0.4))
    is_page_map = parts["mapping"] in ("page", "cached")
    parts["parity"] = parts["superblock"] and is_page_map and _happens(random, 0.4)
    width = dies if parts["superblock"] else 1
    parts["pages_per_block"] = _pages_per_block(capacity * width // dies, width * page, parts["spare"])
    parts |= _collection(random, is_page_map=is_page_map, is_bad=is_bad(intent, "collection"))
    frame = max(page, parts["unit"])
    parts |= _buffer(random, capacity, page, frame, is_bad=is_bad(intent, "buffer"))
    parts |= _times(random, page) | _disturbance(random)
    return Settings(
        capacity=capacity,
        page=page,
        channels=channels,
        dies=dies // channels,
        slc=int(capacity * random.uniform(0.01, 0.05)) // frame * frame if _happens(random, 0.25) else 0,
        order=choice(("reads", "reads", "arrival")),
        suspend=_happens(random, 0.4),
        discard=_happens(random, 0.7),
        state=random.choices(("new", "full", "used", "fragmented"), (4, 2, 3, 2))[0],
        seed=random.randrange(1, 1 << 16),
        **parts,
    )


def _mapping(random: Random, page: int, capacity: int, *, is_bad: bool) -> dict[str, Any]:
    fine = random.choice((0, 4 * KIB)) if page > 4 * KIB else 0
    translation = capacity // ((fine or page) // 8)  # bytes of all translation pages
    if not is_bad:
        if _happens(random, 0.15):
            return {"mapping": "cached", "unit": fine, "map_cache": 2 * translation + 16 * (fine or page)}
        return {"mapping": "page", "unit": fine}
    kind = random.choice(("own", "shared", "few", "block", "cached", "coarse"))
    if kind == "cached":
        cache = int(translation * random.uniform(0.02, 0.5))
        return {"mapping": "cached", "unit": fine, "map_cache": cache}
    if kind == "coarse":
        return {"mapping": "page", "unit": page * random.choice((2, 4, 8))}
    if kind == "block":
        return {"mapping": "block", "unit": 0, "chain": random.randint(1, 4)}
    return {"mapping": "hybrid", "unit": 0, "log_share": {"own": 1, "shared": 0, "few": random.randint(2, 8)}[kind]}


def _pages_per_block(group_bytes: int, row_bytes: int, spare: float) -> int:
    """Pages of a block of one die, so few that the spare space is some blocks."""
    pages = MAX_PAGES
    while pages > MIN_PAGES and pages * row_bytes > group_bytes * spare / 6:
        pages //= 2
    return pages


def _collection(random: Random, *, is_page_map: bool, is_bad: bool) -> dict[str, Any]:
    victims = random.choice(("worst", "worst", "random") if is_bad else VICTIMS if is_page_map else LOG_VICTIMS)
    return {
        "victims": victims,
        "window": random.randint(2, 6) if victims == "worst" else random.randint(12, 40),
        "separate": _happens(random, 0.6),
        "collect": random.choice(("foreground", "background")),
        "chunk": random.choice((0, 2, 4, 8)),
    }


def _buffer(random: Random, capacity: int, page: int, frame: int, *, is_bad: bool) -> dict[str, Any]:
    size = random.choice([size for size in (0, 0, 16 * KIB, 32 * KIB, 64 * KIB) if not size or size >= page])
    if not is_bad:
        # Room for 256 KiB in 4 KiB requests, each of which may take a unit.
        least = 256 * KIB * frame // (4 * KIB)
        size = int(math.exp(random.uniform(math.log(least), math.log(max(least, capacity // 8)))))
    return {
        "buffer": size // frame * frame if size >= frame else size,
        "protected": _happens(random, 0.5),
        "flushing": random.choice(("full", "watermark", "watermark", "idle")),
    }


def _times(random: Random, page: int) -> dict[str, Any]:
    program_us = round(random.uniform(200, 1300) if page > 4 * KIB else random.uniform(200, 600))
    return {
        "read_us": float(random.randint(25, 90)),
        "program_us": float(program_us),
        "slc_program_us": float(round(program_us * random.uniform(0.2, 0.5))),
        "erase_us": float(random.randrange(1500, 8001, 100)),
        "controller_us": float(random.randint(3, 40)),
        "idle_ms": float(random.choice((1, 5, 20, 100))),
        "link_mbps": float(random.choice((150, 300, 550, 1500, 3000))),
        "channel_mbps": float(random.choice((40, 100, 200, 400, 800))),
    }


def _disturbance(random: Random) -> dict[str, Any]:
    return {
        "noise": round(random.uniform(0, 0.2), 3) if _happens(random, 0.6) else 0.0,
        "jitter": round(random.uniform(0, 0.2), 3) if _happens(random, 0.6) else 0.0,
        "hiccup_s": round(random.uniform(0.5, 5), 2) if _happens(random, 0.3) else 0.0,
        "hiccup_ms": float(random.randint(20, 150)),
    }


def labelled(seed: int, number: int) -> tuple[Settings, Truth]:
    """The drive of a number: the first draw whose true labels are those intended, by a clear margin."""
    intent = INTENTS[number % len(INTENTS)]
    wanted = {symptom: is_bad(intent, symptom) for symptom in SYMPTOMS}
    for attempt in range(MAX_ATTEMPTS):
        settings = draw(Random(f"{seed} {number} {attempt}"), intent)  # noqa: S311 - no secret
        found = truth(settings)
        if found.labels == wanted and found.margin() >= MIN_MARGIN:
            return settings, found
    raise RuntimeError(f"drive {number} of seed {seed}: {MAX_ATTEMPTS} draws without the labels {wanted}")


def lines(count: int, seed: int, first: int = FIRST) -> Iterator[str]:
    """Drives as JSON: number, target, labels (True is bad), savings and parameters."""
    for number in range(first, first + count):
        settings, found = labelled(seed, number)
        texts = settings.texts()
        target = ",".join([TARGET, *(f"{key}={value}" for key, value in texts.items())])
        row = {"number": number, "target": target, "labels": found.labels, "savings": found.savings}
        yield json.dumps({**row, "parameters": texts})


def main(arguments: list[str]) -> int:
    """Prints the drives as they are found."""
    defaults = (COUNT, SEED, FIRST)
    if len(arguments) > len(defaults) or not all(text.isdecimal() for text in arguments):
        print("error: expected a number of drives, a seed and the number of the first drive", file=sys.stderr)
        return 2
    count, seed, first = (*map(int, arguments), *defaults[len(arguments) :])
    for line in lines(count, seed, first):
        print(line, flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
