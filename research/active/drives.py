"""Drives with one fault or none, and their twins: flashweir's, and the tests' model. Others are lists (README.md)."""

import random
from collections.abc import Iterator
from pathlib import Path

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
        preset = draw.choice(("mlc-2006", "slc-2006", "ssdsim", "femu"))
        channels, dies = draw.choice((1, 2, 4, 8)), draw.choice((1, 2))
        # Every die has enough blocks for a log.
        capacity = 64 * max(1, channels * dies // 4)
        settings: dict[str, object] = {"capacity": f"{capacity}MiB", "channels": channels, "dies": dies, "planes": 1}
        settings["pages_per_block"] = 32
        settings["op_ratio"] = draw.choice((0.1, 0.15, 0.28))
        fault = draw.choice(("", "mapping", "collection"))
        buffer = draw.choice((0, 32 << 10, 512 << 10, 1 << 20)) if draw.random() < 0.5 else 1 << 20  # noqa: PLR2004
        settings["buffer.bytes"] = buffer
        healthy = _name(preset, settings)
        target = _name(preset, settings | draw.choice(_FAULTS[fault])) if fault else healthy
        twins = {name: healthy if name == fault else target for name in _FAULTS}
        yield Drive(target, {}, twins, buffer, draw.choice((1, 4, 16)), f"sim {fault or 'healthy'}")


def modelled(count: int, seed: int) -> Iterator[Drive]:
    """So many drives of the model with which the thresholds were developed: new and used, with noise and hiccups."""
    model = Path(__file__).resolve().parents[2] / "python" / "tests" / "model_drive.py"
    # Every value is a line of a table of chances: what is listed twice is twice as likely.
    faults = ("none", "none", "static", "unit", "blocks", "cache", "random", "fifo", "early")
    for number in range(count):
        draw = random.Random(f"{seed} {number}")  # noqa: S311 - a bench
        fault, page = draw.choice(faults), draw.choice((4, 8, 16))
        settings: dict[str, object] = {"mib": 32, "page": page, "unit": draw.choice((4, page))}
        settings |= {"dies": draw.choice((1, 2, 4, 8, 16)), "pages": draw.choice((32, 64)), "seed": number}
        settings |= {"spare": draw.choice((0.05, 0.1, 0.15, 0.28)), "used": draw.choice((0, 0, 1, 3))}
        settings |= {"noise": draw.choice((0, 0.05, 0.1, 0.2)), "hiccup": draw.choice((0, 0, 0.0005, 0.002))}
        buffer = draw.choice((0, 16, 64, 128, 512, 1024, 1024, 2048))
        own: dict[str, dict[str, object]] = {
            "unit": {"unit": draw.choice((32, 64)), "pages": 8},
            "blocks": {"log": draw.choice((0.05, 0.1, 0.2, 0.28))},
            "cache": {"cached": draw.choice((1, 2, 4, 8))},
            "early": {"early": draw.choice((0.2, 0.4, 0.6))},
        }
        settings |= {"pages": 8} if fault == "unit" else {}
        names = {
            ill: f"py:{model}:Drive,fault={ill},buffer={buffer},"
            + ",".join(f"{key}={value}" for key, value in (settings | own.get(ill, {})).items())
            for ill in (fault, "none")
        }
        target = names[fault]
        healthy = {"mapping": ("unit", "blocks", "cache"), "collection": ("random", "fifo", "early")}
        twins = {name: names["none"] if fault in ills else target for name, ills in healthy.items()}
        yield Drive(target, {}, twins, buffer << 10, draw.choice((1, 4, 16)), f"model {fault}")


def _name(preset: str, settings: dict[str, object]) -> str:
    return ",".join([f"sim:{preset}", *(f"{key}={value}" for key, value in settings.items())])
