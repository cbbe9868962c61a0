"""The notebook-style examples run cell by cell, and what they show is worth showing."""

import ast
import re
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from conftest import ROOT

CELL = re.compile(r"^# %%(?P<markdown> \[markdown\])?$", re.MULTILINE)


def cells(path: Path) -> list[str]:
    """The code cells of a file in the percent format."""
    parts = CELL.split(path.read_text(encoding="utf-8"))
    return [code for markdown, code in zip(parts[1::2], parts[2::2], strict=True) if markdown is None]


def shown(value: Any) -> str:
    """Output of a notebook for a value."""
    for name in ("_repr_html_", "_repr_svg_"):
        if hasattr(value, name):
            text: str = getattr(value, name)()
            return text
    return repr(value)


def run(path: Path) -> list[str]:
    """Runs the cells in one namespace; what the last line of each shows."""
    namespace: dict[str, Any] = {}
    found = []
    for code in cells(path):
        tree = ast.parse(code)
        last = tree.body[-1]
        if isinstance(last, ast.Expr):
            exec(compile(ast.Module(tree.body[:-1], []), str(path), "exec"), namespace)  # noqa: S102 - our own file
            value = eval(compile(ast.Expression(last.value), str(path), "eval"), namespace)  # noqa: S307
            found.append(shown(value))
        else:
            exec(compile(tree, str(path), "exec"), namespace)  # noqa: S102
    return found


def test_the_first_sweep_shows_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    result, warmup, sweep, grouped, summary, verdicts, curve, channels, files = run(
        ROOT / "docs" / "examples" / "first_sweep.py"
    )
    assert "write amplification" in result
    assert "<table>" in result
    assert "mser-5" in warmup
    assert "24 of 24 runs over gc.victim (2), op_ratio (4) and 3 seeds; 0 failed" in sweep
    assert all("<table" in text for text in (sweep, grouped, summary, verdicts))
    assert "write_amplification low" in summary
    assert "significant" in verdicts
    pl.Config.restore_defaults()
    for picture in (curve, channels):
        assert ET.fromstring(picture).tag.endswith("svg")  # noqa: S314 - our own file
    assert "write-amplification.svg" in files
    assert "victims.html" in files
