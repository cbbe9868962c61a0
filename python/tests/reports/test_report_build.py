"""Reports of results and sweeps, and the command that writes them."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from conftest import QUICK, SMALL_DRIVE
from report_samples import HOSTILE, bars, every_kind

import flashweir
from flashweir.cli.report import write_report
from flashweir.reports import build, cells, page, sweep
from flashweir.reports.figures import sections_of
from flashweir.reports.model import Block, Cell, Details, Facts, Figure, Section, Table, Text
from flashweir.sweeps.frame import SweepFrame

META: dict[str, Any] = {
    "format": 1,
    "name": "victims",
    "spec": {"workload": "random"},
    "axes": [
        {"name": "gc.victim", "values": ["greedy", "fifo"]},
        {"name": "buffer.bytes", "values": ["64KiB", "1MiB"]},
    ],
    "seeds": [1, 2],
    "points": 4,
    "runs": 8,
    "derived": ["gc_share"],
    "metrics": [],
    "compare": None,
    "baseline": None,
    "version": "0.1.0",
    "build": "3f9a",
    "git_commit": None,
    "machine": {"cores": 4},
    "created": "2026-01-01T00:00:00Z",
}


def frame(failed: int = 0) -> pl.DataFrame:
    rows = [
        {"key": f"{at}", "point": at // 2, "seed": 1 + at % 2, "gc.victim": victim, "buffer.bytes": size}
        for at, (victim, size) in enumerate(
            (victim, size) for victim in ("greedy", "fifo") for size in ("64KiB", "1MiB") for _ in range(2)
        )
    ]
    for at, row in enumerate(rows):
        down = at < failed
        row |= {"iops": None if down else 1000.0 + at, "gc_share": None if down else 0.25}
        row |= {"write_amplification": None, "error": f"drive is full {HOSTILE[1]}" if down else None}
    return pl.DataFrame(rows, schema_overrides={"error": pl.String, "write_amplification": pl.Float64})


class Statistics:
    """Stands in for flashweir.statistics: the same columns, with numbers that a test can foresee."""

    @staticmethod
    def summarize(frame: pl.DataFrame, metrics: list[str]) -> pl.DataFrame:
        axes = ["gc.victim", "buffer.bytes"]
        means = [pl.col(name).mean() for name in metrics]
        low = [(pl.col(name).mean() - 12.3).alias(f"{name} low") for name in metrics]
        high = [(pl.col(name).mean() + 12.3).alias(f"{name} high") for name in metrics]
        counts = [pl.col("error").null_count().alias("runs"), pl.col("error").count().alias("failed")]
        return frame.group_by(axes, maintain_order=True).agg(*counts, *means, *low, *high)

    @staticmethod
    def compare(frame: pl.DataFrame, axis: str, metrics: list[str], baseline: str | None = None) -> pl.DataFrame:
        del frame
        assert (axis, baseline) == ("gc.victim", "greedy")
        row = {"alternative": "fifo", "baseline": "greedy", "n": 2, "mean_baseline": 1000.5, "mean": 1004.5}
        row |= {"difference": 4.0, "low": 3.0, "high": 5.0, "relative": 0.004, "relative_low": 0.003, "p": 0.01}
        row |= {"relative_high": 0.005, "p_holm": 0.02, "significant": True, "verdict": "more by 0.4 %"}
        return pl.DataFrame(
            [{"buffer.bytes": size, "metric": metric, **row} for size in ("64KiB", "1MiB") for metric in metrics]
        )


@pytest.fixture(autouse=True)
def _stand_ins(monkeypatch: pytest.MonkeyPatch) -> None:
    """Figures and statistics of their own, so that these tests are about reports alone."""
    monkeypatch.setattr(sweep, "statistics", Statistics)
    monkeypatch.setattr(build, "charts_of_results", lambda _: every_kind())
    monkeypatch.setattr(sweep, "charts_of_sweep", lambda _: every_kind())


@pytest.fixture(scope="module")
def result() -> dict[str, Any]:
    return flashweir.simulate(QUICK, SMALL_DRIVE).to_dict()


def blocks(sections: list[Section], title: str) -> list[Block]:
    return list(next(section.blocks for section in sections if section.title == title))


def table(sections: list[Section], title: str, at: int = 0) -> Table:
    return [block for block in blocks(sections, title) if isinstance(block, Table)][at]


def facts(sections: list[Section]) -> dict[str, Any]:
    return dict(next(block.facts for block in blocks(sections, "Runs") if isinstance(block, Facts)))


def test_a_single_run(result: dict[str, Any]) -> None:
    sections = build.report_of_results([("one", result)])
    assert [section.title for section in sections] == [
        "In short",
        "Key figures",
        "Channels over time",
        "Over time",
        "Curves",
        "Two axes at a time",
        "Trade-offs",
        "Configuration",
        "Runs",
    ]
    said = facts(sections)
    assert said["run"] == "one"
    assert said["workload"][0].startswith("random:span=32MiB")
    assert said["version"] == f"flashweir {flashweir.__version__}"
    keys = table(sections, "Key figures")
    row = dict(zip(keys.columns, keys.rows[0], strict=True))
    assert (row["run"], row["IOPS"], row["erases"]) == ("one", result["iops"], result["flash"]["erases"])
    assert row["mean read"] is None, "no reads, no number"
    latency = table(sections, "Key figures", 1)
    assert [cells[:2] for cells in latency.rows] == [["one", "write"]]
    (config,) = blocks(sections, "Configuration")
    assert isinstance(config, Details)
    assert json.loads(config.text) == result["config"]
    page.render("one", sections)


def test_of_several_runs_only_keys_that_differ_are_compared(result: dict[str, Any]) -> None:
    other = flashweir.simulate(QUICK, SMALL_DRIVE, gc__victim="fifo", seed=7).to_dict()
    sections = build.report_of_results([("a", result), ("b", other), ("c", result)])
    assert table(sections, "Configuration").rows == [["gc.victim", "greedy", "fifo", "greedy"]]
    whole = [block.title for block in blocks(sections, "Configuration") if isinstance(block, Details)]
    assert whole == ["Complete configuration: a, c", "Complete configuration: b"]
    runs = table(sections, "Runs")
    assert [row[: len(("run",))] for row in runs.rows] == [["a"], ["b"], ["c"]]
    assert "seed" in runs.columns
    assert "warm-up" not in runs.columns, "no run has one"


def test_the_same_configuration_is_said_to_be_the_same(result: dict[str, Any]) -> None:
    text, config = blocks(build.report_of_results([("a", result), ("b", result)]), "Configuration")
    assert text == Text("All runs have the same configuration.")
    assert isinstance(config, Details)
    assert config.title == "Complete configuration of every run"


def test_streams_and_warm_up() -> None:
    two = flashweir.simulate({"x": QUICK, "y": QUICK}, SMALL_DRIVE).to_dict()
    two["warmup"] = {"method": "mser-5", "found": True, "requests": 1200, "of_requests": 40000, "simulated_s": 0.5}
    sections = build.report_of_results([("two", two)])
    share = 100 * 0.5 / (0.5 + two["simulated_s"])
    assert (
        facts(sections)["warm-up"] == f"1,200 of 40,000 requests left out (mser-5), {share:.2g} % of the simulated time"
    )
    keys, latency, streams = (table(sections, "Key figures", at).caption for at in range(3))
    assert keys == "Runs, without warm-up"
    assert latency.endswith("completion, without warm-up")
    assert streams == "Latency by stream, without warm-up"
    assert not any(isinstance(block, Text) for block in blocks(sections, "Runs"))
    assert [row[1] for row in table(sections, "Key figures", 2).rows] == ["x", "y"]
    assert facts(sections)["workload"][0].startswith("x: random:")


def test_a_warm_up_of_more_than_half_the_time_is_a_warning(result: dict[str, Any]) -> None:
    warmup = {"method": "mser-5", "found": True, "requests": 9, "of_requests": 10}
    long = {**result, "warmup": {**warmup, "simulated_s": 3 * result["simulated_s"]}}
    sections = build.report_of_results([("long", long), ("whole", result)])
    first = blocks(sections, "In short")[1]
    assert first == Text("long: the warm-up took 75 % of the simulated time, and is left out.", alert=True)
    assert table(build.report_of_results([("whole", result)]), "Key figures").caption == "Runs"


def test_operations_that_took_no_time_are_said(result: dict[str, Any]) -> None:
    none = dict.fromkeys(("mean", "p50", "p95", "p99", "p999", "p9999", "max"), 0.0)
    flushed = {**result, "latency_us": {**result["latency_us"], "flush": {"count": 5, **none}}}
    said = blocks(build.report_of_results([("run", flushed)]), "Key figures")[-1]
    assert said == Text("Took no time at all, and have no latency figures: flush.")


def test_a_sweep_with_failures_and_a_comparison() -> None:
    sections = sweep.report_of_sweep(frame(failed=3), {**META, "compare": "gc.victim", "baseline": "greedy", "runs": 9})
    titles = [section.title for section in sections]
    assert titles[:2] == ["In short", "Comparison"]
    assert titles[-3:] == ["All settings", "Failures", "Runs"]
    alerts = [block.text for block in blocks(sections, "In short") if isinstance(block, Text) and block.alert]
    assert alerts == [
        "3 of 8 runs failed: tables and figures show the others.",
        "The sweep is not complete: 1 of 9 runs are missing.",
    ]
    said = facts(sections)
    assert said["axes"] == ["gc.victim: greedy, fifo", "buffer.bytes: 64KiB, 1MiB"]
    assert said["version"] == "flashweir 0.1.0, build 3f9a"
    assert said["machine"] == ["cores: 4"]
    errors = table(sections, "Failures").rows
    assert errors[0][:2] == [f"drive is full {HOSTILE[1]}", 3]
    assert str(errors[0][2]).startswith("gc.victim=greedy, buffer.bytes=64KiB, seed=1; ")
    text = blocks(sections, "Comparison")[0]
    assert isinstance(text, Text)
    assert "4 of 4 differences are significant" in text.text
    compared = table(sections, "Comparison")
    row = dict(zip(compared.columns, compared.rows[0], strict=True))
    assert row["difference"] == Cell("+0.40\u00a0% [+0.30\u00a0to\u00a0+0.50]", 0.004)
    assert row["buffer.bytes"] == Cell("64KiB", 0.0)
    page.render("sweep", sections)


def test_one_policy_alone_is_not_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Statistics, "compare", lambda *_, **__: pl.DataFrame())
    (said,) = blocks(sweep.report_of_sweep(frame(), {**META, "compare": "gc.victim"}), "Comparison")
    assert isinstance(said, Text)
    assert "nothing is compared" in said.text


def test_numbers_are_not_broken_behind_commas() -> None:
    shown = page.render(
        "t", [Section("s", [Table("t", ["from"], [["5 ms for 5,000 pages, of gc.victim=fifo,seed=1"]])])]
    )
    assert "5,000 pages, of gc.victim=<wbr>fifo,<wbr>seed=<wbr>1" in shown


def test_settings_have_means_with_intervals() -> None:
    summary = table(sweep.report_of_sweep(frame(), META), "All settings")
    assert summary.columns == ["gc.victim", "buffer.bytes", "IOPS", "gc share", "runs", "failed"]
    assert [summary.rows[0][at] for at in (2, 4, 5)] == [Cell("1,000 ±\u00a012", 1000.5), 2, 0]
    assert [row[1] for row in summary.rows] == [Cell("64KiB", 0.0), Cell("1MiB", 1.0)] * 2


def test_metrics_that_the_author_names_are_shown() -> None:
    summary = table(
        sweep.report_of_sweep(frame(), {**META, "metrics": ["write_amplification", "iops"], "derived": []}),
        "All settings",
    )
    assert summary.columns[2:-2] == ["IOPS"], "nothing is known of write amplification"


def test_a_sweep_of_which_all_failed_has_no_tables_of_nothing() -> None:
    sections = sweep.report_of_sweep(frame(failed=8), META)
    assert [section.title for section in sections] == ["In short", "Failures", "Runs"]


@pytest.mark.parametrize(
    ("value", "low", "high", "text"),
    [
        (1234.5678, 1234.5, 1234.6356, "1,234.568 ±\u00a00.068"),
        (10.0, 9.0, 14.0, "10.0 [9.0\u00a0to\u00a014.0]"),
        (5.0, 5.0, 5.0, "5 ±\u00a00"),
        (72_939.0, 60_000.0, 85_878.0, "72,939 ±\u00a012,939"),
    ],
)
def test_intervals(value: float, low: float, high: float, text: str) -> None:
    assert cells.estimate("iops", value, low, high) == Cell(text, value)


def test_a_report_of_files(tmp_path: Path, result: dict[str, Any]) -> None:
    for folder in ("x", "y"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "run.json").write_text(json.dumps(result), encoding="utf-8")
    target = tmp_path / "report.html"
    write_report([tmp_path / "x" / "run.json"], target, None, None)
    write_report([tmp_path / "x" / "run.json", tmp_path / "y" / "run.json"], target, None, None, force=True)
    text = target.read_text(encoding="utf-8")
    assert "<!DOCTYPE html>" in text
    assert f"{tmp_path}/x/run" in text, "files of the same name are distinguished by their folder"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["report.html", "x", "y"]


def test_figures_become_files(tmp_path: Path, result: dict[str, Any]) -> None:
    run = tmp_path / "run.json"
    run.write_text(json.dumps(result), encoding="utf-8")
    write_report([run], None, tmp_path / "figures", "png")
    written = sorted(path.name for path in (tmp_path / "figures").iterdir())
    assert written == sorted(f"{chart.name}.png" for chart in every_kind())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["figures", "run.json"]


def test_a_report_of_a_sweep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "sweep"
    folder.mkdir()
    (folder / "runs.jsonl").write_text("", encoding="utf-8")
    found = SweepFrame(frame())
    found.directory, found.meta = folder, META
    monkeypatch.setattr("flashweir.sweeps.read_sweep", lambda _: found)
    write_report([folder], tmp_path / "report.html", None, None)
    assert "<title>Sweep victims</title>" in (tmp_path / "report.html").read_text(encoding="utf-8")
    with pytest.raises(flashweir.ConfigError, match="belongs to the sweep"):
        write_report([folder], folder / "runs.jsonl", None, None)
    with pytest.raises(flashweir.ConfigError, match="one folder of a sweep"):
        write_report([folder, folder], tmp_path / "report.html", None, None)


def test_figures_stand_in_the_sections_of_their_names() -> None:
    sections = sections_of(every_kind())
    names = {
        section.title: [block.chart.name for block in section.blocks if isinstance(block, Figure)]
        for section in sections
    }
    assert names["Latency"] == ["latency-cdf-read"]
    assert names["Channels over time"] == ["channel-time", "channel-activity"]
    assert names["Curves"] == ["curve-iops", "curve-victim"]
    more = sections_of([bars("compare-iops"), *every_kind(), bars("points-iops")])
    assert more[0].title == "Comparison of runs"
    assert not any(section.title == "More figures" for section in more)


def test_the_name_of_a_workload_is_isolated_from_what_it_is(result: dict[str, Any]) -> None:
    work = [{"name": name, "workload": "zipf"} for name in ("שלום", "web")]
    said = facts(build.report_of_results([("run", {**result, "workloads": work})]))["workload"]
    assert said == ["\u2068שלום\u2069: zipf", "web: zipf"]  # noqa: RUF001
