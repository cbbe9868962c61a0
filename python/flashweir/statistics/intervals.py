"""Intervals of means and of paired differences, and the correction for several comparisons at once.

Values that are None, NaN or infinite are no observations: they are left out, and `n` says how many there were.
"""

import math
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple, TypeGuard

from flashweir._native import ConfigError

if TYPE_CHECKING:
    from types import ModuleType

# Squares of larger numbers are infinite, so they are taken for infinite themselves.
_LARGEST = 1e150
# Differences below this share of the values are rounding.
_ROUNDING = 1e-12


class Estimate(NamedTuple):
    """A value with its confidence interval: `low` and `high` are None with fewer than two observations.

    `value` is NaN with none at all.
    """

    value: float
    low: float | None
    high: float | None
    n: int


class Difference(NamedTuple):
    """The mean difference of `n` pairs, with interval, two-sided `p`, and what it is of the first mean.

    `low`, `high` and `p` are None with fewer than two pairs; the means and `value` are NaN with none. `relative` is
    None where the first mean is 0 but for rounding; `relative_low` and `relative_high` where it might be.
    `significant` is p < 1 - confidence.
    """

    value: float
    low: float | None
    high: float | None
    relative: float | None
    p: float | None
    n: int
    significant: bool
    relative_low: float | None
    relative_high: float | None
    mean_a: float
    mean_b: float


def mean_interval(
    values: Iterable[float | None], confidence: float = 0.95, *, at_least: float | None = None
) -> Estimate:
    """The mean of independent observations, with the interval of Student's t: mean +- t(n - 1) s / sqrt(n).

    With `at_least`, a bound that the quantity can't fall below, the interval ends there: it covers as often, since all
    that is left out is impossible.

    Raises:
        ConfigError: `confidence` is not between 0 and 1.
    """
    check_confidence(confidence)
    found = [float(value) for value in values if is_number(value)]
    n = len(found)
    if n == 0:
        return Estimate(math.nan, None, None, 0)
    mean = _mean(found)
    if n == 1:
        return Estimate(mean, None, None, 1)
    half = t_quantile(confidence, n) * math.sqrt(_covariance(found, found) / n)
    low = mean - half
    return Estimate(mean, low if at_least is None or low >= at_least else min(at_least, mean), mean + half, n)


def difference(
    a: Sequence[float | None], b: Sequence[float | None], confidence: float = 0.95, *, resolution: float = 0.0
) -> Difference:
    """The mean of b - a over pairs (a[i], b[i]), by the paired t test; pairs without two numbers are left out.

    Where all differences are the same, no spread is left to estimate: all 0 is no difference (p = 1), any other
    constant is significant (p = 0), and in both cases the interval has no width. Differences that rounding explains
    (a share of 1e-12 of the values) are 0. The interval of `relative` is Fieller's (1954), which takes the
    spread of the first mean into account and excludes 0 exactly where the interval of the difference does.

    Where values are known to a `resolution` only, differences up to it are 0, and the standard error is at least so
    much unless all are.

    Raises:
        ConfigError: `a` and `b` differ in length, or `confidence` is not between 0 and 1.
    """
    check_confidence(confidence)
    if len(a) != len(b):
        raise ConfigError(f"pairs: {len(a)} values against {len(b)}; each needs its partner")
    pairs = [(float(x), float(y)) for x, y in zip(a, b, strict=True) if is_number(x) and is_number(y)]
    n = len(pairs)
    if n == 0:
        return Difference(math.nan, None, None, None, None, 0, False, None, None, math.nan, math.nan)
    first, second = [x for x, _ in pairs], [y for _, y in pairs]
    # A bucket's width is a power of two, its edges are rounded.
    least = resolution * (1 + 1e-9)
    changes = [0.0 if abs(y - x) <= max(least, _ROUNDING * max(abs(x), abs(y))) else y - x for x, y in pairs]
    mean_a, mean_b, value = _mean(first), _mean(second), _mean(changes)
    known_base = abs(mean_a) > _ROUNDING * max(map(abs, [*first, *second]))
    relative = value / abs(mean_a) if known_base else None
    if n == 1:
        return Difference(value, None, None, relative, None, 1, False, None, None, mean_a, mean_b)
    error = math.sqrt(_covariance(changes, changes) / n)
    if error <= _ROUNDING * abs(value):
        error = 0.0
    if any(changes):
        error = max(error, resolution)
    half = t_quantile(confidence, n) * error
    p = _two_sided(value, error, n)
    relative_low, relative_high = _relative_interval(first, changes, confidence, error) if known_base else (None, None)
    return Difference(
        value,
        value - half,
        value + half,
        relative,
        p,
        n,
        p < 1 - confidence,
        relative_low,
        relative_high,
        mean_a,
        mean_b,
    )


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """P values adjusted for being a family of comparisons (Holm 1979): None stays None and counts for nothing.

    The smallest of m is multiplied by m, the next by m - 1, and so on; none is less than the one before, or over 1.
    """
    known = sorted((p, place) for place, p in enumerate(p_values) if p is not None)
    adjusted: list[float | None] = [None] * len(p_values)
    largest = 0.0
    for done, (p, place) in enumerate(known):
        largest = max(largest, min(1.0, (len(known) - done) * p))
        adjusted[place] = largest
    return adjusted


@lru_cache(maxsize=1024)
def t_quantile(confidence: float, n: int) -> float:
    """Half width of the interval of `n` observations, in standard errors."""
    return float(_special().stdtrit(n - 1, (1 + confidence) / 2))


def check_confidence(confidence: float) -> None:
    """Refuses a confidence that is no share between 0 and 1."""
    if not 0 < confidence < 1:
        raise ConfigError(f"confidence {confidence:g}: a share between 0 and 1 is expected, such as 0.95")


def is_number(value: float | None) -> TypeGuard[float]:
    """True if `value` is an observation: neither missing, nor NaN, nor infinite."""
    return value is not None and abs(value) < _LARGEST


def _mean(values: Sequence[float]) -> float:
    # The mean of equal numbers is that number, to the last bit.
    return values[0] if min(values) == max(values) else math.fsum(values) / len(values)


def _covariance(left: Sequence[float], right: Sequence[float]) -> float:
    mean_l, mean_r = _mean(left), _mean(right)
    products = ((x - mean_l) * (y - mean_r) for x, y in zip(left, right, strict=True))
    return math.fsum(products) / (len(left) - 1)


def _two_sided(value: float, error: float, n: int) -> float:
    if error == 0:
        return 1.0 if value == 0 else 0.0
    return float(2 * _special().stdtr(n - 1, -abs(value) / error))


def _special() -> "ModuleType":
    """Student's t is here as in scipy.stats, which takes a second to load."""
    from scipy import special  # type: ignore[import-untyped]

    module: ModuleType = special
    return module


def _relative_interval(
    first: Sequence[float], changes: Sequence[float], confidence: float, error: float
) -> tuple[float | None, float | None]:
    """All r for which the mean of change - r x first is not significantly different from 0, with `first` scaled to 1.

    These are the r between the roots of (1 - k Vxx) r^2 - 2 (d - k Vdx) r + d^2 - k Vdd, with k = t^2 / n; unbounded,
    and given as None, if the mean of `first` could be 0. `error` is the standard error of the mean change.
    """
    scale = _mean(first)
    x, d = [value / scale for value in first], [value / abs(scale) for value in changes]
    k = t_quantile(confidence, len(x)) ** 2 / len(x)
    vxx, vdx, mean = _covariance(x, x), _covariance(d, x), _mean(d)
    vdd = max(_covariance(d, d), len(d) * (error / scale) ** 2)
    leading = 1 - k * vxx
    if leading <= 0:
        return None, None
    # A quarter of the discriminant, in terms that do not cancel.
    inner = k * (vdd - 2 * mean * vdx + mean**2 * vxx) - k**2 * (vxx * vdd - vdx**2)
    root = math.sqrt(max(inner, 0.0))
    middle = mean - k * vdx
    return (middle - root) / leading, (middle + root) / leading
