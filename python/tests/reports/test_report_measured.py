"""Results of replays and benchmarks in reports and comparisons, beside simulations and fio."""

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import ends_with_machine, flashweir, refused

import flashweir as package
from flashweir.reports.sources import runs_of

SMALL = "sim:slc-2006,capacity=200MB"
WORSE = f"{SMALL},op_ratio=0.03"
WORK = "random:span=16MiB,count=500,write=0.5"
PLAIN = {"bench": ["--scale", "0.01", "--suite", "mapping", "--suite", "buffer"], "replay": ["--timing", "asap"]}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results of a simulation, a replay and two benchmarks."""
    folder = tmp_path_factory.mktemp("measured")
    flashweir("simulate", WORK, "--set", "capacity=64MiB", "--json", "simulated.json", cwd=folder)
    flashweir("replay", WORK, SMALL, *PLAIN["replay"], "--json", "replayed.json", cwd=folder)
    flashweir("bench", SMALL, *PLAIN["bench"], "--json", "good.json", cwd=folder)
    flashweir("bench", WORSE, *PLAIN["bench"], "--name", "Worse one", "--json", "worse.json", cwd=folder)
    return folder


def test_a_replay_is_a_run(made: Path) -> None:
    (run,) = runs_of([made / "replayed.json"])
    written = json.loads((made / "replayed.json").read_text(encoding="utf-8"))
    result = run.result
    assert (run.name, run.job) == ("replayed", "")
    assert (result["requests"], result["simulated_s"], result["iops"]) == (
        500, written["elapsed_s"], written["iops"]
    )  # fmt: skip
    assert result["bandwidth_mib_s"] == pytest.approx(written["mb_per_s"] * 1e6 / 2**20)
    assert result["latency_us"]["read"]["p99"] == written["latency_us"]["read"]["p99"]
    assert result["latency_us"]["read"]["count"] == written["by_op"]["read"]
    assert result["latency_us"]["trim"]["count"] == 0
    assert result["config"]["target"] == SMALL


def test_each_workload_of_a_benchmark_is_a_run(made: Path) -> None:
    runs = runs_of([made / "good.json"])
    written = json.loads((made / "good.json").read_text(encoding="utf-8"))["workloads"]
    assert [run.job for run in runs] == ["install-linux", "emule"] == [one["name"] for one in written]
    for run, one in zip(runs, written, strict=True):
        assert run.result["iops"] == pytest.approx(one["requests"] / one["time_s"])
        assert run.result["bandwidth_mib_s"] * 2**20 == pytest.approx(one["mb_s"] * 1e6)
        assert run.result["latency_us"]["write"]["p99"] == one["response_us"]["p99"]
        assert run.result["latency_us"]["write"]["p999"] is None


def test_all_kinds_stand_beside_each_other(made: Path, tmp_path: Path) -> None:
    files = [str(made / f"{name}.json") for name in ("simulated", "replayed", "worse")]
    found = flashweir("compare", *files, "--json", "-", "--html", str(tmp_path / "c.html")).json()
    assert found["runs"] == ["simulated", "replayed", "worse: install-linux", "worse: emule"]
    iops = next(row for row in found["metrics"] if row["metric"] == "iops")
    assert all(value > 0 for value in iops["values"].values())
    flashweir("report", *files, "-o", str(tmp_path / "r.html"))
    assert ends_with_machine(tmp_path / "r.html", "report")
    assert ends_with_machine(tmp_path / "c.html", "compare")
    for page in ("c.html", "r.html"):
        text = (tmp_path / page).read_text(encoding="utf-8")
        assert "worse: emule" in text
        assert "replay" in text


def test_workloads_of_benchmarks_are_paired_by_name(made: Path) -> None:
    found = flashweir("compare", str(made / "good.json"), str(made / "worse.json"), "--json", "-").json()
    assert found["compared_with"]["worse: emule"] == "good: emule"
    assert found["compared_with"]["worse: install-linux"] == "good: install-linux"


def test_benchmarks_alone_get_the_page_of_bench(made: Path, tmp_path: Path) -> None:
    one, both = tmp_path / "one.html", tmp_path / "both.html"
    flashweir("report", str(made / "worse.json"), "-o", str(one), "--figures", str(tmp_path / "figures"))
    flashweir("report", str(made / "good.json"), str(made / "worse.json"), "-o", str(both))
    assert f"Benchmark of Worse one ({WORSE})" in one.read_text(encoding="utf-8")
    assert "good has the best score over 2 suites" in both.read_text(encoding="utf-8")
    assert "course-emule.svg" in {path.name for path in (tmp_path / "figures").iterdir()}
    assert "expected results of the same seed" in refused(
        "report", str(made / "good.json"), str(changed(made / "good.json", tmp_path, seed=2)), "-o", str(one), "--force"
    )


def test_results_in_memory_are_taken_too(tmp_path: Path) -> None:
    replayed = package.replay(WORK, SMALL, timing="asap")
    package.report(replayed, tmp_path / "r.html")
    assert ends_with_machine(tmp_path / "r.html")
    assert "500 requests in" in (tmp_path / "r.html").read_text(encoding="utf-8")
    graded = package.bench(SMALL, suites=["mapping"], scale=0.01)
    package.report(graded, tmp_path / "b.html")
    assert "install-linux" in (tmp_path / "b.html").read_text(encoding="utf-8")
    with pytest.raises(package.ConfigError, match=r"^source: is of flashweir collect: expected results of simulate"):
        package.report({"lost_events": 0, "output": "t.parquet"}, tmp_path / "x.html")


def changed(file: Path, folder: Path, name: str = "changed.json", **values: Any) -> Path:
    found = json.loads(file.read_text(encoding="utf-8"))
    (folder / name).write_text(json.dumps({**found, **values}), encoding="utf-8")
    return folder / name


@pytest.mark.parametrize("command", [["report", "-o", "x.html"], ["compare"]], ids=["report", "compare"])
def test_other_json_is_refused_with_its_command(command: list[str], made: Path, tmp_path: Path) -> None:
    replayed, good = made / "replayed.json", made / "good.json"
    dry = tmp_path / "dry.json"
    flashweir("replay", WORK, SMALL, "--timing", "asap", "--dry-run", "--json", str(dry))
    both = tmp_path / "both.json"
    flashweir("bench", "--compare", str(good), str(made / "worse.json"), "--json", str(both))
    info = tmp_path / "info.json"
    info.write_text('{"format": "msr", "detected_by": "name"}', encoding="utf-8")
    taken = "expected results of simulate, replay or bench --json, or of fio"
    for file, said in (
        (dry, f"is of flashweir replay --dry-run: {taken}"),
        (both, f"is of flashweir bench --compare: {taken}; bench --compare --html writes its page"),
        (info, f"is of flashweir trace info: {taken}"),
        (changed(replayed, tmp_path, "iops.json", iops="fast"), "replay --json: expected key iops to be a number"),
        (changed(replayed, tmp_path, "op.json", by_op={"read": 0.5}), "expected key by_op.read to be a number"),
        (changed(replayed, tmp_path, "us.json", latency_us={"read": 1}), "expected key latency_us to hold objects"),
        (changed(good, tmp_path, "bench.json", workloads=[]), "workloads: a list, expected a list that is not empty"),
    ):
        message = refused(*command, str(file), cwd=tmp_path)
        assert message.startswith(f"{file}: "), message
        assert said in message


def test_a_bundle_takes_results_of_simulations_alone(made: Path, tmp_path: Path) -> None:
    said = refused("bundle", str(made / "replayed.json"), "-o", str(tmp_path / "x.tar.zst"))
    assert "not a result of flashweir simulate --json: one of replay" in said
