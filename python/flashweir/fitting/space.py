"""The space that a fit searches, from `space.toml`: fixed settings, alternatives, and keys with ranges."""

import itertools
import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any


@dataclass(frozen=True)
class Key:
    """A number of the drive; it is searched on a log scale.

    Attributes:
        optional: True if only alternatives that name it have it.
        unless: field of the measurements that settles it.
    """

    name: str
    low: float
    high: float
    source: str
    optional: bool = False
    unless: str = ""

    def at(self, place: float) -> float:
        """The value at a place from 0 to 1."""
        inside = min(1.0, max(0.0, place))
        value = self.low * (self.high / self.low) ** inside
        return float(round(value)) if self.low >= _WHOLE_FROM else float(f"{value:.5g}")

    def place(self, value: float) -> float:
        """The place from 0 to 1 of a value."""
        return math.log(value / self.low) / math.log(self.high / self.low)

    def setting(self, value: float) -> object:
        """The value as the drive takes it."""
        return int(value) if self.low >= _WHOLE_FROM else value


@dataclass(frozen=True)
class Start:
    """One alternative of each choice."""

    names: tuple[str, ...]
    settings: Mapping[str, object]
    keys: tuple[Key, ...]


@dataclass(frozen=True)
class Solved:
    """The key that follows from the throughput at saturation."""

    key: Key
    start: float


# Keys whose range begins here or above are whole numbers.
_WHOLE_FROM = 20


@cache
def _table() -> dict[str, Any]:
    return tomllib.loads(resources.files("flashweir.fitting").joinpath("space.toml").read_text(encoding="utf-8"))


def solved() -> Solved:
    """The key that is solved for."""
    entry = _table()["solved"]
    key = Key(str(entry["key"]), float(entry["low"]), float(entry["high"]), str(entry["source"]))
    return Solved(key, float(entry["start"]))


def starts(given: Sequence[str] = ()) -> list[Start]:
    """Every combination of alternatives, the simplest first.

    Args:
        given: fields of the measurements, such as `raw`, that settle keys.
    """
    table = _table()
    rows, choices, fixed = table["key"], table["choice"], table["fixed"]
    keys = [
        Key(row["name"], float(row["low"]), float(row["high"]), row["source"], row.get("optional", False),
            row.get("unless", ""))
        for row in rows
    ]  # fmt: skip
    found: list[Start] = []
    for options in itertools.product(*(choice["options"] for choice in choices)):
        named = {name for option in options for name in option.get("keys", ())}
        settings: dict[str, object] = dict(fixed)
        for option in options:
            settings.update(option["set"])
        own = tuple(key for key in keys if key.unless not in given and (not key.optional or key.name in named))
        found.append(Start(tuple(str(option["name"]) for option in options), settings, own))
    return sorted(found, key=lambda start: len(start.keys))


def fixed() -> tuple[str, ...]:
    """Keys that every drive of the space has, and that are not searched."""
    entry = _table()["fixed"]
    return tuple(entry)
