"""`flashweir sweep` as people call it."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import flashweir, refused

SPEC = """
name = "small"
seeds = 2
{more}
[workloads]
random = "random:span=32MiB,size=4KiB,count={count}"
[set]
channels = 2
capacity = "64MiB"
pages_per_block = 64
[axes]
gc.victim = ["fifo", "greedy"]
"""


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    path = tmp_path / "small.toml"
    path.write_text(SPEC.format(more="", count=1000))
    return path


def test_a_sweep_from_a_file(spec: Path, tmp_path: Path) -> None:
    out = flashweir("sweep", "small.toml", cwd=tmp_path).out
    assert "4 runs" in out
    assert "0 failed" in out
    assert (tmp_path / "small.sweep" / "sweep.json").exists()
    assert len((tmp_path / "small.sweep" / "runs.jsonl").read_text().splitlines()) == 4
    assert "holds a sweep already" in refused("sweep", "small.toml", cwd=tmp_path)
    rows = flashweir("sweep", "small.toml", "--resume", "--json", "-", cwd=tmp_path).json()
    assert [row["gc.victim"] for row in rows] == ["fifo", "fifo", "greedy", "greedy"]
    assert rows[0]["iops"] > 0
    reused = flashweir("sweep", str(spec), "-o", "other", "--reuse", "small.sweep", "--json", "-", cwd=tmp_path).json()
    assert reused == rows


def test_a_dry_run_runs_nothing(spec: Path, tmp_path: Path) -> None:
    out = flashweir("sweep", str(spec), "--dry-run", cwd=tmp_path).out
    assert "2 points, 4 runs" in out
    assert "memory a run" in out
    assert list(tmp_path.iterdir()) == [spec]
    found = flashweir("sweep", str(spec), "--dry-run", "--json", "-").json()
    assert found["runs"] == 4


def test_a_dry_run_prints_the_most_frequent_refusals(tmp_path: Path) -> None:
    path = tmp_path / "s.toml"
    blocks = ", ".join(map(str, range(300, 320)))
    path.write_text(SPEC.format(more="", count=1000) + f"gc.free_blocks = [{blocks}]\n")
    out = flashweir("sweep", str(path), "--dry-run", cwd=tmp_path).out
    assert out.count("refused: ") == 5
    assert "refused for 15 other reasons" in out
    assert len(flashweir("sweep", str(path), "--dry-run", "--json", "-").json()["refusals"]) == 20


def test_a_dry_run_counts_what_other_sweeps_have_made(spec: Path, tmp_path: Path) -> None:
    flashweir("sweep", str(spec), "-o", "made", cwd=tmp_path)
    (tmp_path / "more.toml").write_text(spec.read_text().replace("seeds = 2", "seeds = 3"))
    dry = ("sweep", "more.toml", "--dry-run", "--reuse", "made")
    found = flashweir(*dry, "--json", "-", cwd=tmp_path).json()
    assert (found["runs"], found["reused"]) == (6, 4)
    assert found["total_s"] > 0
    assert "4 reused, 2 left" in flashweir(*dry, cwd=tmp_path).out
    whole = flashweir("sweep", str(spec), "--dry-run", "--reuse", "made", "--json", "-", cwd=tmp_path).json()
    assert (whole["reused"], whole["total_s"], whole["measured_runs"]) == (4, 0, 0)
    assert "no sweep" in refused("sweep", "more.toml", "--dry-run", "--reuse", "none", cwd=tmp_path)


def test_failed_runs_are_said_and_kept(tmp_path: Path) -> None:
    path = tmp_path / "s.toml"
    path.write_text(SPEC.format(more="", count=1000) + 'capacity = ["64MiB", "16MiB"]\n')
    done = flashweir("sweep", str(path), "-o", str(tmp_path / "out"), code=1)
    assert "8 runs" in done.out
    assert done.err.startswith("error: ")
    assert "4 of 8 runs failed, the first: workload random:" in done.err
    assert done.err.count("\n") == 1
    assert len((tmp_path / "out" / "runs.jsonl").read_text().splitlines()) == 8


def test_a_damaged_line_is_a_warning_of_report_and_resume(spec: Path, tmp_path: Path) -> None:
    flashweir("sweep", str(spec), "-o", "s", cwd=tmp_path)
    lines = (tmp_path / "s" / "runs.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "s" / "runs.jsonl").write_text("".join(["{}\n", *lines[1:]]))
    done = flashweir("report", "s", "-o", "s.html", cwd=tmp_path)
    said = "warning: s/runs.jsonl: line 1: damaged (expected a run with key, point, seed, workload, error and result)"
    assert done.err == f"{said}: left out; sweep --resume runs it again\n"
    assert (tmp_path / "s.html").stat().st_size > 1000
    done = flashweir("sweep", str(spec), "-o", "s", "--resume", cwd=tmp_path)
    assert done.err == f"{said}: kept in runs.damaged, and its run is run again\n"
    assert "4 runs, 0 failed" in done.out


def test_bad_input_is_one_line(spec: Path, tmp_path: Path) -> None:
    assert "absent.toml" in refused("sweep", "absent.toml", cwd=tmp_path)
    assert "--on nowhere" in refused("sweep", str(spec), "--on", "nowhere", cwd=tmp_path)
    assert "--memory x" in refused("sweep", str(spec), "--memory", "x", cwd=tmp_path)
    assert "--threads" in refused("sweep", str(spec), "--threads", "0", cwd=tmp_path)
    assert "no sweep: expected sweep.json in it" in refused("sweep", str(spec), "--reuse", str(tmp_path), cwd=tmp_path)
    (tmp_path / "file").write_text("")
    assert "expected a directory" in refused("sweep", str(spec), "-o", str(tmp_path / "file"), cwd=tmp_path)
    spec.write_text(SPEC.format(more="nonsense = 1", count=10))
    assert "small.toml: nonsense: unknown key" in refused("sweep", str(spec), cwd=tmp_path)
    assert not (tmp_path / "small.sweep").exists()


def test_ctrl_c_keeps_what_is_done(tmp_path: Path) -> None:
    path = tmp_path / "s.toml"
    path.write_text(SPEC.format(more="", count=1000).replace("seeds = 2", "seeds = 5000"))
    command = [sys.executable, "-m", "flashweir", "sweep", str(path), "-o", str(tmp_path / "out")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        lines = tmp_path / "out" / "runs.jsonl"
        while not lines.exists() or lines.stat().st_size == 0:
            assert running.poll() is None
            time.sleep(0.02)
        os.kill(running.pid, signal.SIGINT)
        out, err = running.communicate(timeout=60)
    assert running.returncode == 130
    assert out == ""
    assert err.startswith("error: stopped by Ctrl-C: ")
    assert "of 10,000 runs are done and kept" in err
    assert err.count("\n") == 1
    assert all(json.loads(line)["error"] is None for line in lines.read_text().splitlines())
