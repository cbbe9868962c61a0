"""`flashweir compare`: policies side by side."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from conftest import SHIPPED_TRACE, SMALL_DRIVE, SMALL_SETTINGS, flashweir, refused

import flashweir as package
from flashweir import ConfigError
from flashweir.charts import from_sweep
from flashweir.charts.model import Plot
from flashweir.charts.palette import FRONT
from flashweir.policies.outcome import change, label, outcomes, percent
from flashweir.statistics import pareto

FULL = {**SMALL_DRIVE, "precondition": "full"}
SETTINGS = [*SMALL_SETTINGS, "--set=precondition=full"]
WORK = "random:span=32MiB,size=4KiB,count=4000"
ZIPF = "zipf:span=32MiB,size=4KiB,count=4000"
POLICIES = "greedy,gc.victim=fifo,greedy:timing.multi_plane=true"


@pytest.fixture(scope="module")
def frame(tmp_path_factory: pytest.TempPathFactory) -> Any:
    directory = tmp_path_factory.mktemp("compare") / "runs"
    return package.compare({"uniform": WORK, "skewed": ZIPF}, POLICIES, set=FULL, seeds=3, directory=directory)


def test_a_trace_that_only_reads_is_compared_by_its_reads(tmp_path: Path) -> None:
    trace = tmp_path / "reads.msr.csv"
    flashweir("trace", "generate", "random:span=8MiB,count=200,write=0,rate=1000", str(trace))
    compared = ("compare", str(trace), "--policies", "page+none,page:gc.victim=fifo", "--seeds", "2")
    outputs = ("--html", str(tmp_path / "r.html"), "--markdown", str(tmp_path / "r.md"))
    out = flashweir(*compared, "--set", "precondition=full").out
    assert "read p99, us" in out
    assert "write p99" not in out
    found = flashweir(*compared, *outputs, "--set", "precondition=full", "--json", "-").json()
    assert found["rows"][0]["metrics"]["latency_us.read.p99"]["value"] > 0
    assert "latency_us.read.p99" in (tmp_path / "r.html").read_text()
    assert "read p99" in (tmp_path / "r.md").read_text()
    both = flashweir(*compared, "random:span=8MiB,count=200", "--set", "precondition=full", "--json", "-").json()
    metrics = {row["workload"]: set(row["metrics"]) for row in both["rows"]}
    assert "latency_us.read.p50" in metrics["reads.msr.csv"] - metrics["random:span=8MiB,count=200"]


def test_a_workload_that_takes_no_time_is_said_to(tmp_path: Path) -> None:
    trace = tmp_path / "reads.msr.csv"
    flashweir("trace", "generate", "random:span=8MiB,count=200,write=0,rate=1000", str(trace))
    outputs = ("--html", str(tmp_path / "r.html"), "--markdown", str(tmp_path / "r.md"))
    policies = ("--policies", "page+none,page:gc.victim=fifo", "--set", "precondition=empty")
    out = flashweir("compare", str(trace), *policies, *outputs).out
    assert "nothing to compare, as it takes no time: all that it reads was never written" in out


def test_a_comparison_is_a_sweep_of_policies(frame: Any) -> None:
    assert frame.height == 2 * 2 * 3
    assert frame.axes == ["workload", "policy"]
    assert frame["error"].null_count() == frame.height
    assert frame.meta["compare"] == "policy"
    assert frame.meta["baseline"] == "greedy"
    assert list(frame.meta["refused"]) == ["greedy:timing.multi_plane=true"]
    assert frame.meta["policies"]["gc.victim=fifo"] == {"gc.victim": "fifo"}
    row = frame.compare(metrics=["iops"]).row(0, named=True)
    assert (row["workload"], row["alternative"], row["baseline"]) == ("uniform", "gc.victim=fifo", "greedy")
    assert row["significant"]
    again = package.read_sweep(frame.directory)
    assert again.meta["refused"] == frame.meta["refused"]
    assert [name for name in frame.meta["metrics"] if name.startswith("latency")] == [
        f"latency_us.write.{name}" for name in ("p50", "p95", "p99", "p999", "p9999")
    ]


def test_outcomes_have_intervals_changes_and_a_front_each(frame: Any) -> None:
    found = outcomes(frame)
    assert [one.workload for one in found] == ["uniform", "skewed"]
    for one in found:
        assert [entry.policy for entry in one.entries] == ["greedy", "gc.victim=fifo"]
        for entry in one.entries:
            value, low, high = entry.values["iops"]
            assert None not in (value, low, high)
            assert low <= value <= high  # type: ignore[operator]
        greedy, fifo = one.entries
        assert greedy.changes == {}
        assert change(fifo.changes["iops"])[1] == "worse"
        # Greedy has more IOPS, a shorter tail and less write amplification on both.
        assert one.front == ["greedy"]


def test_a_front_is_of_three_objectives(frame: Any) -> None:
    rows = pl.DataFrame({"a": [1, 2, 3, 3], "b": [3, 2, 3, 1], "c": [1, 1, 1, 9]})
    assert pareto(rows, {"a": "max", "b": "min", "c": "min"}).to_dicts() == [
        {"a": 2, "b": 2, "c": 1},
        {"a": 3, "b": 3, "c": 1},
        {"a": 3, "b": 1, "c": 9},
    ]
    charts = {chart.name: chart for chart in frame.figures()}
    assert "of the same workload" in charts["pareto-iops-latency_us.write.p999"].note
    # The front of each workload, though one workload is slower than the other in everything.
    on_front = next(one for one in charts["pareto-iops-latency_us.write.p999"].series if one.name == FRONT)
    assert sorted(text.partition(",")[0] for text in on_front.labels) == ["workload=skewed", "workload=uniform"]
    assert "latency-percentiles-write" in charts


def test_a_front_is_of_one_workload_and_of_the_tail_that_is_named() -> None:
    rows = [
        {"key": f"{workload}-{policy}-{seed}", "point": at, "seed": seed, "workload": workload, "policy": policy,
         "error": None, "iops": iops, "latency_us.write.p99": 9.0 + at, "latency_us.write.p999": tail,
         "write_amplification": 1.0}
        for at, (workload, policy, iops, tail) in enumerate(
            [("fast", "a", 900.0, 1.0), ("fast", "b", 800.0, 2.0), ("slow", "a", 90.0, 9.0), ("slow", "b", 80.0, 5.0)]
        )
        for seed in (1, 2)
    ]  # fmt: skip
    axes = [{"name": "workload", "values": ["fast", "slow"]}, {"name": "policy", "values": ["a", "b"]}]
    meta = {"axes": axes, "metrics": ["iops", "latency_us.write.p999", "write_amplification"], "compare": "policy"}
    frame = pl.DataFrame(rows, schema_overrides={"error": pl.String})
    charts = {chart.name: chart for chart in from_sweep.figures(frame, meta)}
    assert "pareto-iops-latency_us.write.p99" not in charts
    chart = charts["pareto-iops-latency_us.write.p999"]
    assert isinstance(chart, Plot)
    front = next(one for one in chart.series if one.name == FRONT)
    assert sorted(front.labels or ()) == [
        "workload=fast, policy=a", "workload=slow, policy=a", "workload=slow, policy=b"]  # fmt: skip
    assert "no other setting of the same workload is as good" in chart.note


@pytest.mark.parametrize(
    ("row", "text"),
    [
        (None, "baseline"),
        ({"difference": None}, "-"),
        ({"difference": 5.0, "low": None, "relative": 0.05}, "+5.0 %"),
        ({"difference": 0.0, "low": None, "relative": 0.0}, "same"),
        ({"difference": 0.0, "low": 0.0, "high": 0.0, "relative": 0.0}, "same"),
        ({"difference": 5.0, "low": 4.9, "high": 5.1, "relative": 0.05, "relative_low": 0.049, "relative_high": 0.051,
          "significant": True}, "+5.00 % better"),
        ({"difference": -5.0, "low": -9, "high": -1, "relative": -0.05, "relative_low": -0.09, "relative_high": -0.01,
          "significant": True}, "-5 % worse"),
        ({"difference": -5.0, "low": -9, "high": 1, "relative": -0.05, "relative_low": -0.09, "relative_high": 0.01,
          "significant": False}, "-5 % (n.s.)"),
    ],
)  # fmt: skip
def test_a_change_in_few_words(row: Any, text: str) -> None:
    assert change(row and {"metric": "iops", **row})[0] == text


def test_numbers_and_headings() -> None:
    assert percent(2.724) == "+272 %"
    assert percent(-0.0312) == "-3.1 %"
    assert percent(None) == "?"
    names = ("iops", "latency_us.write.p999", "latency_us.read.p50", "write_amplification")
    assert [label(name) for name in names] == ["IOPS", "write p99.9, us", "read p50, us", "write amplification"]


def test_the_command_prints_bars_tables_the_front_and_what_was_refused() -> None:
    done = flashweir("compare", WORK, ZIPF, "--policies", POLICIES, *SETTINGS, "--seeds=2")
    assert f"{WORK}, against greedy" in done.out
    assert "█" in done.out or "#" in done.out
    for heading in ("IOPS", "write p50, us", "write p99.9, us", "write p99.99, us", "write amplification"):
        assert heading in done.out
    assert "baseline" in done.out
    assert "% worse" in done.out
    assert "On the Pareto front of IOPS, p99.9 latency and write amplification: greedy" in done.out
    assert "Combinations without a drive, not run (1):\n  greedy:timing.multi_plane=true: " in done.out


def test_the_command_crosses_lists_and_writes_files(tmp_path: Path) -> None:
    lists = ["--ftl", "page", "--buffer", "0,1MiB,1B", "--baseline", "buffer.bytes=1MiB"]
    files = ["--json", "-", "--html", "c.html", "--markdown", "c.md", "-o", "runs"]
    found = flashweir("compare", WORK, *lists, *SETTINGS, "--seeds=2", *files, cwd=tmp_path).json()
    assert found["baseline"] == "buffer.bytes=1MiB"
    assert list(found["policies"]) == ["buffer.bytes=0", "buffer.bytes=1MiB"]
    assert list(found["refused"]) == ["buffer.bytes=1B"]
    assert found["pareto"].keys() == {WORK}
    first, second = found["rows"]
    assert first["policy"] == "buffer.bytes=0"
    assert first["runs"] == 2
    assert first["against_baseline"]["iops"]["n"] == 2
    assert second["against_baseline"] == {}
    assert first["metrics"]["iops"]["low"] <= first["metrics"]["iops"]["value"]
    page = (tmp_path / "c.html").read_text(encoding="utf-8")
    assert "Combinations without a drive, not run" in page
    assert "points-iops" in page
    text = (tmp_path / "c.md").read_text(encoding="utf-8")
    assert f"## {WORK.replace('_', chr(92) + '_')}" in text
    assert "| buffer.bytes=0 |" in text or "| **buffer.bytes=0** |" in text
    assert "Combinations without a drive, not run:\n\n- buffer.bytes=1B" in text
    assert json.loads((tmp_path / "runs" / "sweep.json").read_text())["compare"] == "policy"
    resumed = flashweir("compare", WORK, *lists, *SETTINGS, "--seeds=2", "-o", "runs", "--resume", cwd=tmp_path)
    assert "IOPS" in resumed.out


def test_a_recorded_trace_runs_once_unless_something_draws() -> None:
    drive = {"capacity": "4GiB", "channels": 2}
    options: dict[str, Any] = {"set": drive, "seeds": 2}
    both = {"trace": SHIPPED_TRACE, "random": WORK}
    frame = package.compare(both, "buffer.bytes=0,buffer.bytes=1MiB", **options)
    assert frame.meta is not None
    assert frame["workload"].to_list() == ["trace"] * 2 + ["random"] * 4
    assert frame.meta["runs"] == 6
    (note,) = frame.meta["notes"]
    assert note.startswith("trace: recorded, and no policy draws random numbers: every seed would give the same run")
    trace, _ = outcomes(frame)
    assert trace.entries[0].values["iops"][1:] == (None, None)
    assert "%" in change(trace.entries[1].changes["iops"])[0]
    frame = package.compare({"trace": SHIPPED_TRACE}, "greedy,gc.victim=random", **options)
    assert frame.height == 4
    assert (frame.meta or {})["notes"] == []


def test_one_seed_is_said() -> None:
    out = flashweir("compare", WORK, "--policies", "greedy,gc.victim=fifo", *SETTINGS, "--seeds=1").out
    assert "One seed: there are no intervals" in out
    assert "±" not in out


def test_reads_are_compared_where_asked() -> None:
    frame = package.compare(f"{WORK},write=0.3", "greedy,gc.victim=fifo", set=FULL, seeds=2, latency="read")
    (one,) = outcomes(frame)
    assert one.operation == "read"
    assert "latency_us.read.p999" in one.metrics
    # Nothing was written, so reads are compared, and the latency of writes is no objective.
    (one,) = outcomes(package.compare(f"{WORK},write=0", "greedy,gc.victim=fifo", set=FULL, seeds=2))
    assert one.operation == "read"
    assert one.metrics == ["iops", *(f"latency_us.read.{name}" for name in ("p50", "p95", "p99", "p999", "p9999"))]
    assert one.front == ["greedy", "gc.victim=fifo"]


def test_failed_runs_are_said(tmp_path: Path) -> None:
    done = flashweir("compare", WORK, "random:span=1GiB,count=10", "--policies", "greedy,cost-benefit", *SETTINGS,
                     "--seeds=2", "-o", "runs", code=1, cwd=tmp_path)  # fmt: skip
    assert "2 of 2 runs failed" in done.out
    assert done.err.startswith("error: 4 of 8 runs failed, the first: workload random:")
    assert refused("compare", "random:span=1GiB,count=10", "--policies", "greedy", *SETTINGS, code=1).startswith(
        "5 of 5"
    )


def test_a_workload_has_the_name_before_it(tmp_path: Path) -> None:
    other = "random:span=16MiB,count=200"
    args = ("--policies", "greedy", "--seeds", "1", *SETTINGS)
    found = flashweir("compare", "skewed=zipf:span=16MiB,count=200", other, *args, "--json", "-").json()
    assert [one["workload"] for one in found["rows"]] == ["skewed", other]
    (tmp_path / "a=b.csv").write_text("0,r,0,8\n1,w,8,8\n")
    table = ("--columns", "time=0,op=1,lba=2,size=3")
    assert "a=b.csv" in flashweir("compare", "a=b.csv", *args, *table, cwd=tmp_path).out
    twice = refused("compare", "a=random:count=10", "a=zipf:count=10", *args)
    assert twice == "workload a=zipf:count=10: another workload is named a: expected a name of its own"


def test_all_workloads_are_checked_before_any_runs(tmp_path: Path) -> None:
    for given, message in (
        ("zipf:count=10,thet=1", "thet"),
        ("zip:count=10", "zip"),
        ("random:count=1e", "expected a whole number"),
        ("a=zip:count=10", 'workload a: workload "zip": no such kind'),
        ("a=nothing.csv", "workload 'nothing.csv': there is no such file"),
        ("nothing.csv", "there is no such file"),
        ("=random:count=10", "workload '=random:count=10': there is no such file"),
        ("a b=random:count=10", "workload 'a b=random:count=10': there is no such file"),
    ):
        said = refused("compare", WORK, given, "--policies", "greedy", *SETTINGS, "-o", "runs", cwd=tmp_path)
        assert message in said
        assert not (tmp_path / "runs").exists()


def test_bad_input_is_one_line(tmp_path: Path) -> None:
    assert "no workload" in refused("compare", "--policies", "greedy")
    assert "'gredy' is no choice of any key" in refused("compare", WORK, "--policies", "gredy")
    assert "--buffer 1MiB,: expected values" in refused("compare", WORK, "--buffer", "1MiB,")
    assert "--resume goes with -o" in refused("compare", WORK, "--resume")
    assert "'x' is no value of policy" in refused("compare", WORK, "--policies", "greedy", "--baseline", "x")
    assert "goes without WORKLOAD" in refused("compare", WORK, "--matrix", "x.toml")
    assert "goes without --skip-bad" in refused("compare", "--matrix", "x.toml", "--skip-bad", "3")
    assert "expected a file of its own" in refused(
        "compare", WORK, "--html", "x", "--markdown", "x", "--policies", "greedy", cwd=tmp_path
    )
    assert "--set x: expected KEY=VALUE" in refused("compare", WORK, "--policies", "greedy", "--set", "x")
    with pytest.raises(ConfigError, match="chanels: no key of a drive"):
        package.compare(WORK, "greedy", set={"chanels": 3})
    with pytest.raises(ConfigError, match="nonsense: unknown key"):
        package.compare(WORK, "greedy", nonsense=3)


def test_ctrl_c_keeps_what_was_done(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "flashweir", "compare", WORK, "--policies", "greedy", *SETTINGS, "--seeds=5000"]
    with subprocess.Popen(
        [*command, "-o", "runs"], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as running:
        lines = tmp_path / "runs" / "runs.jsonl"
        while not lines.exists() or lines.stat().st_size == 0:
            assert running.poll() is None
            time.sleep(0.02)
        os.kill(running.pid, signal.SIGINT)
        out, err = running.communicate(timeout=60)
    assert running.returncode == 130
    assert out == ""
    assert err.startswith("error: stopped by Ctrl-C: ")
    assert err.endswith("of 5,000 runs are done and kept in runs; --resume goes on\n")
