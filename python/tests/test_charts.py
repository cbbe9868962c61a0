"""What figures show: their data, from small runs and from frames made up for the purpose."""

import itertools
import json
import math
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import numpy as np
import polars as pl
import pytest
from conftest import SMALL_DRIVE

import flashweir
from flashweir.charts import figures as figures_of
from flashweir.charts import from_result, from_sweep, palette
from flashweir.charts.model import Bars, Chart, Heat, Plot, Series, Strips
from flashweir.charts.order import log_spaced, ordered
from flashweir.charts.thin import spread, thin
from flashweir.quantity import number_of
from flashweir.statistics import mean_interval


def run(workload: Any = "random:span=32MiB,count=4000,write=0.5", **settings: Any) -> dict[str, Any]:
    drive = {**SMALL_DRIVE, "precondition": "full", "host.queue_depth": 8, **settings}
    return flashweir.simulate(workload, set=drive).to_dict()


def with_recordings(result: dict[str, Any], channels: int = 2, bins: int = 50) -> dict[str, Any]:
    """A result with the optional parts that a run has on demand."""
    one = {"host": 0.5, "gc": 0.1, "mapping": 0.0, "waiting": 0.1, "idle": 0.3}
    columns = {state: [share] * bins for state, share in one.items()}
    rows = [{**columns, "dirty_pages": [float(number)] * bins} for number in range(channels)]
    windows = {
        "end_s": [float(place + 1) for place in range(bins)],
        "requests": [10] * bins,
        "iops": [100.0 + place for place in range(bins)],
        "latency_us": {"read": [None, *[5.0] * (bins - 1)], "write": [None] * bins},
        "write_amplification": [None, *[1.0 + place for place in range(bins - 1)]],
    }
    return {
        **result,
        "activity": {"from_s": 0.0, "to_s": 9.7, "bin_s": 0.2, "channels": rows, "dirty_pages": [1.0] * bins},
        "series": {"requests_per_window": 10, **windows},
        "warmup": {"method": "mser-5", "found": True, "requests": 50, "of_requests": 500, "simulated_s": 5.0},
    }


def named(charts: list[Chart]) -> dict[str, Any]:
    names = [chart.name for chart in charts]
    assert len(set(names)) == len(names)
    return dict(zip(names, charts, strict=True))


@pytest.fixture(scope="module")
def result() -> dict[str, Any]:
    return run()


@pytest.mark.parametrize(
    ("value", "number"),
    [
        ("64KiB", 65536.0),
        ("1GiB", float(1 << 30)),
        ("512B", 512.0),
        ("4kB", 4000.0),
        ("60us", 60_000.0),
        ("1.5ms", 1_500_000.0),
        ("2s", 2e9),
        ("12", 12.0),
        ("1e3", 1000.0),
        ("-0.5", -0.5),
        (7, 7.0),
        (0.25, 0.25),
        (True, None),
        (None, None),
        ("greedy", None),
        ("4 apples", None),
        ("", None),
        ("nan", None),
        ("1e999", None),
        (math.inf, None),
    ],
)
def test_numeric(value: object, number: float | None) -> None:
    assert number_of(value) == number


def test_values_are_ordered_by_size_only_if_all_have_one() -> None:
    assert ordered(["1MiB", "64KiB", "1MiB", "512B"]) == ["512B", "64KiB", "1MiB"]
    assert ordered(["random", "greedy", "8"]) == ["random", "greedy", "8"]


def test_log_spacing() -> None:
    assert log_spaced([1, 2, 4, 8, 16, 32])
    assert log_spaced([1, 100])
    assert not log_spaced([1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
    assert not log_spaced([0, 1, 10, 100])
    assert not log_spaced([0.05, 0.07, 0.1])
    draw = np.random.default_rng(1)
    assert not log_spaced([float(draw.random()) for _ in range(500)])


def test_a_million_points_are_thinned_and_bend_nowhere() -> None:
    count = 1_000_000
    # Rises steeply in the middle, and has a tail that a regular choice of points would lose.
    x = [1.0 + place / 1000 for place in range(count)]
    y = [1 / (1 + math.exp(-(place - count / 2) / 3000)) for place in range(count)]
    curve = thin(x, y, 400)
    assert len(curve.x) <= 400
    assert (curve.x[0], curve.x[-1], curve.y[0], curve.y[-1]) == (x[0], x[-1], y[0], y[-1])
    gaps_x = [(right - left) / (x[-1] - x[0]) for left, right in itertools.pairwise(curve.x)]
    heights = [value for value in curve.y if value is not None]
    gaps_y = [right - left for left, right in itertools.pairwise(heights)]
    # Nothing between two points is further from them than a hundredth of the axes.
    assert max(gaps_x) < 0.01
    assert max(gaps_y) < 0.011


def test_thinning_keeps_peaks_and_gaps() -> None:
    x = [float(place) for place in range(100_000)]
    y: list[float | None] = [math.sin(place / 50) for place in range(100_000)]
    y[70_001], y[30_000] = 50.0, None
    curve = thin(x, y, 400)
    assert len(curve.x) <= 400
    assert 50.0 in curve.y
    assert curve.y[curve.x.index(30_000.0)] is None
    assert thin([1.0, 2.0], [None, 3.0]) == ([1.0, 2.0], [None, 3.0])
    assert len(thin(x, [None] * 100_000, 400).x) <= 400
    assert len(thin([1.0] * 5000, [2.0] * 5000, 400).x) <= 400


def test_spread_keeps_the_outline_of_a_cloud() -> None:
    draw = np.random.default_rng(2)
    x, y = ([float(draw.normal()) for _ in range(20_000)] for _ in range(2))
    kept = spread(x, y, 2000)
    assert 200 < len(kept) <= 2000
    assert x.index(max(x)) in kept
    assert spread([1.0] * 3000, [1.0] * 3000, 2000) == [0]


def test_latency_figures_of_a_run_agree_with_its_percentiles(result: dict[str, Any]) -> None:
    charts = named(from_result.figures([("run", result)]))
    assert [name for name in charts if name.startswith("latency")] == [
        f"latency-{kind}-{operation}" for operation in ("read", "write") for kind in ("cdf", "percentiles")
    ]
    for operation in ("read", "write"):
        (cdf,) = charts[f"latency-cdf-{operation}"].series
        assert cdf.y[0] == 0.0
        assert cdf.y[-1] == 1.0
        assert list(cdf.y) == sorted(cdf.y)
        latency = result["latency_us"][operation]
        reached = next(x for x, share in zip(cdf.x, cdf.y, strict=True) if share >= 0.99)
        assert reached == pytest.approx(latency["p99"], rel=0.02)
        high = charts[f"latency-percentiles-{operation}"]
        (curve,) = high.series
        at_p99 = [y for x, y in zip(curve.x, curve.y, strict=True) if x <= 2.0][-1]
        assert at_p99 == pytest.approx(latency["p99"], rel=0.02)
        assert curve.y[-1] == pytest.approx(latency["max"], rel=0.01)
        assert [label for _, label in high.x.ticks][:4] == ["0%", "50%", "90%", "99%"]


def test_requests_that_took_no_time_have_a_place_on_the_log_axis() -> None:
    histograms = {"read": [[0, 700], [1000, 200], [100_000, 100]]}
    charts = named(from_result.figures([("run", {"latency_histogram_ns": histograms})]))
    (cdf,) = charts["latency-cdf-read"].series
    assert min(cdf.x) > 0
    assert 0.7 in cdf.y
    assert "run 70.0%" in charts["latency-cdf-read"].note
    (curve,) = charts["latency-percentiles-read"].series
    assert min(curve.y) == 1.0


def test_operations_that_took_no_time_have_no_figures() -> None:
    alone = {"latency_histogram_ns": {"trim": [[0, 5]]}}
    assert from_result.figures([("run", alone)]) == []
    both = {"latency_histogram_ns": {"read": [[1000, 200]], "flush": [[0, 5]], "trim": [[0, 5]]}}
    charts = named(from_result.figures([("run", both)]))
    assert list(charts) == ["latency-cdf-read", "latency-percentiles-read"]
    assert charts["latency-cdf-read"].note == "Took no time at all, and has no figure: trim, flush."
    some = {"latency_histogram_ns": {"trim": [[1000, 5]]}}
    shown = named(from_result.figures([("none", alone), ("some", some)]))
    assert [one.name for one in shown["latency-percentiles-trim"].series] == ["some"]


def test_each_stream_has_a_curve() -> None:
    streams = {"web": "random:span=16MiB,count=500", "log": "random:span=16MiB,count=500,write=1"}
    charts = named(from_result.figures([("run", run(streams))]))
    assert [one.name for one in charts["latency-cdf-write-by-stream"].series] == ["web", "log"]
    two = named(from_result.figures([("a", run(streams)), ("b", run(streams))]))
    assert [one.name for one in two["latency-cdf-write-by-stream"].series] == ["a: web", "a: log", "b: web", "b: log"]


def test_die_time_by_channel_or_by_run(result: dict[str, Any]) -> None:
    one = named(from_result.figures([("run", result)]))["channel-time"]
    assert isinstance(one, Bars)
    assert one.categories == ["channel 0", "channel 1"]
    assert [name for name, _ in one.parts] == ["host", "gc", "mapping", "idle"]
    for row in range(2):
        assert sum(values[row] for _, values in one.parts) == pytest.approx(1, abs=1e-4)
    two = named(from_result.figures([("a", result), ("b", result)]))
    assert two["channel-time"].categories == ["a", "b"]
    assert two["compare-iops"].parts[0][1] == pytest.approx([result["iops"]] * 2, rel=1e-5)
    assert "compare-iops" not in named(from_result.figures([("run", result)]))


def test_recordings_of_a_run(result: dict[str, Any]) -> None:
    charts = named(from_result.figures([("run", with_recordings(result))]))
    strips = charts["channel-activity"]
    assert isinstance(strips, Strips)
    assert len(strips.edges) == 51
    assert strips.edges[-1] == 9.7
    assert strips.shares[strips.states.index("waiting")][1] == [0.1] * 50
    assert [one.name for one in charts["dirty-pages"].series] == ["channel 0", "channel 1", palette.WARM_UP]
    assert charts["dirty-pages"].note.endswith("With the warm-up.")
    assert charts["dirty-pages"].y.from_zero
    assert "With the warm-up, which ends at 5 s." in strips.note
    assert charts["channel-time"].note == "Without the warm-up."
    total, mark = charts["dirty-pages-total"].series
    assert mark == Series(palette.WARM_UP, [5.0, 5.0], [0.0, 1.0])
    assert total.y[0] == 1.0
    assert charts["dirty-pages-total"].note == "With the warm-up."
    rate, mark = charts["over-time-iops"].series
    assert rate.y[0] == 100.0
    assert mark == Series(palette.WARM_UP, [5.0, 5.0], [100.0, 149.0])
    assert charts["over-time-latency-read"].series[0].y[0] is None
    assert "over-time-latency-write" not in charts
    both = named(from_result.figures([("a", with_recordings(result)), ("b", with_recordings(result, channels=20))]))
    assert [one.name for one in both["over-time-iops"].series] == ["a", "b", "a: warm-up ends", "b: warm-up ends"]
    assert len(both["channel-activity-2"].rows) == 20
    assert len(both["dirty-pages-2"].series) == 4
    assert "20 channels are too many" in both["dirty-pages-2"].note


def test_a_run_without_warm_up_is_not_marked(result: dict[str, Any]) -> None:
    recorded = {**with_recordings(result), "warmup": None}
    charts = named(from_result.figures([("run", recorded)]))
    assert not any("warm-up" in chart.note for chart in charts.values())
    assert [one.name for one in charts["dirty-pages-total"].series] == ["run"]


def test_pages_without_a_channel_are_said(result: dict[str, Any]) -> None:
    recorded = with_recordings(result)
    assert "no channel" not in named(from_result.figures([("run", recorded)]))["dirty-pages"].note
    recorded["activity"]["dirty_pages"][3] = 2.5
    assert "no channel" in named(from_result.figures([("run", recorded)]))["dirty-pages"].note


def test_what_channels_of_many_runs_did_is_limited(result: dict[str, Any]) -> None:
    charts = named(from_result.figures([(f"run {number}", with_recordings(result)) for number in range(40)]))
    shown = [name for name in charts if name.startswith(("channel-activity", "dirty-pages-"))]
    assert len(shown) == 2 * 4 + 1
    assert "Shows the first 4 of 40 runs." in charts["channel-activity-1"].note
    empty = {**with_recordings(result), "activity": {**with_recordings(result, bins=0)["activity"]}}
    assert not any("dirty" in chart.name for chart in from_result.figures([("run", empty)]))


def test_a_warm_up_without_end_is_said(result: dict[str, Any]) -> None:
    recorded = with_recordings(result)
    recorded["warmup"] = {"method": "mser-5", "found": False, "requests": 0, "of_requests": 500, "simulated_s": 0.0}
    chart = named(from_result.figures([("run", recorded)]))["over-time-iops"]
    assert len(chart.series) == 1
    assert "no end of the warm-up was found" in chart.note


def test_results_come_in_three_shapes(result: dict[str, Any]) -> None:
    assert figures_of(result) == figures_of({"run": result}) == figures_of([("run", result)])
    assert figures_of([]) == []
    assert figures_of([("empty", {})]) == []


def test_many_runs_are_cut_and_the_note_says_so(result: dict[str, Any]) -> None:
    charts = named(from_result.figures([(f"run {number}", result) for number in range(15)]))
    assert len(charts["latency-cdf-read"].series) == 12
    assert "first 12 of 15" in charts["latency-cdf-read"].note


# A sweep made up: metrics are known functions of the axes, plus noise by seed.


NOISY = ("iops", "latency_us.read.p99", "write_amplification")


def sweep(
    axes: dict[str, list[Any]], seeds: int = 3, fail: int = 0, **more: Any
) -> tuple[pl.DataFrame, dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for point, values in enumerate(itertools.product(*axes.values())):
        setting = dict(zip(axes, values, strict=True))
        size = 1 + sum((sum(map(ord, str(value))) % 13) / 13 for value in values)
        metrics = {
            "iops": 1000 * size,
            "latency_us.read.mean": 50.0,
            "latency_us.read.p99": 10 * size**2,
            "latency_us.write.p99": None,
            "write_amplification": 1 / size,
            "time_share.host": 0.25,
            "time_share.idle": 0.75,
            "error": None,
        }
        noise = [{name: metrics[name] + seed / 100 for name in NOISY} for seed in range(seeds)]
        rows += [{"point": point, "seed": seed, **setting, **metrics, **noise[seed]} for seed in range(seeds)]
    for row in rows[:fail]:
        row.update({"error": "it broke", "iops": None, "latency_us.read.p99": None, "write_amplification": None})
    meta = {"axes": [{"name": name, "values": values} for name, values in axes.items()], "metrics": [], "derived": []}
    return pl.DataFrame(rows, infer_schema_length=None), {**meta, **more}


GRID = {
    "gc.victim": ["greedy", "fifo"],
    "buffer.bytes": ["64KiB", "1MiB", "16MiB", "256MiB"],
    "host.queue_depth": [1, 2, 4],
}


def test_which_figures_a_sweep_has() -> None:
    charts = named(from_sweep.figures(*sweep(GRID)))
    # What is constant (mean latency) or missing (writes) has no figure.
    assert list(charts) == [
        *("curve-iops", "heat-iops", "curve-latency_us.read.p99", "heat-latency_us.read.p99"),
        *("curve-write_amplification", "heat-write_amplification"),
        *("pareto-iops-latency_us.read.p99", "pareto-iops-write_amplification", "channel-time"),
    ]
    chosen = named(from_sweep.figures(*sweep(GRID, metrics=["latency_us.read.mean", "not there"])))
    assert [name for name in chosen if name.startswith(("curve", "heat"))] == [
        "curve-latency_us.read.mean",
        "heat-latency_us.read.mean",
    ]


def test_a_curve_has_intervals_over_seeds() -> None:
    frame, meta = sweep(GRID)
    chart = named(from_sweep.figures(frame, meta))["curve-iops"]
    assert chart.x.scale == "log"
    assert list(chart.x.ticks) == [(65536.0, "64KiB"), (2.0**20, "1MiB"), (2.0**24, "16MiB"), (2.0**28, "256MiB")]
    assert len(chart.series) == 6
    first = chart.series[0]
    assert first.name == "gc.victim=greedy, host.queue_depth=1"
    assert list(first.x) == [65536.0, 2.0**20, 2.0**24, 2.0**28]
    runs = frame.filter(
        (pl.col("gc.victim") == "greedy") & (pl.col("host.queue_depth") == 1) & (pl.col("buffer.bytes") == "64KiB")
    )
    mean, low, high, count = mean_interval(runs["iops"].to_list())
    assert count == 3
    assert low is not None
    assert high is not None
    assert (first.y[0], first.low[0], first.high[0]) == pytest.approx((mean, low, high), rel=1e-5)
    alone = named(from_sweep.figures(*sweep(GRID, seeds=1)))["curve-iops"]
    assert alone.series[0].low is None
    assert "One run a setting" in alone.note


def test_what_a_figure_leaves_out_is_said() -> None:
    axes = {**GRID, "op_ratio": [0.07, 0.1, 0.28]}
    charts = named(from_sweep.figures(*sweep(axes)))
    assert len(charts["curve-iops"].series) <= 12
    assert "At op_ratio=0.07; other values of these are not shown." in charts["curve-iops"].note
    assert "At gc.victim=greedy, op_ratio=0.07" in charts["heat-iops"].note
    many = {"a": list(range(50)), "b": list(range(40))}
    curves = named(from_sweep.figures(*sweep(many, seeds=1)))["curve-iops"]
    assert [one.name for one in curves.series] == ["b=0", "b=8", "b=16", "b=23", "b=31", "b=39"]
    assert "Shows 6 of 40 values of b: 0 to 39." in curves.note


def test_failed_runs_are_left_out_and_counted() -> None:
    frame, meta = sweep(GRID, fail=4)
    charts = named(from_sweep.figures(frame, meta))
    assert "4 of 72 runs failed and are left out." in charts["curve-iops"].note
    assert charts["heat-iops"].values[0][0] is None
    assert from_sweep.figures(*sweep(GRID, fail=72)) == []


def test_a_heat_map_is_over_the_two_longest_axes() -> None:
    chart = named(from_sweep.figures(*sweep(GRID)))["heat-iops"]
    assert isinstance(chart, Heat)
    assert (chart.x.label, chart.y.label) == ("buffer.bytes", "host.queue_depth")
    assert chart.columns == ["64KiB", "1MiB", "16MiB", "256MiB"]
    assert chart.rows == ["1", "2", "4"]


def test_a_heat_map_of_half_its_cells_is_none() -> None:
    frame, meta = sweep({"a": [1, 2, 3, 4], "b": [1, 2, 3, 4]})
    half = named(from_sweep.figures(frame.filter(pl.col("point") < 8), meta))["heat-iops"]
    assert isinstance(half, Heat)
    drawn = (pl.col("a") + pl.col("b")) % 4 == 1
    few = named(from_sweep.figures(frame.filter(drawn | (pl.col("point") < 4)), meta))
    assert frame.filter(drawn | (pl.col("point") < 4)).height == 7 * 3
    assert "curve-iops" in few
    assert "heat-iops" not in few


def zipped(**more: Any) -> tuple[pl.DataFrame, dict[str, Any]]:
    """Queue depth and channels varied together, for two victims."""
    axes = {"gc.victim": ["greedy", "fifo"], "host.queue_depth": [4, 16, 1, 64], "channels": [2, 2, 1, 4]}
    frame, meta = sweep(axes)
    pairs = [
        (pl.col("host.queue_depth") == depth) & (pl.col("channels") == count)
        for depth, count in zip(axes["host.queue_depth"], axes["channels"], strict=True)
    ]
    # The grid has a channel count twice.
    kept = frame.filter(pl.any_horizontal(pairs)).unique(["gc.victim", "host.queue_depth", "seed"], maintain_order=True)
    return kept, {**meta, "spec": {"zip": [["host.queue_depth", "channels"]]}, **more}


def test_axes_varied_together_are_one_axis() -> None:
    frame, meta = zipped(compare="channels")
    assert frame.height == 2 * 4 * 3
    charts = named(from_sweep.figures(frame, meta, results_of(frame, [])))
    curve = charts["curve-iops"]
    assert isinstance(curve, Plot)
    assert [one.name for one in curve.series] == ["gc.victim=greedy", "gc.victim=fifo"]
    assert [list(one.x) for one in curve.series] == [[1.0, 4.0, 16.0, 64.0]] * 2
    assert curve.x.label == "host.queue_depth / channels"
    assert list(curve.x.ticks) == [(1.0, "1 / 1"), (4.0, "4 / 2"), (16.0, "16 / 2"), (64.0, "64 / 4")]
    assert curve.note == "Means over seeds, with 95% confidence intervals."
    heat = charts["heat-iops"]
    assert isinstance(heat, Heat)
    assert heat.columns == ["1 / 1", "4 / 2", "16 / 2", "64 / 4"]
    assert all(value is not None for row in heat.values for value in row)
    # What is compared is the pair, and results find their places.
    distributions = charts["latency-cdf-read"]
    assert [one.name for one in distributions.series] == [
        f"host.queue_depth / channels={value}" for value in ("1 / 1", "4 / 2", "16 / 2", "64 / 4")
    ]


def test_words_varied_together_keep_their_order() -> None:
    rows = [
        {"seed": seed, "sched": a, "map": b, "gc": "x", "error": None, "iops": 100.0 * rank + seed}
        for rank, (a, b) in enumerate([("read", None), ("fifo", "page"), ("fifo", "block")])
        for seed in (1, 2)
    ]
    axes = [("sched", ["read", "fifo", "fifo"]), ("map", ["none", "page", "block"]), ("gc", ["x", "x", "x"])]
    meta = {
        "axes": [{"name": name, "values": values} for name, values in axes],
        "spec": {"zip": [["sched", "map", "gc"], "no group"]},
    }
    points = named(from_sweep.figures(pl.DataFrame(rows), meta))["points-iops"]
    assert isinstance(points, Plot)
    assert points.x.label == "sched / map"
    assert sorted(points.series[0].x) == ["fifo / block", "fifo / page", "read / -"]
    assert list(points.series[0].x)[:2] == ["fifo / page", "fifo / block"]


def test_the_pareto_front_is_what_nothing_beats() -> None:
    frame, meta = sweep(GRID)
    chart = named(from_sweep.figures(frame, meta))["pareto-iops-write_amplification"]
    front = next(one for one in chart.series if one.name == palette.FRONT)
    rest = next(one for one in chart.series if one.name == palette.DOMINATED)
    assert len(front.x) + len(rest.x) == 24
    points = [*zip(front.x, front.y, strict=True), *zip(rest.x, rest.y, strict=True)]
    for x, y in zip(front.x, front.y, strict=True):
        assert not any(a >= x and b <= y and (a, b) != (x, y) for a, b in points)
    for x, y in zip(rest.x, rest.y, strict=True):
        assert any(a >= x and b <= y and (a, b) != (x, y) for a, b in points)
    assert all("gc.victim=" in label for label in front.labels)


def test_axes_of_words_have_points() -> None:
    chart = named(
        from_sweep.figures(*sweep({"gc.victim": ["greedy", "fifo", "random"], "wear.dynamic": [True, False]}))
    )
    points = chart["points-iops"]
    assert points.x.scale == "category"
    assert list(points.series[0].x) == ["greedy", "fifo", "random"]
    assert [one.name for one in points.series] == ["wear.dynamic=true", "wear.dynamic=false"]


def results_of(frame: pl.DataFrame, seen: list[int]) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    for row in frame.iter_rows(named=True):
        seen.append(row["point"])
        slow = 2000 if row["gc.victim"] == "fifo" else 1000
        yield row, {"latency_histogram_ns": {"read": [[slow, 3], [10 * slow, 1]]}}


def test_distributions_of_the_settings_compared() -> None:
    frame, meta = sweep(GRID, compare="gc.victim")
    seen: list[int] = []
    charts = named(from_sweep.figures(frame, meta, results_of(frame, seen)))
    chart = charts["latency-cdf-read"]
    assert [one.name for one in chart.series] == ["gc.victim=greedy", "gc.victim=fifo"]
    assert [max(one.x) for one in chart.series] == [10.0, 20.0]
    assert "At buffer.bytes=64KiB, host.queue_depth=1" in chart.note
    # Three seeds of two settings; nothing is read behind the last of them.
    assert len(seen) == 12 * 3 + 3
    assert charts["channel-time"].categories == ["gc.victim=greedy", "gc.victim=fifo"]


def test_a_frame_that_knows_its_sweep_needs_no_more() -> None:
    frame, meta = sweep(GRID)

    class Known:
        columns, height = frame.columns, frame.height
        filter, __getitem__ = frame.filter, lambda _, name: frame[name]

        def __init__(self) -> None:
            self.meta = meta

        def results(self) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
            return results_of(frame, [])

    assert "latency-cdf-read" in named(figures_of(Known()))  # type: ignore[arg-type]


def test_ten_thousand_runs_stay_small() -> None:
    frame, meta = sweep({"a": list(range(50)), "b": list(range(50)), "gc.victim": ["greedy", "fifo"]}, seeds=2)
    assert frame.height == 10_000
    charts = from_sweep.figures(frame, meta)
    assert len(json.dumps([asdict(chart) for chart in charts], allow_nan=False)) < 3_000_000
    for chart in charts:
        if chart.name.startswith("pareto"):
            assert isinstance(chart, Plot)
            assert sum(len(one.x) for one in chart.series if one.name == palette.DOMINATED) <= 2000


def test_settings_drawn_at_random_are_binned() -> None:
    draw = np.random.default_rng(3)
    rows = [
        {"point": point, "seed": 1, "x": x, "y": float(draw.random()), "error": None, "iops": 1000 * x}
        for point, x in enumerate(float(draw.random()) for _ in range(2000))
    ]
    frame = pl.DataFrame(rows)
    meta = {"axes": [{"name": name, "values": frame[name].to_list()} for name in ("x", "y")]}
    charts = named(from_sweep.figures(frame, meta))
    assert "heat-iops" not in charts
    chart = charts["curve-iops"]
    assert len(chart.series[0].x) == 40
    assert "Averaged over all settings of y." in chart.note
    assert "x is cut into 40 ranges." in chart.note


def test_a_sweep_over_seeds_alone() -> None:
    frame, meta = sweep({"gc.victim": ["greedy"]}, seeds=4)
    charts = named(from_sweep.figures(frame, meta, results_of(frame, [])))
    assert "curve-iops" not in charts
    assert [one.name for one in charts["latency-cdf-read"].series] == ["all runs"]


def test_colours_have_meanings() -> None:
    assert [look.colour for look in palette.looks(["a", "b"])] == list(palette.SERIES[:2])
    looks = palette.looks(["a", "b", "b: warm-up ends", "warm-up ends"])
    assert looks[2] == palette.Look(palette.SERIES[1], "dashed", mark=True)
    assert looks[3].colour == palette.MUTED
    twelve = palette.looks([str(number) for number in range(12)])
    assert len(set(twelve)) == 12
    assert palette.states(["host", "idle"]) == [palette.STATES["host"], palette.STATES["idle"]]
    assert palette.states(["IOPS"]) == [palette.SERIES[0]]


def test_an_axis_that_does_not_act_on_a_workload_stands_for_every_value() -> None:
    spec = {
        "workloads": {
            "random": "random:span=32MiB,count=500",
            "zipf": "zipf:span=32MiB,count=500,theta={theta}",
        },
        "set": {"channels": 2, "capacity": "64MiB", "pages_per_block": 64},
        "axes": {"op_ratio": [0.1, 0.2, 0.3], "theta": [0.8, 0.9]},
        "metrics": ["iops"],
    }
    for theta in ([0.8, 0.9], [0.9], [0.1 * rank for rank in range(1, 9)]):
        frame = flashweir.sweep({**spec, "axes": {**spec["axes"], "theta": theta}})
        heat = next(chart for chart in figures_of(frame) if chart.name == "heat-iops")
        assert isinstance(heat, Heat)
        assert all(value is not None for row in heat.values for value in row), theta
        curve = next(chart for chart in figures_of(frame) if chart.name == "curve-iops")
        assert isinstance(curve, Plot)
        # Along eight values of theta, a workload without one has no place.
        assert any(series.name == "workload=random" for series in curve.series) == (len(theta) < 8), theta


def test_a_sweep_with_activity_shows_what_channels_did() -> None:
    spec = {
        "workloads": {"random": "random:span=32MiB,count=3000"},
        "set": {"channels": 2, "capacity": "64MiB", "pages_per_block": 64, "precondition": "full"},
        "axes": {"gc.victim": ["fifo", "greedy"], "buffer.bytes": ["0B", "64KiB"]},
        "seeds": 2,
        "compare": "buffer.bytes",
        "activity": "all",
        "warmup": "requests=500",
    }
    charts = {chart.name: chart for chart in figures_of(flashweir.sweep(spec))}
    for name in ("channel-activity-1", "channel-activity-2", "dirty-pages-total", "over-time-iops"):
        assert "One run of each setting. At gc.victim=fifo" in charts[name].note, name
    strips = charts["channel-activity-2"]
    assert isinstance(strips, Strips)
    assert "64KiB" in strips.title
    assert list(strips.rows) == ["channel 0", "channel 1"]
