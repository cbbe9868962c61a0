"""File systems and databases on a live drive whose power is cut: the turns of experiments/13-live, a few of them."""

import importlib
import random
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from conftest import ROOT


@pytest.fixture
def cuts(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "experiments" / "13-live"))
    for name in ("disks", "cuts", "postgres", "workloads"):
        sys.modules.pop(name, None)
    lacks = importlib.import_module("disks").missing()
    if lacks:
        pytest.skip(f"not run: this machine lacks {lacks}")
    return importlib.import_module("cuts")


@pytest.mark.alone
@pytest.mark.parametrize("workload", ["files", "sqlite-wal", "sqlite-rollback"])
@pytest.mark.parametrize("drive", ["volatile", "protected"])
def test_what_was_acknowledged_is_there_after_a_cut(
    cuts: ModuleType, tmp_path: Path, workload: str, drive: str
) -> None:
    turn = cuts.cut(workload, tmp_path, random.Random(5), drive=drive)  # noqa: S311 - nothing to hide
    assert turn.broken == []
    assert turn.report["flushed_sectors_lost"] == 0


@pytest.mark.alone
@pytest.mark.parametrize(("on", "drive"), [("xfs", "collecting"), ("btrfs", "folding"), ("f2fs", "volatile")])
def test_other_file_systems_keep_what_was_acknowledged(cuts: ModuleType, tmp_path: Path, on: str, drive: str) -> None:
    if lacks := cuts.missing(on):
        pytest.skip(f"not run: this machine lacks {lacks}")
    turn = cuts.cut("files", tmp_path, random.Random(7), on, drive)  # noqa: S311 - nothing to hide
    assert turn.broken == []
    assert turn.copying > 0.2 or drive == "volatile", "the cut is in the middle of copies"


@pytest.mark.alone
@pytest.mark.parametrize("drive", ["lying", "reordering"])
def test_a_drive_that_ignores_flushes_is_found(cuts: ModuleType, tmp_path: Path, drive: str) -> None:
    draw = random.Random(6)  # noqa: S311 - nothing to hide
    found = []
    for turn in range(3):
        folder = tmp_path / str(turn)
        folder.mkdir()
        found += cuts.cut("files", folder, draw, drive=drive).broken
    assert found


@pytest.fixture
def open_folder(cuts: ModuleType) -> Iterator[Path]:
    """A folder that PostgreSQL's user can reach, where this machine has PostgreSQL."""
    if lacks := cuts.postgres.missing():
        pytest.skip(f"not run: this machine lacks {lacks}")
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


@pytest.mark.alone
@pytest.mark.parametrize("drive", ["volatile", "protected"])
def test_postgresql_recovers_what_it_acknowledged(cuts: ModuleType, open_folder: Path, drive: str) -> None:
    turn = cuts.cut("postgres", open_folder, random.Random(5), drive=drive)  # noqa: S311 - nothing to hide
    assert turn.broken == []
    assert turn.promised > 0
    assert turn.report["flushed_sectors_lost"] == 0


@pytest.mark.alone
def test_postgresql_on_a_drive_that_ignores_flushes_is_found(cuts: ModuleType, open_folder: Path) -> None:
    turn = cuts.cut("postgres", open_folder, random.Random(6), drive="lying")  # noqa: S311 - nothing to hide
    assert turn.promised > 0
    assert turn.broken
