"""A file that is not there, or can't be read, gives one line: its name, the reason, and the contents expected."""

import re
from pathlib import Path

import pytest
from conftest import refused

from flashweir.cli import COMMANDS

WORK = "random:count=1"
# Command lines that name `none.here`, which is not there.
LINES = [
    ["simulate", "none.here"],
    ["simulate", "none.here", "--format", "msr"],
    ["simulate", "none.here", "--format", "blktrace"],
    ["simulate", "mix:none.here"],
    ["simulate", "fio:none.here"],
    ["simulate", WORK, "--device", "none.here"],
    ["simulate", WORK, "--set", "tenants.channels=learned", "--model", "none.here"],
    ["sweep", "none.here"],
    ["compare", "--matrix", "none.here"],
    ["compare", "none.here", "--policies", "fast"],
    ["lifetime", "none.here"],
    ["lifetime", WORK, "--device", "none.here"],
    ["bench", "none.here", "-o", "b.json"],
    ["bench", "sim:none.here", "-o", "b.json"],
    ["bench", "--compare", "none.here", "other.here"],
    ["report", "none.here", "-o", "r.html"],
    ["bundle", "none.here"],
    ["check-bundle", "none.here"],
    ["reproduce", "--experiments", "none.here"],
    ["collect", "/dev/none.here", "-o", "t.parquet"],
    ["replay", "none.here", "sim:tlc"],
    ["replay", WORK, "none.here", "--timing", "asap", "--dry-run"],
    ["replay", "--recover", "none.here"],
    ["serve", "none.here", "--nbd", "unix:n.sock"],
    ["serve", "--nbd", "unix:none.here/n.sock"],
    ["ctl", "none.here", "status"],
    ["watch", "none.here"],
    ["probe", "none.here", "--erase", "none.here", "-o", "p.toml"],
    ["fit", "none.here"],
    ["search", "none.here"],
    ["diagnose", "none.here"],
    ["diagnose", "sim:none.here", "--active"],
    ["import", "mqsim", "none.here", "-o", "d.toml"],
    ["trace", "characterize", "none.here"],
    ["trace", "convert", "none.here", "t.msr"],
    ["trace", "convert", "none.here", "t.parquet"],
]
# Exit code of `ctl` where no drive is served.
NO_DRIVE = 4
# Commands without a file that is read.
NO_FILES = {"presets", "schema", "completion"}
# Numbers of the operating system, as Rust and Python write them.
NUMBERED = re.compile(r"os error|errno", re.IGNORECASE)


@pytest.mark.parametrize("line", LINES, ids=" ".join)
def test_a_file_that_is_not_there(line: list[str], tmp_path: Path) -> None:
    said = refused(*line, cwd=tmp_path, code=NO_DRIVE if line[0] == "ctl" else 2)
    assert "none.here" in said
    assert NUMBERED.search(said) is None
    # A list of presets says as well what was expected.
    assert "expected" in said or "presets are" in said or "a generator has options" in said
    assert list(tmp_path.iterdir()) == []


def test_every_command_that_reads_a_file_is_here() -> None:
    assert set(COMMANDS) - NO_FILES == {line[0] for line in LINES}


@pytest.mark.parametrize("line", [
    ["simulate", "folder"],
    ["simulate", "folder", "--format", "msr"],
    ["simulate", "mix:folder"],
    ["simulate", WORK, "--device", "folder"],
    ["diagnose", "folder"],
    ["fit", "folder"],
    ["sweep", "folder"],
    ["watch", "folder"],
    ["trace", "convert", "folder", "t.msr"],
], ids=" ".join)  # fmt: skip
def test_a_folder_where_a_file_is_expected(line: list[str], tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    said = refused(*line, cwd=tmp_path)
    assert "folder" in said
    assert NUMBERED.search(said) is None


def test_a_path_through_a_file(tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("x", encoding="utf-8")
    for line in (["simulate", "plain/none"], ["fit", "plain/none"], ["simulate", WORK, "--device", "plain/none"]):
        said = refused(*line, cwd=tmp_path)
        assert "plain/none" in said
        assert "Not a directory" in said or "presets are" in said
        assert NUMBERED.search(said) is None
