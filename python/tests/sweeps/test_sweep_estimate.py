"""Estimates of sweeps: what a dry run counts, and how long and how much memory it foresees."""

import json
import subprocess
import sys
from typing import Any

import pytest

import flashweir
from flashweir.sweeps import runner
from flashweir.sweeps.estimate import estimate
from flashweir.sweeps.points import count_points, run_at
from flashweir.sweeps.spec import load

GRID: dict[str, Any] = {
    "name": "grid",
    "workloads": {"random": "random:span=32MiB,size=4KiB,count=2000"},
    "set": {"channels": 2, "capacity": "64MiB", "pages_per_block": 64},
    "axes": {"gc.victim": ["fifo", "greedy"], "op_ratio": [0.1, 0.2]},
    "seeds": 3,
    "derived": {"moved": "flash.gc.programs / flash.programs"},
}


def test_a_dry_run_counts_and_estimates() -> None:
    spec = load({**GRID, "axes": {**GRID["axes"], "capacity": ["64MiB", "16MiB"]}})
    found = estimate(spec, threads=2)
    assert (found["points"], found["runs"], found["refused"]) == (8, 24, 12)
    assert found["total_s"] > 0
    assert found["run_s"]["least"] <= found["run_s"]["median"] <= found["run_s"]["most"]
    assert found["memory_bytes"]["least"] > 1 << 20


def test_a_dry_run_of_millions_of_points_draws_some() -> None:
    whole = {"from": 1, "to": 100_000, "step": 1}
    axes = {
        "op_ratio": {"from": 0.1, "to": 0.5, "step": 0.001},
        "host.queue_depth": whole,
        "gc.victim": ["fifo", "random"],
    }
    axes["capacity"] = ["64MiB", "16MiB"]
    spec = load({**GRID, "axes": axes})
    found = estimate(spec, threads=1)
    assert found["points"] == count_points(spec) == 401 * 100_000 * 2 * 2
    assert found["runs"] == 3 * found["points"]
    assert 0 < found["planned_points"] <= 2000
    # Half of the drives are too small.
    (refused,) = found["refusals"].values()
    assert 0.4 < refused / found["runs"] < 0.6
    assert found["total_s"] > 1e-5 * found["runs"]


def test_runs_are_found_by_their_number() -> None:
    spec = load({**GRID, "workloads": {"a": "random:span=32MiB,count={many}", "b": "random:count=10"},
                 "axes": {**GRID["axes"], "many": [10, 20]}, "once": ["b"]})  # fmt: skip
    first = {run.point: run for run in reversed(list(runner.runs(spec)))}
    assert [run_at(spec, point) for point in range(count_points(spec))] == list(first.values())[::-1]
    with pytest.raises(IndexError):
        run_at(spec, count_points(spec))


def test_times_of_a_dry_run_are_those_of_its_own_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Requests of many sizes were taken for those of the largest: estimates were 15 times too high."""
    begun = []
    real = flashweir._native.simulate
    monkeypatch.setattr(flashweir._native, "simulate", lambda *args: [begun.append(args[0]), real(*args)][1])
    spec = load({"workloads": ["rocksdb:scale=0.01", "random:span=1GiB,count=1000"], "set": {"capacity": "64GiB"}})
    begun.clear()
    found = estimate(spec, threads=1)
    assert found["measured_runs"] == len(begun) == 2
    assert {json.loads(text)["workloads"][0]["spec"] for text in begun} == {
        "rocksdb:scale=0.01",
        "random:span=1GiB,count=1000",
    }
    refused = estimate(load({"workloads": "random:span=1GiB,count=10", "set": {"capacity": "16MiB"}}), threads=1)
    assert (refused["refused"], refused["measured_runs"], refused["total_s"], refused["run_s"]) == (1, 0, None, None)


def test_runs_that_take_long_are_begun_and_not_ended() -> None:
    for more in ({}, {"precondition": "steady"}):
        endless = {"workloads": "random:span=1GiB,count=2000000000", "set": {"capacity": "1GiB", **more}}
        found = estimate(load(endless), threads=1)
        assert found["measured_runs"] == 1
        assert found["total_s"] > 100


def test_memory_is_estimated_from_above() -> None:
    measure = (
        "import re, sys; from pathlib import Path; from flashweir import _native; "
        "peak = lambda: int(re.search(r'VmHWM:\\s*([0-9]+)', Path('/proc/self/status').read_text())[1]) * 1024; "
        "before = peak(); _native.simulate(sys.argv[1]); print(peak() - before)"
    )
    for drive, verify in (
        ({"capacity": "8GiB", "precondition": "full"}, False),
        ({"capacity": "4GiB", "precondition": "full"}, True),
        ({"capacity": "64GiB"}, False),
    ):
        workload = {"name": None, "spec": f"random:span={drive['capacity']},count=20000"}
        text = json.dumps({"workloads": [workload], "overrides": drive, "verify": verify})
        done = subprocess.run([sys.executable, "-c", measure, text], capture_output=True, check=True)
        taken, expected = int(done.stdout), json.loads(flashweir._native.plan(text))["memory_bytes"]
        assert taken < expected * 1.1 + (8 << 20), (drive, verify)
        assert expected < taken * 3 + (16 << 20), (drive, verify)


# A sweep whose parts are small, so that kills hit compaction too.
