"""A Gaussian process over the designs of a search: predicts a metric with its uncertainty from the designs run so far.

Matern kernel (5/2) with a length for each dimension (Rasmussen and Williams 2006, section 5.1), which are those of the
highest posterior density. A dimension has places from 0 to 1, or names, which are alike or not.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np
from scipy.linalg import cho_factor, cho_solve, solve_triangular  # type: ignore[import-untyped]
from scipy.optimize import minimize  # type: ignore[import-untyped]

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_ROOT = 5**0.5
# Prior of the logarithms of lengths and of noise over variance: mean and standard deviation.
_LENGTH, _NOISE = (-0.3, 0.9), (-7.0, 2.5)
_BOUNDS, _NOISE_BOUNDS = (-3.5, 3.5), (-14.0, 0.0)
# Designs that lengths are fitted to at most; predictions are made from all.
_FITTED = 240
_SMALL = 1e-10


def distances(left: "Floats", right: "Floats", ordered: "NDArray[np.bool_]") -> "Floats":
    """Squared differences by dimension, shape (dimensions, left, right); of names 1 where they differ."""
    apart = left.T[:, :, None] - right.T[:, None, :]
    return np.where(ordered[:, None, None], apart * apart, (apart != 0).astype(float))


def _kernel(squares: "Floats", lengths: "Floats") -> "tuple[Floats, Floats]":
    """Covariances, and the factor of their derivatives by the logarithm of each length."""
    distance = _ROOT * np.sqrt(np.tensordot(lengths**-2.0, squares, 1))
    fall = np.exp(-distance)
    return (1 + distance + distance * distance / 3) * fall, (5 / 3) * (1 + distance) * fall


@dataclass(frozen=True)
class Scale:
    """Transformation of a metric: its logarithm where all values are above 0, and then mean 0, deviation 1."""

    log: bool
    mean: float
    deviation: float

    @classmethod
    def of(cls, values: "Floats", *, log: bool) -> Self:
        """The scale of some values."""
        shown = np.log(values) if log else values
        return cls(log, float(shown.mean()), float(shown.std()) or 1.0)

    def to(self, values: "Floats") -> "Floats":
        """Values on the scale."""
        return ((np.log(values) if self.log else values) - self.mean) / self.deviation


class Surrogate:
    """Predictions of one metric, whose values are on a `Scale`."""

    def __init__(
        self, places: "Floats", values: "Floats", ordered: "NDArray[np.bool_]", start: "Floats | None" = None
    ) -> None:
        """Fits lengths and noise.

        Args:
            places: shape (designs, dimensions).
            values: shape (designs,).
            ordered: of each dimension, True if its places are numbers.
            start: `parameters` of an earlier fit, to begin with.
        """
        self._ordered = ordered
        dimensions = places.shape[1]
        chosen = np.arange(len(values))[-_FITTED:]
        squares = distances(places[chosen], places[chosen], ordered)
        begins = [np.append(np.full(dimensions, length), noise) for length, noise in ((-0.7, -6.0), (0.5, -3.0))]
        begins = begins if start is None else [start, begins[0]]
        bounds = [_BOUNDS] * dimensions + [_NOISE_BOUNDS]
        fits = [
            minimize(_cost, begin, (squares, values[chosen]), jac=True, method="L-BFGS-B", bounds=bounds,
                     options={"maxiter": 40})
            for begin in begins
        ]  # fmt: skip
        self.parameters: Floats = min(fits, key=lambda fit: float(fit.fun)).x
        self._set(places, values)

    def _set(self, places: "Floats", values: "Floats") -> None:
        self._places, self._values = places, values
        matrix = _kernel(distances(places, places, self._ordered), np.exp(self.parameters[:-1]))[0]
        matrix[np.diag_indices_from(matrix)] += np.exp(self.parameters[-1]) + _SMALL
        self._factor = cho_factor(matrix, lower=True)
        self._weights = cho_solve(self._factor, values)
        self._variance = max(float(values @ self._weights) / len(values), 1e-6)

    def with_one(self, place: "Floats", value: float) -> "Surrogate":
        """The same with one value more, which is believed: lengths stay as they are."""
        found = object.__new__(Surrogate)
        found._ordered, found.parameters = self._ordered, self.parameters
        found._set(np.vstack([self._places, place]), np.append(self._values, value))
        return found

    def predict(self, places: "Floats") -> "tuple[Floats, Floats]":
        """Mean and standard deviation at each place, without the noise."""
        cross = _kernel(distances(places, self._places, self._ordered), np.exp(self.parameters[:-1]))[0]
        solved = solve_triangular(self._factor[0], cross.T, lower=True)
        left = np.maximum(1.0 - (solved * solved).sum(axis=0), _SMALL)
        return cross @ self._weights, np.sqrt(self._variance * left)


def _cost(parameters: "Floats", squares: "Floats", values: "Floats") -> "tuple[float, Floats]":
    """Negative logarithm of the posterior density without constants, and its gradient."""
    lengths, noise = np.exp(parameters[:-1]), np.exp(parameters[-1])
    kernel, slope = _kernel(squares, lengths)
    count = len(values)
    kernel[np.diag_indices_from(kernel)] += noise + _SMALL
    try:
        factor = cho_factor(kernel, lower=True)
    except np.linalg.LinAlgError:
        return 1e10, np.zeros_like(parameters)
    weights = cho_solve(factor, values)
    variance = max(float(values @ weights) / count, 1e-12)
    cost = 0.5 * count * np.log(variance) + float(np.log(np.diag(factor[0])).sum())
    outer = cho_solve(factor, np.eye(count)) - np.outer(weights, weights) / variance
    gradient = np.empty_like(parameters)
    for at, length in enumerate(lengths):
        gradient[at] = 0.5 * float((outer * slope * squares[at]).sum()) / length**2
    gradient[-1] = 0.5 * float(np.trace(outer)) * noise
    centres = np.append(np.full(len(lengths), _LENGTH[0]), _NOISE[0])
    spreads = np.append(np.full(len(lengths), _LENGTH[1]), _NOISE[1])
    away = (parameters - centres) / spreads
    return cost + 0.5 * float(away @ away), gradient + away / spreads
