"""A metric has one value and one interval in tables, figures, and on the terminal."""

import io
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from rich.console import Console

from flashweir.charts import from_sweep
from flashweir.charts.labels import title
from flashweir.charts.model import Chart, Heat, Plot
from flashweir.reports import sweep as pages
from flashweir.reports.model import Cell, Table, Text
from flashweir.statistics import Estimate, bootstrap_mean, mean_interval, pooled_quantile, summarize
from flashweir.statistics.bootstrap import bucket_width
from flashweir.sweeps import frame as frames
from flashweir.sweeps import sweep
from flashweir.sweeps.frame import SweepFrame
from flashweir.sweeps.terminal import print_frame

P99 = "latency_us.write.p99"
SPEC: dict[str, Any] = {
    "name": "two axes",
    "workloads": {"random": "random:span=32MiB,size=4KiB,count=2000"},
    "set": {"channels": 2, "capacity": "64MiB", "pages_per_block": 64, "precondition": "steady"},
    "axes": {"gc.victim": ["fifo", "greedy"], "op_ratio": [0.1, 0.2, 0.4]},
    "seeds": 3,
    "metrics": [P99, "iops"],
    "compare": "gc.victim",
}


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> SweepFrame:
    return sweep(SPEC, tmp_path_factory.mktemp("sweep") / "s")


def chart(found: list[Chart], name: str) -> Any:
    return next(one for one in found if one.name == name)


@pytest.mark.parametrize("most", [frames.MAX_POOLED, 5])
def test_a_quantile_is_the_same_in_tables_and_figures(
    swept: SweepFrame, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    monkeypatch.setattr(frames, "MAX_POOLED", most)
    frame = SweepFrame(swept)
    frame.directory, frame.meta = swept.directory, swept.meta
    table = {(row["gc.victim"], row["op_ratio"]): row for row in frame.summary([P99]).iter_rows(named=True)}
    means = frame.group_by("gc.victim", "op_ratio").agg(pl.col(P99).mean())
    of_runs = {(victim, ratio): value for victim, ratio, value in means.rows()}
    assert any(row[P99] != pytest.approx(of_runs[key], rel=1e-6) for key, row in table.items()) == frame.pooled
    charts = frame.figures()
    curve = chart(charts, f"curve-{P99}")
    assert isinstance(curve, Plot)
    kind = "Quantiles of all requests of all seeds" if frame.pooled else "Means over seeds of the runs' quantiles"
    assert curve.note.startswith(f"{kind}, with 95% confidence intervals.")
    for series in curve.series:
        victim = series.name.partition("=")[2]
        for x, *found in zip(series.x, series.y, series.low or (), series.high or (), strict=True):
            row = table[victim, x]
            assert found == pytest.approx([row[P99], row[f"{P99} low"], row[f"{P99} high"]], rel=1e-5)
    heat = chart(charts, f"heat-{P99}")
    assert isinstance(heat, Heat)
    assert heat.note.startswith(kind)
    for victim, values in zip(heat.rows, heat.values, strict=True):
        assert values == pytest.approx([table[victim, float(ratio)][P99] for ratio in heat.columns], rel=1e-5)
    front = chart(charts, f"pareto-iops-{P99}")
    assert sorted(y for one in front.series for y in one.y) == pytest.approx(
        sorted(row[P99] for row in table.values()), rel=1e-5
    )
    text, shown = pages._summary(frame, pages._summarized(frame, [P99, "iops"]), frame.meta or {}, [P99, "iops"])
    assert isinstance(text, Text)
    assert (f"{title(P99)}: of all requests of all seeds" in text.text) == frame.pooled
    assert ("the runs' latency quantiles" in text.text) != frame.pooled
    assert isinstance(shown, Table)
    for row in shown.rows:
        cell, key = row[2], tuple(cell.text if isinstance(cell, Cell) else str(cell) for cell in row[:2])
        assert isinstance(cell, Cell)
        assert cell.value == table[key[0], float(key[1])][P99]
        assert re.search("±|to", cell.text)


def test_the_terminal_and_the_comparison_say_which(swept: SweepFrame) -> None:
    stream = io.StringIO()
    print_frame(swept, Console(file=stream, width=200))
    assert f"{swept.summary([P99])[P99][0]:,.0f}" in stream.getvalue()
    assert f"\n{P99}: of all requests of a setting's seeds\n" in stream.getvalue()
    assert f"{P99} (lower is better), against fifo; means of the runs' quantiles\n" in stream.getvalue()
    assert "iops (higher is better), against fifo\n" in stream.getvalue()
    text = pages._comparison(pages._compared(swept, swept.meta or {}, [P99]), swept.meta or {}, [P99])[0]
    assert isinstance(text, Text)
    assert "those of the runs' quantiles, and not the quantile of all requests" in text.text


def test_the_terminal_says_that_a_large_sweep_has_means(swept: SweepFrame, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frames, "MAX_POOLED", 5)
    stream = io.StringIO()
    print_frame(swept, Console(file=stream, width=200))
    assert f"\n{P99}: means of the runs' quantiles\n" in stream.getvalue()


@pytest.mark.parametrize("seeds", [1, 3])
def test_a_quantile_is_at_most_the_maximum_and_of_one_run_that_of_its_result(tmp_path: Path, seeds: int) -> None:
    # All requests take 902.4 us; the edge of their bucket is above.
    spec = {"name": "one", "workloads": "random:span=64MiB,count=100", "seeds": seeds, "metrics": [P99]}
    frame = sweep(spec, tmp_path / "s")
    row = frame.summary([P99]).row(0, named=True)
    (run, result), *_ = frame.results()
    assert result["latency_histogram_ns"]["write"][-1][0] / 1000 > result["latency_us"]["write"]["max"]
    assert row[P99] == result["latency_us"]["write"]["p99"] == result["latency_us"]["write"]["max"]
    assert (row[f"{P99} low"] is None) == (seeds == 1)
    assert run["workload"]
    stream = io.StringIO()
    print_frame(frame, Console(file=stream, width=200))
    assert ("902.4" if seeds == 1 else "902 (900 to 905)") in stream.getvalue()
    assert "902.7" not in stream.getvalue()
    assert ("of all requests" in stream.getvalue()) == (seeds > 1)


def test_a_summary_is_made_once_for_the_same_rows(swept: SweepFrame, monkeypatch: pytest.MonkeyPatch) -> None:
    first = swept.summary([P99, "iops"])
    count = len(swept.figures())
    monkeypatch.setattr("flashweir.statistics.summarize", lambda *_, **__: pytest.fail("made again"))
    assert swept.summary([P99, "iops"]).equals(first)
    assert len(swept.figures()) == count > 4
    monkeypatch.undo()
    changed = SweepFrame(swept)
    changed.directory, changed.meta = swept.directory, swept.meta
    changed.summary(["iops"])
    changed.replace_column(changed.columns.index("iops"), changed["iops"] * 2)
    assert changed.summary(["iops"])["iops"].to_list() == pytest.approx([2 * value for value in first["iops"]])


def test_what_lies_in_one_bucket_has_its_width() -> None:
    assert [bucket_width(value) for value in (0, 2047, 2048, 4095, 4096, 114_229_000)] == [0, 0, 2, 2, 4, 65_536]
    edge = 114_294_783
    same = pooled_quantile([[[edge, count]] for count in (100, 101, 102, 103, 104)], 0.99)
    assert same.low is not None
    assert same.high is not None
    # Student's t of four degrees of freedom times the standard error, on the scale of the logarithm.
    assert same.high - same.low == pytest.approx(2 * 2.7764 * 65_536, rel=1e-3)
    # An edge where each bucket is a whole number of nanoseconds is exact.
    assert pooled_quantile([[[7, 5]], [[7, 9]]], 0.9) == Estimate(7.0, 7.0, 7.0, 2)
    in_us = bootstrap_mean([edge / 1000] * 5, unit_ns=1000)
    assert (in_us.low, in_us.high) == pytest.approx((same.low / 1000, same.high / 1000))
    assert bootstrap_mean([edge / 1000] * 5) == Estimate(edge / 1000, edge / 1000, edge / 1000, 5)
    runs = pl.DataFrame({"seed": [1, 2, 3], P99: [114_294.783] * 3, "iops": [9.0] * 3})
    found = summarize(runs, [P99, "iops"], by=[]).row(0, named=True)
    assert found[f"{P99} low"] < found[P99] < found[f"{P99} high"]
    assert found["iops low"] == found["iops"] == mean_interval([9.0] * 3).high


def test_a_frame_without_histograms_has_the_bootstrap_of_its_runs() -> None:
    values = {4: [10.0, 11.0, 30.0], 8: [20.0, 22.0, 70.0]}
    rows = [
        {"seed": seed, "host.queue_depth": depth, P99: value, "error": None}
        for depth, of_seeds in values.items()
        for seed, value in enumerate(of_seeds)
    ]
    meta = {"axes": [{"name": "host.queue_depth", "values": [4, 8]}]}
    curve = chart(from_sweep.figures(pl.DataFrame(rows), meta), f"curve-{P99}").series[0]
    for place, of_seeds in enumerate(values.values()):
        found = curve.y[place], curve.low[place], curve.high[place]
        assert found == pytest.approx(bootstrap_mean(of_seeds, unit_ns=1000)[:3], rel=1e-5)
    assert min(curve.low) > 0


def test_files_of_figures_and_the_report_agree(swept: SweepFrame, tmp_path: Path) -> None:
    swept.report(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "Quantiles of all requests of all seeds" in page
