"""Presets and pages of the fitted drives are those that the scripts of experiment 09 make of the kept fits."""

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
