"""The experiment that holds our best combinations against the papers' methods: its choice, its tables, its specs."""

import importlib
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from conftest import ROOT, flashweir

from flashweir.sweeps.points import runs
from flashweir.sweeps.spec import load

FOLDER = ROOT / "experiments" / "14-beaten"
PARTS = {"planner": ["paper: stealing", "paper: super", "selective"], "buffer": ["fifo", "fab"]}
SWEEP = """
workloads = "random:span=32MiB,size=4KiB,count=3000"
device = "wen2012"
seeds = {seeds}

[set]
capacity = "32MiB"
precondition = "full"
op_ratio = 0.4
channels = 4
buffer.bytes = "32KiB"
ftl.kind = "fast"

[derived]
no_idle = "iops / (1 - time_share.idle)"

[axes.planner]
"paper: filling" = {{ gc.planner = "cycle-filling" }}
"selective" = {{ gc.planner = "selective-filling" }}
"""


@pytest.fixture
def beaten(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(FOLDER))
    sys.modules.pop("beaten", None)
    return importlib.import_module("beaten")


def sweep(beaten: ModuleType, iops: dict[tuple[str, str], list[float]], idle: float = 0.2) -> Any:
    """Runs of one workload, with this share of idle time."""
    rows = {
        drive: {seed: {"iops": value, "no_idle": value / (1 - idle)} for seed, value in enumerate(values, 1)}
        for drive, values in iops.items()
    }
    return beaten.Sweep(list(PARTS), PARTS, {"Random": rows})


def test_a_part_that_gains_less_than_half_a_percent_is_left_out(beaten: ModuleType) -> None:
    drives = {("paper: stealing", "fifo"): [100.0], ("selective", "fifo"): [150.0], ("selective", "fab"): [150.5]}
    assert beaten.choose(sweep(beaten, drives), "Random", "iops") == ("selective", "fifo")
    drives["selective", "fab"] = [152.0]
    assert beaten.choose(sweep(beaten, drives), "Random", "iops") == ("selective", "fab")
    # Another workload takes the best over all.
    assert beaten.choose(sweep(beaten, drives), "Desktop", "iops") == ("selective", "fab")


def test_latencies_are_to_be_small(beaten: ModuleType) -> None:
    rows = {("bound: free", "fifo"): 50.0, ("paper: stealing", "fifo"): 100.0, ("selective", "fifo"): 54.0}
    found = beaten.Sweep(list(PARTS), PARTS, {"Random": {drive: {1: {"us": value}} for drive, value in rows.items()}})
    # A drive that cannot be built is no candidate.
    ours = beaten.choose(found, "Random", "us")
    assert ours == ("selective", "fifo")
    cells = beaten.row(found, "Random", ours, "us", None)
    assert cells == ["Random", "stealing", "100", "selective", "54", "-46.0%", "50", "92%", "", "", "30% and bound"]


@pytest.mark.parametrize(
    ("ours", "change", "way", "word"),
    [(140.0, "+40.0%", "160%", "30% and bound"), (124.0, "+24.0%", "96%", "bound"), (110.0, "+10.0%", "40%", "no")],
)
def test_the_criterion_is_30_percent_or_90_percent_of_the_way(
    beaten: ModuleType, ours: float, change: str, way: str, word: str
) -> None:
    drives = {("paper: stealing", "fifo"): [100.0], ("paper: super", "fifo"): [90.0], ("selective", "fifo"): [ours]}
    found = sweep(beaten, drives)
    cells = beaten.row(found, "Random", ("selective", "fifo"), "iops", None)
    assert cells[1:3] == ["stealing", "100"]
    assert [cells[5], cells[7], cells[-1]] == [change, way, word]
    assert cells[6] == "125"
    assert cells[8] == f"{ours / 0.8:.4g}"
    assert beaten.row(found, "Random", ("selective", "fifo"), "iops", "super")[1] == "super"


def test_changes_are_of_pairs_with_the_same_seed(beaten: ModuleType) -> None:
    found = beaten.change({1: 100.0, 2: 200.0}, {1: 110.0, 2: 220.0})
    assert found == pytest.approx((0.1, 0.1, 0.1))
    wide = beaten.change({1: 100.0, 2: 200.0}, {1: 100.0, 2: 240.0})
    assert wide.low < 0 < wide.value < wide.high


def test_each_part_is_taken_out(beaten: ModuleType) -> None:
    drives = {
        ("paper: stealing", "fifo"): [100.0],
        ("paper: stealing", "fab"): [101.0],
        ("selective", "fifo"): [120.0],
        ("selective", "fab"): [125.0],
    }
    rows = list(beaten.ablation(sweep(beaten, drives), "Random", ("selective", "fab"), "iops"))
    assert rows == [
        ["Random", "planner", "selective", "stealing", "-19.2%"],
        ["Random", "buffer", "fab", "fifo", "-4.0%"],
    ]


def test_tables_of_two_sweeps(tmp_path: Path, beaten: ModuleType) -> None:
    for name, seeds in (("chosen", [101]), ("judged", [1, 2])):
        (tmp_path / f"{name}.toml").write_text(SWEEP.format(seeds=seeds), encoding="utf-8")
        flashweir("sweep", str(tmp_path / f"{name}.toml"), "-o", str(tmp_path / name))
    chosen, judged = (beaten.read(tmp_path / name) for name in ("chosen", "judged"))
    text = "\n".join(beaten.report(chosen, judged, "iops", None))
    assert text.startswith("`iops`, 2 seeds:\n")
    assert "| workload | filling |" in text
    ours = beaten.choose(chosen, "workload", "iops")
    only = {drive: found for drive, found in judged.runs["workload"].items() if drive != ours}
    left = beaten.Sweep(judged.parts, judged.levels, {"workload": only})
    with pytest.raises(SystemExit, match="the combination that was chosen is not in the other sweep"):
        list(beaten.report(chosen, left, "iops", None))


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*-judge.toml")), ids=lambda path: path.name)
def test_what_judges_has_not_chosen(path: Path) -> None:
    judged, chosen = (load(FOLDER / name) for name in (path.name, path.name.replace("judge", "choose")))
    mine, others = ({(run.workload, run.seed) for run in runs(spec)} for spec in (judged, chosen))
    assert mine
    assert not mine & others
