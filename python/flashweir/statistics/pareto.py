"""The Pareto front: what nothing else is at least as good as in everything, and better in something."""

from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

from flashweir._native import ConfigError
from flashweir.statistics.columns import check_metrics

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

# Up to as many objectives a staircase is enough: one is the order of visits, two are the stairs.
_STAIRS = 3


def pareto(frame: "pl.DataFrame", objectives: Mapping[str, Literal["min", "max"]]) -> "pl.DataFrame":
    """The rows that no other row dominates, in their order.

    A row dominates another if it is no worse in any objective and better in at least one; so rows that tie in all of
    them stay together. A row in which an objective is null or NaN is never on the front.

    Args:
        frame: of runs, of a summary, or any other.
        objectives: a column and whether less ("min") or more ("max") of it is wanted.

    Raises:
        ConfigError: no objective, a column that is not there or holds no numbers, or another direction.
    """
    import numpy as np
    import polars as pl

    if not objectives:
        raise ConfigError("pareto: at least one objective is expected, such as {'iops': 'max'}")
    for metric, direction in objectives.items():
        if direction not in ("min", "max"):
            raise ConfigError(f"objective {metric}: `{direction}` is no direction; min or max is expected")
    check_metrics(frame, list(objectives))
    present = [metric for metric in objectives if metric in frame.columns]
    keep = np.zeros(frame.height, dtype=bool)
    if len(present) == len(objectives) and frame.height:
        columns = [frame[metric].cast(pl.Float64).to_numpy() for metric in objectives]
        signs = [1.0 if direction == "min" else -1.0 for direction in objectives.values()]
        keep = undominated(np.column_stack([sign * column for sign, column in zip(signs, columns, strict=True)]))
    return frame.filter(pl.Series(keep, dtype=pl.Boolean))


def undominated(costs: "Floats") -> "NDArray[np.bool_]":
    """Rows of `costs`, shape (rows, objectives), that no other row dominates; less is better. Rows with NaN are out."""
    import numpy as np

    keep = np.zeros(len(costs), dtype=bool)
    whole = np.flatnonzero(~np.isnan(costs).any(axis=1))
    # Equal rows stand or fall together, and sorted ones can be dominated by earlier ones only. Adding 0 makes -0 0.
    points, members = np.unique(costs[whole] + 0.0, axis=0, return_inverse=True)
    keep[whole] = _front(points)[members.reshape(-1)]
    return keep


def _front(points: "Floats") -> "NDArray[np.bool_]":
    """Mask of the rows, distinct and in lexical order, that no other row dominates."""
    return _by_stairs(points) if points.shape[1] <= _STAIRS else _by_sieve(points)


def _by_stairs(points: "Floats") -> "NDArray[np.bool_]":
    """Kung, Luccio and Preparata (1975): the front so far, seen along the first objective, is a staircase."""
    import numpy as np

    free = np.zeros(len(points), dtype=bool)
    padded = np.column_stack([np.zeros((len(points), _STAIRS - points.shape[1])), points])
    # Rising in the second objective, falling in the third.
    second: list[float] = []
    third: list[float] = []
    for place, (y, z) in enumerate(padded[:, 1:].tolist()):
        below = bisect_right(second, y)
        if below and third[below - 1] <= z:
            continue
        free[place] = True
        first = last = bisect_left(second, y)
        while last < len(second) and third[last] >= z:
            last += 1
        second[first:last], third[first:last] = [y], [z]
    return free


def _by_sieve(points: "Floats") -> "NDArray[np.bool_]":
    """Each row against the front so far, at once."""
    import numpy as np

    free = np.zeros(len(points), dtype=bool)
    front = np.empty_like(points)
    size = 0
    for place, point in enumerate(points):
        if not (front[:size] <= point).all(axis=1).any():
            front[size] = point
            size += 1
            free[place] = True
    return free
