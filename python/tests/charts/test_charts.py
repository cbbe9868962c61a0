"""Data of figures, from small runs and from frames made up for the purpose."""

import itertools
import math
from typing import Any

import numpy as np
import pytest
from conftest import SMALL_DRIVE
from report_samples import with_recordings

import flashweir
from flashweir.charts import figures as figures_of
from flashweir.charts import from_result, palette
from flashweir.charts.model import Bars, Chart, Series, Strips
from flashweir.charts.order import log_spaced, ordered
from flashweir.charts.thin import spread, thin
from flashweir.quantity import number_of


def run(workload: Any = "random:span=32MiB,count=4000,write=0.5", **settings: Any) -> dict[str, Any]:
    drive = {**SMALL_DRIVE, "precondition": "full", "host.queue_depth": 8, **settings}
    return flashweir.simulate(workload, set=drive).to_dict()


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
