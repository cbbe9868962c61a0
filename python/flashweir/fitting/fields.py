"""Fields of TOML tables, checked; every message names the file, the place and what was expected."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeGuard

from flashweir._native import ConfigError

_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(B|[KMGT]i?B)?\s*")
_FACTORS = {"B": 1} | {f"{sign}iB": 1 << 10 * (at + 1) for at, sign in enumerate("KMGT")}
_FACTORS |= {f"{sign}B": 1000 ** (at + 1) for at, sign in enumerate("KMGT")}
# Largest number that a measurement may have.
_MAX = 1e18


@dataclass(frozen=True)
class Fields:
    """A table of a file, and where it is."""

    values: Mapping[str, object]
    place: str

    def refuse(self, key: str, expected: str) -> ConfigError:
        """The error of a field."""
        given = f": {self.values[key]!r}" if key in self.values else ""
        return ConfigError(f"{self.place}: {key}{given}: expected {expected}")

    def only(self, known: Sequence[str]) -> None:
        """Refuses fields that mean nothing."""
        for key in self.values:
            if key not in known:
                raise ConfigError(f"{self.place}: unknown field {key!r}: expected one of {', '.join(known)}")

    def number(self, key: str, default: float | None = None, *, low: float = 0.0, high: float = _MAX) -> float:
        """A number within limits."""
        value = self.values.get(key, default)
        if not _is_number(value) or not low <= value <= high:
            at_most = "" if high == _MAX else f" to {high:g}"
            raise self.refuse(key, f"a number from {low:g}{at_most}")
        return float(value)

    def whole(self, key: str, default: int | None = None, *, low: int = 1, high: int = 1 << 20) -> int:
        """A whole number within limits."""
        value = self.values.get(key, default)
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise self.refuse(key, f"a whole number from {low:,} to {high:,}")
        return value

    def size(self, key: str, default: int | None = None) -> int:
        """Bytes, as a whole number or a text such as `4KiB`."""
        value = self.values.get(key, default)
        found = size_of(value) if isinstance(value, str) else value
        if isinstance(found, bool) or not isinstance(found, int) or not 1 <= found <= 1 << 60:
            raise self.refuse(key, "bytes, such as 4096, 4KiB or 960GB")
        return found

    def choice(self, key: str, default: str, choices: Sequence[str]) -> str:
        """One of several words."""
        value = self.values.get(key, default)
        if value not in choices:
            raise self.refuse(key, f"one of {', '.join(choices)}")
        return str(value)

    def text(self, key: str, default: str) -> str:
        """A text."""
        value = self.values.get(key, default)
        if not isinstance(value, str) or not value:
            raise self.refuse(key, "a text")
        return value

    def table(self, key: str) -> "Fields":
        """A table inside of this one."""
        value = self.values.get(key)
        if not isinstance(value, Mapping):
            raise self.refuse(key, "a table")
        return Fields(value, f"{self.place}: {key}")

    def numbers(self, key: str, count: int | None = None, *, gaps: bool = False) -> list[float]:
        """A list of numbers that are not negative; with `gaps`, nan stands for one that is not known."""
        value = self.values.get(key)
        expected = "a list of numbers" if count is None else f"a list of {count} numbers"
        if not isinstance(value, list) or (count is not None and len(value) != count):
            raise self.refuse(key, expected)
        found = [float(one) for one in value if (_is_number(one) and 0 <= one <= _MAX) or (gaps and _is_gap(one))]
        if len(found) != len(value):
            raise self.refuse(key, f"{expected}, none of them negative")
        return found


def size_of(text: str) -> int | None:
    """Bytes of a text such as `960GB`; None if it is none."""
    found = _SIZE.fullmatch(text)
    return None if found is None else round(float(found[1]) * _FACTORS[found[2] or "B"])


def _is_gap(value: object) -> TypeGuard[float]:
    return isinstance(value, float) and math.isnan(value)


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
