"""Sweeps that were killed, and damaged directories."""

import io
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from test_sweep import GRID, run_counted, steady

import flashweir
from flashweir import ConfigError, FlashweirError
from flashweir.sweeps import rows, runner, store, sweep
from flashweir.sweeps.local import LocalBackend
from flashweir.sweeps.spec import load

VICTIM = """
import json, sys
from pathlib import Path
from flashweir.sweeps import runner, store
from flashweir.sweeps.local import LocalBackend
from flashweir.sweeps.spec import load
from flashweir.sweeps.terminal import duration, progress_on
store.PART_ROWS = 7
print("started", flush=True)
runner.execute(load(json.loads(sys.argv[1])), Path(sys.argv[2]), LocalBackend, resume=True)
"""


KILLS = 50


def test_killed_at_any_time_no_run_is_lost_and_none_is_counted_twice(tmp_path: Path) -> None:
    spec = {**GRID, "seeds": 150}
    directory = tmp_path / "s"
    dice = random.Random(5)  # noqa: S311
    arguments = [sys.executable, "-c", VICTIM, json.dumps(spec), str(directory)]
    kills, before = 0, 0
    while kills < KILLS:
        with subprocess.Popen(arguments, stdout=subprocess.PIPE) as victim:
            assert victim.stdout is not None
            victim.stdout.readline()
            # Every tenth is left to run for longer, so that the sweep gets on.
            time.sleep(dice.uniform(0, 0.06 if kills % 10 else 0.3))
            over = victim.poll() is not None
            os.kill(victim.pid, signal.SIGKILL)
        kills += 1
        # Read as the kill left it: nothing that was there is gone, nothing is there twice.
        frame = store.frame(directory) if (directory / "sweep.json").exists() else pl.DataFrame({"point": []})
        assert frame.height >= before
        before = frame.height
        if over:
            assert before == 600
            # A new sweep for the kills that are left.
            directory, before = tmp_path / f"s{kills}", 0
            arguments[-1] = str(directory)
    runner.execute(load(spec), directory, LocalBackend, resume=True)
    rows = [(row["point"], row["seed"]) for row in store.rows(directory)]
    assert sorted(rows) == [(point, seed) for point in range(4) for seed in range(1, 151)]
    assert steady(store.frame(directory)).equals(steady(sweep(spec)))


def test_what_a_kill_can_leave_is_put_right(tmp_path: Path) -> None:
    sweep(GRID, tmp_path)
    lines = (tmp_path / "runs.jsonl").read_bytes()
    # A torn last line: that run had not been counted.
    (tmp_path / "runs.jsonl").write_bytes(lines[:-40])
    assert store.frame(tmp_path).height == 11
    assert run_counted(GRID, tmp_path, resume=True)[0] == 1
    # Killed between writing a part and emptying runs.jsonl.
    lines = (tmp_path / "runs.jsonl").read_bytes()
    with store.Store(tmp_path) as open_store:
        open_store._compact()
    (tmp_path / "runs.jsonl").write_bytes(lines)
    assert store.frame(tmp_path).height == 12
    assert len(list(store.rows(tmp_path))) == 12
    assert run_counted(GRID, tmp_path, resume=True)[0] == 0
    assert (tmp_path / "runs.jsonl").read_bytes() == b""
    # A temporary file of a part.
    (tmp_path / ".runs-00001.parquet.part").write_bytes(b"half")
    assert run_counted(GRID, tmp_path, resume=True)[0] == 0
    assert not (tmp_path / ".runs-00001.parquet.part").exists()


def test_a_line_that_is_no_text_is_none_in_utf_8(tmp_path: Path) -> None:
    sweep(GRID, tmp_path)
    with (tmp_path / "runs.jsonl").open("ab") as file:
        file.write(b"\xff\xfe\x00\n")
    with pytest.warns(
        flashweir.FlashweirWarning, match=r"damaged \('utf-8' codec can't decode byte 0xff in position 0"
    ):
        flashweir.read_sweep(tmp_path)


def test_a_damaged_line_is_named_and_left_out_and_its_run_is_run_again(tmp_path: Path) -> None:
    frame = sweep(GRID, tmp_path)
    lines = (tmp_path / "runs.jsonl").read_bytes().splitlines(keepends=True)
    # A block of zeros, as a disk that lost power leaves it, and a line that is cut short.
    damage = [b"\0" * 40 + b"\n", lines[2][:50] + b"\n"]
    (tmp_path / "runs.jsonl").write_bytes(b"".join([lines[0], *damage, *lines[3:]]))
    with pytest.warns(flashweir.FlashweirWarning, match=r"runs\.jsonl: line [23]: damaged \(.*\): left out") as warned:
        found = flashweir.read_sweep(tmp_path)
    assert len(warned) == 2
    assert found.height == 10
    with pytest.warns(flashweir.FlashweirWarning, match=r"line [23]: damaged \(.*\): kept in runs\.damaged"):
        count, _ = run_counted(GRID, tmp_path, resume=True)
    assert count == 2
    assert steady(flashweir.read_sweep(tmp_path)).equals(steady(frame))
    assert (tmp_path / "runs.damaged").read_bytes() == b"".join(damage)
    assert len((tmp_path / "runs.jsonl").read_bytes().splitlines()) == 12


ROW = {"key": "k", "point": 0, "seed": 1, "workload": 'a "quoted",\'"result":{}\'', "error": None}
RESULT = '{"iops":1.50,"name":"Zür","inner":{"a":1,"result":{"b":2}}}'


def test_the_result_of_a_line_is_the_text_that_was_written() -> None:
    """Digits and characters stay, and a key of that name within the result or a text is not taken for it."""
    row, wrong = rows.of_line(rows.line({**ROW, "result": RESULT}))
    assert row == {**ROW, "result": RESULT}
    assert wrong == ""
    row, _ = rows.of_line(rows.line({**ROW, "error": "no", "result": None}))
    assert row == {**ROW, "error": "no", "result": None}


def test_a_line_with_its_result_in_front_is_a_row_too() -> None:
    text = '{"key":"k","result":{"a":1, "b":[2]},"point":0,"seed":1,"workload":"w","error":null}\n'
    row, wrong = rows.of_line(text.encode())
    assert wrong == ""
    assert row is not None
    assert row["result"] == '{"a":1,"b":[2]}'


def test_half_of_a_character_in_a_result_is_damage() -> None:
    line = rows.line({**ROW, "result": '{"a":"?"}'}).replace(b"?", b"\xed\xa0\x80")
    assert rows.of_line(line)[0] is None


def test_damaged_files_are_one_clear_line(tmp_path: Path) -> None:
    sweep(GRID, tmp_path)
    (tmp_path / "runs.jsonl").write_bytes(b"")
    (tmp_path / "runs-00000.parquet").write_bytes(b"PAR1 no more")
    with pytest.raises(FlashweirError, match=r"runs-00000\.parquet: damaged"):
        store.frame(tmp_path)
    (tmp_path / "sweep.json").write_text("{}")
    with pytest.raises(ConfigError, match=r"sweep\.json: expected what a sweep writes"):
        store.read_meta(tmp_path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"name": None}, "key name to be a text"),
        ({"axes": None}, "key axes to be a list of objects with name and values"),
        ({"axes": [{"name": "a"}]}, "key axes to be a list of objects with name and values"),
        ({"seeds": 3}, "key seeds to be a list of numbers"),
        ({"points": "4"}, "key points to be a number"),
        ({"runs": None}, "key runs to be a number"),
        ({"metrics": "iops"}, "key metrics to be a list of texts"),
        ({"compare": 7}, "key compare to be a text or null"),
    ],
)
def test_a_damaged_description_is_one_clear_line(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    meta = runner.describe(load(GRID))
    path = tmp_path / "sweep.json"
    path.write_text(json.dumps(meta))
    assert store.read_meta(tmp_path) == meta
    key = next(iter(change))
    for damaged in ({**meta, **change}, {name: value for name, value in meta.items() if name != key}):
        path.write_text(json.dumps(damaged))
        with pytest.raises(ConfigError) as error:
            store.read_meta(tmp_path)
        assert str(error.value) == f"{path}: expected what a sweep writes: {message}"


def test_what_can_not_be_written_whole_is_taken_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = store._append

    class Full(io.FileIO):
        room = 30_000

        def write(self, data: Any) -> int:
            if not Full.room:
                raise OSError(28, "No space left on device")
            taken = super().write(bytes(data)[: Full.room])
            Full.room -= taken
            return taken

    def append(_: Any, lines: bytes, path: Path) -> None:
        with Full(path, "ab") as full:
            plain(full, lines, path)

    monkeypatch.setattr(store, "_append", append)
    # Each row as soon as it is there, so that some come before the disk is full.
    monkeypatch.setattr(runner, "WRITE_S", 0)
    with pytest.raises(FlashweirError, match=r"runs\.jsonl: No space left on device: runs before are kept"):
        sweep(GRID, tmp_path / "s")
    monkeypatch.undo()
    kept = store.frame(tmp_path / "s").height
    assert 0 < kept < 12
    ran, state = run_counted(GRID, tmp_path / "s", resume=True)
    assert (ran, state.ready) == (12 - kept, kept)


def test_rubbish_in_the_directory_is_one_clear_line(tmp_path: Path) -> None:
    sweep(GRID, tmp_path)
    row = json.loads((tmp_path / "runs.jsonl").read_text().splitlines()[0])
    for change in ({"point": [1]}, {"result": "text"}, {"error": 3}, {"iops": [1]}, {"seed": None}):
        (tmp_path / "runs.jsonl").write_text(json.dumps({**row, **change}) + "\n")
        with pytest.warns(flashweir.FlashweirWarning, match=r"runs\.jsonl: line 1: damaged"):
            assert store.frame(tmp_path).height == 0
    for text in ("nonsense\n", "[" * 5000 + "\n", "{}\n", "3\n"):
        (tmp_path / "runs.jsonl").write_text(text)
        with pytest.warns(flashweir.FlashweirWarning, match=r"runs\.jsonl: line 1: damaged"):
            assert store.frame(tmp_path).height == 0
    (tmp_path / "runs.jsonl").unlink()
    (tmp_path / "runs.jsonl").mkdir()
    with pytest.raises(FlashweirError, match=r"runs\.jsonl: Is a directory"):
        store.frame(tmp_path)
    (tmp_path / "runs.jsonl").rmdir()
    pl.DataFrame({"a": [1]}).write_parquet(tmp_path / "runs-00000.parquet")
    with pytest.raises(FlashweirError, match=r"runs-00000\.parquet: damaged: expected a column key"):
        sweep(GRID, tmp_path / "other", reuse=[tmp_path])
