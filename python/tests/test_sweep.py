"""Sweeps: every run arrives once, whatever fails or is killed."""

import io
import json
import os
import random
import signal
import subprocess
import sys
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
from flashweir.sweeps.frame import SweepFrame
from flashweir.sweeps.local import Budget, LocalBackend
from flashweir.sweeps.points import Planned, Planner
from flashweir.sweeps.runner import State
from flashweir.sweeps.spec import load
from flashweir.sweeps.terminal import duration, progress_on

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
    frame = sweep({**GRID, "axes": {"capacity": ["64MiB", "16MiB"], "sched.kind": ["fifo", "out-of-order"]}})
    failed = frame.filter(pl.col("error").is_not_null())
    assert failed.height == 9
    errors = "\n".join(failed["error"].unique())
    assert "its span ends at byte" in errors
    assert "out-of-order" in errors
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
    spec = {**GRID, "seeds": 200}
    with pytest.raises(FlashweirError, match=r"stopped: .* of 800 runs done and kept"):
        sweep(spec, tmp_path, progress=lambda state: state.done < 20)
    done = store.frame(tmp_path).height
    assert 20 <= done < 800
    ran, state = run_counted(spec, tmp_path, resume=True)
    assert (ran, state.ready) == (800 - done, done)


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


VICTIM = """
import json, sys
from pathlib import Path
from flashweir.sweeps import runner, store
from flashweir.sweeps.local import LocalBackend
from flashweir.sweeps.spec import load
from flashweir.sweeps.terminal import duration, progress_on
store.PART_ROWS = 7
print("started", flush=True)
runner.execute(load(json.loads(sys.argv[1])), Path(sys.argv[2]), LocalBackend, resume=True)
"""
KILLS = 50


def test_killed_at_any_time_no_run_is_lost_and_none_is_counted_twice(tmp_path: Path) -> None:
    spec = {**GRID, "seeds": 150}
    directory = tmp_path / "s"
    dice = random.Random(5)  # noqa: S311
    arguments = [sys.executable, "-c", VICTIM, json.dumps(spec), str(directory)]
    kills, before = 0, 0
    while kills < KILLS:
        with subprocess.Popen(arguments, stdout=subprocess.PIPE) as victim:
            assert victim.stdout is not None
            victim.stdout.readline()
            # Every tenth is left to run for longer, so that the sweep gets on.
            time.sleep(dice.uniform(0, 0.06 if kills % 10 else 0.3))
            over = victim.poll() is not None
            os.kill(victim.pid, signal.SIGKILL)
        kills += 1
        # Read as the kill left it: nothing that was there is gone, nothing is there twice.
        frame = store.frame(directory) if (directory / "sweep.json").exists() else pl.DataFrame({"point": []})
        assert frame.height >= before
        before = frame.height
        if over:
            assert before == 600
            # A new sweep for the kills that are left.
            directory, before = tmp_path / f"s{kills}", 0
            arguments[-1] = str(directory)
    runner.execute(load(spec), directory, LocalBackend, resume=True)
    rows = [(row["point"], row["seed"]) for row in store.rows(directory)]
    assert sorted(rows) == [(point, seed) for point in range(4) for seed in range(1, 151)]
    assert steady(store.frame(directory)).equals(steady(sweep(spec)))


def test_what_a_kill_can_leave_is_put_right(tmp_path: Path) -> None:
    sweep(GRID, tmp_path)
    lines = (tmp_path / "runs.jsonl").read_bytes()
    # A torn last line: that run had not been counted.
    (tmp_path / "runs.jsonl").write_bytes(lines[:-40])
    assert store.frame(tmp_path).height == 11
    assert run_counted(GRID, tmp_path, resume=True)[0] == 1
    # Killed between writing a part and emptying runs.jsonl.
    lines = (tmp_path / "runs.jsonl").read_bytes()
    with store.Store(tmp_path) as open_store:
        open_store._compact()
    (tmp_path / "runs.jsonl").write_bytes(lines)
    assert store.frame(tmp_path).height == 12
    assert len(list(store.rows(tmp_path))) == 12
    assert run_counted(GRID, tmp_path, resume=True)[0] == 0
    assert (tmp_path / "runs.jsonl").read_bytes() == b""
    # A temporary file of a part.
    (tmp_path / ".runs-00001.parquet.part").write_bytes(b"half")
    assert run_counted(GRID, tmp_path, resume=True)[0] == 0
    assert not (tmp_path / ".runs-00001.parquet.part").exists()


def test_a_damaged_line_is_named_and_left_out_and_its_run_is_run_again(tmp_path: Path) -> None:
    frame = sweep(GRID, tmp_path)
    lines = (tmp_path / "runs.jsonl").read_bytes().splitlines(keepends=True)
    # A block of zeros, as a disk that lost power leaves it, and a line that is cut short.
    damage = [b"\0" * 40 + b"\n", lines[2][:50] + b"\n"]
    (tmp_path / "runs.jsonl").write_bytes(b"".join([lines[0], *damage, *lines[3:]]))
    with pytest.warns(flashweir.FlashweirWarning, match=r"runs\.jsonl: line [23]: damaged \(.*\): left out") as warned:
        found = flashweir.read_sweep(tmp_path)
    assert len(warned) == 2
    assert found.height == 10
    with pytest.warns(flashweir.FlashweirWarning, match=r"line [23]: damaged \(.*\): kept in runs\.damaged"):
        count, _ = run_counted(GRID, tmp_path, resume=True)
    assert count == 2
    assert steady(flashweir.read_sweep(tmp_path)).equals(steady(frame))
    assert (tmp_path / "runs.damaged").read_bytes() == b"".join(damage)
    assert len((tmp_path / "runs.jsonl").read_bytes().splitlines()) == 12


def test_damaged_files_are_one_clear_line(tmp_path: Path) -> None:
    sweep(GRID, tmp_path)
    (tmp_path / "runs.jsonl").write_bytes(b"")
    (tmp_path / "runs-00000.parquet").write_bytes(b"PAR1 no more")
    with pytest.raises(FlashweirError, match=r"runs-00000\.parquet: damaged"):
        store.frame(tmp_path)
    (tmp_path / "sweep.json").write_text("{}")
    with pytest.raises(ConfigError, match=r"sweep\.json: expected what a sweep writes"):
        store.read_meta(tmp_path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"name": None}, "key name to be a text"),
        ({"axes": None}, "key axes to be a list of objects with name and values"),
        ({"axes": [{"name": "a"}]}, "key axes to be a list of objects with name and values"),
        ({"seeds": 3}, "key seeds to be a list of numbers"),
        ({"points": "4"}, "key points to be a number"),
        ({"runs": None}, "key runs to be a number"),
        ({"metrics": "iops"}, "key metrics to be a list of texts"),
        ({"compare": 7}, "key compare to be a text or null"),
    ],
)
def test_a_damaged_description_is_one_clear_line(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    meta = runner.describe(load(GRID))
    path = tmp_path / "sweep.json"
    path.write_text(json.dumps(meta))
    assert store.read_meta(tmp_path) == meta
    key = next(iter(change))
    for damaged in ({**meta, **change}, {name: value for name, value in meta.items() if name != key}):
        path.write_text(json.dumps(damaged))
        with pytest.raises(ConfigError) as error:
            store.read_meta(tmp_path)
        assert str(error.value) == f"{path}: expected what a sweep writes: {message}"


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


def test_a_frame_shows_itself() -> None:
    frame = sweep({**GRID, "name": "<b>grid</b>"})
    html = frame._repr_html_()
    assert "12 of 12 runs" in html
    assert "&lt;b&gt;grid" in html
    assert frame.axes == ["gc.victim", "op_ratio"]
    smaller = frame.filter(pl.col("op_ratio") == 0.1)
    assert type(smaller) is pl.DataFrame
    with pytest.raises(ConfigError, match="no directory"):
        next(SweepFrame(smaller).results())


class Terminal(io.StringIO):
    """A stream that says it is a terminal, or not."""

    def __init__(self, answer: bool) -> None:
        super().__init__()
        self._answer = answer

    def isatty(self) -> bool:
        return self._answer


def test_progress_is_a_bar_on_a_terminal_and_a_line_a_minute_elsewhere() -> None:
    states = [State(1000, done=done, failed=done // 100, elapsed_s=done * 0.5) for done in range(0, 600, 10)]
    for answer in (True, False):
        stream = Terminal(answer)
        with progress_on(stream) as shown:
            assert all(shown.update(state) for state in states)
        text = stream.getvalue()
        if answer:
            assert "590 of 1,000 runs" in text
        else:
            assert text.splitlines()[0] == "120 of 1,000 runs, 120.0 a minute, 7 min 20 s left, 1 failed"
            assert len(text.splitlines()) == 4


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.0123, "12.3 ms"), (3.21, "3.21 s"), (61, "1 min 1 s"), (7260, "2 h 1 min"), (200_000, "2 days 7 h")],
)
def test_durations_in_words(seconds: float, text: str) -> None:
    assert duration(seconds) == text


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
    # What failed because the trace changed under it is made good.
    after = sweep(spec, tmp_path / "s", resume=True)
    assert "error" not in after.columns or after["error"].drop_nulls().is_empty()
    assert set(store.frame(tmp_path / "s")["requests"]) == {7}


def test_what_can_not_be_written_whole_is_taken_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = store._append

    class Full(io.FileIO):
        room = 30_000

        def write(self, data: Any) -> int:
            if not Full.room:
                raise OSError(28, "No space left on device")
            taken = super().write(bytes(data)[: Full.room])
            Full.room -= taken
            return taken

    def append(_: Any, lines: bytes, path: Path) -> None:
        with Full(path, "ab") as full:
            plain(full, lines, path)

    monkeypatch.setattr(store, "_append", append)
    with pytest.raises(FlashweirError, match=r"runs\.jsonl: No space left on device: runs before are kept"):
        sweep(GRID, tmp_path / "s")
    monkeypatch.undo()
    kept = store.frame(tmp_path / "s").height
    assert 0 < kept < 12
    ran, state = run_counted(GRID, tmp_path / "s", resume=True)
    assert (ran, state.ready) == (12 - kept, kept)


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


def test_rubbish_in_the_directory_is_one_clear_line(tmp_path: Path) -> None:
    sweep(GRID, tmp_path)
    row = json.loads((tmp_path / "runs.jsonl").read_text().splitlines()[0])
    for change in ({"point": [1]}, {"result": "text"}, {"error": 3}, {"iops": [1]}, {"seed": None}):
        (tmp_path / "runs.jsonl").write_text(json.dumps({**row, **change}) + "\n")
        with pytest.warns(flashweir.FlashweirWarning, match=r"runs\.jsonl: line 1: damaged"):
            assert store.frame(tmp_path).height == 0
    for text in ("nonsense\n", "[" * 5000 + "\n", "{}\n", "3\n"):
        (tmp_path / "runs.jsonl").write_text(text)
        with pytest.warns(flashweir.FlashweirWarning, match=r"runs\.jsonl: line 1: damaged"):
            assert store.frame(tmp_path).height == 0
    (tmp_path / "runs.jsonl").unlink()
    (tmp_path / "runs.jsonl").mkdir()
    with pytest.raises(FlashweirError, match=r"runs\.jsonl: Is a directory"):
        store.frame(tmp_path)
    (tmp_path / "runs.jsonl").rmdir()
    pl.DataFrame({"a": [1]}).write_parquet(tmp_path / "runs-00000.parquet")
    with pytest.raises(FlashweirError, match=r"runs-00000\.parquet: damaged: expected a column key"):
        sweep(GRID, tmp_path / "other", reuse=[tmp_path])
