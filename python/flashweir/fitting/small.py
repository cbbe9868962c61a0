"""Small drives in steady state: the dies and over-provisioning of a drive with a part of its blocks.

Write amplification and the times of requests depend on the share of spare space and on the dies, hardly on how many
blocks a unit has; a drive of a thousandth of the capacity is in steady state in a tenth of a second.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any

from flashweir._native import ConfigError
from flashweir.api import schema
from flashweir.drive import Drive
from flashweir.fitting.points import Point
from flashweir.fitting.traffic import threads

Settings = Mapping[str, object]

# Logical blocks of a unit. Write amplification, which depends on them most, is measured apart.
BLOCKS = 48
# Sizes that a key may have as a text.
_TEXTS = ("page",)


def unsupported(point: Point) -> str | None:
    """Reason for which a point is not predicted; None if it is."""
    if point.workload.open_zones is not None:
        return "zones are trimmed before they are written again: not simulated yet"
    if point.workload.pattern == "zipf":
        return "zipf addresses: not simulated yet"
    if point.workload.size % 512:
        return "sizes are multiples of 512 bytes"
    return None


def check(base: str | None, settings: Settings) -> None:
    """Refuses a drive that can't be.

    Raises:
        ConfigError: its message names the key.
    """
    units(base, settings)


@cache
def _complete(base: str | None, settings: tuple[tuple[str, object], ...]) -> dict[str, Any]:
    """The configuration of a drive of the smallest capacity that its geometry has."""
    given = {**dict(settings), "precondition": "empty"}
    given.pop("capacity", None)
    with Drive(base, set=given) as drive:
        return drive.config


def page(base: str | None, settings: Settings) -> int:
    """Bytes of a page."""
    return _bytes(settings.get("page", _complete(base, ())["page"]))


def has_buffer(base: str | None, settings: Settings) -> bool:
    """True for a drive with a write buffer."""
    return _bytes(settings.get("buffer.bytes", _complete(base, ())["buffer"]["bytes"])) > 0


def units(base: str | None, settings: Settings) -> tuple[int, int]:
    """Units of a drive, and bytes of their blocks."""
    shape = ("channels", "chips", "dies", "planes", "units", "planes_bound", "page", "pages_per_block")
    chosen = tuple((key, settings[key]) for key in shape if key in settings)
    config = _complete(base, chosen)
    page = _bytes(config["page"])
    count = config["channels"] * config["chips"] * config["dies"] * config["planes"]
    block = page * config["pages_per_block"]
    if config.get("planes_bound"):
        count, block = count // config["planes"], block * config["planes"]
    if config.get("units") == "synchronized":
        count, block = count // config["channels"], block * config["channels"]
    return count, block


def capacity(base: str | None, settings: Settings, real: int | None) -> int:
    """Bytes of the small drive: that of a drive that is smaller yet."""
    count, block = units(base, settings)
    small = count * block * BLOCKS
    return small if real is None else min(small, real)


def make(base: str | None, settings: Settings, point: Point, real: int | None, seed: int) -> Drive:
    """A small drive in the steady state of a point's workload, with a queue for each of its threads.

    Raises:
        ConfigError: a drive that can't be.
        FlashweirError: it can't be brought into steady state.
    """
    own: dict[str, object] = {
        "capacity": capacity(base, settings, real),
        "precondition": "steady",
        "host.queues": "none",
    }
    if point.workload.used_share < 1:
        own["fill"] = point.workload.used_share
    names = [f"thread{number}" for number in range(threads(point))]
    return Drive(base, set={**settings, **own}, seed=seed, tenants=names)


def same_state(left: Point, right: Point) -> bool:
    """True if a fork of the drive of one point is the drive of another."""
    return (threads(left), left.workload.used_share, left.workload.pattern) == (
        threads(right),
        right.workload.used_share,
        right.workload.pattern,
    )


def _bytes(value: object) -> int:
    if isinstance(value, int):
        return value
    from flashweir.fitting.fields import size_of

    found = size_of(str(value))
    if found is None:
        raise ConfigError(f"{value!r}: expected bytes")
    return found


@cache
def known_keys() -> frozenset[str]:
    """Keys of a drive."""
    return frozenset(str(key["name"]) for key in schema()["x-keys"])
