"""Simulated drives of which it is known what is wrong with them: diagnosis learns from some and is measured on others.

A *healthy* drive maps pages, has spare space, collects the emptiest block and absorbs bursts in a buffer. A *fault*
changes the settings of one of the three, and nothing else. Drives to learn from have hardware drawn from ranges; drives
to measure on have the hardware of presets, other seeds and other shapes, none of which learning ever sees.
"""

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from flashweir import api

KIB, MIB = 1 << 10, 1 << 20
SYMPTOMS = ("mapping", "collection", "buffer")
Purpose = Literal["learn", "measure"]
# Presets to measure on, by their place in the list, for names of papers have no place here: all but one whose erases
# take no time, and two of single chips.
_LEFT_OUT = {7, 9, 11}
_PRESETS = tuple(preset["name"] for number, preset in enumerate(api.presets()) if number not in _LEFT_OUT)
# Workloads to learn from have spans and sizes of their own, and so have those to measure on.
_KINDS = ("random", "sizes", "hotcold", "zipf", "sequential", "windows", "ubuntu", "ntfs", "fat")
# Faults. Collection and mapping go together in no drive: block maps have no collection apart from their merges.
_ILLS: tuple[tuple[str, ...], ...] = (
    (),
    ("mapping",),
    ("collection",),
    ("buffer",),
    ("mapping", "buffer"),
    ("collection", "buffer"),
)
_WEIGHTS: dict[Purpose, tuple[int, ...]] = {"learn": (4, 6, 10, 4, 3, 5), "measure": (5, 5, 7, 4, 2, 2)}
"""Weight of each fault. Collection is learned from more, for few of its faults cost much."""


@dataclass(frozen=True)
class Drive:
    """A simulated drive with its workload, what is wrong with it, and how noisy its log is.

    `faults` gives for each symptom the settings that bring it about; `noise` is a share of a real device's jitter.
    """

    number: int
    workload: str
    device: str | None
    settings: Mapping[str, Any]
    faults: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    noise: float = 0.0
    seed: int = 0

    def with_faults(self, *symptoms: str) -> dict[str, Any]:
        """The settings with these faults and no others. None as a value takes a setting away."""
        merged = dict(self.settings)
        for symptom in symptoms:
            merged.update(self.faults[symptom])
        return {key: value for key, value in merged.items() if value is not None}


def draw(purpose: Purpose, number: int, seed: int) -> Drive:
    """The drive of that number: the same for the same three arguments."""
    dice = random.Random(f"{purpose} {seed} {number}")  # noqa: S311  (nothing secret)
    kind = _KINDS[dice.randrange(len(_KINDS))]
    capacity = (1024 if kind in _KINDS[5:] else dice.choice([96, 128, 192, 256])) * MIB
    device, settings = (None, _hardware(dice)) if purpose == "learn" else _preset(dice)
    settings["capacity"] = capacity
    settings["precondition"] = "empty"
    settings["op_ratio"] = round(dice.uniform(0.12, 0.3), 3)
    settings["buffer.bytes"] = dice.choice([1, 2, 4]) * MIB
    settings["gc.victim"] = dice.choice(["greedy", "greedy", "cost-benefit"])
    settings["gc.frontiers"] = dice.choice([1, 2])
    faults = {symptom: _fault(dice, symptom) for symptom in dice.choices(_ILLS, _WEIGHTS[purpose])[0]}
    if faults.get("mapping", {}).get("ftl.kind") == "dftl":
        settings["gc.frontiers"] = None
    noise = dice.choice([0.0, 0.1, 0.3] if purpose == "measure" else [0.0, 0.1, 0.3, 0.5])
    return Drive(number, _workload(dice, kind, capacity), device, settings, faults, noise, dice.randrange(1 << 30))


def _hardware(dice: random.Random) -> dict[str, Any]:
    """Flash and channels out of ranges that span cells of one bit (2006) and of three, whose pages differ."""
    program_us, read_us = 10 ** dice.uniform(2.1, 3.3), 10 ** dice.uniform(1.2, 2.3)
    steps = dice.choice([(1.0,), (1.0,), (1.0,), (1.0, dice.uniform(1.5, 4.0)), _three(dice)])
    return {
        "channels": dice.choice([2, 4, 6, 7, 9, 12, 16]),
        "dies": dice.choice([1, 1, 1, 2, 2, 4, 8]),
        "planes": dice.choice([1, 1, 1, 2, 4]),
        "page": dice.choice([2, 4, 4, 8, 16]) * KIB,
        "pages_per_block": dice.choice([64, 96, 128, 192, 256]),
        "timing.read": [f"{round(read_us * step**0.4)}us" for step in steps],
        "timing.program": [f"{round(program_us * step)}us" for step in steps],
        "timing.erase": f"{dice.choice([1200, 1500, 2000, 3000, 4000])}us",
        "timing.bus": dice.choice([0.0, round(10 ** dice.uniform(0.0, 1.5), 2)]),
        "timing.command": f"{dice.choice([0, 0, 10, 30, 60, 120])}us",
    }


def _three(dice: random.Random) -> tuple[float, float, float]:
    return 1.0, dice.uniform(1.5, 3.0), dice.uniform(3.0, 8.0)


def _preset(dice: random.Random) -> tuple[str, dict[str, Any]]:
    """The hardware of a preset, with another number of channels than it has or learning draws in most cases."""
    settings: dict[str, Any] = {"channels": dice.choice([3, 5, 8, 10])}
    return dice.choice(_PRESETS), settings


def _fault(dice: random.Random, symptom: str) -> dict[str, Any]:
    if symptom == "mapping":
        kind = dice.choice(["log-block", "bast", "fast", "kast", "fast", "bast", "dftl"])
        if kind == "dftl":
            return {"ftl.kind": kind, "ftl.cache_bytes": dice.choice([8, 16, 32]) * KIB}
        spare = dice.choice([None, 0.03, 0.06, 0.1])
        few = {} if spare is None else {"op_ratio": spare}
        return {"ftl.kind": kind, "gc.victim": None, "gc.frontiers": None, **few}
    if symptom == "collection":
        kind = dice.choice(["spare", "spare", "victim", "both"])
        found: dict[str, Any] = {}
        if kind != "victim":
            found["op_ratio"] = dice.choice([0.01, 0.015, 0.02, 0.03])
        if kind != "spare":
            found["gc.victim"] = dice.choice(["random", "fifo"])
            found["gc.frontiers"] = 1
        return found
    kind = dice.choice(["none", "small", "small", "through"])
    if kind == "none":
        return {"buffer.bytes": 0}
    if kind == "small":
        return {"buffer.bytes": dice.choice([8, 16, 32]) * KIB}
    return {"buffer.ack": "flash"}


def _workload(dice: random.Random, kind: str, capacity: int) -> str:
    seed = dice.randrange(1 << 30)
    span = int(capacity * dice.uniform(0.6, 0.95)) // (64 * KIB) * 64 * KIB
    rounds = dice.uniform(1.2, 3.5)
    if kind in ("windows", "ubuntu"):
        mean = dice.choice([16, 24, 40] if kind == "windows" else [20, 40, 80])
        count = min(90_000, int(rounds * capacity / (mean * KIB)))
        return f"desktop:os={kind},span=1GiB,mean={mean}KiB,count={count},seed={seed}"
    if kind in ("ntfs", "fat"):
        mean = dice.choice([28, 40, 56])
        return f"filecopy:fs={kind},span=1GiB,mean={mean}KiB,count={int(rounds * capacity / (mean * KIB))},seed={seed}"
    sizes, mean_kib = dice.choice([("4KiB", 4), ("8KiB", 8), ("4KiB|16KiB:0.3", 7.6), ("4KiB|16KiB|64KiB", 28)])
    if kind == "sequential":
        sizes, mean_kib = dice.choice([("64KiB", 64), ("16KiB", 16), ("128KiB", 128)])
    count = max(2_000, min(90_000, int(rounds * capacity / (mean_kib * KIB))))
    common = f"span={span},size={sizes},count={count},seed={seed}"
    if kind == "sequential":
        return f"sequential:span={span},size={sizes},count={count}"
    if kind == "hotcold":
        hot = dice.choice(
            ["hot_share=0.05,hot_writes=0.95", "hot_share=0.2,hot_writes=0.8", "hot_share=0.02,hot_writes=0.7"]
        )
        return f"hotcold:{common},{hot},layout={dice.choice(['together', 'scattered'])}"
    if kind == "zipf":
        return f"zipf:{common},theta={dice.choice([0.8, 1.0, 1.2])},layout={dice.choice(['together', 'scattered'])}"
    align = ",align=512" if kind == "sizes" and dice.random() < 0.5 else ""  # noqa: PLR2004
    return f"random:{common}{align}"
