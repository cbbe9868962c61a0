"""Selective filling: the bound on what it moves, and writes against which it loses."""

import importlib
import sys
from pathlib import Path
from types import ModuleType

import pytest
from conftest import ROOT

FOLDER = ROOT / "experiments" / "11-selective-filling"


@pytest.fixture
def adversary(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(FOLDER))
    sys.modules.pop("adversary", None)
    return importlib.import_module("adversary")


@pytest.mark.parametrize("name", ["moves", "crowded"])
def test_it_moves_at_most_a_page_for_each_that_is_written_and_loses_by_it(
    adversary: ModuleType, tmp_path: Path, name: str
) -> None:
    path = tmp_path / f"{name}.disksim"
    adversary.write_trace(name, 60, path)
    ours, rival = (adversary.run(path, planner).to_dict() for planner in ("selective-filling", "cycle-filling"))
    moved = ours["flash"]["gc"]["programs"] - ours["merges"]["full"] * adversary.PAGES
    host = ours["flash"]["host"]["programs"]
    assert 0.8 * host < moved <= host
    # Cold pages are merged once by the rival, and go round for ever here.
    assert ours["iops"] < 0.85 * rival["iops"]


def test_pages_are_those_of_the_log_of_one_drive(adversary: ModuleType) -> None:
    for name, (cold, hot) in adversary.WORKLOADS.items():
        written = list(adversary.writes(name, 2))
        assert set(written) == {*cold, *hot}
        assert not set(cold) & set(hot)
        # None is the first of its data block, so that no sequential log block is opened.
        assert all(page % adversary.PAGES for page in written)
        assert max(written) < 64 * adversary.PAGES
