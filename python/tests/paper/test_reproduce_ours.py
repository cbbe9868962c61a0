"""Additions of an experiment to a paper's: claims with their author, and figures of one quantity over another."""

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import flashweir

SWEEP = """
workloads = "random:span=32MiB,size=4KiB,count=3000"
set = { capacity = "64MiB", precondition = "full" }

[axes]
op_ratio = [0.1, 0.2, 0.4]
"""
EXPERIMENT = """
title = "Reads and programs"
figures = [1]

[curves]
copies = { y = "flash.programs", x = "op_ratio" }
erases = { y = "flash.erases", x = "op_ratio" }

[[claims]]
where = "section 1"
claim = "there are programs"
parts = [{ says = "some", check = "bounded", of = "copies", least = 1 }]

[[claims]]
by = "someone"
where = "not in the paper"
claim = "there are none"
parts = [{ says = "none", check = "bounded", of = "copies", most = 0 }]

[[plots]]
name = "figure-1"
title = "Programs over erases"
curves = ["copies"]
over = ["erases"]
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "papers" / "01-sample"
    (folder / "figure-1").mkdir(parents=True)
    (folder / "paper.toml").write_text('name = "sample"\ntitle = "A sample"\n', encoding="utf-8")
    for name, content in (("sweep.toml", SWEEP), ("quick.toml", SWEEP), ("experiment.toml", EXPERIMENT)):
        (folder / "figure-1" / name).write_text(content, encoding="utf-8")
    return folder.parent


def test_claims_that_are_not_the_papers_say_so_and_are_counted_apart(root: Path) -> None:
    done = flashweir("reproduce", "sample", "--experiments", str(root))
    shown = " ".join(done.out.split())
    assert "yes section 1: there are programs" in shown
    assert "NO someone: not in the paper: there are none" in shown
    assert "1 of 1 claims hold; 0 of 1 claims that are not the paper's" in shown
    one, other = flashweir("reproduce", "sample", "--experiments", str(root), "--json", "-").json()["shapes"]
    assert "by" not in one
    assert other["by"] == "someone"


def test_a_curve_is_drawn_over_the_values_of_another(root: Path, tmp_path: Path) -> None:
    kept = tmp_path / "runs"
    flashweir(
        "reproduce", "sample", "--experiments", str(root), "-o", str(kept), "--figures", str(tmp_path / "figures")
    )
    assert list((tmp_path / "figures").rglob("figure-1.svg"))
    chart = only_chart(root)
    runs = [json.loads(line)["result"] for path in kept.rglob("runs.jsonl") for line in path.read_text().splitlines()]
    points = sorted((run["flash"]["erases"], run["flash"]["programs"]) for run in runs)
    (series,) = chart.series
    assert list(series.x) == pytest.approx([erases for erases, _ in points])
    assert list(series.y) == pytest.approx([programs for _, programs in points])
    assert len(set(series.x)) > 1


def only_chart(root: Path) -> Any:
    from flashweir.reproduction import catalogue, showing
    from flashweir.reproduction.curves import measured
    from flashweir.sweeps import sweep

    (experiment,) = catalogue.papers(root)[0].experiments
    frame = sweep(experiment.sweep(quick=False))
    families = measured(experiment.curves, frame.to_dicts(), lambda _: {}, ["op_ratio"])
    (chart,) = showing.charts(experiment, families)
    return chart


@pytest.mark.parametrize("line", ['levels = ["erases"]', "band = [0.05, 0.95]", 'kind = "bars"'])
def test_what_over_does_not_go_with_is_refused(root: Path, line: str) -> None:
    path = root / "01-sample" / "figure-1" / "experiment.toml"
    path.write_text(f"{EXPERIMENT}{line}\n", encoding="utf-8")
    done = flashweir("reproduce", "sample", "--experiments", str(root), code=2)
    assert "over: expected one for each of curves" in done.err
