"""Sizes and times as text: `64KiB` is 65536 bytes, `60us` is 60000 ns. What the engine reads, read the same here."""

import math
import re

_BYTES = {"PiB": 1 << 50, "TiB": 1 << 40, "GiB": 1 << 30, "MiB": 1 << 20, "KiB": 1 << 10, "B": 1}
_DECIMAL_BYTES = {"TB": 10**12, "GB": 10**9, "MB": 10**6, "kB": 10**3}
_NANOSECONDS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
_SCALES = _BYTES | _DECIMAL_BYTES | _NANOSECONDS
# A quantity with more digits is written with fewer where people read it.
_MANY_DIGITS = 5
_NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_QUANTITY = re.compile(rf"\s*(?P<number>{_NUMBER})\s*(?P<unit>[A-Za-z]+)\s*", re.ASCII)


def number_of(value: object) -> float | None:
    """A number, a size in bytes or a time in ns; None if the value is none of them."""
    if isinstance(value, bool):
        return None
    if isinstance(value, str) and (found := _QUANTITY.fullmatch(value)):
        scale = _SCALES.get(found["unit"])
        return None if scale is None else float(found["number"]) * scale
    if not isinstance(value, (int, float, str)):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def unit_of(value: object) -> str:
    """The unit of a text that is a size or a time, `KiB` of `64KiB`; empty otherwise."""
    found = _QUANTITY.fullmatch(value) if isinstance(value, str) else None
    return found["unit"] if found is not None and found["unit"] in _SCALES else ""


def kind_of(unit: str) -> str:
    """Whether a unit is one of sizes or of times; empty if it is none."""
    return "time" if unit in _NANOSECONDS else "size" if unit in _SCALES else ""


def write_like(number: float, example: str) -> str:
    """A number as text, of the kind that `example` is: a size, a time, or a plain number.

    Sizes and times are rounded to whole bytes and nanoseconds, and written in the largest unit that leaves them whole.
    """
    unit = unit_of(example)
    if not unit:
        return f"{number:.12g}"
    scales = _NANOSECONDS if unit in _NANOSECONDS else _BYTES
    whole = round(number)
    name = next((name for name, scale in scales.items() if whole >= scale and whole % scale == 0), list(scales)[-1])
    return f"{whole // scales[name]}{name}"


def shortened(text: str) -> str:
    """A size or time of many digits in four of them and the unit that suits: `52983169ns` is `52.98ms`.

    Any other text stays as it is.
    """
    number, unit = number_of(text), unit_of(text)
    if number is None or not unit or sum(sign.isdigit() for sign in text) <= _MANY_DIGITS:
        return text
    scales = _NANOSECONDS if unit in _NANOSECONDS else _BYTES
    name, scale = next(((name, scale) for name, scale in scales.items() if number >= scale), (unit, _SCALES[unit]))
    return f"{number / scale:.4g}{name}"
