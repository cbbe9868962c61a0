"""Simulated drives of which it is known what they are made of: probing is designed on some and measured on others."""

import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from flashweir import api

KIB, MIB = 1 << 10, 1 << 20
Purpose = Literal["design", "measure"]
_PRESETS = tuple(preset["name"] for preset in api.presets())
_FEWEST_BLOCKS, _MAX_BLOCKS = 24, 160
_LARGEST = 1 << 30
# Orders of static allocation, and of dynamic allocation.
_PLACING: tuple[Mapping[str, Any], ...] = (
    {},
    {},
    {},
    {"alloc.order": "CDWP"},
    {"alloc.order": "CPDW"},
    {"alloc.order": "CPWD"},
    {"alloc.order": "CWDP"},
    {"alloc.order": "WDPC"},
    {"alloc.kind": "dynamic"},
    {"alloc.kind": "dynamic", "alloc.mode": 1},
)


@dataclass(frozen=True)
class Drive:
    """A simulated drive: a preset's flash or drawn flash, and settings."""

    number: int
    device: str | None
    settings: Mapping[str, Any]

    @property
    def target(self) -> str:
        """The drive as the name of a target."""
        return ",".join(["sim:" + (self.device or ""), *(f"{key}={value}" for key, value in self.settings.items())])


def draw(purpose: Purpose, number: int, seed: int) -> Drive:
    """The drive of that number: the same for the same three arguments."""
    dice = random.Random(f"{purpose} {seed} {number}")  # noqa: S311  (nothing secret)
    device = dice.choice(_PRESETS) if dice.random() < 0.5 else None  # noqa: PLR2004
    timing: dict[str, Any] = {} if device else _flash(dice)
    while True:
        shape = {
            "channels": dice.choice([1, 2, 3, 4, 5, 6, 8, 10, 12, 16]),
            "chips": dice.choice([1, 1, 1, 2]),
            "dies": dice.choice([1, 2, 3, 4]),
            "planes": dice.choice([1, 1, 2]),
            "page": dice.choice([2, 4, 8, 16]) * KIB,
            "pages_per_block": dice.choice([32, 64, 96, 128, 192, 256]),
        }
        units = shape["channels"] * shape["chips"] * shape["dies"] * shape["planes"]
        block = shape["page"] * shape["pages_per_block"]
        most = min(_MAX_BLOCKS, _LARGEST // (units * block))
        if most >= _FEWEST_BLOCKS and shape["chips"] * shape["dies"] <= 4:  # noqa: PLR2004
            break
    # Not of whole blocks.
    capacity = int(units * block * dice.uniform(_FEWEST_BLOCKS, most)) // 4096 * 4096
    buffer = dice.choice([0, 0, 0.125, 0.25, 0.5, 1, 2, 4, 8])
    settings: dict[str, Any] = {
        **shape,
        "capacity": capacity,
        "op_ratio": round(dice.uniform(0.05, 0.3), 3),
        "buffer.bytes": min(int(buffer * MIB), capacity // 16) // shape["page"] * shape["page"],
        **timing,
        **dice.choice(_PLACING),
        # Many drives that are probed were used before.
        "precondition": dice.choice(["empty", "empty", "full", "steady"]),
    }
    return Drive(number, device, settings)


def _flash(dice: random.Random) -> dict[str, Any]:
    """Flash between one bit and three bits a cell, behind buses from slow to fast."""
    read, ratio = 10 ** dice.uniform(1.3, 2.0), 10 ** dice.uniform(0.6, 1.3)
    return {
        "timing.read": f"{read:.1f}us",
        "timing.program": f"{read * ratio:.1f}us",
        "timing.erase": f"{dice.choice([1500, 2000, 3000, 5000])}us",
        "timing.bus": round(10 ** dice.uniform(0.0, 1.4), 2),
    }
