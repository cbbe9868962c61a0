"""Knee of a fill: bytes up to which sequential writes are faster."""

from dataclasses import dataclass

import numpy as np

from flashweir.diagnosis.active.session import Course

# Fewest points of the course on each side of a knee.
_MIN_SIDE = 3


@dataclass
class Knee:
    """The point at which two straight lines through a course meet."""

    volume: float
    """Bytes written up to the knee."""
    slower: float
    """Time of a byte behind the knee over that before it."""
    grain: float
    """Bytes between two points of the course."""


def knee(course: Course) -> Knee | None:
    """The knee of the two lines with the least squared error; None if the course is too short for two lines."""
    volume, time = course.volume, course.time_ns
    if len(volume) < 2 * _MIN_SIDE + 2:
        return None
    best = None
    for at in range(_MIN_SIDE, len(volume) - _MIN_SIDE):
        lines = np.column_stack([volume, np.maximum(volume - volume[at], 0.0)])
        slopes, *_ = np.linalg.lstsq(lines, time, rcond=None)
        error = float(np.square(lines @ slopes - time).sum())
        if slopes[0] > 0 and (best is None or error < best[0]):
            best = error, float(volume[at]), float(1 + slopes[1] / slopes[0])
    if best is None:
        return None
    return Knee(best[1], best[2], float(np.median(np.diff(volume))))
