"""Comparisons of settings of a sweep with a baseline."""

from typing import Any

import polars as pl
import pytest
from test_statistics_sweep import FACTORS, METRICS, example, run, swept

from flashweir.statistics import compare, difference, summarize


def test_a_comparison_has_a_row_a_setting_alternative_and_metric() -> None:
    frame = example()
    found = compare(frame, "gc.victim", METRICS)
    numbers = ["mean_baseline", "mean", "difference", "low", "high", "relative", "relative_low", "relative_high"]
    assert found.columns == [
        "page", "alternative", "baseline", "metric", "n", *numbers, "p", "p_holm", "significant", "verdict",
    ]  # fmt: skip
    assert found.height == 2 * 2 * 3
    assert set(found["baseline"]) == {"greedy"}
    assert found["alternative"].to_list()[:6] == ["fifo"] * 3 + ["random"] * 3
    row = found.row(0, named=True)
    sides = [
        frame.filter(pl.col("page") == "64KiB", pl.col("gc.victim") == victim).sort("seed")["iops"].to_list()
        for victim in ("greedy", "fifo")
    ]
    expected = difference(*sides)
    assert (row["difference"], row["low"], row["high"]) == pytest.approx(expected[:3])
    assert row["p"] == pytest.approx(expected.p)
    # Two alternatives: the smaller p counts twice.
    for _, family in found.group_by("page", "metric"):
        assert min(family["p_holm"]) == pytest.approx(2 * min(family["p"]))
        assert max(family["p_holm"]) == pytest.approx(max(*family["p"], 2 * min(family["p"])))
    assert row["verdict"].startswith("5.")
    assert row["verdict"].endswith("%), significant")
    assert "% lower (" in row["verdict"]


def test_pairs_are_tighter_than_means() -> None:
    summary, comparison = summarize(example(), "iops"), compare(example(), "gc.victim", "iops")
    half_of_mean = (summary["iops high"] - summary["iops low"]).min()
    half_of_pairs = (comparison["high"] - comparison["low"]).max()
    assert half_of_pairs < half_of_mean / 5  # type: ignore[operator]
    assert comparison["significant"].all()


def test_only_seeds_of_both_sides_are_paired() -> None:
    rows = [run(seed, 10.0 + seed, a=1) for seed in (1, 2, 3, 4)]
    rows += [run(seed, 11.0 + 1.1 * seed, a=2) for seed in (2, 3, 9)] + [run(4, None, "x", a=2)]
    (row,) = compare(swept(rows, a=[1, 2]), "a", "iops").to_dicts()
    assert row["n"] == 2
    assert row["mean_baseline"] == 12.5
    assert row["verdict"].endswith("; 3 of 5 seeds unpaired")


def test_a_baseline_that_a_setting_lacks_gives_no_pairs() -> None:
    rows = [run(seed, 1.0 * seed, a=1, b=b) for seed in (1, 2) for b in ("x", "y")]
    rows += [run(seed, 1.0 * seed, a=2, b="y") for seed in (1, 2)]
    found = compare(swept(rows, a=[1, 2], b=["x", "y"]), "b", "iops", "x")
    assert found.select("a", "n").rows() == [(1, 2), (2, 0)]
    assert found["verdict"].to_list() == [
        "no difference in any of 2 seeds", "no seed with a value on both sides; 2 of 2 seeds unpaired",
    ]  # fmt: skip


def test_verdicts() -> None:
    base = [100.0, 102.0, 98.0, 101.0]
    cases = {
        "same": (base, "no difference in any of 4 seeds"),
        "shift": ([value + 5 for value in base], "5.0% higher (the same in all 4 seeds), significant"),
        "noise": ([100.5, 101.0, 98.8, 100.6], "no significant difference (-1.3% to 1.3%)"),
        "down": ([96.8, 99.1, 95.0, 97.6], "3.1% lower (2.8 to 3.5%), significant"),
    }
    rows = [run(seed, value, v="base") for seed, value in enumerate(base)]
    for name, (values, _) in cases.items():
        rows += [run(seed, value, v=name) for seed, value in enumerate(values)]
    found = compare(swept(rows, v=["base", *cases]), "v", "iops")
    assert dict(found.select("alternative", "verdict").rows()) == {name: text for name, (_, text) in cases.items()}


def test_verdicts_where_the_baseline_is_zero_are_absolute() -> None:
    rows = [run(seed, 0.0, v="base") for seed in (1, 2, 3)]
    rows += [run(seed, value, v="more") for seed, value in zip((1, 2, 3), (5.0, 5.1, 5.2), strict=True)]
    (row,) = compare(swept(rows, v=["base", "more"]), "v", "iops").to_dicts()
    assert row["relative"] is None
    assert row["verdict"] == "5.1 higher (4.9 to 5.3), significant"


def test_the_correction_can_take_significance_away() -> None:
    base = [100.0, 100.0, 100.0, 100.0]
    lift = [101.0, 101.5, 100.5, 100.1]
    rows = [run(seed, value, v="base") for seed, value in enumerate(base)]
    for name in ("a", "b", "c"):
        rows += [run(seed, value, v=name) for seed, value in enumerate(lift)]
    alone = compare(swept(rows[:8], v=["base", "a"]), "v", "iops", confidence=0.9).row(0, named=True)
    assert alone["significant"]
    assert alone["p_holm"] == alone["p"]
    together = compare(swept(rows, v=["base", "a", "b", "c"]), "v", "iops", confidence=0.9).row(0, named=True)
    assert together["p_holm"] == pytest.approx(3 * alone["p"])
    assert not together["significant"]
    assert together["verdict"].startswith("no significant difference after Holm's correction (0.")


@pytest.mark.parametrize(
    ("values", "given", "meant"),
    [
        ([1, 8], "8", 8),
        ([1, 8], 8.0, 8),
        ([0.1, 0.2], "0.20", 0.2),
        ([True, False], "false", False),
        (["64KiB", "1MiB"], "1mib", "1MiB"),
        (["64KiB", "1MiB"], None, "64KiB"),
        ([8, 1], None, 8),
    ],
)
def test_baselines_of_every_type(values: list[Any], given: Any, meant: Any) -> None:
    frame = swept([run(seed, 10.0 * seed, v=value) for value in values[::-1] for seed in (1, 2)], v=values)
    found = compare(frame, "v", "iops", given)
    assert found["baseline"].to_list() == [meant]
    assert found["alternative"].to_list() == [value for value in values if value != meant]
    assert found.schema["alternative"] == frame.schema["v"]


def test_the_sweep_names_its_baseline() -> None:
    frame = swept(example(), compare="gc.victim", page=["64KiB"], gc__victim=list(FACTORS))
    assert set(compare(frame, "gc.victim", "iops")["baseline"]) == {"fifo"}
    assert set(compare(frame, "gc.victim", "iops", "random")["baseline"]) == {"random"}
    assert set(compare(frame, "page", "iops")["baseline"]) == {"64KiB"}


def test_an_axis_of_one_value_has_nothing_to_compare() -> None:
    assert compare(swept([run(1, 1.0, a=1)], a=[1]), "a", "iops").is_empty()
    assert compare(swept([run(1, 1.0, a=1)], a=[1]), "workload", "iops").is_empty()
