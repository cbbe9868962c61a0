"""File systems and databases on a live drive whose power is cut: the turns of experiments/13-live, a few of them."""

import importlib
import random
import sys
from pathlib import Path
from types import ModuleType

import pytest
from conftest import ROOT


@pytest.fixture
def cuts(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "experiments" / "13-live"))
    for name in ("disks", "cuts"):
        sys.modules.pop(name, None)
    lacks = importlib.import_module("disks").missing()
    if lacks:
        pytest.skip(f"not run: this machine lacks {lacks}")
    return importlib.import_module("cuts")


@pytest.mark.alone
@pytest.mark.parametrize("workload", ["files", "sqlite-wal", "sqlite-rollback"])
@pytest.mark.parametrize("protected", [False, True])
def test_what_was_acknowledged_is_there_after_a_cut(
    cuts: ModuleType, tmp_path: Path, workload: str, protected: bool
) -> None:
    turn = cuts.cut(workload, tmp_path, random.Random(5), protected_buffer=protected)  # noqa: S311 - nothing to hide
    assert turn.broken == []
    assert turn.report["flushed_sectors_lost"] == 0


@pytest.mark.alone
def test_a_drive_that_ignores_flushes_is_found(cuts: ModuleType, tmp_path: Path) -> None:
    draw = random.Random(6)  # noqa: S311 - nothing to hide
    found = []
    for turn in range(3):
        folder = tmp_path / str(turn)
        folder.mkdir()
        found += cuts.cut("files", folder, draw, ignore_flush=True).broken
    assert found
