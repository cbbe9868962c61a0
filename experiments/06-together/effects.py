"""Effects of the parts of a drive, from runs of all their combinations.

All is in logarithms of latency, relative to the plain drive, which has the first level of every part. Effects that add
up in logarithms multiply in latency. A mix of traces is one observation: intervals come from the spread between mixes.
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from flashweir.statistics.intervals import t_quantile

Floats = NDArray[np.float64]
RESAMPLES = 2000
SEED = 1
# Axes of the values before those of the parts: load and mix.
LOAD, MIX, FIRST_PART = 0, 1, 2


class Interval(NamedTuple):
    """The mean over mixes of a logarithm, and its 95% interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Factorial:
    """Logarithms of one number of all runs: load x mix x level of each part. A mix without that number is NaN."""

    parts: Mapping[str, Sequence[str]]
    values: Floats

    def of(self, mixes: Sequence[int]) -> "Factorial":
        """The same of some mixes."""
        return Factorial(self.parts, self.values[:, list(mixes)])

    def at(self, setting: Sequence[int]) -> Floats:
        """One drive relative to the plain one: load x mix."""
        relative: Floats = self._of(setting) - self._of([0] * len(self.parts))
        return relative

    def alone(self, part: int, level: int) -> Floats:
        """The plain drive with one part, relative to the plain drive: load x mix."""
        return self.at([level if place == part else 0 for place in range(len(self.parts))])

    def main(self, part: int, level: int) -> Floats:
        """A part, on average over all combinations of the others: load x mix."""
        means = self._means((part,))
        found: Floats = means[:, :, level] - means[:, :, 0]
        return found

    def given(self, one: tuple[int, int], other: tuple[int, int]) -> Floats:
        """A part beside another part, on average over all combinations of the rest: load x mix.

        Each is a part and a level, the first part before the second.
        """
        means = self._means((one[0], other[0]))
        found: Floats = means[:, :, one[1], other[1]] - means[:, :, 0, other[1]]
        return found

    def interaction(self, one: tuple[int, int], other: tuple[int, int]) -> Floats:
        """Two parts together less the sum of both, over all combinations of the others: load x mix.

        Each is a part and a level, the first part before the second. Above 0 they give less than their sum.
        """
        means = self._means((one[0], other[0]))
        a, b = one[1], other[1]
        found: Floats = means[:, :, a, b] - means[:, :, a, 0] - means[:, :, 0, b] + means[:, :, 0, 0]
        return found

    def shares(self) -> dict[tuple[int, ...], Floats]:
        """Shares of the sum of squares by the parts that act together: load x mix each, a sum of 1.

        Where all drives are the same, all shares are 0.
        """
        parts = range(len(self.parts))
        sets = [subset for size in range(len(self.parts) + 1) for subset in itertools.combinations(parts, size)]
        terms: dict[tuple[int, ...], Floats] = {}
        found = {}
        total = ((self.values - self._kept(())) ** 2).sum(axis=tuple(place + FIRST_PART for place in parts))
        for subset in sets:
            terms[subset] = self._kept(subset) - sum(terms[less] for less in sets if set(less) < set(subset))
            squares = np.broadcast_to(terms[subset], self.values.shape) ** 2
            if subset:
                sums = squares.sum(axis=tuple(place + FIRST_PART for place in parts))
                found[subset] = np.divide(sums, total, out=np.zeros_like(sums), where=total != 0)
        return found

    def _of(self, setting: Sequence[int]) -> Floats:
        """One drive: load x mix."""
        place: tuple[int | slice, ...] = (slice(None), slice(None), *setting)
        found: Floats = self.values[place]
        return found

    def _means(self, kept: tuple[int, ...]) -> Floats:
        """Means over all parts but those kept."""
        gone = tuple(place + FIRST_PART for place in range(len(self.parts)) if place not in kept)
        found: Floats = self.values.mean(axis=gone)
        return found

    def _kept(self, kept: tuple[int, ...]) -> Floats:
        """The same, with axes of length 1 where parts are gone."""
        gone = tuple(place + FIRST_PART for place in range(len(self.parts)) if place not in kept)
        found: Floats = self.values.mean(axis=gone, keepdims=True) if gone else self.values
        return found


def interval(values: Floats) -> Interval:
    """The mean of one value a mix, NaN left out, with its interval.

    Mixes are drawn anew with replacement. The spread of their means gives the standard error, times sqrt(n / (n - 1))
    because that of n values falls short by it; Student's t makes the interval of it (docs/concepts/statistics.md). One
    mix has none.
    """
    found = values[~np.isnan(values)]
    count = len(found)
    if count < 2:  # noqa: PLR2004
        return Interval(float(found[0]) if count else math.nan, math.nan, math.nan)
    drawn = np.random.default_rng(SEED).integers(count, size=(RESAMPLES, count))
    error = float(found[drawn].mean(axis=1).std()) * math.sqrt(count / (count - 1))
    mean, reach = float(found.mean()), t_quantile(0.95, count)
    return Interval(mean, mean - reach * error, mean + reach * error)


def over_loads(values: Floats) -> Interval:
    """The interval over mixes of the mean over loads. The loads of a mix are no observations of their own."""
    return interval(values.mean(axis=LOAD))


def scores(numbers: Mapping[str, Factorial], loads: Sequence[int], mixes: Sequence[int]) -> Floats:
    """The mean logarithm relative to the plain drive, of all numbers, loads and mixes: one for each drive."""
    relative = []
    for number in numbers.values():
        plain = number.values[(slice(None), slice(None), *[slice(0, 1)] * len(number.parts))]
        chosen = (number.values - plain)[list(loads)][:, list(mixes)]
        relative.append(np.nanmean(chosen, axis=(LOAD, MIX)))
    found: Floats = np.mean(relative, axis=0)
    return found


def best(numbers: Mapping[str, Factorial], loads: Sequence[int], mixes: Sequence[int]) -> tuple[int, ...]:
    """The drive with the least score; of equals the first, which has fewer parts."""
    found = scores(numbers, loads, mixes)
    # Equal but for rounding: a part that changes nothing is left out.
    near = np.argwhere(found <= found.min() + 1e-9)
    return tuple(int(level) for level in min(near, key=lambda setting: (np.count_nonzero(setting), *setting)))


def held_out(numbers: Mapping[str, Factorial], goals: Mapping[str, Factorial], mixes: int) -> dict[str, Floats]:
    """Each mix on the drive that is best for the other mixes by the goals, relative to the plain one: load x mix."""
    loads = range(next(iter(numbers.values())).values.shape[LOAD])
    chosen = [best(goals, loads, [other for other in range(mixes) if other != mix]) for mix in range(mixes)]
    return {
        name: np.stack([number.at(setting)[:, mix] for mix, setting in enumerate(chosen)], axis=1)
        for name, number in numbers.items()
    }
