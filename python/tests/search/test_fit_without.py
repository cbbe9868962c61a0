"""Mechanisms left out of fitted drives (experiment 09)."""

import tomllib
from pathlib import Path
from types import ModuleType

import pytest
from conftest import load_script

from flashweir import Drive
from flashweir.fitting import measurements, space
from flashweir.fitting.search import given

pytest.importorskip("cmaes")
FOLDER = Path(__file__).parents[3] / "experiments" / "09-real-drives"


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    return load_script(FOLDER / "without.py", monkeypatch)


@pytest.mark.parametrize("name", ["pe8110", "pm9a3", "d7-p5520", "7450-max"])
def test_a_device_file_is_a_drive_of_the_space_again(script: ModuleType, name: str) -> None:
    drive = script.flat(tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8")))
    data = measurements.read(FOLDER / "measured.toml", name)
    start = next(one for one in space.starts(given(data)) if one.names == script.alternatives(drive))
    made = start.drive(script.places_of(start, drive))
    for key, value in drive.items():
        if key in ("capacity", "timing.program"):
            continue
        if key in made:
            is_number = isinstance(value, list | int | float)
            assert made[key] == (pytest.approx(value, rel=1e-3) if is_number else value), key


def test_every_mechanism_names_keys_and_alternatives_of_the_space(script: ModuleType) -> None:
    starts = space.starts()
    keys = {key.name for start in starts for key in start.keys}
    schedulers, front_ends = ({start.names[at] for start in starts} for at in (0, 1))
    for one in script.MECHANISMS:
        assert set(one.without) <= keys, one.name
        assert one.scheduler in {None, *schedulers}, one.name
        assert one.front_end in {None, *front_ends}, one.name


@pytest.mark.parametrize("name", ["pe8110", "pm9a3", "d7-p5520", "7450-max"])
def test_a_fitted_drive_has_superblocks_instead(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    found = load_script(FOLDER / "superblocks.py", monkeypatch)
    drive = tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8"))
    own, solved = found.with_superblocks(drive, 60), space.solved().key.name
    program = drive["timing"]["program"]
    assert space.by_page_type(program[1], own.pop(space.SPREAD + solved)) == pytest.approx(program, rel=1e-3)
    assert solved not in own
    with Drive(set={**own, "capacity": 1 << 30}) as made:
        config = made.config
    assert (config["alloc"]["kind"], config["pages_per_block"]) == ("superblock", 60)
