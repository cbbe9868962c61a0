"""Differences of wear between blocks, beyond what was simulated.

Blocks that are erased at rates of their own form a *class*: never written data keeps its blocks at no erases, and the
others share the rest. Gaps in the distribution of erases divide the classes; each keeps the rate of its mean that it
had in the last piece. Within a class, chance decides: the erases of a block go on from where they are as a random walk
does. Their variance grows with the mean wear m as a + b m + c m^2, fitted to the last stretches. b is chance; c, rates
of single blocks, is 0 unless the stretches say otherwise by more than sampling explains; a is what levelling leaves.
Erases are whole numbers: blocks of one rate differ by one at times, and rates that differ less than that don't show.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Counts = Sequence[tuple[float, float]]

# Stretches that the variance is fitted to.
_FITTED = 4
# Distance of the means of two classes in standard deviations within them; the more where one has few blocks.
_APART, _FAR_APART, _FEW = 4.0, 8.0, 0.02
_CLASSES = 6
# Decrease of the squared error by which rates of single blocks are believed, in variances of sampling.
_BELIEVED = 6.0
# The sampling error of a covariance of two pieces, as a share of the variance, is so many times 1 / sqrt(blocks).
_SAMPLING = 4.0
# Quantiles of the most erased block: the middle, and 95% of it for the bounds.
_LARGEST = {0: 0.5, 1: 0.975, -1: 0.025}
# Equally likely places of a normal distribution that stand for it.
_NODES = 9
_BISECTIONS = 30
# Deviations that no block is from its place.
_NEVER = 10.0
_TINY = 1e-9


class Point(Protocol):
    """State of the blocks at the end of a stretch."""

    @property
    def mean(self) -> float:
        """Mean of erases over blocks."""

    @property
    def counts(self) -> tuple[tuple[float, float], ...]:
        """Numbers of erases, in order, with the share of the blocks that have them."""

    @property
    def width(self) -> float:
        """Numbers of erases that one of `counts` stands for."""


@dataclass(frozen=True)
class Class:
    """Blocks of about one rate, at the end of the last stretch, where the mean over all blocks is `at`.

    `rate` is the growth of their mean for each erase of the mean of all blocks, `lower` what is left of it if it goes
    on to approach 1. `chance` and `rates` are the coefficients b and c of their variance, `sampled` the error of c.
    `width` is that of a bin where the blocks are in two of them at most, else 0: the most erased one is ahead of the
    mean by up to a bin, now and later.
    """

    values: Array
    weights: Array
    at: float
    rate: float
    lower: float
    chance: float
    rates: float
    sampled: float
    width: float = 0.0

    @property
    def share(self) -> float:
        """Share of all blocks."""
        return float(self.weights.sum())

    @property
    def mean(self) -> float:
        """Mean of their erases."""
        return float(self.values @ self.weights) / self.share

    @property
    def variance(self) -> float:
        """Variance of their erases."""
        return float((self.values - self.mean) ** 2 @ self.weights) / self.share

    def later(self, mean: float, side: int) -> tuple[Array, float]:
        """Erases of its blocks when the mean over all is `mean`, and the deviation that chance adds to each.

        `side` is 1 for the upper bound of the differences, -1 for the lower one, 0 between.
        """
        more = mean - self.at
        known, chance, rates = self.variance, self.chance, self.rates
        if side > 0:
            rates += self.sampled
        elif side < 0:
            rates = 0.0
            chance = max(0.0, chance - self.sampled * self.at)
        stretch = 1.0 + (rates * self.at * more / known if known > 0 else 0.0)
        variance = known + chance * more + rates * (mean * mean - self.at * self.at)
        added = math.sqrt(max(variance - known * stretch * stretch, 0.0))
        rate = self.lower if side < 0 else self.rate
        centre = self.mean
        ahead = self.values - centre
        if self.width and side:
            ahead = ahead + (self.width - ahead.max()) if side > 0 else np.zeros_like(ahead)
        return np.maximum(centre + rate * more + ahead * stretch, 0.0), added


@dataclass(frozen=True)
class Spread:
    """Classes of the blocks of a drive; `blocks` are those that are erased each for itself."""

    classes: tuple[Class, ...]
    blocks: float

    def beyond(self, mean: float, cycles: float, side: int) -> float:
        """Share of the blocks with at least so many erases when the mean is `mean`."""
        from scipy.special import ndtr  # type: ignore[import-untyped]

        total = 0.0
        for one in self.classes:
            values, added = one.later(mean, side)
            if added <= _TINY:
                total += float(one.weights[values >= cycles * (1 - _TINY)].sum())
            else:
                total += float(one.weights @ ndtr((values - cycles) / added))
        if side:
            # As many of a sample may be beyond, of which some other sample has this share.
            total += side * 2.0 * math.sqrt(max(total * (1.0 - total), 0.0) / self.blocks)
        return min(max(total, 0.0), 1.0)

    def most(self, mean: float, side: int) -> float:
        """Erases of the most erased block: their median, or a quantile for the bounds."""
        from scipy.special import log_ndtr

        later = [(*one.later(mean, side), one.weights) for one in self.classes]
        top = max(float(values.max()) for values, _, _ in later)
        if all(added <= _TINY for _, added, _ in later):
            return top
        values = np.concatenate([values for values, _, _ in later])
        added = np.concatenate([np.full(len(values), max(added, _TINY)) for values, added, _ in later])
        # Blocks that are far below matter to no quantile.
        near = values + _NEVER * added >= top
        values, added = values[near], added[near]
        blocks = self.blocks * np.concatenate([weights for _, _, weights in later])[near]
        low, high = top - _NEVER * float(added.max()), top + _NEVER * float(added.max())
        wanted = math.log(_LARGEST[side])
        for _ in range(_BISECTIONS):
            middle = (low + high) / 2
            if float(blocks @ log_ndtr((middle - values) / added)) < wanted:
                low = middle
            else:
                high = middle
        return high

    def distribution(self, mean: float, side: int) -> tuple[Array, Array]:
        """Numbers of erases, in order, with the shares of blocks that have them."""
        from scipy.special import ndtri

        nodes = ndtri((np.arange(_NODES) + 0.5) / _NODES)
        nodes /= math.sqrt(float(nodes @ nodes) / _NODES)
        values, weights = [], []
        for one in self.classes:
            centres, added = one.later(mean, side)
            if added <= _TINY:
                values.append(centres)
                weights.append(one.weights)
                continue
            values.append(np.maximum((centres[:, None] + added * nodes[None, :]).ravel(), 0.0))
            weights.append(np.repeat(one.weights / _NODES, _NODES))
        all_values, all_weights = np.concatenate(values), np.concatenate(weights)
        order = np.argsort(all_values, kind="stable")
        return all_values[order], all_weights[order]


def fitted(points: Sequence[Point], blocks: float) -> Spread | None:
    """The classes of the last stretch, with their growth over the stretches; None if no block is known."""
    some = [one for one in points if one.mean > 0 and one.counts][-_FITTED:]
    if not some:
        return None
    parts = [_arrays(one.counts) for one in some]
    widths = [one.width for one in some]
    cuts = _cuts(*parts[-1], _rounding(widths[-1]))
    classes = []
    for low, high in itertools.pairwise(cuts):
        of_class = [_between(values, weights, low, high) for values, weights in parts]
        classes.append(_class(of_class, [one.mean for one in some], widths, max(blocks * (high - low), 2.0)))
    return Spread(tuple(classes), blocks)


def _arrays(counts: Counts) -> tuple[Array, Array]:
    values, weights = (np.array(one, dtype=np.float64) for one in zip(*counts, strict=True))
    return values, weights / weights.sum()


def _rounding(width: float) -> float:
    """Variance of a number of erases within its bin."""
    return width * width / 12


def _hidden(variance: float, width: float) -> float:
    """Variance that rounding may hide or make up: where blocks are in two bins side by side, as much as in one."""
    return _rounding(width) if variance <= width * width / 4 + _TINY else 0.0


def _cuts(values: Array, weights: Array, rounding: float) -> list[float]:
    """Shares of the blocks below each class, from 0 to 1: the widest gap first, until none is wide."""
    cuts = [0.0, 1.0]
    while len(cuts) <= _CLASSES:
        found = [(low, _cut(*_between(values, weights, low, high), rounding)) for low, high in itertools.pairwise(cuts)]
        known = [(one[0], low + one[1]) for low, one in found if one is not None]
        if not known:
            break
        cuts = sorted([*cuts, max(known)[1]])
    return cuts


def _cut(values: Array, weights: Array, rounding: float) -> tuple[float, float] | None:
    """The best cut of some blocks in two: its distance in deviations, and the share of all blocks below."""
    if len(values) < 2:  # noqa: PLR2004 - two parts
        return None
    total = weights.sum()
    below = np.cumsum(weights)[:-1] / total
    sums, squares = (np.cumsum(weights * values**power)[:-1] / total for power in (1, 2))
    all_sum, all_square = (float(weights @ values**power) / total for power in (1, 2))
    left, right = sums / below, (all_sum - sums) / (1 - below)
    within = np.maximum(squares - below * left**2 + (all_square - squares) - (1 - below) * right**2, 0.0)
    # A deviation below the rounding is none.
    apart = (right - left) / np.sqrt(within + rounding)
    least = np.minimum(below, 1 - below) * total
    apart[(apart < _APART) | ((least < _FEW) & (apart < _FAR_APART))] = 0.0
    place = int(np.argmax(apart))
    return None if apart[place] <= 0 else (float(apart[place]), float(below[place] * total))


def _between(values: Array, weights: Array, low: float, high: float) -> tuple[Array, Array]:
    """The blocks from one share to another one, in the order of their erases."""
    upper = np.cumsum(weights)
    kept = np.clip(np.minimum(upper, high) - np.maximum(upper - weights, low), 0.0, None)
    some = kept > _TINY
    return values[some], kept[some]


def _class(parts: Sequence[tuple[Array, Array]], at: Sequence[float], widths: Sequence[float], blocks: float) -> Class:
    """A class of what it was at the end of each stretch, with the means over all blocks there."""
    means = [float(values @ weights / weights.sum()) for values, weights in parts]
    variances = [
        float((values - mean) ** 2 @ weights / weights.sum())
        for mean, (values, weights) in zip(means, parts, strict=True)
    ]
    places, levels = [0.0, *at], [0.0, *means]
    slopes = [
        (after - before) / (right - left)
        for left, right, before, after in zip(places, places[1:], levels, levels[1:], strict=False)
        if right > left
    ]
    rate = lower = slopes[-1]
    if len(slopes) > 1 and abs(rate - 1) < abs(slopes[-2] - 1):
        lower = 1 + (rate - 1) * max(0.0, (rate - 1) / (slopes[-2] - 1))
    hidden = [_hidden(variance, width) for variance, width in zip(variances, widths, strict=True)]
    chance, rates = _growth(variances, hidden, at, blocks)
    sampled = (_SAMPLING / math.sqrt(blocks) * variances[-1] + hidden[-1]) / (at[-1] * at[-1])
    values, weights = parts[-1]
    width = widths[-1] if hidden[-1] > 0 else 0.0
    return Class(values, weights, at[-1], rate, lower, chance, rates, sampled, width)


def _growth(
    variances: Sequence[float], hidden: Sequence[float], at: Sequence[float], blocks: float
) -> tuple[float, float]:
    """Coefficients b and c of a + b m + c m^2, through the last variance; 0 where this may be rounding alone."""
    last = variances[-1]
    if last <= 0 or hidden[-1] > 0:
        return 0.0, 0.0
    # The variance of a sampled variance is 2 / blocks of its square; rounding adds its own.
    sizes = np.sqrt(np.square(variances) + np.square(hidden) * blocks / 2)
    found, error = _solved(variances, sizes, at, 2)
    more, less = _solved(variances, sizes, at, 3)
    if len(at) > 2 and (error - less) * blocks / 2 > _BELIEVED:  # noqa: PLR2004 - as many as coefficients
        found = more
    through = sum(part * at[-1] ** power for power, part in enumerate(found))
    times = last / through if through > 0 else 0.0
    return found[1] * times, (found[2] if len(found) > 2 else 0.0) * times  # noqa: PLR2004


def _solved(variances: Sequence[float], sizes: Array, at: Sequence[float], terms: int) -> tuple[list[float], float]:
    """The first `terms` coefficients, none below 0, and the sum of squared errors, each by its size."""
    from scipy.optimize import nnls  # type: ignore[import-untyped]

    scale = np.array([at[-1] ** power for power in range(terms)])
    rows = np.array([[mean**power for power in range(terms)] for mean in at]) / scale
    size = np.maximum(sizes, _TINY)
    found, error = nnls(rows / size[:, None], np.array(variances) / size)
    return [float(one) for one in found / scale], float(error) ** 2
