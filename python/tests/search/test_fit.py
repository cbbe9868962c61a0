"""`flashweir.fit`: measurements in both forms, predictions, the search."""

import json
import pickle
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from fit_samples import BASE, GENERAL, TABLES, written

from flashweir import ConfigError, Drive
from flashweir.fitting import amplification, evaluation, fit, load, measurements, space, workers
from flashweir.fitting.points import every_other
from flashweir.fitting.search import given

SHORT = load.Effort(samples=300, requests=3000)


def test_tables_by_drive_read_as_they_are(tmp_path: Path) -> None:
    found = measurements.read(written(tmp_path, "m.toml", TABLES))
    assert (found.drive, found.capacity) == ("Drive A 960 GB", 1 << 30)
    assert [point.load for point in found.points] == ["9953", "19854", "29990", "saturated", "0.5", "1"]
    assert [point.is_knee for point in found.points[:3]] == [False, False, True]
    # At the knee the offered rate is the next step, and at least what was reached.
    assert found.points[2].value == 29990 + 5190
    assert found.points[0].measured["read_p999"] == 457
    assert found.points[3].measured["iops"] == 35200
    assert found.points[4].workload.used_share == pytest.approx(0.5)


def test_every_second_rate_is_left_out(tmp_path: Path) -> None:
    rows = "\n".join(
        f"    [{rate}, 5000, 56, 315, 457, 74, 10, 12, 16, 10]," for rate in (6000, 9000, 12000, 15000, 18000)
    )
    text = TABLES.replace("    [9953, 5049, 56, 315, 457, 74, 10, 12, 16, 10],", rows)
    kept, left = every_other(measurements.read(written(tmp_path, "m.toml", text)))
    assert [point.load for point in left.points] == ["9000", "15000"]
    assert [point.load for point in kept.points] == [
        "6000",
        "12000",
        "18000",
        "19854",
        "29990",
        "saturated",
        "0.5",
        "1",
    ]
    with pytest.raises(ConfigError, match="expected at least 3 rates below saturation"):
        fit(written(tmp_path, "g.toml", GENERAL), leave_out=True)


def test_the_general_form(tmp_path: Path) -> None:
    found = measurements.read(written(tmp_path, "m.toml", GENERAL))
    assert (found.drive, found.capacity) == ("small", 256 << 20)
    one, other = found.points
    assert (one.id, one.kind, one.value, one.cap, one.closed) == ("one", "rate", 2000.0, 32, False)
    assert (other.id, other.kind, other.cap, other.closed) == ("2", "saturated", 64, True)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("write = 0.5", "write = 1.5", "point 1: workload: write: 1.5: expected a number from 0 to 1"),
        ("rate = 2000", "rat = 2000", "point 1: load: unknown field 'rat': expected one of rate, depth, saturated"),
        ("read_mean = 70.0", "read_mean = -1", "point 1: measured: read_mean: -1: expected a number"),
        ("read_mean = 70.0", "reed = 1", "point 1: measured: unknown field 'reed'"),
        ("cap = 32", "cap = 0", "point 1: cap: 0: expected a whole number from 1"),
        ("waf = 2.0", "read_p50 = 2.0", "point 2: measured: read_p50: 2.0: expected no such metric"),
        ('capacity = "256MiB"', 'capacity = "many"', "drive: capacity: 'many': expected bytes"),
        ("saturated = true", "saturated = false", "point 2: load: saturated: False: expected true"),
        ("[drive]", "[drive", "expected a TOML file of measurements"),
    ],
)
def test_refused_measurements(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in GENERAL
    path = written(tmp_path, "m.toml", GENERAL.replace(old, new))
    with pytest.raises(ConfigError) as refused:
        measurements.read(path)
    assert message in str(refused.value)
    assert str(refused.value).startswith(str(path))


def test_refused_tables(tmp_path: Path) -> None:
    short = TABLES.replace("[9953, 5049, 56,", "[9953, 5049,")
    with pytest.raises(ConfigError, match=r"points, row 1: .*expected 10 numbers"):
        measurements.read(written(tmp_path, "short.toml", short))
    two = TABLES.replace('"drive-a" =', '"drive-b" =')
    with pytest.raises(ConfigError, match=r"has 2 drives: expected --drive with one of drive-a, drive-b"):
        measurements.read(written(tmp_path, "two.toml", two))
    with pytest.raises(ConfigError, match=r"--drive c: expected one of"):
        measurements.read(written(tmp_path, "one.toml", TABLES), "c")
    with pytest.raises(ConfigError, match=r"no measurements: expected \[\[point\]\]"):
        measurements.read(written(tmp_path, "none.toml", "a = 1"))


def test_a_lone_read_takes_what_the_drive_takes(tmp_path: Path) -> None:
    text = """
[[point]]
workload = { write = 0.0 }
load = { depth = 1 }
measured = { read_mean = 50.0, iops = 18800 }
"""
    base = str(written(tmp_path, "base.toml", BASE))
    found = fit(written(tmp_path, "m.toml", text), base=base, budget=0, effort=SHORT)
    by_what = {one.what: one for one in found.points}
    # Array 50 us, 4,096 bytes at 0.8 ns.
    assert by_what["read_mean@depth 1"].predicted == pytest.approx(53.277, abs=0.01)
    assert by_what["iops@depth 1"].predicted == pytest.approx(1e6 / 53.277, rel=0.02)
    assert by_what["read_mean@depth 1"].error == pytest.approx(53.277 / 50 - 1, abs=1e-3)


def test_write_amplification_follows_used_space(tmp_path: Path) -> None:
    base = str(written(tmp_path, "base.toml", BASE))
    found = fit(written(tmp_path, "m.toml", TABLES), base=base, budget=0, effort=SHORT)
    half, whole = (one.predicted for one in found.points if one.metric == "waf")
    assert half is not None
    assert whole is not None
    assert 1.0 <= half < 1.4 < whole


def test_write_amplification_of_a_file_is_that_of_its_keys(tmp_path: Path) -> None:
    data = measurements.read(written(tmp_path, "m.toml", TABLES))
    point = next(one for one in data.points if amplification.is_simulated(one))
    own = {"op_ratio": 0.3, "buffer.bytes": 1 << 20, "buffer.destage": "eager"}
    text = 'op_ratio = 0.3\n[buffer]\nbytes = "1MiB"\ndestage = "eager"\n[host]\nslots = 50\nmode = "open"\n'
    file = str(written(tmp_path, "base.toml", text))
    # A buffer of the whole drive would hold a large share of the few blocks.
    assert amplification.waf(file, {}, point, 1) == amplification.waf(None, own, point, 1)


def test_a_budget_of_nothing_needs_a_drive(tmp_path: Path) -> None:
    path = written(tmp_path, "m.toml", GENERAL)
    with pytest.raises(ConfigError, match="budget 0: expected a base"):
        fit(path, budget=0)
    with pytest.raises(ConfigError, match="expected a number of evaluations, or a time such as 10min"):
        fit(path, budget="soon")


def test_every_key_of_the_space_is_one_of_the_drive() -> None:
    for start in space.starts():
        settings = start.drive([0.5] * len(start.keys))
        name = space.solved().key.name
        spread = float(str(settings.pop(space.SPREAD + name)))
        settings[name] = space.by_page_type(space.solved().start, spread)
        settings.setdefault(space.settled().name, 0.2)
        with Drive(set={**settings, "capacity": 1 << 30}) as drive:
            assert drive.capacity_bytes >= 1 << 30
        for key in start.keys:
            assert key.low < key.high
            assert key.source
            assert key.at(key.place(key.low)) == pytest.approx(key.low)


def test_page_types_have_times_around_the_middle() -> None:
    start = space.starts()[0]
    low = start.drive([0.0] * len(start.keys))
    assert low["timing.read"] == [25000, 25000, 25000]
    high = start.drive([1.0 if key.name == "spread of timing.read" else 0.0 for key in start.keys])
    assert high["timing.read"] == [13889, 25000, 45000]


def test_over_provisioning_is_found_from_write_amplification(tmp_path: Path) -> None:
    measured = measurements.read(written(tmp_path, "m.toml", TABLES))
    found = amplification.settle(measured, None, 1)
    assert list(found) == ["op_ratio"]
    point = next(point for point in measured.points if point.measured.get("waf") == 2.0)
    settings = {**space.starts()[0].settings, **found}
    assert amplification.waf(None, settings, point, 1) == pytest.approx(2.0, rel=0.05)
    bare = measurements.read(written(tmp_path, "g.toml", GENERAL.replace(", waf = 2.0", "")))
    assert amplification.settle(bare, None, 1) == {}


def test_writes_of_a_drive_for_itself_count_as_its_sequential_fill_says(tmp_path: Path) -> None:
    plain = measurements.read(written(tmp_path, "m.toml", TABLES))
    one = measurements.read(written(tmp_path, "one.toml", TABLES.replace("waf = [", "sequential_waf = 1.04, waf = [")))
    listed = TABLES.replace("waf = [", "sequential_waf = [1.04, 1.02], waf = [")
    each = measurements.read(written(tmp_path, "each.toml", listed))
    assert [point.sequential_waf for point in one.points if "waf" in point.measured] == [1.04, 1.04]
    assert [point.sequential_waf for point in each.points if "waf" in point.measured] == [1.04, 1.02]
    assert not one.unused
    settings = {**space.starts()[0].settings, "op_ratio": 0.3}
    without, with_it = (
        amplification.waf(None, settings, next(point for point in found.points if "waf" in point.measured), 1)
        for found in (plain, one)
    )
    assert with_it == pytest.approx(1.04 * without)
    general = GENERAL.replace("[drive]", "[drive]\nsequential_waf = 1.03")
    found = measurements.read(written(tmp_path, "g.toml", general))
    assert {point.sequential_waf for point in found.points} == {1.03}
    with pytest.raises(ConfigError, match=r"sequential_waf: 0\.5: expected a number from 1 to 10"):
        measurements.read(written(tmp_path, "h.toml", general.replace("1.03", "0.5")))
    with pytest.raises(ConfigError, match=r"sequential_waf: .*expected numbers from 1"):
        measurements.read(written(tmp_path, "j.toml", listed.replace("1.02]", "0.9]")))
    with pytest.raises(ConfigError, match=r"sequential_waf: .*expected a list of 2 numbers"):
        measurements.read(written(tmp_path, "i.toml", listed.replace("[1.04, 1.02]", "[1.04]")))


def test_the_program_time_is_that_of_the_throughput(tmp_path: Path) -> None:
    text = GENERAL.replace('capacity = "256MiB"', 'capacity = "960GB"').replace("iops = 20000", "iops = 90000")
    measured = measurements.read(written(tmp_path, "m.toml", text))
    start = space.starts()[0]
    settings = {**start.drive([0.5] * len(start.keys)), "op_ratio": 0.3}
    found, predicted = evaluation.solve(settings, None, measured, space.solved(), 1)
    assert predicted["2"]["iops"] == pytest.approx(90000, rel=0.03)
    times = found["timing.program"]
    assert isinstance(times, list)
    assert times[0] < times[1] < times[2]


def test_without_a_throughput_at_saturation_the_program_time_is_searched(tmp_path: Path) -> None:
    pytest.importorskip("cmaes")
    path = written(tmp_path, "m.toml", GENERAL[: GENERAL.rindex("[[point]]")])
    name = space.solved().key.name
    data, whole = measurements.read(path), measurements.read(written(tmp_path, "whole.toml", GENERAL))
    start = space.starts(given(data))[0]
    assert name in [key.name for key in start.keys]
    assert name not in [key.name for key in space.starts(given(whole))[0].keys]
    times = [
        evaluation.solve(start.drive([place] * len(start.keys)), None, data, space.solved(), 1)[0][name]
        for place in (0.1, 0.9)
    ]
    assert times[0] != times[1]
    found = fit(path, output=tmp_path / "a.toml", budget=4, seed=3, effort=SHORT)
    assert next(key for key in found.keys if key.key == name).source.startswith("fitted")


def test_without_a_saturated_row_no_load_is_taken_for_the_knee(tmp_path: Path) -> None:
    text = "\n".join(line for line in TABLES.splitlines() if not line.startswith("saturated"))
    found = measurements.read(written(tmp_path, "m.toml", text))
    rates = [point for point in found.points if point.kind == "rate"]
    assert [point.saturation for point in rates] == [None, None, None]
    assert [point.value for point in rates] == [15_002, 25_002, 35_180]
    assert rates[-1] in evaluation.fitted(found)


def test_a_worker_whose_parent_was_killed_ends_without_a_word() -> None:
    command = [sys.executable, "-m", "flashweir.fitting.workers"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe) as worker:
        assert worker.stdin is not None
        assert worker.stdout is not None
        assert worker.stderr is not None
        worker.stdout.close()
        # No task: the worker answers with an error.
        worker.stdin.write(pickle.dumps((None, {})))
        worker.stdin.close()
        assert worker.stderr.read() == b""
        assert worker.wait() == -signal.SIGPIPE


def test_processes_share_the_points_of_a_prediction(tmp_path: Path) -> None:
    data = measurements.read(written(tmp_path, "m.toml", TABLES))
    base = str(written(tmp_path, "base.toml", BASE))
    asked = workers.Prediction(base, data.points, data.capacity, SHORT, 1)
    with workers.Workers() as several:
        shared = several.predict(asked, {"op_ratio": 0.4})
    assert shared == evaluation.predict(
        evaluation.Candidate(base, {"op_ratio": 0.4}), data.points, data.capacity, SHORT, 1
    )
    assert len(shared) > 1


def test_a_search_is_the_same_again_and_goes_on_after_a_kill(tmp_path: Path) -> None:
    pytest.importorskip("cmaes")
    path = written(tmp_path, "m.toml", GENERAL)
    first = fit(path, output=tmp_path / "a.toml", budget=8, seed=3, effort=SHORT)
    kept = tmp_path / "a.toml.runs.jsonl"
    lines = kept.read_text(encoding="utf-8").splitlines()
    assert first.runs == 8
    # More than half of the evaluations, and one that a kill cut.
    (tmp_path / "b.toml.runs.jsonl").write_text("\n".join(lines[:5]) + '\n{"key": "', encoding="utf-8")
    again = fit(path, output=tmp_path / "b.toml", budget=8, seed=3, effort=SHORT)
    assert json.dumps(again.to_dict()) == json.dumps(first.to_dict())
    assert (tmp_path / "a.toml").read_bytes() == (tmp_path / "b.toml").read_bytes()
    with Drive(str(tmp_path / "a.toml")) as drive:
        assert drive.capacity_bytes >= 256 << 20
    found = first.to_dict()
    assert list(found) == ["format", "drive", "points", "medians", "keys", "runs", "seed"]
