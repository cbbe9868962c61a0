"""The space that a fit searches, from `space.toml`: fixed settings, alternatives, and keys with ranges."""

import itertools
import math
import tomllib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

# Keys whose range begins here or above are whole numbers.
_WHOLE_FROM = 20
# Beginning of the name of a key that gives page types different times.
SPREAD = "spread of "
# Part of measurements without the throughput that the solved key follows from.
UNSATURATED = "unsaturated"


@dataclass(frozen=True)
class Key:
    """A number of the drive; it is searched on a log scale.

    Attributes:
        optional: True if only alternatives that name it have it.
        unless: parts of the measurements of which each settles it.
        needs: part of the measurements without which it has no effect.
        also: keys that have the same value.
        near: metric whose lowest value times `factor` is a first guess.
    """

    name: str
    low: float
    high: float
    source: str
    optional: bool = False
    unless: tuple[str, ...] = ()
    needs: str = ""
    also: tuple[str, ...] = ()
    near: str = ""
    factor: float = 1.0
    is_whole: bool = False

    def at(self, place: float) -> float:
        """The value at a place from 0 to 1."""
        inside = min(1.0, max(0.0, place))
        value = self.low * (self.high / self.low) ** inside
        return float(round(value)) if self.is_whole else float(f"{value:.5g}")

    def place(self, value: float) -> float:
        """The place from 0 to 1 of a value."""
        return min(1.0, max(0.0, math.log(value / self.low) / math.log(self.high / self.low)))

    def setting(self, value: float) -> object:
        """The value as the drive takes it."""
        return int(value) if self.is_whole else value


@dataclass(frozen=True)
class Start:
    """One alternative of each choice."""

    names: tuple[str, ...]
    settings: Mapping[str, object]
    keys: tuple[Key, ...]

    def drive(self, places: Sequence[float]) -> dict[str, object]:
        """Settings at places of the keys, in their order."""
        found = dict(self.settings)
        spreads: dict[str, float] = {}
        for key, place in zip(self.keys, places, strict=True):
            value = key.at(place)
            if key.name.startswith(SPREAD):
                spreads[key.name.removeprefix(SPREAD)] = value
                continue
            for name in (key.name, *key.also):
                found[name] = key.setting(value)
        for name, spread in spreads.items():
            if name in found:
                found[name] = by_page_type(float(str(found[name])), spread)
            else:
                # Of the key that is solved for.
                found[SPREAD + name] = spread
        return found


@dataclass(frozen=True)
class Solved:
    """The key that follows from the throughput at saturation."""

    key: Key
    start: float


def by_page_type(middle: float, spread: float) -> list[int]:
    """Times of lower, middle and upper pages."""
    return [round(middle / spread), round(middle), round(middle * spread)]


@cache
def _table() -> dict[str, Any]:
    return tomllib.loads(resources.files("flashweir.fitting").joinpath("space.toml").read_text(encoding="utf-8"))


def _key(row: Mapping[str, Any]) -> Key:
    near = row.get("near", {})
    return Key(
        name=str(row["name"]),
        low=float(row["low"]),
        high=float(row["high"]),
        source=str(row["source"]),
        optional=bool(row.get("optional", False)),
        unless=tuple(row.get("unless", ())),
        needs=str(row.get("needs", "")),
        also=tuple(row.get("also", ())),
        near=str(near.get("metric", "")),
        factor=float(near.get("factor", 1.0)),
        is_whole=bool(row.get("whole", row["low"] >= _WHOLE_FROM)),
    )


def solved() -> Solved:
    """The key that is solved for."""
    entry = _table()["solved"]
    return Solved(_key({**entry, "name": entry["key"]}), float(entry["start"]))


def settled() -> Key:
    """The key that follows from write amplification."""
    entry = _table()["settled"]
    return _key({**entry, "name": entry["key"]})


@cache
def held() -> tuple[Key, ...]:
    """Keys of writes that are held back in phases."""
    return tuple(_key(row) for row in _table()["held"])


def starts(given: Collection[str] = ()) -> list[Start]:
    """Every combination of alternatives, the simplest first.

    Args:
        given: parts of the measurements, such as `raw`, that settle keys or give them an effect; `UNSATURATED` makes
            the solved key one that is searched.
    """
    table = _table()
    keys = [_key(row) for row in table["key"]] + ([solved().key] if UNSATURATED in given else [])
    found: list[Start] = []
    for options in itertools.product(*(choice["options"] for choice in table["choice"])):
        named = {name for option in options for name in option.get("keys", ())}
        settings: dict[str, object] = dict(table["fixed"])
        for option in options:
            settings.update(option["set"])
        own = tuple(
            key
            for key in keys
            if not set(key.unless) & set(given)
            and (not key.needs or key.needs in given)
            and (not key.optional or key.name in named)
        )
        for key in keys:
            if key.needs and key.needs not in given:
                settings.setdefault(key.name, key.setting(key.at(0.5)))
        found.append(Start(tuple(str(option["name"]) for option in options), settings, own))
    return sorted(found, key=lambda start: len(start.keys))


def fixed() -> tuple[str, ...]:
    """Keys that every drive of the space has, and that are not searched."""
    entry = _table()["fixed"]
    return tuple(entry)
