"""Benchmarks: graded workloads, results that survive, drives side by side."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from conftest import ends_with_machine, flashweir, refused

from flashweir import ConfigError, FlashweirError, bench
from flashweir.benchmark import comparing, naming, scores, showing
from flashweir.charts.model import Plot
from flashweir.locks import Lock

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


def test_a_result_is_written_by_one_process_at_a_time(tmp_path: Path) -> None:
    output = tmp_path / "slc.json"
    with (
        Lock(tmp_path / ".slc.json.lock", "held by this test"),
        pytest.raises(FlashweirError, match=rf"slc\.json: process {os.getpid()} \(.+\) is writing here"),
    ):
        bench("sim:slc-2006,capacity=16MiB", scale=0.01, output=output)
    assert not output.exists()


def test_drives_side_by_side(tmp_path: Path, both: tuple[Path, Path]) -> None:
    page, figures = tmp_path / "both.html", tmp_path / "figures"
    run = flashweir("bench", "--compare", *map(str, both), "--html", str(page), "--figures", str(figures))
    assert "all suites" in run.out
    assert "browser" in run.out
    text = page.read_text(encoding="utf-8")
    assert "log-block" in text
    assert ends_with_machine(page, "bench --compare")
    assert "http://" not in text.split("<body")[0]
    names = {path.name for path in figures.iterdir()}
    assert {"scores.png", "plain-sequential.png", "course-browser.png"} <= names
    found = flashweir("bench", "--compare", *map(str, both), "--json", "-").json()
    assert (found["drives"], found["targets"]) == (["good", "worse"], [DRIVE, WORSE])
    said = "good has the best score over all suites, "
    assert said in run.out
    assert said in text
    assert "drive 1" not in run.out + text
    assert f"worse: {WORSE}" in "".join(run.out.split("\n"))
    rows = {row["name"]: row for row in found["rows"]}
    assert rows["all suites"]["scores"][0] > rows["all suites"]["scores"][1]
    assert rows["sequential-4k"]["scores"][1] is None
    twice = flashweir("bench", "--compare", str(both[0]), str(both[0])).out
    assert "good has the best score over all suites, " in twice
    assert "good (2); best in 5 of 5." in twice
    assert "the same as" in twice
    results = [comparing.read(path) for path in both]
    charts = showing.charts(results, ["one", "two"])
    assert all(isinstance(chart, Plot) and len(chart.series) <= 2 for chart in charts)
    assert isinstance(charts[0], Plot)
    alone = [row for row in comparing.compare(results) if (row.kind, row.name) == ("suite", "gc")]
    said = showing.sections(results, ["one", "two"], alone)[0].blocks[0]
    assert "one has the best score over gc, " in str(said)
    assert "1 suites" not in str(said)
    assert (charts[0].name, charts[0].y.scale, charts[0].y.from_zero) == ("scores", "linear", True)


def test_drives_are_named_as_their_owner_calls_them(tmp_path: Path, both: tuple[Path, Path]) -> None:
    """By `--name`, or by the file; both where two have the same."""
    old, new = tmp_path / "before.json", tmp_path / "after.json"
    for file, name in ((old, []), (new, ["--name", "Rack 7, slot 2"])):
        flashweir("bench", DRIVE, "--scale", "0.01", "--suite", "mapping", "-o", str(file), *name)
    assert comparing.read(new)["name"] == "Rack 7, slot 2"
    assert "name" not in comparing.read(old)
    # Going on keeps the name.
    flashweir("bench", DRIVE, "--scale", "0.01", "--suite", "buffer", "-o", str(new), "--resume")
    assert comparing.read(new)["name"] == "Rack 7, slot 2"
    run = flashweir("bench", "--compare", str(old), str(new), "--html", str(tmp_path / "p.html"))
    assert "before has the best score" in run.out or "Rack 7, slot 2 has the best score" in run.out
    assert f"Rack 7, slot 2: {DRIVE}" in (tmp_path / "p.html").read_text(encoding="utf-8")
    results: list[Any] = [comparing.read(both[0]), comparing.read(both[0])]
    assert naming.labels(results, ["a/x.json", "b/x.json"]) == ["a/x", "b/x"]
    results = [{"name": "x"}, {"name": "x"}, {}]
    assert naming.labels(results, ["a.json", "b.json", "x.json"]) == ["x (a)", "x (b)", "x"]
    assert "--name 'a\\tb': expected a name without control characters" in refused("bench", DRIVE, "--name", "a\tb")


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


TOML = 'page = "2KiB"\npages_per_block = 64\ncapacity = "200MB"\nop_ratio = {spare}\n'


def test_going_on_is_refused_for_another_drive_version_or_workload(tmp_path: Path, both: tuple[Path, Path]) -> None:
    """`--resume` keeps results of the same drive, the same program and the same writes only."""
    drive, file = tmp_path / "drive.toml", tmp_path / "result.json"
    drive.write_text(TOML.format(spare=0.25))
    command = ("bench", f"sim:{drive}", "--scale", "0.01", "-o", str(file), "--suite")
    flashweir(*command, "buffer")
    before = file.read_text()
    assert len(json.loads(before)["device_file_sha256"]) == 64
    drive.write_text(TOML.format(spare=0.26))
    assert "has device_file_sha256" in refused(*command, "gc", "--resume")
    assert file.read_text() == before
    drive.write_text(TOML.format(spare=0.25))
    flashweir(*command, "gc", "--resume")
    assert list(json.loads(file.read_text())["suites"]) == ["buffer", "gc"]

    whole = json.loads(both[1].read_text())
    assert "device_file_sha256" not in whole
    for change, message in (
        ({"version": "0.0.1"}, "has version 0.0.1, expected"),
        ({"size_bytes": 1 << 30}, "has size_bytes 1073741824, expected"),
        ({"seed": 2}, "has seed 2, expected 1"),
        ({"workloads.1.spec": "bittorrent:scale=0.02,seed=1"}, "bittorrent has spec bittorrent:scale=0.02"),
        ({"workloads.2.setup": None}, "emule has setup None, expected emule:scale"),
        ({"workloads.3.name": "no-such"}, "no-such has spec install-linux:scale=0.01,seed=1, expected none"),
        ({"workloads.3.score": float("nan")}, "workloads[3].score: NaN, expected a number"),
    ):
        file.write_text(json.dumps(changed(whole, change)))
        message_is = refused("bench", WORSE, "--scale", "0.01", "-o", str(file), "--resume")
        assert message in message_is


def test_a_drive_whose_file_changes_under_way_is_not_mixed(tmp_path: Path) -> None:
    drive, file = tmp_path / "drive.toml", tmp_path / "result.json"
    drive.write_text(TOML.format(spare=0.25))

    def tell(name: str, _number: int, _count: int) -> None:
        if name == "bittorrent":
            drive.write_text(TOML.format(spare=0.26))

    with pytest.raises(ConfigError, match="changed during bittorrent"):
        bench(f"sim:{drive}", scale=0.01, suites=["transfer"], output=file, tell=tell)
    assert [one["name"] for one in comparing.read(file)["workloads"]] == ["copy-mp3"]


def changed(result: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """A copy with other values; a key is a path such as `workloads.1.score`."""
    copy: dict[str, Any] = json.loads(json.dumps(result))
    for path, value in changes.items():
        *outer, last = path.split(".")
        at: Any = copy
        for name in outer:
            at = at[int(name)] if isinstance(at, list) else at[name]
        at[last] = value
    return copy


BAD_VALUES: list[tuple[str, Any, str]] = [
    ("all", {}, "all.score: is missing"),
    ("all", 5, "all: 5, expected an object or null"),
    ("all", None, "all: expected grades"),
    ("suites", [], "suites: a list, expected an object"),
    ("suites.mapping", {}, "suites.mapping.score: is missing"),
    ("suites.mapping", None, "suites.mapping: null, expected an object"),
    ("suites.mapping.score", 1e3, "suites.mapping.score: 1000.0, expected"),
    ("suites.other", {}, "suites: expected transfer, buffer"),
    ("workloads", [], "workloads: a list, expected a list that is not empty"),
    ("workloads", {}, "workloads: an object, expected a list"),
    ("workloads", [5], "workloads[0]: 5, expected an object"),
    ("workloads.0.course_mb_s", ["x"], "course_mb_s: a list, expected a list of MB/s"),
    ("workloads.0.course_mb_s", [float("inf")], "course_mb_s: a list, expected a list of MB/s"),
    ("workloads.0.course_mb_s", [10**4000], "course_mb_s: a list, expected a list of MB/s"),
    ("workloads.0.score", 10**4000, "workloads[0].score: 1000"),
    ("workloads.0.score", float("nan"), "workloads[0].score: NaN, expected a number from"),
    ("workloads.0.score", float("inf"), "workloads[0].score: Infinity, expected"),
    ("workloads.0.score", -5, "workloads[0].score: -5, expected"),
    ("workloads.0.score", True, "workloads[0].score: true, expected"),
    ("workloads.0.score", "5", 'workloads[0].score: "5", expected'),
    ("workloads.0.score", 5000, "workloads[0].score: 5000, expected"),
    ("workloads.0.time_lost", 1.5, "workloads[0].time_lost: 1.5, expected a number from 0 to 1"),
    ("workloads.0.requests", 1.5, "workloads[0].requests: 1.5, expected a whole number"),
    ("workloads.0.response_us", 5, "workloads[0].response_us: 5, expected an object"),
    ("workloads.0.response_us", {}, "workloads[0].response_us.mean: is missing"),
    ("workloads.0.suite", "fast", 'workloads[0].suite: "fast", expected one of transfer'),
    ("workloads.0.name", "[/x]", 'workloads[0].name: "[/x]", expected small letters'),
    ("workloads.0.name", "../../x", 'workloads[0].name: "../../x", expected small letters'),
    ("workloads.0.name", "bittorrent", "workloads[1].name: bittorrent again"),
    ("target", {}, "target: an object, expected a text"),
    ("target", "a\nb", 'target: "a\\nb", expected a text'),
    ("target", "\ud800", 'target: "\\ud800", expected a text'),
    ("state", "new", 'state: "new", expected one of empty, filled, as-is'),
    ("scale", float("nan"), "scale: NaN, expected a number from 0.01 to 1"),
    ("seed", True, "seed: true, expected a whole number"),
    ("seed", 1.5, "seed: 1.5, expected a whole number"),
    ("size_bytes", 0, "size_bytes: 0, expected a whole number"),
    ("complete", 1, "complete: 1, expected true or false"),
    ("version", None, "version: null, expected a text"),
    ("name", "", 'name: "", expected a text'),
    ("device_file_sha256", "x", 'device_file_sha256: "x", expected 64 digits'),
]


@pytest.mark.parametrize(
    ("path", "value", "message"), BAD_VALUES, ids=[f"{at}-{path}" for at, (path, _, _) in enumerate(BAD_VALUES)]
)
def test_a_result_is_read_strictly(
    path: str, value: object, message: str, tmp_path: Path, both: tuple[Path, Path]
) -> None:
    file = tmp_path / "bad.json"
    file.write_text(json.dumps(changed(json.loads(both[1].read_text()), {path: value})))
    with pytest.raises(ConfigError) as error:
        comparing.read(file)
    assert str(error.value).startswith(f"{file}: ")
    assert message in str(error.value)
    assert len(str(error.value).replace(str(file), "")) < 300


def test_bad_results_are_one_line_and_no_traceback(tmp_path: Path, both: tuple[Path, Path]) -> None:
    file, whole = tmp_path / "bad.json", json.loads(both[1].read_text())
    for change in {"all": {}}, {"workloads.0.score": -5}:
        file.write_text(json.dumps(changed(whole, change)))
        assert f"{file}: " in refused("bench", "--compare", str(both[0]), str(file))
        assert f"{file}: " in refused("bench", WORSE, "--scale", "0.01", "-o", str(file), "--resume")
    file.write_text(both[1].read_text().replace('"seed": 1,', f'"seed": {"9" * 5000},'))
    assert "expected a result of flashweir bench" in refused("bench", "--compare", str(both[0]), str(file))


def test_results_side_by_side_are_of_the_same_writes(tmp_path: Path, both: tuple[Path, Path]) -> None:
    file, whole = tmp_path / "other.json", json.loads(both[1].read_text())
    for change, message in (
        ({"seed": 2}, "seed 1 and 2: expected results of the same seed"),
        ({"scale": 0.02}, "scale 0.01 and 0.02"),
        ({"state": "filled"}, "state empty and filled"),
        ({"workloads.0.spec": "copy-mp3:scale=0.01,seed=2"}, "transfer copy-mp3: spec copy-mp3:scale=0.01,seed=1 and"),
        ({"workloads.2.setup": None}, "buffer emule: setup emule"),
    ):
        file.write_text(json.dumps(changed(whole, change)))
        assert message in refused("bench", "--compare", str(both[0]), str(file))
    # Another version that makes the same writes; one that is not complete; a name that looks like markup.
    file.write_text(
        json.dumps(changed(whole, {"version": "0.0.1", "complete": False, "target": "sim:[/x]$_[bold].toml"}))
    )
    page, figures = tmp_path / "page.html", tmp_path / "figures"
    run = flashweir("bench", "--compare", str(both[0]), str(file), "--html", str(page), "--figures", str(figures))
    assert "sim:[/x]$_[bold].toml" in "".join(run.out.split())
    assert "and 0.0.1: the same workloads" in run.err
    assert "Some of these benchmarks are not complete" in page.read_text()


def test_a_drive_with_a_name_like_markup_is_shown(tmp_path: Path) -> None:
    (tmp_path / "[bold]").mkdir()
    (tmp_path / "[bold]" / "[").mkdir()
    drive = tmp_path / "[bold]" / "[" / "x].toml"
    drive.write_text(TOML.format(spare=0.25))
    run = flashweir("bench", "sim:[bold]/[/x].toml", "--scale", "0.01", "--suite", "mapping", cwd=tmp_path)
    assert "sim:[bold]/[/x].toml" in "".join(run.out.split())


def test_workloads_that_a_buffer_may_hold_are_said(tmp_path: Path) -> None:
    """On standard error, in the result and on the page; JSON on standard output stays JSON."""
    page = tmp_path / "page.html"
    run = flashweir("bench", DRIVE, "--scale", "0.01", "--suite", "gc", "--json", "-", "--html", str(page))
    (warning,) = run.json()["warnings"]
    assert run.err == f"warning: {warning}\n"
    assert "at scale 0.01 these write less than 16 MB: email (0.4 MB), browser (4.8 MB); " in warning
    assert "email (0.4 MB)" in page.read_text()
    quiet = flashweir("bench", DRIVE, "--scale", "0.01", "--suite", "mapping", "--json", "-")
    assert (quiet.err, quiet.json()["warnings"]) == ("", [])
    assert "plain sweeps" in scores.warnings([{"suite": "plain", "name": "random-4k", "bytes": 1}], 0.02)[0]
    assert scores.warnings([{"suite": "gc", "name": "email", "bytes": scores.LITTLE}], 0.5) == []
