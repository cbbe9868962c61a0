"""Steady state by SNIA's Performance Test Specification: a window of five rounds that hardly changes.

Section 3.3 of PTS 2.0: over the window, largest less smallest value is at most 20% of the mean, and the least-squares
line rises or falls by at most 10% of the mean from its first round to its last.
"""

from collections.abc import Sequence
from dataclasses import dataclass

WINDOW = 5
MAX_ROUNDS = 25
MAX_RANGE, MAX_SLOPE = 0.20, 0.10


@dataclass(frozen=True)
class Window:
    """The window of rounds that counts: numbers from 1 on, the mean, and how far the values move in it."""

    first: int
    last: int
    mean: float
    range: float
    slope: float
    steady: bool

    def to_dict(self) -> dict[str, object]:
        """The window as JSON; `range` and `slope` are shares of the mean."""
        return {"first_round": self.first, "last_round": self.last, "mean": self.mean, "range": self.range,
                "slope": self.slope, "steady": self.steady}  # fmt: skip


def last_window(values: Sequence[float]) -> Window:
    """The last five rounds (all, if there are fewer), and whether they are steady."""
    some = list(values[-WINDOW:])
    mean = sum(some) / len(some)
    middle = (len(some) - 1) / 2
    across = sum((at - middle) ** 2 for at in range(len(some)))
    slope = sum((at - middle) * value for at, value in enumerate(some)) / across if across else 0.0
    span = (max(some) - min(some)) / mean if mean else 0.0
    change = abs(slope) * (len(some) - 1) / mean if mean else 0.0
    steady = len(some) == WINDOW and span <= MAX_RANGE and change <= MAX_SLOPE
    return Window(len(values) - len(some) + 1, len(values), mean, span, change, steady)
