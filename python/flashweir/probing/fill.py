"""Knee of a fill: bytes up to which writes in order are faster."""

from dataclasses import dataclass

import numpy as np

from flashweir.diagnosis.active.session import Course

# Points of the course on each side of a knee.
_SIDE = 3


@dataclass
class Knee:
    """Two straight lines through a course."""

    volume: float
    """Bytes at which they meet."""
    slower: float
    """Time of a byte behind the knee over that before it."""
    grain: float
    """Bytes between two points of the course."""


def knee(course: Course) -> Knee | None:
    """The two lines that meet and are nearest to the course by least squares; None of a course too short for two."""
    volume, time = course.volume, course.time_ns
    if len(volume) < 2 * _SIDE + 2:
        return None
    best = None
    for at in range(_SIDE, len(volume) - _SIDE):
        lines = np.column_stack([volume, np.maximum(volume - volume[at], 0.0)])
        slopes, *_ = np.linalg.lstsq(lines, time, rcond=None)
        error = float(np.square(lines @ slopes - time).sum())
        if slopes[0] > 0 and (best is None or error < best[0]):
            best = error, float(volume[at]), float(1 + slopes[1] / slopes[0])
    if best is None:
        return None
    return Knee(best[1], best[2], float(np.median(np.diff(volume))))
