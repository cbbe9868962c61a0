"""The order of an axis' values, and the number behind a text such as `64KiB` or `60us`."""

import math
import re
from collections.abc import Hashable, Iterable, Sequence
from typing import TypeVar

T = TypeVar("T", bound=Hashable)

# The units that drives and workloads take (crates/trace/src/quantity.rs), in bytes and nanoseconds.
_UNITS = {
    "": 1.0,
    "B": 1.0,
    "kB": 1e3,
    "MB": 1e6,
    "GB": 1e9,
    "TB": 1e12,
    "KiB": float(1 << 10),
    "MiB": float(1 << 20),
    "GiB": float(1 << 30),
    "TiB": float(1 << 40),
    "PiB": float(1 << 50),
    "ns": 1.0,
    "us": 1e3,
    "ms": 1e6,
    "s": 1e9,
}
_QUANTITY = re.compile(r"\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*([A-Za-z]*)\s*", re.ASCII)
# Only values whose largest is so many times their smallest gain by a log axis.
_WIDE = 8.0
_FEW = 3


def numeric(value: object) -> float | None:
    """The number of bytes, nanoseconds or plain number that a value says; None for words, truth values and None."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, (int, float)):
        number = float(value)
    else:
        found = _QUANTITY.fullmatch(str(value))
        if found is None or found[2] not in _UNITS:
            return None
        number = float(found[1]) * _UNITS[found[2]]
    return number if abs(number) < float("inf") else None


def unit(value: object) -> str:
    """The unit of a text that is a number with one, `KiB` of `64KiB`; empty otherwise."""
    found = _QUANTITY.fullmatch(str(value)) if isinstance(value, str) else None
    return found[2] if found is not None and found[2] in _UNITS else ""


def ordered(values: Iterable[T]) -> list[T]:
    """Each value once: by number if all are numbers, otherwise in the order given."""
    once = list(dict.fromkeys(values))
    numbers = [numeric(value) for value in once]
    if any(number is None for number in numbers):
        return once
    ranks = {value: number for value, number in zip(once, numbers, strict=True) if number is not None}
    return sorted(once, key=lambda value: ranks[value])


def log_spaced(numbers: Iterable[float]) -> bool:
    """Whether numbers, such as 1, 4, 16, are spread evenly on a log axis rather than on a linear one."""
    ascending = sorted(set(numbers))
    if len(ascending) < 2 or ascending[0] <= 0 or ascending[-1] / ascending[0] < _WIDE:  # noqa: PLR2004 - two ends
        return False
    if len(ascending) < _FEW:
        return True
    # On the right axis their places grow by equal steps.
    return _straightness([math.log(number) for number in ascending]) > _straightness(ascending)


def _straightness(ascending: Sequence[float]) -> float:
    """How well a line fits the values in their order: the correlation of value and rank."""
    middle, mean = (len(ascending) - 1) / 2, sum(ascending) / len(ascending)
    together = sum((rank - middle) * (value - mean) for rank, value in enumerate(ascending))
    ranks = sum((rank - middle) ** 2 for rank in range(len(ascending)))
    values = sum((value - mean) ** 2 for value in ascending)
    return together / math.sqrt(ranks * values) if ranks and values else 0.0
