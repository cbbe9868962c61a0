"""Sweeps: every run arrives once, whatever fails or is killed."""

import json
import os
import threading
import time
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from conftest import SHIPPED_TRACE

import flashweir
from flashweir import ConfigError, FlashweirError
from flashweir.sweeps import runner, store, sweep
from flashweir.sweeps.backend import Outcome
from flashweir.sweeps.local import Budget, LocalBackend
from flashweir.sweeps.points import Planned, Planner
from flashweir.sweeps.runner import State
from flashweir.sweeps.spec import load

GRID: dict[str, Any] = {
    "name": "grid",
    "workloads": {"random": "random:span=32MiB,size=4KiB,count=2000"},
    "set": {"channels": 2, "capacity": "64MiB", "pages_per_block": 64},
    "axes": {"gc.victim": ["fifo", "greedy"], "op_ratio": [0.1, 0.2]},
    "seeds": 3,
    "derived": {"moved": "flash.gc.programs / flash.programs"},
}


def steady(frame: pl.DataFrame) -> pl.DataFrame:
    """A frame without what depends on the machine."""
    return pl.DataFrame(frame).drop([name for name in frame.columns if name.endswith("wall_s")])


def test_a_row_a_run_in_the_order_of_the_grid() -> None:
    frame = sweep(GRID)
    assert isinstance(frame, pl.DataFrame)
    assert frame.height == 12
    assert frame["seed"].to_list() == [1, 2, 3] * 4
    assert frame["gc.victim"].to_list() == ["fifo"] * 6 + ["greedy"] * 6
    assert frame["op_ratio"].to_list() == [0.1] * 3 + [0.2] * 3 + [0.1] * 3 + [0.2] * 3
    assert frame["error"].null_count() == 12
    alone = flashweir.simulate(
        GRID["workloads"]["random"], seed=2, set={**GRID["set"], "gc.victim": "greedy", "op_ratio": 0.2}
    )
    row = frame.row(10, named=True)
    assert row["write_amplification"] == alone["write_amplification"]
    assert row["latency_us.write.p99"] == alone["latency_us.write.p99"]
    assert row["moved"] == alone["flash.gc.programs"] / alone["flash.programs"]


def test_results_are_whole_and_the_directory_lasts(tmp_path: Path) -> None:
    frame = sweep(GRID, tmp_path / "s")
    results = list(frame.results())
    assert len(results) == 12
    for row, result in results:
        assert result["seed"] == row["seed"]
        assert result["config"]["gc"]["victim"] == row["gc.victim"]
        assert result["iops"] == row["iops"]
    meta = json.loads((tmp_path / "s" / "sweep.json").read_text())
    assert meta["runs"] == 12
    assert meta["build"] == flashweir._native.__build__
    assert [axis["name"] for axis in meta["axes"]] == ["gc.victim", "op_ratio"]
    lines = [json.loads(line) for line in (tmp_path / "s" / "runs.jsonl").read_text().splitlines()]
    assert {(line["point"], line["seed"]) for line in lines} == {(p, s) for p in range(4) for s in (1, 2, 3)}
    assert lines[0]["result"]["iops"] == lines[0]["iops"]


def test_without_a_directory_nothing_stays() -> None:
    frame = sweep(GRID)
    directory = frame.directory
    assert directory is not None
    assert directory.exists()
    del frame
    assert not directory.exists()


def test_the_same_rows_whatever_the_number_of_threads() -> None:
    assert steady(sweep(GRID, threads=1)).equals(steady(sweep(GRID, threads=4)))


def test_a_failed_run_is_a_row_with_its_error() -> None:
    grid = {**GRID, "set": {**GRID["set"], "ftl.kind": "bast", "nand.cell": "tlc"}}
    frame = sweep({**grid, "axes": {"capacity": ["64MiB", "16MiB"], "slc.kind": ["none", "static"]}})
    failed = frame.filter(pl.col("error").is_not_null())
    assert failed.height == 9
    errors = "\n".join(failed["error"].unique())
    assert "its span ends at byte" in errors
    assert "blocks in SLC mode" in errors
    assert failed["iops"].null_count() == 9
    assert frame.filter(pl.col("error").is_null())["capacity"].to_list() == ["64MiB"] * 3


def test_a_derived_column_over_nothing_fails_the_run() -> None:
    frame = sweep({**GRID, "seeds": 1, "derived": {"d": 'streams["absent"].latency_us.read.mean'}})
    assert set(frame["error"]) == {"derived.d: streams.absent.latency_us.read.mean is no column of this sweep"}
    frame = sweep({**GRID, "seeds": 1, "derived": {"d": 'streams["workload"].latency_us.write.mean'}})
    assert frame["d"].equals(frame["latency_us.write.mean"].rename("d"))


def test_a_bad_trace_fails_its_runs_and_no_others(tmp_path: Path) -> None:
    bad = tmp_path / "bad.csv"
    bad.write_text("128166372003061629,h,0,Write,4096,4096,1\nnonsense\n")
    spec = {**GRID, "workloads": {"bad": str(bad), "absent": str(tmp_path / "absent.csv"), **GRID["workloads"]}}
    frame = sweep(spec)
    by_workload = frame.group_by("workload").agg(pl.col("error").null_count())
    assert dict(by_workload.iter_rows()) == {"bad": 0, "absent": 0, "random": 12}
    assert "bad.csv" in frame.filter(workload="bad")["error"][0]
    assert "absent.csv" in frame.filter(workload="absent")["error"][0]


def test_a_directory_is_not_taken_twice(tmp_path: Path) -> None:
    sweep(GRID, tmp_path)
    with pytest.raises(ConfigError, match="holds a sweep already"):
        sweep(GRID, tmp_path)
    assert sweep(GRID, tmp_path, resume=True).height == 12


def test_two_writers_do_not_share_a_directory(tmp_path: Path) -> None:
    with store.Store(tmp_path), pytest.raises(FlashweirError, match=rf"process {os.getpid()} \(.+\) is writing here"):
        sweep(GRID, tmp_path)


class Counting(LocalBackend):
    """Counts what is really run."""

    submitted = 0

    def submit(self, runs: Any) -> None:
        Counting.submitted += len(runs)
        super().submit(runs)


def run_counted(spec: dict[str, Any], directory: Path, **options: Any) -> tuple[int, State]:
    Counting.submitted = 0
    state = runner.execute(load(spec), directory, Counting, **options)
    return Counting.submitted, state


def test_only_what_is_new_is_run(tmp_path: Path) -> None:
    assert run_counted(GRID, tmp_path / "a")[0] == 12
    assert run_counted(GRID, tmp_path / "a", resume=True) == (
        0,
        State(12, ready=12, elapsed_s=pytest.approx(0, abs=60)),
    )
    # Another sweep, of other shape, other names and more seeds, that shares the runs of greedy with op_ratio 0.2.
    other = {
        **GRID,
        "name": "other",
        "axes": {"op_ratio": [0.2, 0.3], "policy": {"ours": {"gc": {"victim": "greedy"}}}},
        "seeds": 4,
    }
    ran, state = run_counted(other, tmp_path / "b", reuse=(tmp_path / "a",))
    assert (ran, state.ready) == (5, 3)
    assert steady(store.frame(tmp_path / "b")).equals(steady(sweep(other)))
    # The same in the directory of the first: its rows are put aside, and serve.
    assert run_counted(other, tmp_path / "a", resume=True)[0] == 5
    assert store.frame(tmp_path / "a").height == 8
    assert store.frame(tmp_path / "a" / "earlier-1").height == 12


def test_failed_runs_are_tried_again(tmp_path: Path) -> None:
    trace = tmp_path / "t.csv"
    spec = {**GRID, "workloads": {"t": str(trace)}}
    assert run_counted(spec, tmp_path / "s")[1].failed == 12
    trace.write_text("128166372003061629,h,0,Write,4096,4096,1\n")
    assert run_counted(spec, tmp_path / "s", resume=True)[0] == 12
    assert store.frame(tmp_path / "s")["error"].null_count() == 12


def test_a_changed_trace_is_another_workload(tmp_path: Path) -> None:
    trace = tmp_path / "t.csv"
    trace.write_text("128166372003061629,h,0,Write,4096,4096,1\n")
    spec = {**GRID, "workloads": {"t": str(trace)}}
    assert run_counted(spec, tmp_path / "s")[0] == 12
    trace.write_text("128166372003061629,h,0,Write,4096,8192,1\n")
    assert run_counted(spec, tmp_path / "s", resume=True)[0] == 12


def test_a_trace_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    kept: list[int] = []
    plain = LocalBackend.collect

    def collect(self: LocalBackend, timeout_s: float) -> list[Outcome]:
        kept.append(len(self._traces))
        return plain(self, timeout_s)

    monkeypatch.setattr(LocalBackend, "collect", collect)
    spec = {
        **GRID,
        "workloads": {"a": str(SHIPPED_TRACE), "b": "random:span=1GiB,count=10"},
        "set": {"capacity": "4GiB"},
    }
    frame = sweep(spec)
    assert frame["error"].null_count() == 24
    assert max(kept) == 1
    alone = flashweir.simulate(SHIPPED_TRACE, seed=1, capacity="4GiB", gc={"victim": "fifo"}, op_ratio=0.1)
    row, result = next((row, result) for row, result in frame.results() if (row["point"], row["seed"]) == (0, 1))
    assert row["latency_us.read.p99"] == alone["latency_us.read.p99"]
    assert result["workloads"] == alone.to_dict()["workloads"]


def test_stopping_keeps_what_is_done(tmp_path: Path) -> None:
    spec = {**GRID, "seeds": 60}
    with pytest.raises(FlashweirError, match=r"stopped: .* of 240 runs done and kept"):
        sweep(spec, tmp_path, progress=lambda state: state.done < 20)
    done = store.frame(tmp_path).height
    assert 20 <= done < 240
    ran, state = run_counted(spec, tmp_path, resume=True)
    assert (ran, state.ready) == (240 - done, done)


def test_progress_knows_rate_and_time_left() -> None:
    states: list[tuple[int, float | None]] = []
    sweep(GRID, progress=lambda state: states.append((state.done, state.left_s)))
    assert states[-1] == (12, 0.0)
    assert all(left is not None for done, left in states if done)


def test_memory_bounds_what_runs_at_a_time() -> None:
    stop = threading.Event()
    budget = Budget(100)
    assert budget.acquire(400, stop)  # alone, anything runs
    other = threading.Thread(target=budget.acquire, args=(1, stop))
    other.start()
    time.sleep(0.05)
    assert other.is_alive()
    budget.release(400)
    other.join(10)
    assert not other.is_alive()
    stop.set()
    assert not budget.acquire(400, stop)


def test_the_limit_is_kept_by_a_sweep(monkeypatch: pytest.MonkeyPatch) -> None:
    running, most = 0, 0
    lock = threading.Lock()

    def slow(planned: Planned, *_: object) -> Outcome:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        time.sleep(0.01)
        with lock:
            running -= 1
        return Outcome(planned, None, "not run")

    monkeypatch.setattr("flashweir.sweeps.local.simulate", slow)
    one = Planner().plan(next(runner.runs(load(GRID)))).plan["memory_bytes"]
    sweep(GRID, threads=4, memory_bytes=int(one * 2.5))
    assert most == 2


def test_parts_hold_the_same_columns_as_lines(tmp_path: Path) -> None:
    with_lines = sweep(GRID, tmp_path / "a")
    with store.Store(tmp_path / "a") as open_store:
        open_store._compact()
    assert (tmp_path / "a" / "runs-00000.parquet").exists()
    in_parts = store.frame(tmp_path / "a")
    assert in_parts.equals(pl.DataFrame(with_lines))
    assert len(list(with_lines.results())) == 12


def test_duckdb_and_polars_read_the_directory(tmp_path: Path) -> None:
    import duckdb

    sweep(GRID, tmp_path)
    query = "SELECT \"gc.victim\", avg(write_amplification), count(*) FROM '{}' GROUP BY 1 ORDER BY 1"
    from_lines = duckdb.sql(query.format(tmp_path / "runs.jsonl")).fetchall()
    with store.Store(tmp_path) as open_store:
        open_store._compact()
    from_parts = duckdb.sql(query.format(tmp_path / "runs-*.parquet")).fetchall()
    assert from_lines == from_parts
    assert [row[2] for row in from_parts] == [6, 6]
    assert pl.read_parquet(tmp_path / "runs-*.parquet").height == 12


def test_a_trace_that_changes_while_the_sweep_runs_is_never_taken_for_the_other(tmp_path: Path) -> None:
    trace = tmp_path / "t.csv"
    lines = ["128166372003061629,h,0,Write,4096,4096,1\n"] * 7
    trace.write_text("".join(lines[:3]))
    other = tmp_path / "other.csv"
    other.write_text("".join(lines))
    spec = {**GRID, "workloads": {"t": str(trace)}, "seeds": 60}

    def change(state: State) -> None:
        if state.done >= 20 and other.exists():
            other.replace(trace)

    frame = sweep(spec, tmp_path / "s", threads=2, progress=change)
    errors = set(frame["error"].drop_nulls())
    assert errors <= {f"{trace}: changed while the sweep ran: --resume runs it again"}
    by_requests = dict(frame.filter(pl.col("error").is_null()).group_by("requests").len().iter_rows())
    assert set(by_requests) == {3, 7}
    # Whoever wants the trace as it is now gets nothing of the other.
    ran, state = run_counted(spec, tmp_path / "again", reuse=(tmp_path / "s",))
    # A trace on a drive that draws nothing is the same run under every seed: those that ended serve all.
    assert (ran, state.ready) == (0, 240)
    assert set(store.frame(tmp_path / "again")["requests"]) == {7}
    # Runs that failed because the trace changed under them are run again.
    after = sweep(spec, tmp_path / "s", resume=True)
    assert "error" not in after.columns or after["error"].drop_nulls().is_empty()
    assert set(store.frame(tmp_path / "s")["requests"]) == {7}


def test_rows_without_their_description_are_no_rows_of_another_sweep(tmp_path: Path) -> None:
    sweep(GRID, tmp_path)
    (tmp_path / "sweep.json").unlink()
    other = {**GRID, "workloads": {"random": "random:span=32MiB,size=4KiB,count=30"}}
    with pytest.raises(ConfigError, match="holds a sweep already"):
        sweep(other, tmp_path)
    assert set(sweep(other, tmp_path, resume=True)["requests"]) == {30}
    assert store.frame(tmp_path / "earlier-1").height == 12


def test_a_workload_of_another_name_is_another_row_of_the_same_result(tmp_path: Path) -> None:
    sweep(GRID, tmp_path)
    renamed = {**GRID, "workloads": {"other": GRID["workloads"]["random"]}}
    assert run_counted(renamed, tmp_path, resume=True)[0] == 0
    assert set(store.frame(tmp_path)["workload"]) == {"other"}


def test_a_sweep_that_never_began_is_in_nobodys_way(tmp_path: Path) -> None:
    with pytest.raises(FlashweirError, match="stopped: 0 of 12"):
        sweep(GRID, tmp_path, progress=lambda _: False)
    assert sweep(GRID, tmp_path).height == 12


def test_parts_have_the_same_columns_and_types(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "PART_ROWS", 6)
    monkeypatch.setattr(runner, "BATCH", 6)
    spec = {
        **GRID,
        "workloads": {"fails": str(tmp_path / "absent.csv"), "random": "random:count=10,span=1MiB,align={align}"},
        "axes": {"align": ["512B", "4KiB"], "op_ratio": [0.1, 1]},
        "seeds": 6,
    }
    sweep(spec, tmp_path / "s")
    schemas = [pl.read_parquet_schema(part) for part in store.parts(tmp_path / "s")]
    assert len(schemas) >= 2
    assert all(schema == schemas[0] for schema in schemas)
    assert schemas[0]["align"] == pl.String
    assert schemas[0]["requests"] == pl.Int64
    whole = pl.read_parquet(tmp_path / "s" / "runs-*.parquet")
    assert whole.filter(pl.col("error").is_null())["iops"].null_count() == 0


def test_axes_that_advance_together_are_compared_as_one() -> None:
    spec = {
        **GRID,
        "axes": {"channels": [2, 4], "chips": [2, 1]},
        "zip": [["channels", "chips"]],
        "compare": "channels",
    }
    found = sweep(spec).compare(metrics=["iops"])
    assert found.height == 1
    assert found["n"].to_list() == [3]
