"""Quantiles of all requests of a setting, and means of few skewed values: intervals by bootstrap over replications.

Requests of one run depend on each other, so runs are resampled and not requests. The bootstrap gives the standard error
of the logarithm (latencies are positive, their estimates skewed), corrected by sqrt(n / (n - 1)), and Student's t of
n - 1 makes the interval of it. Percentile and BCa intervals only reach as far as the resamples do: of three seeds no
resample lies outside in a quarter of all cases, so they cover 75 % where they promise 95 (Hesterberg 2015;
docs/concepts/statistics.md has the comparison).
"""

import math
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from flashweir._native import ConfigError
from flashweir.statistics.intervals import Estimate, check_confidence, is_number, t_quantile

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

# Pairs of a bucket's upper edge (ns) and its number of requests, as in `latency_histogram_ns` of a result.
Histogram = Sequence[Sequence[float]]

# A run's histogram has three significant digits: 2048 buckets of 1 ns, and then 1024 for each doubling.
_EXACT_NS, _BUCKETS = 2048, 1024
# The largest exponent that `math.exp` takes.
_MAX_EXPONENT = 700.0


def pooled_quantile(
    histograms: Sequence[Histogram], q: float, confidence: float = 0.95, resamples: int = 1000, seed: int = 1
) -> Estimate:
    """The latency (ns) that a share `q` of the requests of all replications does not exceed.

    Args:
        histograms: one for each replication; those without requests are left out, and `n` counts the others. In another
            order they draw another interval, as with another `seed`.
        q: a share from 0 to 1: 0.99 is p99. The value is the upper edge of the bucket in which it lies.
        confidence: of the interval.
        resamples: how many times the replications are drawn anew.
        seed: of these draws; the same seed gives the same interval.

    Raises:
        ConfigError: `q`, `confidence` or `resamples` out of range, or a histogram that is none.
    """
    return pooled_quantiles(histograms, [q], confidence, resamples, seed)[0]


def pooled_quantiles(
    histograms: Sequence[Histogram],
    quantiles: Sequence[float],
    confidence: float = 0.95,
    resamples: int = 1000,
    seed: int = 1,
) -> list[Estimate]:
    """`pooled_quantile` for several `quantiles` of the same histograms, which costs little more than one."""
    import numpy as np

    check_confidence(confidence)
    _check_resamples(resamples)
    for q in quantiles:
        if not 0 <= q <= 1:
            raise ConfigError(f"quantile {q:g}: a share from 0 to 1 is expected, such as 0.99")
    edges, cumulative = _cumulative(histograms)
    n = cumulative.shape[1]
    if n == 0:
        return [Estimate(math.nan, None, None, 0) for _ in quantiles]
    shares = np.asarray(quantiles, dtype=np.float64)
    values = _quantiles(edges, cumulative, np.ones((1, n)), shares)[0]
    if n == 1:
        return [Estimate(float(value), None, None, 1) for value in values]
    drawn = _quantiles(edges, cumulative, _weights(n, resamples, seed), shares)
    return [
        _estimate(float(value), drawn[:, place], n, confidence, bucket_width(float(value)))
        for place, value in enumerate(values)
    ]


def bucket_width(latency_ns: float) -> float:
    """The width (ns) of a run's histogram bucket at a latency; 0 where it holds one whole number and loses nothing."""
    return 2.0 ** math.floor(math.log2(latency_ns)) / _BUCKETS if latency_ns >= _EXACT_NS else 0.0


def bootstrap_mean(
    values: Iterable[float | None],
    confidence: float = 0.95,
    resamples: int = 1000,
    seed: int = 1,
    *,
    unit_ns: float | None = None,
) -> Estimate:
    """The mean of one value a replication, for values that are skewed, such as the p99.9 of each run.

    None, NaN and infinities are left out; arguments and errors are those of `pooled_quantile`. Where the values come
    from a run's histogram, `unit_ns` is their unit in ns, and the standard error is at least a bucket's width.
    """
    import numpy as np

    check_confidence(confidence)
    _check_resamples(resamples)
    # Sorted, so that the interval does not depend on the order of the runs.
    found = np.asarray(sorted(value for value in values if is_number(value)), dtype=np.float64)
    n = len(found)
    if n == 0:
        return Estimate(math.nan, None, None, 0)
    mean = float(found[0]) if found.min() == found.max() else float(found.mean())
    if n == 1:
        return Estimate(mean, None, None, 1)
    drawn = np.full(1, mean) if found.min() == found.max() else _weights(n, resamples, seed) @ found / n
    return _estimate(mean, drawn, n, confidence, 0.0 if unit_ns is None else bucket_width(mean * unit_ns) / unit_ns)


def _estimate(value: float, drawn: "Floats", n: int, confidence: float, least: float) -> Estimate:
    """The interval of `value` from what the resamples gave: on the scale of the logarithm where all are positive.

    Its standard error is `least` or more. Resamples of a discrete distribution may all be in one bucket.
    """
    import numpy as np

    if drawn.min() == drawn.max() and not least:
        return Estimate(value, value, value, n)
    reach, more = t_quantile(confidence, n), math.sqrt(n / (n - 1))
    if value > 0 and drawn.min() > 0:
        spread = 0.0 if drawn.min() == drawn.max() else float(np.log(drawn).std())
        exponent = min(reach * max(more * spread, least / value), _MAX_EXPONENT)
        return Estimate(value, value * math.exp(-exponent), value * math.exp(exponent), n)
    half = reach * max(more * float(drawn.std()), least)
    # A statistic that is negative in no resample can't be negative: its interval stops at zero.
    return Estimate(value, max(value - half, 0.0) if drawn.min() >= 0 else value - half, value + half, n)


@lru_cache(maxsize=8)
def _weights(n: int, resamples: int, seed: int) -> "Floats":
    """Count of each of `n` replications in each resample: a row a resample. Cached, as settings share their n."""
    import numpy as np

    drawn = np.random.default_rng(seed).multinomial(n, [1 / n] * n, size=resamples).astype(np.float64)
    drawn.flags.writeable = False
    return drawn


def _cumulative(histograms: Sequence[Histogram]) -> tuple["Floats", "Floats"]:
    """The edges of all histograms in one order, and the requests up to each: a row an edge, a column a replication."""
    import numpy as np

    parts = [part for place, histogram in enumerate(histograms) if len(part := _pairs(histogram, place))]
    if not parts:
        return np.empty(0), np.empty((0, 0))
    edges, place = np.unique(np.concatenate([part[:, 0] for part in parts]), return_inverse=True)
    run = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
    counts = np.bincount(
        place * len(parts) + run,
        weights=np.concatenate([part[:, 1] for part in parts]),
        minlength=len(edges) * len(parts),
    )
    return edges, counts.reshape(len(edges), len(parts)).cumsum(axis=0)


def _pairs(histogram: Histogram, place: int) -> "Floats":
    """The buckets that hold requests."""
    import numpy as np

    try:
        pairs = np.asarray(histogram, dtype=np.float64)
    except (TypeError, ValueError):
        pairs = np.empty((1, 0))
    if pairs.size == 0 and pairs.ndim == 1:
        return np.empty((0, 2))
    if pairs.ndim != 2 or pairs.shape[1] != 2 or not np.isfinite(pairs).all() or (pairs < 0).any():  # noqa: PLR2004
        raise ConfigError(f"histogram {place + 1}: pairs of upper edge in ns and number of requests are expected")
    filled: Floats = pairs[pairs[:, 1] > 0]
    return filled


def _quantiles(edges: "Floats", cumulative: "Floats", weights: "Floats", shares: "Floats") -> "Floats":
    """The quantiles of every resample: a row a resample, a column a quantile.

    The number of requests up to an edge is the weighted sum of the replications' numbers, so each quantile is found by
    bisection over the edges, and no resample's histogram is ever made.
    """
    import numpy as np

    # The rank of the request, as the histograms of a run count it.
    ranks = np.maximum(np.ceil((weights @ cumulative[-1])[:, None] * shares), 1.0)
    low = np.zeros(ranks.shape, dtype=np.intp)
    high = np.full(ranks.shape, len(edges) - 1)
    while (low < high).any():
        middle = (low + high) // 2
        reached = np.einsum("rn,rqn->rq", weights, cumulative[middle]) >= ranks
        high = np.where(reached, middle, high)
        low = np.where(reached, low, np.minimum(middle + 1, high))
    found: Floats = edges[low]
    return found


def _check_resamples(resamples: int) -> None:
    if resamples < 2:  # noqa: PLR2004 - fewer have no spread
        raise ConfigError(f"resamples {resamples}: at least 2 are expected, such as 1000")
