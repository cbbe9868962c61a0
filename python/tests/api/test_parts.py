"""Where latency goes: the parts add up, on every engine, and are shown by the command, in figures and in sweeps."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from conftest import QUICK, SMALL_DRIVE, SMALL_SETTINGS, flashweir, refused

import flashweir as package
from flashweir.charts import figures
from flashweir.charts.model import Bars
from flashweir.parts import LABELS, occurring, parts_of

MIXED = "random:span=48MiB,size=12KiB,align=4KiB,count=3000,write=0.6,trim=0.03,flush=0.02,rate=100,seed=4"
FULL = {**SMALL_DRIVE, "precondition": "full"}
OPEN = {**FULL, "host.mode": "open"}
DRIVES: dict[str, dict[str, Any]] = {
    "busy-until times": {**FULL, "engine": "busy-until"},
    "busy-until times, open": {**OPEN, "engine": "busy-until"},
    "events": {**FULL, "engine": "event", "host.queue_depth": 8},
    "dies on a bus": {**OPEN, "dies": 4},
    "a buffer": {**OPEN, "buffer.bytes": "256KiB"},
    "a buffer on events": {**FULL, "dies": 2, "buffer.bytes": "256KiB", "host.queue_depth": 8},
    "a buffer that acknowledges from flash": {**OPEN, "buffer.bytes": "256KiB", "buffer.ack": "flash"},
    "a map on flash": {**OPEN, "ftl.kind": "dftl", "ftl.cache_bytes": "4KiB", "op_ratio": 0.2},
    "a log": {**OPEN, "ftl.kind": "fast"},
    "cache program": {**OPEN, "timing.cache_program": True},
    "suspension": {**OPEN, "sched.kind": "suspend", "dies": 2},
    "dynamic allocation": {**OPEN, "alloc.kind": "dynamic", "dies": 2},
    "lock step": {**OPEN, "clock": "lock-step", "buffer.bytes": "256KiB"},
    "lock step without a buffer": {**FULL, "clock": "lock-step", "host.queue_depth": 4},
    "a planner in lock step": {**OPEN, "clock": "lock-step", "gc.planner": "cycle-stealing", "ftl.kind": "log-block"},
    "a planner": {**OPEN, "gc.planner": "cycle-filling", "ftl.kind": "log-block", "buffer.bytes": "256KiB"},
}


@pytest.mark.parametrize("warmup", [None, "requests=1000"], ids=["whole", "without warm-up"])
@pytest.mark.parametrize("drive", DRIVES.values(), ids=DRIVES.keys())
def test_parts_add_up_to_the_mean_latency(drive: dict[str, Any], warmup: str | None) -> None:
    result = package.simulate(MIXED, set=drive, latency_parts=True, warmup=warmup)
    parts = result.latency_parts
    assert "read" in parts
    assert "write" in parts
    for operation, latencies in result["latency_us"].items():
        mean = latencies["mean"] or 0.0
        one = parts.get(operation)
        assert (one.total if one else 0.0) == pytest.approx(mean, rel=1e-9, abs=1e-9), operation
        if one:
            assert min(one.by_name().values()) >= 0
            assert sum(one.shares().values()) == pytest.approx(1)
    assert parts["read"].flash > 0


def test_keeping_account_changes_nothing_else() -> None:
    for drive in (DRIVES["busy-until times, open"], DRIVES["suspension"], DRIVES["lock step"]):
        plain, kept = (package.simulate(MIXED, set=drive, latency_parts=on).to_dict() for on in (False, True))
        assert plain["latency_parts_us"] is None
        for result in (plain, kept):
            for key in ("latency_parts_us", "wall_s", "setup_wall_s", "precondition_wall_s"):
                del result[key]
        assert plain == kept


def test_waits_are_told_by_cause() -> None:
    waits = {
        name: package.simulate(MIXED, set=drive, latency_parts=True).latency_parts for name, drive in DRIVES.items()
    }
    one = waits["busy-until times, open"]["read"]
    assert min(one.wait_read, one.wait_write, one.wait_gc, one.wait_erase) > 0
    assert one.waits == pytest.approx(one.wait_read + one.wait_write + one.wait_gc + one.wait_erase)
    assert one.host_queue == one.buffer == one.mapping == one.wait_bus == 0
    assert waits["dies on a bus"]["read"].wait_bus > 0
    assert waits["a map on flash"]["read"].mapping > 0
    assert waits["a buffer"]["write"].buffer > 0 == waits["a buffer"]["write"].flash
    for name in ("lock step without a buffer", "a planner in lock step"):
        one = waits[name]["write"]
        assert min(one.wait_gc, one.wait_erase, one.wait_write, one.flash) > 0, "its unit collected, or wrote others"
        assert one.wait_gc > one.host_queue
    assert waits["lock step without a buffer"]["read"].host_queue == 0, "it waits for what is in progress"
    assert waits["suspension"]["read"].waits < waits["dies on a bus"]["read"].waits


def test_a_result_without_account_says_how_to_get_one() -> None:
    result = package.simulate(QUICK, set=SMALL_DRIVE)
    with pytest.raises(package.FlashweirError, match="latency_parts=True"):
        _ = result.latency_parts


def test_the_command_prints_where_latency_went() -> None:
    asked = ["simulate", MIXED, *(f"--set={key}={value}" for key, value in DRIVES["busy-until times, open"].items())]
    out = flashweir(*asked).out
    assert all(len(line) <= 80 for line in out.splitlines())
    table = re.search(r"^latency breakdown .*?^mean [^\n]*", out, re.MULTILINE | re.DOTALL)
    assert table is not None
    lines = [line.rstrip() for line in table[0].splitlines()]
    result = flashweir(*asked, "--json", "-").json()
    parts = parts_of(result)
    assert re.split(r" {2,}", lines[0]) == ["latency breakdown", *(f"{operation}, us" for operation in parts)]
    assert [line[:16].strip() for line in lines[2:-1]] == [LABELS[name] for name in occurring(parts)]
    assert LABELS["wait_bus"] not in table[0]
    shown = {row.split()[0]: row.split()[1] for row in out[: table.start()].splitlines() if row[:1].isalpha()}
    assert lines[-1].split() == ["mean", *(shown[operation] for operation in parts)]
    for row in lines[2:-1]:
        assert len(re.findall(r"\d%", row)) == len(parts)


def test_the_table_as_it_is() -> None:
    drive = ["--set=channels=1", "--set=capacity=16MiB", "--set=op_ratio=0.2", "--set=precondition=full"]
    drive.append("--set=host.queue_depth=4")
    out = flashweir("simulate", "random:span=16MiB,size=4KiB,count=1000,write=0.5,seed=2", *drive).out
    start = out.index("latency breakdown")
    table = [line.rstrip() for line in out[start:].splitlines()]
    assert table[: table.index("")] == SNAPSHOT.strip().splitlines()


SNAPSHOT = """
latency breakdown   read, us           write, us
────────────────────────────────────────────────────────
wait for read          246.2   14.2%       244.9    9.8%
wait for write       1,330.3   76.5%     1,344.5   54.0%
bus                    102.4    5.9%       102.4    4.1%
flash                   60.0    3.5%       800.0   32.1%
mean                 1,738.9             2,491.8
"""


def test_what_a_scheduler_did_is_told() -> None:
    drive = [f"--set={key}={value}" for key, value in DRIVES["suspension"].items()]
    result = flashweir("simulate", MIXED, *drive, "--json", "-").json()
    assert result["sched"]["suspensions"] > 0
    out = flashweir("simulate", MIXED, *drive).out
    assert f"{result['sched']['passed']:,} passed, {result['sched']['suspensions']:,} suspended" in out
    assert "longest wait for a die" in out
    assert flashweir("simulate", MIXED, *SMALL_SETTINGS, "--json", "-").json()["sched"] is None


def test_figures_have_a_bar_an_operation_or_a_bar_a_run() -> None:
    runs = {
        name: package.simulate(MIXED, set=DRIVES[name], latency_parts=name != "events").to_dict()
        for name in ("busy-until times, open", "suspension", "events")
    }
    assert not [chart for chart in figures({"events": runs["events"]}) if chart.name.startswith("latency-parts")]
    (alone,) = (chart for chart in figures({"one": runs["suspension"]}) if chart.name.startswith("latency-parts"))
    assert isinstance(alone, Bars)
    parts = parts_of(runs["suspension"])
    assert list(alone.categories) == list(parts)
    for row, operation in enumerate(alone.categories):
        total = sum(values[row] for _, values in alone.parts)
        assert total == pytest.approx(runs["suspension"]["latency_us"][operation]["mean"], rel=1e-4)
    charts = {chart.name: chart for chart in figures(runs)}
    together = charts["latency-parts-read"]
    assert isinstance(together, Bars)
    assert list(together.categories) == ["busy-until times, open", "suspension"]


def test_a_report_has_the_figure(tmp_path: Path) -> None:
    run = tmp_path / "run.json"
    flashweir("simulate", MIXED, *SMALL_SETTINGS, "--json", str(run))
    flashweir("report", str(run), "-o", str(tmp_path / "page.html"))
    assert 'id="latency-parts"' in (tmp_path / "page.html").read_text(encoding="utf-8")
    result = json.loads(run.read_text(encoding="utf-8"))
    del result["latency_parts_us"]["read"]["flash"]
    run.write_text(json.dumps(result), encoding="utf-8")
    assert "latency_parts_us.read.flash" in refused("report", str(run), "-o", str(tmp_path / "other.html"))


def test_sweeps_have_a_column_a_part(tmp_path: Path) -> None:
    spec = {
        "workloads": {"mixed": MIXED},
        "set": {key: value for key, value in OPEN.items() if key != "sched.kind"},
        "axes": {"sched.kind": ["fifo", "suspend"]},
        "latency_parts": True,
        "metrics": ["latency_parts_us.read.wait_gc", "latency_parts_us.read.wait_erase", "sched.suspensions"],
    }
    sweep = package.sweep(spec, tmp_path / "sweep")
    assert sweep["error"].null_count() == sweep.height == 2
    fifo, suspend = (dict(zip(sweep.columns, row, strict=True)) for row in sweep.iter_rows())
    assert suspend["latency_parts_us.read.wait_gc"] < fifo["latency_parts_us.read.wait_gc"]
    assert fifo["sched.suspensions"] is None
    assert suspend["sched.suspensions"] > 0
    plain = package.sweep({**spec, "latency_parts": False, "metrics": ["iops"]}, tmp_path / "plain")
    assert "latency_parts_us.read.wait_gc" not in plain.columns
    assert list(plain["iops"]) == list(sweep["iops"])
    assert set(plain["key"]).isdisjoint(sweep["key"]), "other options, other results"
