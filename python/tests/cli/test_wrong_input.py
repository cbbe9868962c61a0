"""Wrong files, numbers and names, as new users give them: one line that says what, where and what was expected."""

import os
from pathlib import Path

import pytest
from conftest import flashweir, refused

WORK = "random:span=8MiB,count=100"
SMALL = ["--set", "capacity=64MiB"]
NO_TEXT = os.fsdecode(b"caf\xe9.toml")
FILES = {"empty": b"", "binary": bytes(range(256)), "utf16": "name = 1".encode("utf-16"), "bad": b"a = = 1\n"}


@pytest.fixture
def here(tmp_path: Path) -> Path:
    for name, content in FILES.items():
        (tmp_path / name).write_bytes(content)
        (tmp_path / f"{name}.toml").write_bytes(content)
    (tmp_path / "folder").mkdir()
    return tmp_path


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (["sweep"], "a sweep in TOML"),
        (["search"], "a search in TOML"),
        (["fit"], "a TOML file of measurements"),
        (["compare", "--matrix"], "a trial in TOML"),
        (["compare", WORK, "--policies"], "a TOML file with [policies]"),
    ],
    ids=lambda part: " ".join(part) if isinstance(part, list) else None,
)
def test_files_that_are_no_toml(line: list[str], expected: str, here: Path) -> None:
    for name, reason in (("binary", "not UTF-8 text"), ("utf16", "not UTF-8 text"), ("bad", "Invalid value")):
        said = refused(*line, f"{name}.toml", cwd=here)
        assert said.startswith(f"{name}.toml: {reason}"), said
        assert said.endswith(f": expected {expected}"), said


@pytest.mark.parametrize("line", [["report", "-o", "x.html"], ["bundle"], ["compare"]], ids=lambda line: line[0])
def test_files_that_are_no_json(line: list[str], here: Path) -> None:
    for name, reason in (("empty", "it is empty"), ("binary", "not UTF-8 text"), ("bad", "not JSON")):
        (here / f"{name}.json").write_bytes(FILES[name])
        said = refused(line[0], f"{name}.json", *line[1:], cwd=here)
        assert said.startswith(f"{name}.json: not a result of flashweir simulate --json: {reason}"), said


def test_a_folder_and_a_device_where_another_simulator_has_its_file(here: Path) -> None:
    expected = "expected a configuration of another simulator"
    assert refused("import", "femu", "folder", "-o", "d.toml", cwd=here) == f"folder: that is a folder; {expected}"
    assert refused("import", "femu", "none", "-o", "d.toml", cwd=here) == f"none: there is no such file; {expected}"
    assert "/dev/null: no option of FEMU" in refused("import", "femu", "/dev/null", "-o", "d.toml", cwd=here)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (["simulate", WORK, "--seed", "x"], "--seed x: expected a whole number from 0"),
        (["simulate", WORK, "--seed", "-1"], "--seed -1: expected a whole number from 0"),
        (["simulate", WORK, "--seed", "1.5"], "--seed 1.5: expected a whole number from 0"),
        (["replay", WORK, "sim:tlc", "--depth", "0"], "--depth 0: expected a whole number from 1"),
        (["bench", "sim:tlc", "--scale", "all"], "--scale all: expected a number"),
        (["lifetime", WORK, "--years", "five"], "--years five: expected a number"),
        (["completion", "csh"], "bash|zsh|fish csh: expected one of bash, zsh, fish"),
        (["serve", "tlc", "--dilate", "nan", "--nbd", "unix:n.sock"], "--dilate: nan: expected a finite number"),
        (
            ["compare", WORK, "--policies", "greedy,"],
            "policies greedy,: expected policies separated by commas, such as",
        ),
        (["diagnose", "sim:tlc"], "sim:tlc: is a drive: expected a log of requests, or --active, which tests a drive"),
        (["diagnose", "py:drive.py:Drive"], "py:drive.py:Drive: is a drive: expected a log of requests, or --active"),
    ],
    ids=lambda part: " ".join(part) if isinstance(part, list) else None,
)
def test_wrong_values(line: list[str], said: str, here: Path) -> None:
    assert refused(*line, cwd=here).startswith(said)


@pytest.mark.parametrize(
    "line",
    [
        ["bench", f"sim:{NO_TEXT}", "--scale", "0.01"],
        ["bench", f"sim:{NO_TEXT}", "--pts", "iops"],
        ["probe", f"sim:{NO_TEXT}", "-o", "p.toml"],
        ["diagnose", f"sim:{NO_TEXT}", "--active"],
    ],
    ids=["bench", "pts", "probe", "diagnose"],
)
def test_a_drive_whose_name_is_no_text(line: list[str], here: Path) -> None:
    assert refused(*line, cwd=here) == r"target: 'sim:caf\udce9.toml': expected a text in UTF-8"


def test_a_bundle_with_a_name_like_markup(here: Path) -> None:
    flashweir("simulate", WORK, *SMALL, "--json", "r.json", cwd=here)
    assert flashweir("bundle", "r.json", "-o", "[bold].tar.zst", cwd=here).out.startswith("[bold].tar.zst: a result, ")
