"""The order of an axis' values, and whether they suit a log axis."""

import math
from collections.abc import Hashable, Iterable, Sequence
from itertools import pairwise
from typing import TypeVar

from flashweir.quantity import number_of

T = TypeVar("T", bound=Hashable)

# Only values whose largest is so many times their smallest gain by a log axis.
_WIDE = 8.0
_FEW = 3
# Powers of at least this number, whose steps differ by no more than this share.
_POWER, _EVEN = 1.5, 0.05


def ordered(values: Iterable[T]) -> list[T]:
    """Each value once: by number if all are numbers, otherwise in the order given."""
    once = list(dict.fromkeys(values))
    numbers = [number_of(value) for value in once]
    if any(number is None for number in numbers):
        return once
    ranks = {value: number for value, number in zip(once, numbers, strict=True) if number is not None}
    return sorted(once, key=lambda value: ranks[value])


def log_spaced(numbers: Iterable[float]) -> bool:
    """True if numbers, such as 1, 4, 16, are spread evenly on a log axis rather than on a linear one."""
    ascending = sorted(set(numbers))
    if len(ascending) < 2 or ascending[0] <= 0:  # noqa: PLR2004 - two ends
        return False
    if _powers(ascending):
        return True
    if ascending[-1] / ascending[0] < _WIDE:
        return False
    if len(ascending) < _FEW:
        return True
    # On the right axis their places grow by equal steps.
    return _straightness([math.log(number) for number in ascending]) > _straightness(ascending)


def _powers(ascending: Sequence[float]) -> bool:
    """True for at least three numbers, each about the same multiple, of 1.5 or more, of the one before."""
    steps = [after / before for before, after in pairwise(ascending)]
    return len(steps) + 1 >= _FEW and min(steps) >= _POWER and max(steps) <= min(steps) * (1 + _EVEN)


def _straightness(ascending: Sequence[float]) -> float:
    """Fit of a line to the values in their order: the correlation of value and rank."""
    middle, mean = (len(ascending) - 1) / 2, sum(ascending) / len(ascending)
    together = sum((rank - middle) * (value - mean) for rank, value in enumerate(ascending))
    ranks = sum((rank - middle) ** 2 for rank in range(len(ascending)))
    values = sum((value - mean) ** 2 for value in ascending)
    return together / math.sqrt(ranks * values) if ranks and values else 0.0
