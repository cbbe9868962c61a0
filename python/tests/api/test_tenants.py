"""Output about several tenants: tables, figures, reports, progress, and metrics of sweeps."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

import flashweir
from flashweir import ConfigError
from flashweir.charts import figures
from flashweir.charts.model import Bars
from flashweir.progress import ProgressBar
from flashweir.reports.build import report_of_results
from flashweir.reports.model import Table
from flashweir.reports.shape import difference
from flashweir.summary import print_result
from flashweir.sweeps.numbers import number_of_stream, numbers
from flashweir.sweeps.spec import load

TENANTS = {
    "web": "random:span=16MiB,count=500,write=0.2,rate=1000",
    "db": "random:span=16MiB,offset=16MiB,count=500,rate=500",
}
DRIVE = {"capacity": "32MiB", "channels": 2, "pages_per_block": 16, "host.mode": "open", "precondition": "full"}


@pytest.fixture(scope="module")
def result() -> flashweir.Result:
    return flashweir.simulate(TENANTS, set=DRIVE, alone=True)


@pytest.fixture(scope="module")
def plain() -> flashweir.Result:
    return flashweir.simulate(TENANTS, set=DRIVE)


def printed(result: flashweir.Result) -> str:
    console = Console(file=io.StringIO(), width=80)
    print_result(result.to_dict(), console)
    text: str = console.file.getvalue()  # type: ignore[attr-defined]
    return text


def test_the_summary_has_a_row_a_tenant(result: flashweir.Result, plain: flashweir.Result) -> None:
    lines = printed(result).splitlines()
    assert all(len(line) <= 80 for line in lines)
    (web,) = (line for line in lines if line.startswith("web"))
    assert web.split()[1] == "500"
    assert web.endswith(f"{result['streams.web.slowdown.all']:,.2f} x")
    assert any(line.startswith("fairness (Jain)") for line in lines)
    assert "slower" not in printed(plain)
    assert "fairness" not in printed(plain)
    alone = flashweir.simulate(TENANTS["web"], set=DRIVE, alone=True)
    assert "tenant" not in printed(alone)


def test_many_tenants_are_cut_off() -> None:
    many = flashweir.simulate({f"t{at}": "random:span=1MiB,count=2,rate=10" for at in range(30)}, set=DRIVE)
    assert "and 10 more" in printed(many)


def test_figures_of_tenants(result: flashweir.Result, plain: flashweir.Result) -> None:
    charts = {chart.name: chart for chart in figures({"run": result}) if chart.name.startswith("tenant-")}
    assert list(charts) == ["tenant-latency-read", "tenant-latency-write", "tenant-slowdown"]
    writes = charts["tenant-latency-write"]
    assert isinstance(writes, Bars)
    assert list(writes.categories) == ["web", "db"]
    (_, alone), (_, others) = writes.parts
    for at, name in enumerate(writes.categories):
        assert alone[at] + others[at] == pytest.approx(result[f"streams.{name}.latency_us.write.mean"], rel=1e-5)
    names = [chart.name for chart in figures({"run": plain})]
    assert "tenant-slowdown" not in names
    assert "tenant-latency-write" in names
    both = {chart.name: chart for chart in figures({"a": result, "b": plain})}["tenant-latency-write"]
    assert isinstance(both, Bars)
    assert len(both.categories) == 4


def test_reports_have_tenants(result: flashweir.Result) -> None:
    sections = report_of_results([("run", result.to_dict())])
    assert "Tenants" in [section.title for section in sections]
    tables = {block.caption: block for section in sections for block in section.blocks if isinstance(block, Table)}
    assert list(tables["Tenants"].columns)[-3:] == ["slowdown", "of reads", "of writes"]
    assert tables["Fairness"].rows[0][1] == result["fairness.jain"]


def test_wrong_tenants_in_a_file_are_named(result: flashweir.Result) -> None:
    assert difference(result.to_dict()) == ""
    for path, value in (("fairness", {"jain": "x"}), ("fairness", 3)):
        assert "fairness" in difference({**result.to_dict(), path: value})
    for key, value in (("slowdown", 3), ("alone_latency_us", {"read": 3}), ("requests", "x"), ("bytes", {"read": "x"})):
        spoilt = result.to_dict()
        spoilt["streams"]["web"][key] = value
        assert f"streams.web.{key}" in difference(spoilt)
    old = result.to_dict()
    for stream in old["streams"].values():
        for key in (
            "requests",
            "bytes",
            "slowdown",
            "alone_latency_us",
            "active_s",
            "iops",
            "bandwidth_mib_s",
            "flash_time_s",
        ):
            del stream[key]
    assert difference(old) == ""
    assert report_of_results([("run", old)])


def test_numbers_of_streams(result: flashweir.Result, plain: flashweir.Result) -> None:
    found = numbers(result.to_dict())
    assert found["fairness.jain"] == result["fairness.jain"]
    assert not any(name.startswith("fairness") for name in numbers(plain.to_dict()))
    assert number_of_stream(result, "streams.db.slowdown.all") == result["streams.db.slowdown.all"]
    assert number_of_stream(result, "streams.no.slowdown.all") is None
    assert number_of_stream(result, "streams.db.nothing") is None
    dotted = {"streams": {"a.b": {"iops": 3.0}, "a": {"iops": 4.0}}}
    assert number_of_stream(dotted, "streams.a.b.iops") == 3
    assert number_of_stream(dotted, "streams.a.iops") == 4


def test_sweeps_have_tenants_as_metrics(tmp_path: Path) -> None:
    spec: dict[str, Any] = {
        "workloads": {"two": TENANTS, "one": "random:span=16MiB,count=50,rate=100"},
        "set": DRIVE,
        "alone": True,
        "axes": {"gc.victim": ["greedy", "fifo"]},
        "metrics": ["fairness.jain", "fairness.max_slowdown", "streams.db.latency_us.write.p99"],
        "derived": {"gap": "streams.web.slowdown.all - streams.db.slowdown.all"},
    }
    frame = flashweir.sweep({**spec, "workloads": {"two": TENANTS}}, tmp_path / "a")
    assert frame["fairness.jain"].null_count() == 0
    kept = [json.loads(line)["result"] for line in (tmp_path / "a" / "runs.jsonl").read_text().splitlines()]
    assert frame["streams.db.latency_us.write.p99"].to_list() == [
        one["streams"]["db"]["latency_us"]["write"]["p99"] for one in kept
    ]
    assert frame["gap"].null_count() == 0
    del spec["derived"]
    both = flashweir.sweep(spec, tmp_path / "b")
    assert both.filter(both["workload"] == "one")["streams.db.latency_us.write.p99"].null_count() == 2
    assert both.filter(both["workload"] == "one")["fairness.jain"].to_list() == [1.0, 1.0]
    with pytest.raises(ConfigError, match=r"alone: 'yes': expected true or false"):
        load({**spec, "alone": "yes"})


def test_alone_is_part_of_what_a_run_is(tmp_path: Path) -> None:
    spec = {"workloads": {"two": TENANTS}, "set": DRIVE}
    frames = [flashweir.sweep({**spec, "alone": alone}, tmp_path / str(alone)) for alone in (False, True)]
    assert frames[0]["key"].item() != frames[1]["key"].item()


def test_progress_names_the_tenant() -> None:
    states: list[dict[str, Any]] = []

    def keep(state: dict[str, Any]) -> bool:
        states.append(state)
        return True

    flashweir.simulate(TENANTS, set=DRIVE, alone=True, progress=keep)
    alone = [state["tenant"] for state in states if state["phase"] == "alone"]
    assert list(dict.fromkeys(alone)) == ["web", "db"]
    bar = ProgressBar(io.StringIO())
    with bar:
        for state in states:
            assert bar.update({**state, "elapsed_s": 3.0})
        drawn = [task.description for task in bar._bar.tasks] if bar._bar else []
    assert drawn[-1:] == ["running alone: db"]
