"""A sweep's settings, each with the mean of its seeds and how sure that is."""

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from flashweir._native import ConfigError
from flashweir.results.run import Run
from flashweir.results.section import declares
from flashweir.statistics.bootstrap import Histogram, bootstrap_mean, pooled_quantiles
from flashweir.statistics.columns import Group, axis_names, check_metrics, groups
from flashweir.statistics.intervals import Estimate, check_confidence, is_number, mean_interval

if TYPE_CHECKING:
    import polars as pl

# The `latency_histogram_ns` of runs by their `key`; or a function that gives those of a setting's runs, in order.
Histograms = Mapping[str, Mapping[str, Histogram]] | Callable[[Sequence[str]], Sequence[Mapping[str, Histogram]]]

QUANTILE = re.compile(r"latency_us\.(?P<operation>.+)\.(?P<quantile>p50|p95|p99|p999|p9999)")
_SHARES = {"p50": 0.5, "p95": 0.95, "p99": 0.99, "p999": 0.999, "p9999": 0.9999}
_US = 1e-3
US_NS = 1000.0


def summarize(
    frame: "pl.DataFrame",
    metrics: Sequence[str] | str,
    by: Sequence[str] | str | None = None,
    confidence: float = 0.95,
    *,
    histograms: Histograms | None = None,
    resamples: int = 1000,
    seed: int = 1,
) -> "pl.DataFrame":
    """A row a setting: its runs and for each metric the mean over seeds with an interval.

    Means have Student's interval, which ends at 0 for numbers of a result: none of these can be negative. Latency
    quantiles (`latency_us.OP.p50` to `p9999`) are those of all requests of all seeds with a bootstrap interval where
    `histograms` are given; without, the mean of the seeds' quantiles, with a bootstrap interval as well. A bucket's
    edge may lie above all of its latencies: none of these values exceeds the largest `latency_us.OP.max`, where the
    frame has it, so that one run has the quantile of its result. A seed counts once: where several runs of a setting
    share one, their mean does. Runs that failed and values that are null, NaN or infinite are left out.

    Args:
        frame: a row a run, as `sweep` gives it.
        metrics: columns with numbers.
        by: the columns that make a setting; None is all axes of the sweep.
        confidence: of the intervals.
        histograms: for every run `latency_histogram_ns` of its result, by the run's `key`; or a function that takes the
            keys of a setting's runs and gives theirs in the same order, so that only these need be in memory.
        resamples: how many the bootstrap draws.
        seed: of the bootstrap; the same seed gives the same intervals.

    Returns:
        The columns `by`, `runs` (all), `failed`, and METRIC, `METRIC low`, `METRIC high` for each; the ends are null
        for fewer than two seeds, and all three where there is no value.

    Raises:
        ConfigError: a column that is not there or holds no numbers, `by` is None and the frame does not know its axes,
            or `histograms` that lack a run.
    """
    import polars as pl

    check_confidence(confidence)
    names = check_metrics(frame, metrics)
    axes = axis_names(frame, by)
    if clash := {*axes, "runs", "failed"} & set(names):
        raise ConfigError(f"metric `{min(clash)}`: it is a column of the settings already")
    columns: dict[str, list[Any]] = {name: [] for name in _columns(axes, names)}
    for setting, group in groups(frame, axes, [*names, *_maxima(names)]).items():
        row: list[Any] = [*setting, group.runs, group.failed]
        pooled = _pooled(group, names, confidence, histograms, resamples, seed) if histograms is not None else {}
        for name in names:
            if name in pooled:
                estimate = pooled[name]
            else:
                estimate = mean_of(name, group.by_seed(name).values(), confidence, resamples, seed)
            row += [None if math.isnan(estimate.value) else estimate.value, estimate.low, estimate.high]
        for column, value in zip(columns.values(), row, strict=True):
            column.append(value)
    types: dict[str, Any] = {name: frame.schema.get(name, pl.String()) for name in axes}
    types |= {name: pl.Int64() if name in ("runs", "failed") else pl.Float64() for name in columns if name not in axes}
    return pl.DataFrame(columns, schema=types)


def mean_of(
    metric: str, values: Iterable[float], confidence: float = 0.95, resamples: int = 1000, seed: int = 1
) -> Estimate:
    """The mean of a metric's values, one a replication: with a bootstrap interval for a latency quantile, else t's.

    The interval of a number of a result ends at 0.
    """
    if QUANTILE.fullmatch(metric):
        return bootstrap_mean(values, confidence, resamples, seed, unit_ns=US_NS)
    # No number of a result can be below 0; a derived column may be.
    return mean_interval(values, confidence, at_least=0.0 if declares(metric, Run) else None)


def _maxima(metrics: Sequence[str]) -> dict[str, str]:
    """Columns with the largest latency of each operation of which a quantile is wanted: their operations."""
    found = [QUANTILE.fullmatch(name) for name in metrics]
    return {f"latency_us.{one['operation']}.max": one["operation"] for one in found if one}


def _columns(axes: Sequence[str], metrics: Sequence[str]) -> list[str]:
    ends = [column for name in metrics for column in (name, f"{name} low", f"{name} high")]
    return [*axes, "runs", "failed", *ends]


def _pooled(
    group: Group, metrics: Sequence[str], confidence: float, histograms: Histograms, resamples: int, seed: int
) -> dict[str, Estimate]:
    """The estimates of all latency quantiles, in us: one pass over the histograms of each operation."""
    wanted: dict[str, list[tuple[str, float]]] = {}
    for name in metrics:
        if found := QUANTILE.fullmatch(name):
            wanted.setdefault(found["operation"], []).append((name, _SHARES[found["quantile"]]))
    if not wanted:
        return {}
    rows = [row for of_seed in group.rows.values() for row in of_seed]
    largest = {
        operation: max((float(row[column]) for row in rows if is_number(row.get(column))), default=math.inf)
        for column, operation in _maxima(metrics).items()
    }
    by_seed = [[by_operation for _, by_operation in runs] for runs in _fetched(group, histograms)]
    estimates = {}
    for operation, quantiles in wanted.items():
        # Runs that share a seed are one replication.
        replications = [[pair for run in runs for pair in run.get(operation, ())] for runs in by_seed]
        found_all = pooled_quantiles(replications, [share for _, share in quantiles], confidence, resamples, seed)
        for (name, _), estimate in zip(quantiles, found_all, strict=True):
            low, high = (None if end is None else end * _US for end in (estimate.low, estimate.high))
            value = min(estimate.value * _US, largest[operation])
            estimates[name] = Estimate(value, None if low is None else min(low, value), high, estimate.n)
    return estimates


def _fetched(group: Group, histograms: Histograms) -> list[list[tuple[str, Mapping[str, Histogram]]]]:
    """Keys and histograms of the runs that finished, each once, by seed."""
    keys: list[dict[str, None]] = []
    for rows in group.distinct().values():
        if any(row.get("key") is None for row in rows):
            raise ConfigError("histograms: the frame has no column `key` that says whose they are")
        keys.append(dict.fromkeys(row["key"] for row in rows))
    flat = [key for of_seed in keys for key in of_seed]
    if isinstance(histograms, Mapping):
        if missing := next((key for key in flat if key not in histograms), None):
            raise ConfigError(f"histograms: there are none for run {missing}")
        found = [histograms[key] for key in flat]
    else:
        found = list(histograms(flat))
    if len(found) != len(flat):
        raise ConfigError(f"histograms: {len(flat)} runs are expected, the function gave {len(found)}")
    by_key = dict(zip(flat, found, strict=True))
    return [[(key, by_key[key]) for key in of_seed] for of_seed in keys]
