"""Presets, pages and tables of the fitted drives are those that the scripts of experiment 09 make of the kept fits."""

import json
import tomllib
from pathlib import Path
from types import ModuleType

import pytest
from conftest import load_script

ROOT = Path(__file__).parents[3]
FOLDER = ROOT / "experiments" / "09-real-drives"
NAMES = ("pe8110", "d7-p5520", "7450-max", "pm9a3")


@pytest.fixture
def pages(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    return load_script(FOLDER / "pages.py", monkeypatch)


@pytest.fixture
def tables(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    return load_script(FOLDER / "tables.py", monkeypatch)


@pytest.mark.parametrize("name", NAMES)
def test_a_preset_is_that_of_the_kept_fit(pages: ModuleType, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    script = load_script(FOLDER / "presets.py", monkeypatch)
    assert script.DRIVES[name] == pages.DRIVES[name][0]
    text = script.text(name)
    preset = ROOT / "crates" / "ssd" / "presets" / f"{pages.DRIVES[name][0]}.toml"
    assert preset.read_text(encoding="utf-8") == text
    # Every key of the device file, with the same values.
    device = tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8"))
    made = tomllib.loads(text)
    assert {**made, "capacity": 0, "firmware": 0, "timing": 0, "host": 0, "sched": 0} == {
        **device, "capacity": 0, "firmware": 0, "timing": 0, "host": 0, "sched": 0
    }  # fmt: skip
    assert [f"{time}ns" for time in device["timing"]["read"]] == made["timing"]["read"]
    assert made["host"].get("slots") == device["host"].get("slots")
    assert made["firmware"]["read_time"] == f"{device['firmware']['read_time']}ns"


@pytest.mark.parametrize("name", NAMES)
def test_a_page_is_that_of_the_kept_fit(pages: ModuleType, name: str) -> None:
    preset, missing = pages.DRIVES[name]
    result = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    page = (ROOT / "docs" / "drives" / f"{preset}.md").read_text(encoding="utf-8")
    assert page == pages.page(name, preset, missing, result)


def test_the_tables_are_of_the_kept_fits(tables: ModuleType) -> None:
    start, end = tables.MARKS
    readme = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert readme.partition(start)[2].partition(end)[0].strip() == tables.aims()
    assert (FOLDER / "values.md").read_text(encoding="utf-8") == tables.values()


def test_a_miss_is_said_on_both_sides(tables: ModuleType) -> None:
    assert tables._row("read p50", 0.3, [0.301, -0.31, 0.3, None], signed=True) == (
        "| read p50 | 30.0% | +30.1% **missed** | -31.0% **missed** | +30.0% | not measured |"
    )
    # A factor: half is as far off as twice.
    cells = tables._row("read p99", 2.0, [0.99, 1.01, -0.49, -0.51], signed=True).split(" | ")[2:]
    assert [cell.endswith(f"**missed**{' |' * last}") for cell, last in zip(cells, (0, 0, 0, 1), strict=True)] == [
        False, True, False, True
    ]  # fmt: skip
    assert tables._row("write p99", None, [9.0]) == "| write p99 | none | 900.0% |"
    assert tables.Aim("read_p999", 0.15).left_out == pytest.approx(0.255)


def test_a_knee_is_where_the_median_of_writes_rises(tables: ModuleType) -> None:
    medians = {"measured": [10, 11, 90, 400, 1000], "predicted": [10, 10, 12, 15, 1000]}
    points = [{"metric": "write_p50", **{of: found[at] for of, found in medians.items()}} for at in range(5)]
    result = {"points": [{"metric": "read_p50", "measured": 5000, "predicted": 5000}, *points]}
    assert (tables.knee(result, "measured"), tables.knee(result, "predicted")) == (3, 4)
    steps = tables._row_of_steps([0, 1, -2])
    assert steps == "| load of the knee, in load steps | 1 | same | +1 | -2 **missed** |"
