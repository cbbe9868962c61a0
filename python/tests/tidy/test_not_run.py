"""Tests that a machine can't run: each is said by name, and devices are asked for what they can do."""

import os
import subprocess
import sys
from pathlib import Path

import block_devices
import pytest
from conftest import ROOT

SKIPPING = """
import pytest

def test_of_loop_devices():
    pytest.skip("not run: a drive that is emptied: /dev/loop9 reports no discard")

@pytest.mark.skipif(True, reason="nbdkit is not installed")
def test_of_a_server():
    pass
"""


@pytest.mark.parametrize("workers", ["0", "1"])
def test_a_test_that_is_not_run_is_named_after_the_last_one(tmp_path: Path, workers: str) -> None:
    (tmp_path / "test_here.py").write_text(SKIPPING)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "conftest", "-n", workers, "test_here.py"],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT / "python/tests")}, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    lines = [line for line in done.stdout.splitlines() if line.startswith("not run: ")]
    assert lines == [
        "not run: test_here.py::test_of_loop_devices: a drive that is emptied: /dev/loop9 reports no discard",
        "not run: test_here.py::test_of_a_server: nbdkit is not installed",
    ]


def limit_of(folder: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> Path:
    """A file in place of the kernel's, with the largest discard of a device."""
    limit = folder / "discard_max_bytes"
    limit.write_text(text)
    monkeypatch.setattr(block_devices, "discard_limit", lambda _: limit)
    return limit


def test_discards_are_turned_off_only_where_they_are_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    limit = limit_of(tmp_path, monkeypatch, "0\n")
    block_devices.need_no_trim("/dev/loop9", "a drive without TRIM")
    assert limit.read_text() == "0\n"
    limit.write_text("4096\n")
    block_devices.need_no_trim("/dev/loop9", "a drive without TRIM")
    assert limit.read_text() == "0"


def test_discards_that_stay_on_are_a_reason_not_to_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    limit = limit_of(tmp_path, monkeypatch, "4096\n")

    def refuse(*_: object, **__: object) -> int:
        raise PermissionError("read-only file system")

    monkeypatch.setattr(type(limit), "write_text", refuse)
    with pytest.raises(pytest.skip.Exception, match="not run: a drive without TRIM: the discards of /dev/loop9 can't"):
        block_devices.need_no_trim("/dev/loop9", "a drive without TRIM")
