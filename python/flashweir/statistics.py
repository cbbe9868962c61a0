"""Means with their confidence intervals."""

from collections.abc import Iterable
from typing import NamedTuple

_FEWEST = 2


class Estimate(NamedTuple):
    """A mean of `n` values with the ends of its interval, which are None for fewer than two values."""

    value: float
    low: float | None
    high: float | None
    n: int


def mean_interval(values: Iterable[float], confidence: float = 0.95) -> Estimate:
    """The mean of independent values and the interval of Student's t around it."""
    import numpy as np
    from scipy.special import stdtrit  # type: ignore[import-untyped]

    array = np.asarray(list(values), dtype=float)
    mean = float(array.mean())
    if array.size < _FEWEST:
        return Estimate(mean, None, None, int(array.size))
    half = float(stdtrit(array.size - 1, 0.5 + confidence / 2) * array.std(ddof=1) / np.sqrt(array.size))
    return Estimate(mean, mean - half, mean + half, int(array.size))
