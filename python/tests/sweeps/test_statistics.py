"""Intervals, bootstrap, correction for several comparisons, and the Pareto front: on numbers."""

import math
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import flashweir
from flashweir import ConfigError
from flashweir.statistics import (
    Estimate,
    bootstrap_mean,
    difference,
    holm,
    mean_interval,
    pareto,
    pooled_quantile,
    pooled_quantiles,
)

# Two-sided 95 % and 99 % points of Student's t by degrees of freedom, as printed in any table.
T_TABLE = {1: (12.706, 63.657), 2: (4.303, 9.925), 4: (2.776, 4.604), 9: (2.262, 3.250), 29: (2.045, 2.756)}

finite = st.floats(min_value=-1e12, max_value=1e12, allow_nan=False)


def lognormal_histogram(rng: np.random.Generator, requests: int, scale: float = 1.0) -> list[list[float]]:
    """Latencies of median 10 us, in buckets of 0.5 %."""
    buckets, counts = np.unique(
        np.ceil(np.log(scale * 1e4 * rng.lognormal(size=requests)) / np.log(1.005)), return_counts=True
    )
    return [[float(1.005**bucket), int(count)] for bucket, count in zip(buckets, counts, strict=True)]


@pytest.mark.parametrize("freedom", T_TABLE)
def test_intervals_are_those_of_the_t_table(freedom: int) -> None:
    # Values -1 and 1 in turn, and 0 in the middle: any spread does.
    values = [float(place) for place in range(freedom + 1)]
    error = np.std(values, ddof=1) / math.sqrt(len(values))
    for confidence, t in zip((0.95, 0.99), T_TABLE[freedom], strict=True):
        found = mean_interval(values, confidence)
        assert found.low is not None
        assert found.high is not None
        assert (found.high - found.value) / error == pytest.approx(t, abs=6e-4)
        assert found.value - found.low == pytest.approx(found.high - found.value)


def test_intervals_of_means_cover_as_often_as_they_say() -> None:
    draws = np.random.default_rng(1).normal(10, 3, size=(2000, 5))
    found = [mean_interval(row) for row in draws.tolist()]
    covered = np.mean([one.low <= 10 <= one.high for one in found if one.low is not None and one.high is not None])
    assert 0.935 < covered < 0.965


def test_an_interval_takes_two_observations() -> None:
    assert mean_interval([3.0]) == Estimate(3.0, None, None, 1)
    assert mean_interval([3.0, 3.0, 3.0]) == Estimate(3.0, 3.0, 3.0, 3)
    nothing = mean_interval([])
    assert math.isnan(nothing.value)
    assert nothing[1:] == (None, None, 0)


def test_an_interval_ends_where_the_quantity_does() -> None:
    wide = mean_interval([1.0, 9.0])
    assert wide.low is not None
    assert wide.low < 0
    assert mean_interval([1.0, 9.0], at_least=0.0) == wide._replace(low=0.0)
    # One that lies above the bound is as it is, and no interval excludes its own mean.
    assert mean_interval([8.0, 9.0, 10.0], at_least=0.0) == mean_interval([8.0, 9.0, 10.0])
    assert mean_interval([-2.0, 0.0], at_least=0.0).low == -1.0


def test_what_is_no_number_is_no_observation() -> None:
    found = mean_interval([1.0, None, math.nan, 3.0, math.inf, -math.inf, 1e200])
    assert found == mean_interval([1.0, 3.0])
    assert bootstrap_mean([1.0, None, math.nan, 3.0]) == bootstrap_mean([1.0, 3.0])
    assert difference([1.0, None, 3.0, 4.0], [2.0, 2.0, math.nan, 6.0]).n == 2


@pytest.mark.parametrize("confidence", [0.0, 1.0, 95.0, -0.5, math.nan])
def test_a_confidence_is_a_share(confidence: float) -> None:
    for call in (mean_interval, bootstrap_mean):
        with pytest.raises(ConfigError, match=r"confidence .*: a share between 0 and 1 is expected, such as 0\.95"):
            call([1.0, 2.0], confidence)
    with pytest.raises(ConfigError, match="confidence"):
        difference([1.0], [2.0], confidence)
    with pytest.raises(ConfigError, match="confidence"):
        pooled_quantile([[[1, 1]]], 0.5, confidence)


def test_paired_differences_against_a_worked_example() -> None:
    # Differences 1, 2, 3: mean 2, s = 1, t = 2 / (1 / sqrt 3) = 3.4641 with 2 degrees of freedom.
    found = difference([10.0, 20.0, 30.0], [11.0, 22.0, 33.0])
    assert (found.value, found.n, found.mean_a, found.mean_b) == (2.0, 3, 20.0, 22.0)
    assert found.low == pytest.approx(2 - 4.3027 / math.sqrt(3), abs=1e-4)
    assert found.high == pytest.approx(2 + 4.3027 / math.sqrt(3), abs=1e-4)
    # With 2 degrees of freedom, p = 1 - t / sqrt(t^2 + 2) = 1 - sqrt(12 / 14).
    assert found.p == pytest.approx(1 - math.sqrt(12 / 14))
    assert not found.significant
    assert found.relative == pytest.approx(0.1)


def test_p_values_and_intervals_are_those_of_scipy() -> None:
    from scipy import stats

    rng = np.random.default_rng(5)
    a, b = rng.normal(5, 1, 8), rng.normal(6, 1, 8)
    theirs, found = stats.ttest_rel(b, a), difference(a.tolist(), b.tolist())
    assert found.p == pytest.approx(theirs.pvalue)
    assert (found.low, found.high) == pytest.approx(tuple(theirs.confidence_interval()))


def test_equal_pairs_do_not_differ_and_constant_ones_do() -> None:
    same = difference([1.5, 2.5, 3.5], [1.5, 2.5, 3.5])
    assert (same.value, same.low, same.high, same.p, same.significant) == (0.0, 0.0, 0.0, 1.0, False)
    constant = difference([1.0, 2.0, 4.0], [2.0, 3.0, 5.0])
    assert (constant.value, constant.low, constant.high, constant.p, constant.significant) == (1.0, 1.0, 1.0, 0.0, True)
    rounding = difference([0.3, 0.6], [0.1 + 0.2, 0.6])
    assert (rounding.value, rounding.p, rounding.significant) == (0.0, 1.0, False)


def test_differences_without_pairs_and_of_one() -> None:
    none = difference([], [])
    assert (none.n, none.p, none.significant) == (0, None, False)
    assert math.isnan(none.value)
    one = difference([4.0], [5.0])
    assert (one.value, one.low, one.high, one.relative, one.p, one.significant) == (1.0, None, None, 0.25, None, False)
    with pytest.raises(ConfigError, match="pairs: 1 values against 2"):
        difference([1.0], [1.0, 2.0])


def test_relative_change_of_nothing_is_unknown() -> None:
    found = difference([0.0, 0.0], [1.0, 2.0])
    assert (found.relative, found.relative_low, found.relative_high) == (None, None, None)
    # The mean of the first might be 0, so the ratio might be anything.
    found = difference([-10.0, 1.0, 12.0], [-9.0, 3.0, 13.0])
    assert found.relative is not None
    assert (found.relative_low, found.relative_high) == (None, None)
    below = difference([-10.0, -11.0, -10.5], [-9.0, -10.1, -9.4])
    assert below.relative_low is not None
    assert below.relative_low > 0


@given(st.lists(st.tuples(finite, finite), min_size=2, max_size=8))
def test_relative_intervals_agree_with_significance(pairs: list[tuple[float, float]]) -> None:
    found = difference([a for a, _ in pairs], [b for _, b in pairs])
    assert found.low is not None
    assert found.high is not None
    assert found.p is not None
    assert found.low <= found.value <= found.high
    if found.relative_low is not None and found.relative_high is not None and abs(found.p - 0.05) > 1e-6:
        excludes = found.relative_low > 0 or found.relative_high < 0
        assert excludes == found.significant == (found.low > 0 or found.high < 0)


def test_relative_intervals_cover_as_often_as_they_say() -> None:
    rng = np.random.default_rng(2)
    covered = 0
    for _ in range(2000):
        common = rng.normal(0, 2, 5)
        a, b = 10 + common + rng.normal(0, 0.5, 5), 12 + common + rng.normal(0, 0.5, 5)
        found = difference(a.tolist(), b.tolist())
        assert found.relative_low is not None
        assert found.relative_high is not None
        covered += found.relative_low <= 0.2 <= found.relative_high
    assert 0.935 < covered / 2000 < 0.965


def test_common_random_numbers_narrow_the_interval() -> None:
    rng = np.random.default_rng(3)
    common = rng.normal(0, 5, 6)
    a, b = 100 + common + rng.normal(0, 0.5, 6), 103 + common + rng.normal(0, 0.5, 6)
    paired = difference(a.tolist(), b.tolist())
    apart = [mean_interval(values) for values in (a.tolist(), b.tolist())]
    assert paired.low is not None
    assert paired.high is not None
    assert all(one.high is not None and paired.high - paired.low < (one.high - one.value) for one in apart)
    # Of other seeds nothing cancels: the same drives, without a difference.
    shuffled = difference(a.tolist(), np.roll(b, 1).tolist())
    assert paired.significant
    assert not shuffled.significant


def test_holm_against_a_worked_example() -> None:
    # Sorted: 0.005 x 4, 0.01 x 3, 0.03 x 2, 0.04 x 1, which may not be less than the one before.
    assert holm([0.01, 0.04, None, 0.03, 0.005]) == pytest.approx([0.03, 0.06, None, 0.06, 0.02])
    assert holm([0.6, 0.7]) == [1.0, 1.0]
    assert holm([None]) == [None]
    assert holm([]) == []


def test_pooled_quantiles_are_those_of_all_requests() -> None:
    many, few = [[100, 98], [200, 1]], [[300, 1]]
    assert pooled_quantile([many, few], 0.5).value == 100
    assert pooled_quantile([many, few], 0.99).value == 200
    assert pooled_quantile([many, few], 1.0).value == 300
    assert pooled_quantile([many, few], 0.0).value == 100
    assert pooled_quantile([[[10, 1], [20, 1]]], 0.5).value == 10
    # Edges of different histograms need not be the same, sorted, or filled.
    assert pooled_quantile([[[30, 1], [10, 2]], [[20, 2], [90, 0]]], 0.75).value == 20


def test_quantiles_of_one_run_are_those_of_its_result() -> None:
    result = flashweir.simulate("random:span=32MiB,count=20000,write=0.5,seed=1", capacity="64MiB", precondition="full")
    for operation in ("read", "write"):
        histogram = result[f"latency_histogram_ns.{operation}"]
        row = result[f"latency_us.{operation}"]
        for name, q in (("p50", 0.5), ("p99", 0.99), ("p999", 0.999)):
            # The result never says more than the maximum; an edge may lie above it.
            assert min(pooled_quantile([histogram], q).value / 1000, row["max"]) == pytest.approx(row[name])


def test_bootstrap_of_quantiles_is_seeded_and_needs_two() -> None:
    rng = np.random.default_rng(4)
    histograms = [lognormal_histogram(rng, 500) for _ in range(4)]
    first, again = (pooled_quantile(histograms, 0.99) for _ in range(2))
    assert first == again
    assert first != pooled_quantile(histograms, 0.99, seed=2)
    assert first.low is not None
    assert first.high is not None
    assert first.low < first.value < first.high
    assert first.n == 4
    assert pooled_quantile([histograms[0], []], 0.99)[1:] == (None, None, 1)
    assert pooled_quantile([[], [[5, 0]]], 0.99)[1:] == (None, None, 0)
    assert math.isnan(pooled_quantile([], 0.99).value)
    assert pooled_quantile([[[7, 5]], [[7, 9]]], 0.9) == Estimate(7.0, 7.0, 7.0, 2)
    assert pooled_quantile([[[0, 5]], [[0, 1], [9, 9]]], 0.9).low == 0.0
    assert pooled_quantiles(histograms, [0.99, 0.5]) == [first, pooled_quantile(histograms, 0.5)]


@pytest.mark.parametrize("runs", [3, 5, 10])
def test_bootstrap_of_quantiles_covers_reasonably(runs: int) -> None:
    # p99 of a lognormal distribution; the scale of each run differs by 10 %, as of drives in different states.
    rng = np.random.default_rng(runs)
    true = 1e4 * math.exp(2.3263 * math.sqrt(1 + 0.1**2))
    covered = 0
    for _ in range(300):
        scales = np.exp(rng.normal(0, 0.1, runs))
        found = pooled_quantile([lognormal_histogram(rng, 1000, scale) for scale in scales], 0.99, resamples=200)
        assert found.low is not None
        assert found.high is not None
        covered += found.low <= true <= found.high
    assert 0.90 < covered / 300 < 0.985


def test_bootstrap_of_means_covers_reasonably_for_skewed_values() -> None:
    rng = np.random.default_rng(6)
    found = [bootstrap_mean(row, resamples=200) for row in rng.lognormal(0, 0.4, size=(500, 5)).tolist()]
    true = math.exp(0.4**2 / 2)
    covered = np.mean([one.low <= true <= one.high for one in found if one.low is not None and one.high is not None])
    assert 0.90 < covered < 0.97


def test_bootstrap_of_means_at_the_edges() -> None:
    assert bootstrap_mean([2.0]) == Estimate(2.0, None, None, 1)
    assert bootstrap_mean([]).n == 0
    assert bootstrap_mean([0.1, 0.1, 0.1]) == Estimate(0.1, 0.1, 0.1, 3)
    zero = bootstrap_mean([0.0, 0.0, 6.0])
    assert zero.low == 0.0
    signed = bootstrap_mean([-1.0, 1.0, 2.0])
    assert signed.low is not None
    assert signed.low < 0
    far = bootstrap_mean([1e-100, 1e100], confidence=0.999)
    assert far.high is not None
    assert far.high > 1e100


@pytest.mark.parametrize("histogram", [[[1]], [[1, 2, 3]], [1, 2], "ab", [[1, -1]], [[math.nan, 1]], [["x", 1]], None])
def test_what_is_no_histogram_is_refused(histogram: Any) -> None:
    with pytest.raises(ConfigError, match="histogram 2: pairs of upper edge in ns and number of requests are expected"):
        pooled_quantile([[[1, 1]], histogram], 0.5)


def test_quantiles_and_resamples_out_of_range_are_refused() -> None:
    with pytest.raises(ConfigError, match="quantile 99: a share from 0 to 1"):
        pooled_quantile([[[1, 1]]], 99)
    with pytest.raises(ConfigError, match="resamples 1: at least 2"):
        pooled_quantile([[[1, 1]]], 0.5, resamples=1)


def dominated(rows: list[tuple[float, ...]], row: tuple[float, ...]) -> bool:
    return any(all(x <= y for x, y in zip(other, row, strict=True)) and other != row for other in rows)


@settings(deadline=None)
@given(st.integers(1, 5).flatmap(lambda d: st.lists(st.tuples(*[st.integers(-3, 3)] * d), min_size=1, max_size=30)))
def test_the_pareto_front_is_what_brute_force_finds(rows: list[tuple[int, ...]]) -> None:
    names = [f"m{place}" for place in range(len(rows[0]))]
    directions = {name: ("min", "max")[place % 2] for place, name in enumerate(names)}
    frame = pl.DataFrame(rows, schema=names, orient="row").with_row_index("row")
    costs = [tuple(value if place % 2 == 0 else -value for place, value in enumerate(row)) for row in rows]
    expected = [place for place, cost in enumerate(costs) if not dominated(costs, cost)]
    assert pareto(frame, directions)["row"].to_list() == expected


@pytest.mark.parametrize("objectives", [1, 2, 3, 4])
def test_the_pareto_front_of_many_points(objectives: int) -> None:
    points = np.random.default_rng(7).normal(size=(3000, objectives))
    frame = pl.DataFrame(points, schema=[f"m{place}" for place in range(objectives)]).with_row_index("row")
    front = pareto(frame, dict.fromkeys(frame.columns[1:], "min"))["row"].to_list()
    expected = [
        place
        for place, row in enumerate(points)
        if not ((points <= row).all(axis=1) & (points < row).any(axis=1)).any()
    ]
    assert front == expected


def test_nulls_are_never_on_the_front_and_ties_stay() -> None:
    frame = pl.DataFrame({"a": [1.0, None, 1.0, math.nan, 0.0], "b": [1, 9, 1, 9, 0], "c": ["x", "y", "z", "u", "v"]})
    assert pareto(frame, {"a": "max", "b": "max"})["c"].to_list() == ["x", "z"]
    assert pareto(frame, {"a": "min", "b": "max"})["c"].to_list() == ["x", "z", "v"]
    assert pareto(frame.clear(), {"a": "min"}).is_empty()
    assert pareto(frame.with_columns(a=None), {"a": "min"}).is_empty()
    signed = pl.DataFrame({"a": [0.0, -0.0], "b": [1.0, 1.0]})
    assert pareto(signed, {"a": "min", "b": "min"}).height == 2


def test_objectives_that_make_no_sense_are_refused() -> None:
    frame = pl.DataFrame({"iops": [1.0], "name": ["x"]})
    for objectives, message in (
        ({}, "at least one objective"),
        ({"iops": "up"}, "objective iops: `up` is no direction; min or max is expected"),
        ({"iop": "max"}, "metric `iop`: the frame has none of that name; did you mean `iops`"),
        ({"name": "max"}, "metric `name`: holds String, where numbers are expected"),
    ):
        with pytest.raises(ConfigError, match=message):
            pareto(frame, objectives)  # type: ignore[arg-type]
