"""Sizes and times as text: `64KiB` is 65536 bytes, `60us` is 60000 ns. The engine reads them."""

import math

from flashweir._native import quantity, quantity_units

_SCALES = {name: scale for _, name, scale in quantity_units()}
_KINDS = {name: kind for kind, name, _ in quantity_units()}
# The units in which quantities are written, the largest first.
_WRITTEN = {
    "size": ("PiB", "TiB", "GiB", "MiB", "KiB", "B"),
    "time": ("s", "ms", "us", "ns"),
}
# A quantity with more digits is written with fewer where people read it.
_MANY_DIGITS = 5


def number_of(value: object) -> float | None:
    """A number, a size in bytes or a time in ns; None if the value is none of them."""
    if isinstance(value, bool):
        return None
    if isinstance(value, str) and (found := quantity(value)) is not None:
        return found[0]
    if not isinstance(value, (int, float, str)):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def unit_of(value: object) -> str:
    """The unit of a text that is a size or a time, `KiB` of `64KiB`; empty otherwise."""
    found = quantity(value) if isinstance(value, str) else None
    return "" if found is None else found[1]


def kind_of(unit: str) -> str:
    """True if a unit is one of sizes or of times; empty if it is none."""
    return _KINDS.get(unit, "")


def write_like(number: float, example: str) -> str:
    """A number as text, of the kind that `example` is: a size, a time, or a plain number.

    Sizes and times are rounded to whole bytes and nanoseconds, and written in the largest unit that leaves them whole.
    """
    kind = kind_of(unit_of(example))
    if not kind:
        return f"{number:.12g}"
    whole = round(number)
    names = _WRITTEN[kind]
    name = next((name for name in names if whole >= _SCALES[name] and whole % _SCALES[name] == 0), names[-1])
    return f"{whole // _SCALES[name]}{name}"


def shortened(text: str) -> str:
    """A size or time of many digits in four of them and the unit that suits: `52983169ns` is `52.98ms`.

    Any other text stays as it is.
    """
    number, unit = number_of(text), unit_of(text)
    if number is None or not unit or sum(sign.isdigit() for sign in text) <= _MANY_DIGITS:
        return text
    name = next((name for name in _WRITTEN[kind_of(unit)] if number >= _SCALES[name]), unit)
    return f"{number / _SCALES[name]:.4g}{name}"
