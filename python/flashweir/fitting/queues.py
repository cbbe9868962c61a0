"""Waits of Poisson arrivals at one server that takes the same time for each (M/D/1): commands at a drive's firmware.

All times are in service times, so that they depend on the share of time alone for which the server is busy.
"""

import math
from functools import cache

import numpy as np

# Busy shares of the tables; beyond the last one a load is none that lasts.
_BUSY = tuple(float(share) for share in np.linspace(0.0, 0.96, 49))
# Longest wait of the tables: beyond it the terms of the sum cancel each other.
_LONGEST = 24.0
_HALVINGS = 40


def mean_wait(busy: float) -> float:
    """Mean wait (Pollaczek and Khinchine) at a server that is busy for a share of the time; infinite from 1 on."""
    return busy / (2 * (1 - busy)) if busy < 1 else math.inf


def wait_quantile(busy: float, at: float) -> float:
    """The wait that a share `at` of arrivals do not exceed; at most 24 service times."""
    return float(np.interp(busy, _BUSY, _quantiles(at)))


@cache
def _quantiles(at: float) -> tuple[float, ...]:
    return tuple(_quantile(busy, at) for busy in _BUSY)


def _quantile(busy: float, at: float) -> float:
    if at <= 1 - busy:
        return 0.0
    low, high = 0.0, _LONGEST
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if share_within(busy, middle) < at else (low, middle)
    return high


def share_within(busy: float, wait: float) -> float:
    """Share of arrivals that wait no longer (Crommelin 1932; sums of up to 24 service times are right to 1e-4)."""
    total = 0.0
    for k in range(int(wait) + 1):
        since = busy * (wait - k)
        total += math.pow(-since, k) / math.factorial(k) * math.exp(since)
    return (1 - busy) * total
