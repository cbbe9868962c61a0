"""Dominated hypervolume of a front, and its expected improvement; less is better in every column."""

import math
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtr  # type: ignore[import-untyped]

from flashweir.statistics.pareto import undominated

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

# Cells of boxes and candidates that are computed at once.
_AT_ONCE = 4_000_000
_ROOT = math.sqrt(2 * math.pi)


def hypervolume(front: "Floats", reference: "Floats") -> float:
    """Volume between the points of a front, shape (points, goals), and a reference that is worse in every goal."""
    points = front[(front < reference).all(axis=1)]
    if not len(points):
        return 0.0
    if points.shape[1] == 1:
        return float(reference[0] - points.min())
    points = points[undominated(points)]
    points = points[np.argsort(points[:, -1], kind="stable")]
    edges = np.append(points[:, -1], reference[-1])
    return sum(
        float(edges[count] - edges[count - 1]) * hypervolume(points[:count, :-1], reference[:-1])
        for count in range(1, len(points) + 1)
        if edges[count] > edges[count - 1]
    )


def free_boxes(front: "Floats", reference: "Floats") -> "tuple[Floats, Floats]":
    """Disjoint boxes that cover what is below the reference and not dominated: lower and upper corners."""
    goals = len(reference)
    points = front[(front < reference).all(axis=1)]
    if goals == 1:
        upper = points.min() if len(points) else reference[0]
        return np.array([[-np.inf]]), np.array([[upper]])
    points = points[undominated(points)]
    points = points[np.argsort(points[:, -1], kind="stable")]
    edges = np.concatenate([[-np.inf], points[:, -1], [reference[-1]]])
    lows, highs = [], []
    for count in range(len(points) + 1):
        if not edges[count] < edges[count + 1]:
            continue
        low, high = free_boxes(points[:count, :-1], reference[:-1])
        ends = np.full((len(low), 1), edges[count]), np.full((len(low), 1), edges[count + 1])
        lows.append(np.hstack([low, ends[0]]))
        highs.append(np.hstack([high, ends[1]]))
    return np.vstack(lows), np.vstack(highs)


def expected_improvement(mean: "Floats", deviation: "Floats", boxes: "tuple[Floats, Floats]") -> "Floats":
    """Expected gain of hypervolume for each of many independent normal predictions, shape (candidates, goals).

    A prediction adds in each free box what it dominates there, a product over the goals (Emmerich et al. 2006).
    """
    low, high = boxes
    found = np.zeros(len(mean))
    step = max(1, _AT_ONCE // max(1, len(low)))
    for first in range(0, len(mean), step):
        part = slice(first, first + step)
        product = np.ones((len(mean[part]), len(low)))
        for goal in range(mean.shape[1]):
            centre, spread = mean[part, goal, None], deviation[part, goal, None]
            product *= _below(high[:, goal], centre, spread) - _below(low[:, goal], centre, spread)
        found[part] = product.sum(axis=1)
    return found


def _below(limit: "Floats", mean: "Floats", deviation: "Floats") -> "Floats":
    """Expected distance of a normal value below a limit; 0 where the limit is -inf."""
    safe = np.where(np.isfinite(limit), limit, 0.0)
    away = (safe - mean) / deviation
    found = (safe - mean) * ndtr(away) + deviation * np.exp(-0.5 * away * away) / _ROOT
    return np.where(np.isfinite(limit), np.maximum(found, 0.0), 0.0)
