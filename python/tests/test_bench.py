"""Benchmarks: graded workloads, results that survive, drives side by side."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from conftest import flashweir, refused

from flashweir import ConfigError, bench
from flashweir.benchmark import comparing, scores, showing
from flashweir.charts.model import Plot

DRIVE = "sim:slc-2006,capacity=200MB"
WORSE = f"{DRIVE},ftl.kind=log-block,op_ratio=0.03"


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Results of a drive and of one with coarser mapping; the first has the plain sweeps too."""
    folder = tmp_path_factory.mktemp("bench")
    good, worse = folder / "good.json", folder / "worse.json"
    flashweir("bench", DRIVE, "--scale", "0.01", "--suite", "all", "--suite", "plain", "-o", str(good))
    flashweir("bench", WORSE, "--scale", "0.01", "-o", str(worse))
    return good, worse


def test_a_result_has_grades_of_workloads_suites_and_all(both: tuple[Path, Path]) -> None:
    good, worse = map(comparing.read, both)
    assert good["complete"]
    assert (good["scale"], good["state"], good["seed"]) == (0.01, "empty", 1)
    assert list(worse["suites"]) == list(scores.COUNTED)
    names = [one["name"] for one in worse["workloads"]]
    apps = ["copy-mp3", "bittorrent", "emule", "install-linux", "pcmark05", "email", "browser", "install-windows"]
    assert names == apps
    for one in good["workloads"]:
        assert one["score"] == pytest.approx((one["speed"] * one["steadiness"]) ** 0.5)
        assert one["steadiness"] <= one["speed"] * 1.0001
        assert one["mb_s"] == pytest.approx(one["bytes"] / 1e6 / one["time_s"])
        assert 0 <= one["time_lost"] < 1
        assert 0 < len(one["course_mb_s"]) <= 60
    gc = [one["score"] for one in good["workloads"] if one["suite"] == "gc"]
    assert good["suites"]["gc"]["score"] == pytest.approx((gc[0] * gc[1] * gc[2]) ** (1 / 3))
    assert worse["all"]["score"] < good["all"]["score"]
    assert all(worse["suites"][suite]["score"] <= good["suites"][suite]["score"] for suite in scores.COUNTED)


def test_the_same_settings_give_the_same_result(both: tuple[Path, Path]) -> None:
    again = bench(WORSE, scale=0.01, suites=["gc"])
    before = [one for one in comparing.read(both[1])["workloads"] if one["suite"] == "gc"]
    assert again["workloads"] == before
    assert again["all"] is None
    other = bench(WORSE, scale=0.01, suites=["gc"], seed=2)
    assert other["workloads"] != before


def test_a_stopped_run_is_readable_and_goes_on(tmp_path: Path, both: tuple[Path, Path]) -> None:
    """The file has what was done; going on gives what an uninterrupted run has."""
    whole = comparing.read(both[1])
    cut = {**whole, "workloads": whole["workloads"][:3], "complete": False, "all": None}
    cut["suites"] = scores.of_suites(cut["workloads"])
    file = tmp_path / "cut.json"
    file.write_text(json.dumps(cut))
    assert "already" in refused("bench", WORSE, "--scale", "0.01", "-o", str(file))
    flashweir("bench", WORSE, "--scale", "0.01", "-o", str(file), "--resume")
    assert comparing.read(file) == whole
    message = refused("bench", DRIVE, "--scale", "0.01", "-o", str(file), "--resume")
    assert "has target" in message


def test_a_killed_run_leaves_a_whole_file(tmp_path: Path) -> None:
    file = tmp_path / "killed.json"
    command = [sys.executable, "-m", "flashweir", "bench", "sim:slc-2006,capacity=20GB", "-o", str(file)]
    running = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    limit = time.monotonic() + 120
    while not file.exists() and running.poll() is None and time.monotonic() < limit:
        time.sleep(0.01)
    running.send_signal(signal.SIGKILL)
    running.wait()
    found = comparing.read(file)
    assert found["workloads"]
    assert found["workloads"][0]["name"] == "copy-mp3"
    assert flashweir("bench", "--compare", str(file), str(file)).code == 0


def test_drives_side_by_side(tmp_path: Path, both: tuple[Path, Path]) -> None:
    page, figures = tmp_path / "both.html", tmp_path / "figures"
    run = flashweir("bench", "--compare", *map(str, both), "--html", str(page), "--figures", str(figures))
    assert "all suites" in run.out
    assert "browser" in run.out
    text = page.read_text(encoding="utf-8")
    assert "log-block" in text
    assert "http://" not in text.split("<body")[0]
    names = {path.name for path in figures.iterdir()}
    assert {"scores.png", "plain-sequential.png", "course-browser.png"} <= names
    found = flashweir("bench", "--compare", *map(str, both), "--json", "-").json()
    assert found["drives"] == [DRIVE, WORSE]
    rows = {row["name"]: row for row in found["rows"]}
    assert rows["all suites"]["scores"][0] > rows["all suites"]["scores"][1]
    assert rows["sequential-4k"]["scores"][1] is None
    results = [comparing.read(path) for path in both]
    charts = showing.charts(results, ["one", "two"])
    assert all(isinstance(chart, Plot) and len(chart.series) <= 2 for chart in charts)


def test_the_same_drive_twice_is_told_apart_by_its_files(both: tuple[Path, Path]) -> None:
    results: list[Any] = [comparing.read(both[0]), comparing.read(both[0])]
    assert comparing.labels(results, ["a/x.json", "b/y.json"]) == [f"{DRIVE} (x)", f"{DRIVE} (y)"]


def test_management_is_said_in_words(both: tuple[Path, Path]) -> None:
    good, worse = map(comparing.read, both)
    assert all("even" in showing.verdict(one) for one in good["workloads"] if one["suite"] != "plain")
    assert any("busy with itself" in showing.verdict(one) for one in worse["workloads"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("sim:no-such-drive",), "no-such-drive"),
        (("sim:slc-2006,capacity=100MB",), "expected at least 164"),
        ((DRIVE, "--scale", "0.5"), "has room for at most --scale 0.01"),
        ((DRIVE, "--scale", "0.001"), "expected hundredths from 0.01 to 1"),
        ((DRIVE, "--scale", "nan"), "expected hundredths"),
        ((DRIVE, "--suite", "fast"), "--suite fast: expected transfer"),
        ((DRIVE, "--state", "new"), "--state new: expected empty, filled, as-is"),
        ((DRIVE, DRIVE), "expected one drive, or --compare"),
        ((DRIVE, "--resume"), "--resume: expected the result to go on with"),
        ((DRIVE, "-o", "no/such/folder.json"), "there is no folder"),
        (("--compare", "a.json"), "expected at least two results"),
        (("--compare", "a.json", "b.json"), "a.json"),
        (("--compare", "a.json", "b.json", "--suite", "gc"), "--suite: has no effect with --compare"),
        ((DRIVE, "--figures", "no/such/folder"), "--figures"),
        (("/no/such/device",), "/no/such/device"),
    ],
)
def test_bad_input_is_one_line(arguments: tuple[str, ...], message: str, tmp_path: Path) -> None:
    assert message in refused("bench", *arguments, cwd=tmp_path)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": "flashweir-bench-1"}', "[" * 100_000])
def test_other_files_are_no_results(text: str, tmp_path: Path) -> None:
    file = tmp_path / "other.json"
    file.write_text(text)
    with pytest.raises(ConfigError, match="flashweir bench"):
        comparing.read(file)
