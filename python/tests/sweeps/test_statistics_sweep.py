"""Statistics of a sweep's frame: summaries, comparisons, and both as tables."""

import io
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
import pytest
from rich.console import Console

from flashweir import ConfigError
from flashweir.statistics import bootstrap_mean, compare, mean_interval, pooled_quantile, summarize
from flashweir.tables import print_comparison, print_summary

METRICS = ["iops", "write_amplification", "latency_us.write.p99"]
FACTORS = {"greedy": 1.0, "fifo": 0.95, "random": 0.9}


class Swept(pl.DataFrame):
    """A frame that knows its axes, as a sweep's does."""

    meta: dict[str, Any]


def swept(rows: Sequence[dict[str, Any]] | pl.DataFrame, compare: str | None = None, **axes: list[Any]) -> Swept:
    frame = Swept(rows, infer_schema_length=None) if not isinstance(rows, pl.DataFrame) else Swept(rows)
    named = [{"name": name.replace("__", "."), "values": values} for name, values in axes.items()]
    frame.meta = {"axes": named, "compare": compare, "baseline": "fifo" if compare else None}
    return frame


def run(seed: int, iops: float | None, error: str | None = None, **axes: Any) -> dict[str, Any]:
    settings = {name.replace("__", "."): value for name, value in axes.items()}
    key = "-".join(str(value) for value in (*settings.values(), seed))
    return {"key": key, "seed": seed, "workload": "w", **settings, "iops": iops, "error": error}


def example(seeds: int = 5) -> Swept:
    """Two page sizes x three victims; what a seed draws moves all of its runs together."""
    rows = []
    for page in ("64KiB", "1MiB"):
        for victim, factor in FACTORS.items():
            for seed in range(1, seeds + 1):
                common = np.random.default_rng(seed).normal(0, 0.05)
                own = np.random.default_rng([seed, len(page), len(victim)]).normal(0, 0.002, 3)
                row = run(seed, 2000 * factor * (1 + common + own[0]), page=page, gc__victim=victim)
                rows.append(
                    row
                    | {
                        "write_amplification": 2 / factor * (1 + common + own[1]),
                        "latency_us.write.p99": 1000 / factor * (1 + 4 * common + 4 * own[2]),
                        "flash.reads": round(1e6 * factor),
                    }
                )
    # Runs finish in any order; the axes say which comes first.
    shuffled = pl.DataFrame(rows, schema_overrides={"error": pl.String}).sample(fraction=1.0, shuffle=True, seed=1)
    return swept(shuffled, page=["64KiB", "1MiB"], gc__victim=list(FACTORS))


def printed(show: Any, frame: pl.DataFrame, width: int = 80, encoding: str = "utf-8") -> str:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding=encoding)
    show(frame, Console(file=stream, width=width))
    stream.flush()
    return raw.getvalue().decode(encoding)


def test_a_summary_has_a_row_a_setting_in_the_order_of_the_axes() -> None:
    frame = example()
    found = summarize(frame, METRICS)
    ends = [column for name in METRICS for column in (name, f"{name} low", f"{name} high")]
    assert found.columns == ["page", "gc.victim", "runs", "failed", *ends]
    assert found["page"].to_list() == ["64KiB"] * 3 + ["1MiB"] * 3
    assert found["gc.victim"].to_list() == [*FACTORS, *FACTORS]
    assert set(found["runs"]) == {5}
    assert set(found["failed"]) == {0}
    of_first = frame.filter(pl.col("page") == "64KiB", pl.col("gc.victim") == "greedy").sort("seed")
    assert found.row(0)[4:7] == pytest.approx(mean_interval(of_first["iops"])[:3])
    assert found.row(0)[10:13] == pytest.approx(bootstrap_mean(of_first["latency_us.write.p99"])[:3])


def test_an_interval_of_a_number_of_a_result_ends_at_zero() -> None:
    frame = pl.DataFrame({"a": [1, 1], "seed": [1, 2], "iops": [1.0, 9.0], "latency_us.read.mean": [1.0, 9.0],
                          "gain": [1.0, 9.0], "error": [None, None]})  # fmt: skip
    row = summarize(frame, ["iops", "latency_us.read.mean", "gain"], by="a").row(0, named=True)
    assert (row["iops low"], row["latency_us.read.mean low"]) == (0.0, 0.0)
    assert row["iops high"] == row["gain high"]
    # A derived column may be a difference.
    assert row["gain low"] < 0


def test_a_summary_at_another_confidence_is_wider_or_narrower() -> None:
    narrow, usual = summarize(example(), "iops", confidence=0.8), summarize(example(), "iops")
    assert (narrow["iops high"] < usual["iops high"]).all()
    assert (narrow["iops"] == usual["iops"]).all()


def test_seeds_count_once() -> None:
    rows = [run(1, 10.0, a=1), run(1, 10.0, a=1), run(2, 20.0, a=1)]
    found = summarize(swept(rows, a=[1]), "iops")
    assert found.row(0)[1] == 3
    assert found.row(0)[3:] == mean_interval([10.0, 20.0], at_least=0.0)[:3]
    # Two settings in one group: the mean of each seed is one observation.
    rows = [run(1, 10.0, a=1), run(1, 14.0, a=2), run(2, 20.0, a=1), run(2, 22.0, a=2)]
    found = summarize(swept(rows, a=[1, 2]), "iops", by=[])
    assert found.row(0) == (4, 0, *mean_interval([12.0, 21.0], at_least=0.0)[:3])


def test_failed_runs_and_missing_values_are_left_out() -> None:
    rows = [
        run(1, 10.0, a=1), run(2, None, "no space", a=1), run(3, 12.0, a=1),
        run(1, None, "no space", a=2), run(2, None, "no space", a=2),
        run(1, float("nan"), a=3), run(2, 7.0, a=3), run(3, float("inf"), a=3),
    ]  # fmt: skip
    found = summarize(swept(rows, a=[3, 2, 1]), "iops")
    assert found["a"].to_list() == [3, 2, 1]
    assert found.rows()[0] == (3, 3, 0, 7.0, None, None)
    assert found.rows()[1] == (2, 2, 2, None, None, None)
    assert found.rows()[2] == (1, 3, 1, *mean_interval([10.0, 12.0], at_least=0.0)[:3])


def test_sweeps_in_which_nothing_finished() -> None:
    rows = [{key: value for key, value in run(seed, None, "x", a=1.5).items() if key != "iops"} for seed in (1, 2)]
    found = summarize(swept(rows, a=[1.5, 2.5]), "iops")
    assert found.rows() == [(1.5, 2, 2, None, None, None)]
    assert "2 (2 failed)" in printed(print_summary, found)
    rows += [{**row, "a": 2.5} for row in rows]
    (row,) = compare(swept(rows, a=[1.5, 2.5]), "a", "iops").to_dicts()
    assert row["verdict"] == "no seed with a value on both sides; 2 of 2 seeds unpaired"
    assert (row["n"], row["p"], row["p_holm"], row["significant"]) == (0, None, None, False)


def test_empty_frames_give_empty_frames() -> None:
    for frame in (pl.DataFrame(), swept([], gc__victim=["greedy"]), example().clear()):
        summary = summarize(frame, ["iops"])
        assert summary.is_empty()
        assert summary.columns[-3:] == ["iops", "iops low", "iops high"]
        assert printed(print_summary, summary) == "no runs\n"
        comparison = compare(frame, "gc.victim", "iops", by=["gc.victim"])
        assert comparison.is_empty()
        assert printed(print_comparison, comparison) == "nothing to compare: the axis has one value\n"


def test_one_seed_gives_no_interval() -> None:
    frame = example(seeds=1)
    summary = summarize(frame, METRICS)
    assert summary["iops"].null_count() == 0
    assert summary["iops low"].null_count() == summary["latency_us.write.p99 high"].null_count() == 6
    comparison = compare(frame, "gc.victim", METRICS)
    assert set(comparison["verdict"]) == {"one seed: no interval"}
    assert comparison["relative"].null_count() == 0
    assert comparison["p"].null_count() == comparison.height
    assert not comparison["significant"].any()


def test_quantiles_are_pooled_where_histograms_are_given() -> None:
    frame = swept([run(seed, 1.0, a=a) | {"latency_us.read.p99": 5.0} for a in (1, 2) for seed in (1, 2)], a=[1, 2])
    histograms = {
        key: {"read": [[1000 * seed, 90], [8000 * seed * a, 10]]}
        for key, seed, a in frame.select("key", "seed", "a").rows()
    }
    metrics = ["latency_us.read.p99", "iops", "latency_us.read.p50"]
    asked = []

    def of_runs(keys: Sequence[str]) -> list[dict[str, list[list[int]]]]:
        asked.append(list(keys))
        return [histograms[key] for key in keys]

    # Not given: the mean of what the runs say.
    plain = frame.with_columns(pl.lit(1.0).alias("latency_us.read.p50"))
    assert summarize(plain, metrics, by="a")["latency_us.read.p99"].to_list() == [5.0, 5.0]
    found = summarize(plain, metrics, by="a", histograms=histograms)
    assert found.equals(summarize(plain, metrics, by="a", histograms=of_runs))
    assert asked == [["1-1", "1-2"], ["2-1", "2-2"]]
    for a, row in zip((1, 2), found.to_dicts(), strict=True):
        expected = pooled_quantile([histograms[f"{a}-1"]["read"], histograms[f"{a}-2"]["read"]], 0.99)
        assert row["latency_us.read.p99"] == expected.value / 1000 == 16.0 * a
        assert row["latency_us.read.p99 low"] == pytest.approx(expected.low / 1000 if expected.low else None)
        assert row["iops"] == 1.0


def test_histograms_that_lack_runs_are_refused() -> None:
    frame = swept([run(1, 1.0, a=1) | {"latency_us.read.p99": 5.0}], a=[1])
    with pytest.raises(ConfigError, match="histograms: there are none for run 1-1"):
        summarize(frame, "latency_us.read.p99", histograms={})
    with pytest.raises(ConfigError, match="histograms: 1 runs are expected, the function gave 0"):
        summarize(frame, "latency_us.read.p99", histograms=lambda _: [])
    with pytest.raises(ConfigError, match="no column `key`"):
        summarize(frame.drop("key"), "latency_us.read.p99", by="a", histograms={})
    # An operation that did not occur has no quantile.
    empty: dict[str, dict[str, list[list[int]]]] = {"1-1": {}}
    assert summarize(frame, "latency_us.read.p99", histograms=empty).row(0)[3:] == (None, None, None)


def test_names_that_are_not_there_are_refused_with_those_that_are_near() -> None:
    frame = example()
    for call, message in (
        (lambda: summarize(frame, "iop"), "metric `iop`: the frame has none of that name; did you mean `iops`"),
        (lambda: summarize(frame, "p99"), "did you mean `latency_us.write.p99`?"),
        (lambda: summarize(frame, []), "metrics: at least one is expected"),
        (lambda: summarize(frame, "key"), "metric `key`: holds String, where numbers are expected"),
        (
            lambda: summarize(frame, "iops", by="pge"),
            "column `pge`: the frame has none of that name; did you mean `page`",
        ),
        (lambda: summarize(frame, "iops", by="iops"), "metric `iops`: it is a column of the settings already"),
        (lambda: summarize(frame.filter(pl.lit(value=True)), "iops"), "by: this frame does not say which columns are"),
        (lambda: summarize(frame.drop("seed"), "iops", by="page"), "column `seed`: the frame has none of that name"),
        (
            lambda: compare(frame, "gc.victm", "iops"),
            "axis `gc.victm`: no axis of this sweep; did you mean `gc.victim`",
        ),
        (lambda: compare(frame, "iops", "iops"), "axis `iops`: no axis of this sweep"),
        (lambda: compare(frame, "seed", "iops"), "axis `seed`: no axis of this sweep"),
        (lambda: compare(frame, "x", "iops", by="page"), "axis `x`: the frame has none of that name"),
        (
            lambda: compare(frame, "gc.victim", "iops", "gredy"),
            "baseline `gredy`: gc.victim has greedy, fifo, random; did",
        ),
        (lambda: compare(frame, "gc.victim", "iops", confidence=95), "confidence 95: a share between 0 and 1"),
    ):
        with pytest.raises(ConfigError) as caught:
            call()
        assert message in str(caught.value)
        assert "\n" not in str(caught.value)


def test_frames_that_do_not_know_their_axes_are_told() -> None:
    plain = pl.DataFrame(example())
    axes = ["page", "gc.victim"]
    assert summarize(plain, "iops", by=axes).sort(axes).equals(summarize(example(), "iops").sort(axes))
    answer = compare(plain, "gc.victim", "iops", "greedy", by=axes)
    keys = ["page", "alternative"]
    assert answer.sort(keys).equals(compare(example(), "gc.victim", "iops").sort(keys))


def test_a_table_of_a_summary_wraps_by_metric() -> None:
    summary = summarize(example(), [*METRICS, "flash.reads"])
    text = printed(print_summary, summary)
    assert all(len(line) <= 80 for line in text.splitlines())
    # The fourth metric does not fit beside the others: it has a table of its own.
    assert text.count("gc.victim") == 2
    assert text.count("1MiB") == 2 * 3
    for name in (*METRICS, "flash.reads"):
        assert name in text
    assert " ± " in text
    wide = printed(print_summary, summary, width=200)
    assert wide.count("gc.victim") == 1
    assert " +- " in printed(print_summary, summary, encoding="ascii")


def test_nothing_depends_on_the_order_of_the_runs() -> None:
    frame = example()
    other = swept(frame.sample(fraction=1.0, shuffle=True, seed=9), page=["64KiB", "1MiB"], gc__victim=list(FACTORS))
    histograms = {key: {"write": [[1000 * seed, 9], [2000, seed]]} for key, seed in frame.select("key", "seed").rows()}
    assert not other.equals(frame)
    for given in (None, histograms):
        assert summarize(other, METRICS, histograms=given).equals(summarize(frame, METRICS, histograms=given))
    assert compare(other, "gc.victim", METRICS).equals(compare(frame, "gc.victim", METRICS))


def test_tables_name_constant_axes_once() -> None:
    frame = swept(example().filter(pl.col("page") == "1MiB"), page=["64KiB", "1MiB"], gc__victim=list(FACTORS))
    assert printed(print_summary, summarize(frame, "iops")).startswith("page=1MiB\n\n")
    text = printed(print_comparison, compare(frame, "gc.victim", "iops"))
    assert text.startswith("page=1MiB\n\niops (higher is better), against greedy\n")


def test_numbers_in_tables_are_readable() -> None:
    rows = [run(seed, value, a=1) for seed, value in ((1, 1_234_567.0), (2, 1_234_667.0), (3, 1_234_767.0))]
    assert "1,234,667 ± 248" in printed(print_summary, summarize(swept(rows, a=[1]), "iops"))
    rows = [run(seed, value, a="[red]x") for seed, value in ((1, 0.012345), (2, 0.012345))]
    text = printed(print_summary, summarize(swept(rows, a=["[red]x"]), "iops"))
    assert "a=[red]x" in text
    assert "0.01235 ± 0" in text or "0.01234 ± 0" in text
    skewed = [run(seed, 1.0, a=1) | {"latency_us.read.p99": value} for seed, value in ((1, 10.0), (2, 30.0), (3, 90.0))]
    assert " to " in printed(print_summary, summarize(swept(skewed, a=[1]), "latency_us.read.p99"))


def test_a_table_of_a_comparison_says_what_is_better() -> None:
    frame = example()
    text = printed(print_comparison, compare(frame, "gc.victim", [*METRICS, "flash.reads"]))
    assert all(len(line) <= 80 for line in text.splitlines())
    assert "iops (higher is better), against greedy" in text
    assert "write_amplification (lower is better), against greedy" in text
    assert "flash.reads, against greedy" in text
    wide = printed(print_comparison, compare(frame, "gc.victim", [*METRICS, "flash.reads"]), width=160)
    assert wide.count("significant: worse") == 4 * 3
    assert wide.count("significant: better") == 0
    assert wide.count("(the same in all 5 seeds), significant\n") + wide.count("seeds), significant ") == 4
    narrow = printed(print_comparison, compare(frame, "gc.victim", METRICS), width=40)
    assert all(len(line) <= 40 for line in narrow.splitlines() if "against" not in line)


def test_nothing_expensive_is_imported_before_it_is_used() -> None:
    code = "import sys, flashweir.statistics, flashweir.tables; print({'numpy', 'scipy', 'polars'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


def test_one_run_under_many_seeds_counts_once() -> None:
    """A recorded trace on drives that draw nothing: rows of the same key."""
    rows = [{**run(seed, iops, a=a), "key": f"run-{a}"} for a, iops in ((1, 100.0), (2, 120.0)) for seed in range(1, 6)]
    frame = swept(rows, a=[1, 2])
    (one,) = compare(frame, "a", "iops").iter_rows(named=True)
    assert (one["n"], one["difference"], one["low"], one["p"], one["significant"]) == (1, 20.0, None, None, False)
    assert one["verdict"] == "the same run under every seed: no interval"
    summary = summarize(frame, "iops")
    assert summary["runs"].to_list() == [5, 5]
    assert summary["iops low"].to_list() == [None, None]
    # Against one that draws, the same run stands beside each seed.
    drawn = [run(seed, 120.0 + seed, a=3) for seed in range(1, 6)]
    against = compare(swept([*rows[:5], *drawn], a=[1, 3]), "a", "iops").row(0, named=True)
    assert (against["n"], against["difference"], against["significant"]) == (5, 23.0, True)


def test_pooled_quantiles_count_a_run_once() -> None:
    rows = [{**run(seed, 1.0, a=1), "key": "same", "latency_us.read.p99": 1.0} for seed in range(1, 6)]
    histograms = {"same": {"read": [[1000, 99], [2000, 1]]}}
    found = summarize(swept(rows, a=[1]), "latency_us.read.p99", histograms=histograms).row(0, named=True)
    assert (found["latency_us.read.p99"], found["latency_us.read.p99 low"]) == (1.0, None)


def test_differences_within_a_bucket_are_none() -> None:
    """At 1000 us a bucket is 0.512 us wide: one apart is nothing that the histogram knows of."""

    def quantiles(*values: float) -> Swept:
        rows = [
            {**run(seed, 1.0, a=a), "latency_us.read.p99": value}
            for a, value in enumerate(values)
            for seed in (1, 2, 3)
        ]
        return swept(rows, a=list(range(len(values))))

    same = compare(quantiles(1000.0, 1000.512), "a", "latency_us.read.p99").row(0, named=True)
    assert (same["difference"], same["low"], same["high"], same["significant"]) == (0.0, 0.0, 0.0, False)
    assert same["verdict"] == "no difference in any of 3 seeds"
    # Two apart in every seed: more than a bucket, and less than the interval that carries one.
    near = compare(quantiles(1000.0, 1001.024), "a", "latency_us.read.p99").row(0, named=True)
    assert near["low"] < 0 < near["high"]
    assert not near["significant"]
    far = compare(quantiles(1000.0, 1010.24), "a", "latency_us.read.p99").row(0, named=True)
    assert far["significant"]
    assert far["high"] - far["low"] == pytest.approx(2 * 4.303 * 0.512, rel=1e-3)
    assert far["relative_low"] == pytest.approx(far["low"] / 1000)
    # Any other metric is as exact as it is.
    exact = [{**run(seed, iops, a=a)} for a, iops in ((1, 1000.0), (2, 1000.5)) for seed in (1, 2, 3)]
    assert compare(swept(exact, a=[1, 2]), "a", "iops")["significant"].to_list() == [True]
