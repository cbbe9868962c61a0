"""Figures of sweeps."""

import itertools
import json
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import numpy as np
import polars as pl
import pytest
from test_charts import named

import flashweir
from flashweir.charts import figures as figures_of
from flashweir.charts import from_sweep, palette
from flashweir.charts.model import Axis, Heat, Plot, Series, Strips
from flashweir.charts.order import log_spaced
from flashweir.charts.units import duration, scaled
from flashweir.statistics import mean_interval

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
    # A constant metric (mean latency) or a missing one (writes) has no figure.
    assert list(charts) == [
        *("curve-iops", "heat-iops", "heat-iops-2"),
        *("curve-latency_us.read.p99", "heat-latency_us.read.p99", "heat-latency_us.read.p99-2"),
        *("curve-write_amplification", "heat-write_amplification", "heat-write_amplification-2"),
        *("pareto-iops-latency_us.read.p99", "pareto-iops-write_amplification"),
        *("channel-time", *(f"channel-time-{number}" for number in range(2, 13))),
    ]
    facets = [charts[name].facet for name in charts if name.startswith("channel-time")]
    assert facets[:2] == ["buffer.bytes=64KiB, host.queue_depth=1", "buffer.bytes=64KiB, host.queue_depth=2"]
    assert len(set(facets)) == 12
    assert {charts[name].group for name in charts if name.startswith("channel-time")} == {"channel-time"}
    chosen = named(from_sweep.figures(*sweep(GRID, metrics=["latency_us.read.mean", "not there"])))
    assert [name for name in chosen if name.startswith(("curve", "heat"))] == [
        "curve-latency_us.read.mean",
        "heat-latency_us.read.mean",
        "heat-latency_us.read.mean-2",
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
    facets = [chart for chart in charts.values() if chart.group == "curve-iops"]
    assert [chart.facet for chart in facets] == ["op_ratio=0.07", "op_ratio=0.1", "op_ratio=0.28"]
    assert "At op_ratio=0.1." in facets[1].note
    assert facets[0].series[0].y != facets[1].series[0].y
    assert len([chart for chart in charts.values() if chart.group == "heat-iops"]) == 6
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
    # The pair is compared, and results find their places.
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


def test_distributions_are_drawn_for_each_setting_of_the_other_axes() -> None:
    frame, meta = sweep(GRID, compare="gc.victim")
    seen: list[int] = []
    charts = named(from_sweep.figures(frame, meta, results_of(frame, seen)))
    drawn = [chart for name, chart in charts.items() if chart.group == "latency-cdf-read"]
    assert len(drawn) == len({chart.facet for chart in drawn}) == 12
    assert all([one.name for one in chart.series] == ["gc.victim=greedy", "gc.victim=fifo"] for chart in drawn)
    assert "At buffer.bytes" not in charts["latency-cdf-read"].note
    assert len(seen) == 24 * 3, "every run is read once"


def test_distributions_of_the_settings_compared() -> None:
    frame, meta = sweep({**GRID, "host.queue_depth": [1, 2, 4, 8]}, compare="gc.victim")
    seen: list[int] = []
    charts = named(from_sweep.figures(frame, meta, results_of(frame, seen)))
    chart = charts["latency-cdf-read"]
    assert [one.name for one in chart.series] == ["gc.victim=greedy", "gc.victim=fifo"]
    assert [max(one.x) for one in chart.series] == [10.0, 20.0]
    assert "At buffer.bytes=64KiB, host.queue_depth=1" in chart.note
    # Three seeds of two settings; nothing is read behind the last of them.
    assert len(seen) == 16 * 3 + 3
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
    def looks_of(*names: str) -> list[palette.Look]:
        return palette.looks([Series(name, [], []) for name in names])

    assert [look.colour for look in looks_of("a", "b")] == list(palette.SERIES[:2])
    looks = looks_of("a", "b", "b: warm-up ends", "warm-up ends")
    assert looks[2] == palette.Look(palette.SERIES[1], "dashed", mark=True)
    assert looks[3].colour == palette.MUTED
    twelve = looks_of(*(str(number) for number in range(12)))
    assert len(set(twelve)) == 12
    assert palette.states(["host", "idle"]) == [palette.STATES["host"], palette.STATES["idle"]]
    assert palette.states(["IOPS"]) == [palette.SERIES[0]]


def test_a_policy_has_one_colour_in_every_figure() -> None:
    charts = from_sweep.figures(*sweep(GRID))
    of: dict[str, set[str]] = {}
    for chart in charts:
        if isinstance(chart, Plot) and not chart.name.startswith("pareto"):
            for one, look in zip(chart.series, palette.looks(chart.series), strict=True):
                of.setdefault(one.name.partition(",")[0], set()).add(look.colour)
    assert len(of) == 2
    assert all(len(colours) == 1 for colours in of.values())
    assert len(set.union(*of.values())) == 2
    front = palette.looks([Series(palette.FRONT, [], [])])[0]
    assert front.colour not in palette.SERIES


def test_powers_stand_on_a_log_axis() -> None:
    assert log_spaced([1, 2, 4])
    assert log_spaced([0.1, 0.2, 0.4])
    assert not log_spaced([1, 2, 3])
    assert not log_spaced([0.07, 0.1, 0.15, 0.2, 0.28])


def test_times_are_in_the_unit_that_suits_them() -> None:
    assert [duration(value) for value in (0.5, 182.4, 999.9, 12_345.0, 3_592_421.0)] == [
        *("500 ns", "182 us", "1 ms", "12.3 ms", "3.59 s"),
    ]
    series = [Series("a", [1.0, 2.0], [50_000.0, 70_000.0], [40_000.0, None], [60_000.0, None])]
    drawn = scaled(Plot("p", "p", Axis("queue depth"), Axis("read latency (p99), us"), series))
    assert isinstance(drawn, Plot)
    assert drawn.y.label == "read latency (p99), ms"
    assert (drawn.series[0].y, drawn.series[0].low, drawn.series[0].high) == ([50.0, 70.0], [40.0, None], [60.0, None])
    few = Plot("p", "p", Axis("x"), Axis("latency, us"), [Series("a", [1.0], [182.0])])
    assert scaled(few) == few


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
