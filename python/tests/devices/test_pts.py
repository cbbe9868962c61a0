"""Steady-state tests by SNIA's specification, and read latency under a rising write load, on simulated drives."""

import io
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import ends_with_machine, flashweir, refused
from rich.console import Console

from flashweir import ConfigError, bench
from flashweir.benchmark.pts import TESTS, run_pts
from flashweir.benchmark.pts.load import knee
from flashweir.benchmark.pts.showing import charts, facts, print_result, tables
from flashweir.benchmark.pts.steady import last_window
from flashweir.charts.model import Bars, Plot
from flashweir.charts.units import duration
from flashweir.reports.model import Cell

SMALL = "sim:slc-2006,capacity=32MiB"


class Line:
    """A drive that serves one request after the other; writes take ten times as long once it was written over."""

    size_bytes = 16 << 20
    block_bytes = 4096
    depth = 1

    def __init__(self) -> None:
        self.free_ns = 0
        self.written = 0
        self.ends: list[int] = []

    def submit(self, requests: Mapping[str, Any]) -> dict[str, Any]:
        issue, complete = [], []
        for due, op, length in zip(requests["due_ns"], requests["op"], requests["length"], strict=True):
            if op == 2:
                self.written = 0
            self.written += int(length) * (op == 1)
            slow = 10 if op == 1 and self.written > self.size_bytes else 1
            takes = 1000 if op == 2 else int(length) // 4096 * 10_000 * slow
            waits = self.ends[-self.depth] if due < 0 and len(self.ends) >= self.depth else 0
            issue.append(max(int(due), waits, issue[-1] if issue else 0))
            self.free_ns = max(self.free_ns, issue[-1]) + takes
            self.ends = [*self.ends[-64:], self.free_ns]
            complete.append(self.free_ns)
        return {"issue_ns": np.array(issue, np.int64), "complete_ns": np.array(complete, np.int64)}


def test_a_window_is_steady_if_it_hardly_spreads_and_hardly_slopes() -> None:
    assert last_window([500.0, 100.0, 100.0, 101.0, 99.0, 100.0]).steady
    found = last_window([1.0, 2.0, 100.0, 105.0, 110.0, 95.0, 90.0])
    assert (found.first, found.last, found.mean, found.range) == (3, 7, 100.0, 0.2)
    assert not last_window([100.0] * 4).steady
    # 19% of range, and a slope of more than 10%.
    assert not last_window([91.0, 95.0, 100.0, 105.0, 109.0]).steady
    assert last_window([100.0, 109.0, 91.0, 109.0, 91.0]).slope == pytest.approx(0.072)


def test_a_drive_of_known_speed_has_that_speed() -> None:
    found = run_pts(Line(), ["iops", "latency", "throughput"], scale=0.0001)
    iops, latency, throughput = found["tests"]
    assert iops["window"]["steady"]
    writes = next(row for row in iops["rows"] if (row["size"], row["read_share"]) == (4096, 0.0))
    reads = next(row for row in iops["rows"] if (row["size"], row["read_share"]) == (4096, 1.0))
    assert writes["iops"] == pytest.approx(10_000, rel=0.05)
    assert reads["iops"] == pytest.approx(100_000, rel=0.05)
    one = next(row for row in latency["rows"] if (row["size"], row["read_share"]) == (8192, 1.0))
    assert one["latency_us"]["mean"] == pytest.approx(20, rel=0.01)
    assert {row["size"] for row in throughput["rows"]} == {1 << 20, 128 << 10}
    # Sizes below the drive's block are left out.
    assert min(row["size"] for row in iops["rows"]) == 4096
    assert found["complete"]


def test_write_saturation_begins_fast_and_ends_slow() -> None:
    (found,) = run_pts(Line(), ["write-saturation"], scale=1)["tests"]
    assert found["purge"] == "discarded"
    assert found["first_iops"] == pytest.approx(100_000, rel=0.05)
    assert found["window"]["mean"] == pytest.approx(10_000, rel=0.05)
    assert found["rows"][-1]["capacities"] == pytest.approx(4, rel=0.01)


def test_reads_wait_longer_under_more_writes_and_the_knee_is_where_they_pile_up() -> None:
    (found,) = run_pts(Line(), ["read-under-writes"], scale=0.001)["tests"]
    assert found["max_write_iops"] == pytest.approx(10_000, rel=0.05)
    by_load = {row["share"]: row["read_us"] for row in found["rows"]}
    assert by_load[0.0]["p50"] == pytest.approx(10, rel=0.01)
    # M/D/1 with writes of 100 us: half of the load waits 50 us on average, most of the load far longer.
    assert by_load[0.5]["mean"] == pytest.approx(10 + 50, rel=0.25)
    assert by_load[0.9]["mean"] > 3 * by_load[0.5]["mean"]
    assert 0.3 <= found["knee"]["share"] < 1
    beyond = found["rows"][-1]
    assert beyond["share"] > 1
    assert beyond["write_iops"] < beyond["offered_write_iops"]


def test_the_knee_is_the_last_load_that_is_borne() -> None:
    def row(share: float, p99: float, done: float = 1.0) -> dict[str, Any]:
        return {
            "share": share,
            "offered_write_iops": 100 * share,
            "write_iops": 100 * share * done,
            "read_us": {"p99": p99},
        }

    rows = [row(0, 10), row(0.1, 50), row(0.5, 90), row(0.9, 151), row(1, 900)]
    assert knee(rows) == {"share": 0.5, "write_iops": 50.0, "read_p99_us": 90}
    assert knee([row(0, 10), row(0.1, 20, 0.5)]) == {"share": 0, "write_iops": 0, "read_p99_us": 10}


def test_the_command_prints_and_writes_all_of_it(tmp_path: Path) -> None:
    tests = ["--pts", "latency", "--pts", "read-under-writes"]
    run = flashweir("bench", SMALL, *tests, "-o", "r.json", "--html", "r.html", "--figures", "f", cwd=tmp_path)
    assert "steady state    steady: rounds" in run.out
    assert "knee  " in run.out
    found = json.loads((tmp_path / "r.json").read_text())
    assert (found["format"], [one["test"] for one in found["tests"]]) == (
        "flashweir-pts-1",
        ["latency", "read-under-writes"],
    )
    assert "Read latency over write load" in (tmp_path / "r.html").read_text()
    assert ends_with_machine(tmp_path / "r.html", "bench")
    assert {one.name for one in (tmp_path / "f").iterdir()} == {"steady-latency.png", "read-under-writes.png"}
    assert "is there already" in refused("bench", SMALL, *tests, "-o", "r.json", cwd=tmp_path)


def test_the_same_seed_gives_the_same_result() -> None:
    assert run_pts(SMALL, ["latency"], seed=3) == run_pts(SMALL, ["latency"], seed=3)


def test_the_function_does_what_the_command_does(tmp_path: Path) -> None:
    said: list[tuple[str, int, int]] = []
    found = bench(SMALL, pts=["latency"], output=tmp_path / "a.json", tell=lambda *given: said.append(given))
    flashweir("bench", SMALL, "--pts", "latency", "--json", "b.json", cwd=tmp_path)
    assert found == json.loads((tmp_path / "b.json").read_text())
    assert found == json.loads((tmp_path / "a.json").read_text()) | {"health": None}
    assert said == [("latency", 1, 1)]
    assert bench(SMALL, pts="latency")["tests"] == found["tests"]
    for given, message in (
        ({"suites": ["gc"]}, "suites: has no effect with pts"),
        ({"resume": True}, "resume=True: has no effect with pts"),
        ({"progress": print}, "progress: has no effect with pts"),
        ({"state": "filled"}, "state filled: has no effect with pts"),
        ({"pts": ["x"]}, "pts x: expected iops, throughput"),
        ({"pts": 3}, "pts: 3: expected a text"),
    ):
        with pytest.raises(ConfigError, match=message):
            bench(SMALL, **{"pts": ["latency"], **given})


def test_what_can_not_be_is_refused(tmp_path: Path) -> None:
    assert set(TESTS) == {"iops", "throughput", "latency", "write-saturation", "read-under-writes", "patterns"}
    assert "--pts x: expected iops, throughput" in refused("bench", SMALL, "--pts", "x")
    assert "--suite: has no effect with --pts" in refused("bench", SMALL, "--pts", "iops", "--suite", "gc")
    assert "--state filled: has no effect with --pts" in refused("bench", SMALL, "--pts", "iops", "--state", "filled")
    with pytest.raises(ConfigError, match="scale 0: expected above 0 to 1"):
        run_pts(SMALL, ["iops"], scale=0)
    (tmp_path / "image").write_bytes(bytes(1 << 20))
    assert "image" in refused("bench", "image", "--pts", "iops", cwd=tmp_path)


def test_tables_of_a_terminal_keep_every_number(monkeypatch: pytest.MonkeyPatch) -> None:
    found = run_pts(SMALL, ["read-under-writes", "iops"])
    for width in (40, 60, 80):
        out = io.StringIO()
        print_result(found, Console(file=out, width=width))
        lines = [line for line in out.getvalue().splitlines() if not line.startswith(("purge", "steady state", "knee"))]
        assert max(map(len, lines)) <= width
        words = out.getvalue().replace("\n", "  ").split("  ")
        cells = [(row["write_iops"], row["read_us"]["p99"]) for row in found["tests"][0]["rows"]]
        shown = {word.strip() for word in words}
        assert {f"{round(rate):,}" for rate, _ in cells} | {duration(time) for _, time in cells} <= shown
        assert "\u2026" not in out.getvalue()
    monkeypatch.setenv("COLUMNS", "80")
    assert "\u2026" not in flashweir("bench", SMALL, "--pts", "read-under-writes").out


def test_times_are_in_the_unit_that_suits_them(tmp_path: Path) -> None:
    shown = [table for name in ("latency", "read-under-writes") for table in tables(_result(name))]
    cells = [cell for table in shown for row in table.rows for cell in row if isinstance(cell, Cell)]
    assert {cell.text for cell in cells} == {"182 us", "4.12 s"}
    assert {cell.value for cell in cells} == {182.0, 4_123_566.0}
    page = tmp_path / "steady.html"
    flashweir("bench", SMALL, "--pts", "latency", "--html", page.name, cwd=tmp_path)
    assert not re.search(r"[0-9],[0-9]{3}(?:\.[0-9])? us", page.read_text())
    assert dict(facts(_result("read-under-writes")))["knee"].endswith("read p99 there 4.12 s")
    assert "mean 4.12 s" in dict(facts(_result("latency")))["steady state"]


def _result(name: str) -> dict[str, Any]:
    """A test whose times are 182 us and 4,123,566 us."""
    times = {"mean": 182.0, "p50": 182.0, "p99": 4_123_566.0, "p999": 4_123_566.0, "p99999": 4_123_566.0,
             "max": 4_123_566.0}  # fmt: skip
    window = {"first_round": 1, "last_round": 5, "mean": 4_123_566.0, "range": 0.1, "slope": 0.01, "steady": True}
    rows = [{"size": 4096, "read_share": 0.0, "latency_us": times, "share": 0.5, "offered_write_iops": 10.0,
             "write_iops": 10.0, "read_us": times}]  # fmt: skip
    return {"test": name, "purge": "discarded", "window": window, "rows": rows, "max_write_iops": 20.0,
            "knee": {"share": 0.5, "read_p99_us": 4_123_566.0}}  # fmt: skip


def test_patterns_have_figures(tmp_path: Path) -> None:
    drive = "sim:slc-2006,capacity=16MiB"
    flashweir(
        "bench", drive, "--pts", "patterns", "--html", "p.html", "--figures", "p", "--json", "p.json", cwd=tmp_path
    )
    rows = json.loads((tmp_path / "p.json").read_text())["tests"][0]["rows"]
    rates, times = charts({"tests": [{"test": "patterns", "rows": rows}]})
    assert isinstance(rates, Bars)
    assert list(rates.categories) == [row["pattern"] for row in rows]
    assert list(rates.parts[0][1]) == [row["iops"] for row in rows]
    assert isinstance(times, Plot)
    assert [one.name for one in times.series] == ["mean", "p99", "max"]
    assert {path.name for path in (tmp_path / "p").iterdir()} == {"patterns-rate.png", "patterns-latency.png"}
    page = (tmp_path / "p.html").read_text()
    # The first figure belongs to the finding, and is there once.
    assert page.count('id="patterns-rate"') == 1


def test_patterns_are_compared_with_random_writes() -> None:
    (found,) = run_pts("sim:slc-2006,capacity=32MiB,op_ratio=0.15", ["patterns"])["tests"]
    ratios = {row["pattern"]: row["ratio"] for row in found["rows"]}
    names = ["random", "two-zones", "zipf-scattered", "zipf-in-place", "read-only-half", "sequential-streams"]
    assert list(ratios) == names
    assert ratios["random"] == 1
    # Streams free whole blocks.
    assert ratios["sequential-streams"] > 1.3
    assert min(ratios.values()) > 0.3
    assert found["rows"][0]["requests"] == 4096
    out = flashweir("bench", SMALL, "--pts", "patterns").out
    assert "sequential-streams" in out


@pytest.mark.parametrize("size", [4 << 10, 64 << 10, (1 << 20) - 4096])
@pytest.mark.parametrize("test", TESTS)
def test_a_target_smaller_than_the_requests_is_refused(test: str, size: int) -> None:
    drive = Line()
    drive.size_bytes = size
    with pytest.raises(ConfigError, match=f"Line: {size} bytes: expected at least 1048576 bytes"):
        run_pts(drive, [test], scale=0.01)
    assert drive.written == 0
