"""Summaries have the words of people, and none of Python: yes and no instead of True and False."""

import math
import re
from pathlib import Path

import pytest
from conftest import SHIPPED_TRACE, flashweir

from flashweir.cli.probe import _shown
from flashweir.fitting.outcome import Fit, KeyFound, show
from flashweir.plain import plain, setting
from flashweir.reports import finding

WORK = "random:span=16MiB,count=500,write=0.5"
DRIVE = "sim:slc-2006,capacity=64MiB"
SWEEP = """
name = "words"
seeds = 2
workloads = "random:span=16MiB,count=500,write=1"
[set]
capacity = "64MiB"
[axes]
"timing.multi_plane" = [true, false]
"""
SEARCH = SWEEP.replace("seeds = 2", "seeds = 1") + '[goals]\nwrite_amplification = "min"\n'
LINES = [
    ["simulate", WORK, "--set", "capacity=64MiB", "--explain", "p99"],
    ["sweep", "words.toml", "-o", "words"],
    ["search", "search.toml", "--budget", "2"],
    [
        "compare",
        WORK,
        "--policies",
        "timing.multi_plane=true,timing.multi_plane=false",
        "--set",
        "capacity=64MiB",
        "--seeds",
        "2",
    ],
    ["lifetime", WORK, "--set", "capacity=64MiB", "--seeds", "1"],
    ["bench", "sim:slc-2006,capacity=200MB", "--scale", "0.01", "--suite", "buffer"],
    ["replay", WORK, DRIVE, "--timing", "asap"],
    ["replay", WORK, DRIVE, "--timing", "asap", "--dry-run"],
    ["probe", DRIVE, "-o", "probed.toml"],
    ["diagnose", DRIVE, "--active"],
    ["trace", "info", str(SHIPPED_TRACE)],
    ["trace", "characterize", str(SHIPPED_TRACE)],
    ["presets"],
    ["reproduce", "--coverage"],
]
# As Python writes truth, nothing, what is no number, and empty lists.
OF_PYTHON = re.compile(r"\b(True|False|None|nan|NaN|inf)\b|\[\]|\{\}|\['|<\w+ object")


@pytest.mark.parametrize("line", LINES, ids=lambda line: " ".join(line[:2]))
def test_a_summary_has_no_word_of_python(line: list[str], tmp_path: Path) -> None:
    (tmp_path / "words.toml").write_text(SWEEP, encoding="utf-8")
    (tmp_path / "search.toml").write_text(SEARCH, encoding="utf-8")
    out = flashweir(*line, cwd=tmp_path).out
    assert out
    assert OF_PYTHON.findall(out) == []


def test_values_in_words() -> None:
    values = [True, False, None, 1234567, 0.5, 12345.678, [1, True], [], {"a": None}, {}, math.nan, math.inf, "x"]
    said = ["yes", "no", "-", "1,234,567", "0.5", "12,345.7", "1, yes", "-", "a=-", "-", "-", "no limit", "x"]
    assert [plain(value) for value in values] == said
    assert [setting(value) for value in (True, False, None, 4, 0.25, ["40us", "60us"], "fifo")] == [
        "true", "false", "-", "4", "0.25", "40us,60us", "fifo"
    ]  # fmt: skip
    assert [_shown(value) for value in (True, None, ["a", "b"], {"x": False, "y": None})] == [
        "yes", "unknown", "a, b", "x=no"
    ]  # fmt: skip


def test_settings_of_a_finding_and_of_a_fit(capsys: pytest.CaptureFixture[str]) -> None:
    from rich.console import Console

    assert finding._setting({"timing.multi_plane": True, "op_ratio": 0.1}, ["timing.multi_plane", "op_ratio"]) == (
        "timing.multi_plane=true, op_ratio=0.1"
    )
    key = KeyFound("timing.multi_plane", True, None, None, determined=True, source="assumed")
    show(Fit("drive", None, [], [key], {}, "m.toml", 1, 1), Console())
    assert "true" in capsys.readouterr().out
