"""The slowest requests explained: in the result, on the terminal, in reports; and the parts in the log of requests."""

import json
from collections.abc import Iterator
from io import StringIO
from pathlib import Path

import pytest
from conftest import flashweir, refused
from rich.console import Console

import flashweir as package
from flashweir import ConfigError
from flashweir.charts.units import duration
from flashweir.reports.model import Cell, Table
from flashweir.reports.tails import tail_sections
from flashweir.tails import Tail, print_tails_of, tails

WORKLOAD = "random:span=64MiB,size=4KiB,count=20000,write=0.3,rate=500"
DRIVE = {"channels": 2, "capacity": "64MiB", "op_ratio": 0.25, "precondition": "full", "host.mode": "open"}
SET = [part for key, value in DRIVE.items() for part in ("--set", f"{key}={value}")]


def test_the_command_says_what_the_slowest_waited_for(tmp_path: Path) -> None:
    run = flashweir("simulate", WORKLOAD, *SET, "--explain", "p99", cwd=tmp_path)
    assert "p99: the slowest" in run.out
    assert "copy gc" in run.out
    assert "wait for gc" in run.out
    drawings = [line for line in run.out.splitlines() if line.startswith(("die 0", "die 1"))]
    assert 1 <= len(drawings) <= 6
    assert all(line.count("|") == 2 for line in drawings)
    assert any("c" in line.split("|")[1] for line in drawings)
    assert all(line.split("|")[1].rstrip(".")[-1].isupper() for line in drawings)
    assert "explain p100: expected a percentile" in refused("simulate", WORKLOAD, *SET, "--explain", "p100")


def test_the_api_explains_and_a_report_shows_it(tmp_path: Path) -> None:
    result = package.simulate(WORKLOAD, set=DRIVE, explain="p99")
    read = result.to_dict()["explain"]["read"]
    assert read["requests"] == -(-read["of"] // 100)
    assert read["max_us"] == result.latency_us.read.max
    assert sum(read["parts_us"].values()) == pytest.approx(read["mean_us"])
    assert sum(read["causes"].values()) == read["requests"]
    package.report({"one": result}, tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text()
    assert "The slowest requests" in page
    assert "Commands waited for" in page
    damaged = {**result.to_dict(), "explain": {"percentile": "p99", "read": {**read, "examples": [{}]}}}
    (tmp_path / "damaged.json").write_text(json.dumps(damaged))
    assert "explain.read.examples" in refused("report", str(tmp_path / "damaged.json"), "-o", str(tmp_path / "d.html"))
    with pytest.raises(ConfigError, match="explain: 99: expected a text"):
        package.simulate(WORKLOAD, set=DRIVE, explain=99)  # type: ignore[arg-type]


def test_requests_that_took_no_time_have_no_cause(tmp_path: Path) -> None:
    trace = tmp_path / "t.csv"
    trace.write_text("".join(f"{1000 * n},{op},{8 * n},8\n" for n, op in enumerate("wfwdwfwd" * 50)))
    columns = "time=0:us,op=1,lba=2,size=3"
    drive = {**DRIVE, "host.mode": "closed"}
    result = package.simulate(trace, set=drive, columns=columns, explain="p90")
    found = {tail.operation: tail.finding for tail in tails(result.to_dict()["explain"])}
    assert found["flush"] == "the slowest 10 of 100 flushes took no time"
    assert found["trim"] == "the slowest 10 of 100 trims took no time"
    assert found["write"].startswith("the slowest 20 of 200 writes took ")
    assert Tail("finish", {"requests": 1, "of": 2, "max_us": 0.0}).finding == "the slowest 1 of 2 finishes took no time"


def test_times_of_the_commands_waited_for_have_a_unit_that_suits() -> None:
    result = package.simulate(WORKLOAD, set={**DRIVE, "timing.program": "20ms"}, explain="p99").to_dict()
    (section,) = tail_sections([("one", result)])
    table = next(block for block in section.blocks if isinstance(block, Table))
    place = table.columns.index("mean")
    means = [row["mean_us"] for row in result["explain"]["read"]["waited_for"]]
    cells = [row[place] for row in table.rows if row[0] == "read"]
    assert cells == [Cell(duration(mean).replace(" ", "\u00a0"), mean) for mean in means]
    assert max(means) > 10_000


def test_a_comparison_explains_each_policy(tmp_path: Path) -> None:
    policies = ("--policies", "gc.victim=fifo,greedy", "--seeds", "2", "--explain", "p99")
    run = flashweir("compare", WORKLOAD, *SET, *policies, cwd=tmp_path)
    said = " ".join(run.out.split())
    assert said.count("seed 1: the slowest") == said.count("the slowest") == 4
    assert "copy gc" in said
    assert "expected a percentile" in refused("compare", WORKLOAD, *SET, "--explain", "99", cwd=tmp_path)


def test_the_first_seed_of_each_policy_is_explained_whichever_run_ends_first() -> None:
    result = package.simulate(WORKLOAD, set=DRIVE, explain="p99")

    class Ended:
        """Runs in the order of their ends."""

        meta = {"spec": {"explain": "p99"}}  # noqa: RUF012 - as a frame has it

        def results(self) -> Iterator[tuple[dict[str, object], object]]:
            for policy, seed in (("b", 2), ("a", 3), ("b", 1), ("a", 1), ("a", 2)):
                yield {"workload": "w", "policy": policy, "seed": seed}, result

    out = StringIO()
    print_tails_of(Ended(), Console(file=out, width=200))  # type: ignore[arg-type]
    heads = [line.split(":")[0] for line in out.getvalue().splitlines() if "the slowest" in line]
    assert heads == ["w, a, seed 1", "w, a, seed 1", "w, b, seed 1", "w, b, seed 1"]


def test_the_log_of_requests_has_the_parts_of_each_latency(tmp_path: Path) -> None:
    result = package.simulate(WORKLOAD, set=DRIVE, requests=True, latency_parts=True)
    log = result.requests
    parts = [name for name in log.columns if name.endswith("_ns")][4:]
    assert parts[0] == "host_queue_ns"
    assert parts[-1] == "flash_ns"
    assert (log.select(parts).sum_horizontal() == log["completion_ns"] - log["issue_ns"]).all()
    plain = package.simulate(WORKLOAD, set=DRIVE, requests=True)
    assert "flash_ns" not in plain.requests.columns
    path = tmp_path / "log.parquet"
    log.write_parquet(tmp_path / "other.parquet")
    flashweir("simulate", WORKLOAD, *SET, "--requests", str(path))
    assert package.trace_info(path)["requests"] == 20000
    again = package.simulate(path, set=DRIVE)
    assert again.latency_us == plain.latency_us


def test_a_drive_may_be_full_in_part() -> None:
    said = flashweir("simulate", "random:span=64MiB,count=200", "--set", "capacity=64MiB", "--set", "fill=0.9").out
    assert said.splitlines()[0].endswith("precondition full, fill 0.9")
    result = package.simulate("random:span=64MiB,count=2000", capacity="64MiB", fill=0.9)
    assert (result.config["precondition"], result.config["fill"]) == ("full", 0.9)
    frame = package.sweep({"workloads": WORKLOAD, "set": DRIVE, "axes": {"fill": [0.5, 0.9, 1.0]}})
    assert frame["write_amplification"].is_sorted()
    result = package.simulate(WORKLOAD, fill=0.9, precondition="empty")
    assert any("fill" in note["keys"] for note in result.no_effect)
