"""Simulated drives of flashweir with one fault or none, and their twins. Other models come as lists (README.md)."""

import random
from collections.abc import Iterator

from research.active.truth import Drive

_FAULTS = {
    "mapping": (
        {"ftl.kind": "bast"},
        {"ftl.kind": "fast"},
        {"ftl.kind": "dftl", "ftl.cache_bytes": "16KiB"},
        {"ftl.kind": "dftl", "ftl.cache_bytes": "64KiB"},
    ),
    "collection": ({"gc.victim": "random"}, {"gc.victim": "fifo"}, {"gc.victim": "d-choices"}),
}


def simulated(count: int, seed: int) -> Iterator[Drive]:
    """So many drives; two in three have a fault."""
    for number in range(count):
        draw = random.Random(f"{seed} {number}")  # noqa: S311 - a bench
        preset = draw.choice(("mlc-2006", "slc-2006", "mqsim-mlc", "femu"))
        channels, dies = draw.choice((1, 2, 4, 8)), draw.choice((1, 2))
        settings: dict[str, object] = {"capacity": "64MiB", "channels": channels, "dies": dies, "planes": 1}
        settings["pages_per_block"] = 64 if channels * dies < 8 else 32  # noqa: PLR2004 - a few blocks on each die
        settings["op_ratio"] = draw.choice((0.1, 0.15, 0.28))
        fault = draw.choice(("", "mapping", "collection"))
        buffer = draw.choice((0, 32 << 10, 512 << 10, 1 << 20)) if draw.random() < 0.5 else 1 << 20  # noqa: PLR2004
        settings["buffer.bytes"] = buffer
        healthy = _name(preset, settings)
        target = _name(preset, settings | draw.choice(_FAULTS[fault])) if fault else healthy
        twins = {name: healthy if name == fault else target for name in _FAULTS}
        yield Drive(target, {}, twins, buffer, draw.choice((1, 4, 16)), f"sim {fault or 'healthy'}")


def _name(preset: str, settings: dict[str, object]) -> str:
    return ",".join([f"sim:{preset}", *(f"{key}={value}" for key, value in settings.items())])
