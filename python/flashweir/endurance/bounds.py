"""Bounds of an extrapolated end."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

# Distance of an extrapolated end from its bounds, at least.
_LEAST = 0.005
# The same, at most in tolerances of the wear, of an end that is near its bounds.
_AGREE = 2.0
# Ends by bisection are the same up to this.
_SAME = 1e-8


@dataclass(frozen=True)
class Bound:
    """A number of bytes, with the least and the most that an extrapolation leaves open."""

    low: float
    best: float
    high: float

    @property
    def error(self) -> float:
        """The larger one of both distances, as a share."""
        if not math.isfinite(self.best):
            return 0.0
        return max(self.high / self.best - 1, 1 - self.low / self.best) if self.best > 0 else 0.0


def bound(best: float, others: Sequence[float], simulated: float = math.inf) -> Bound:
    """Of an end by the course and by its bounds: two of the wear, and two of the differences between blocks.

    An end beyond what was `simulated` is extrapolated: it lies beyond it, and has bounds.
    """
    if best <= simulated and all(math.isclose(one, best, rel_tol=_SAME) for one in others):
        return Bound(best, best, best)
    low = high = 0.0
    for pair in (others[:2], others[2:]):
        high += max(0.0, *(one - best for one in pair))
        low += max(0.0, *(best - one for one in pair))
    least = _LEAST * best
    reached = simulated if best > simulated else 0.0
    return Bound(max(best - max(low, least), reached), best, best + max(high, least))


def near(tolerance: float) -> float:
    """Distance up to which an end is near its bounds, as a share: no bounds are nearer than the least."""
    return max(_AGREE * tolerance, _LEAST)
