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


HOLDING = {"buffer": {"backpressure": "reserve", "reserve": 5e7, "refill_left": 1.0, "refill_always": 1e8,
                      "hold_share": 0.8, "refill_rate": 4e8}}  # fmt: skip


def test_superblocks_hold_no_writes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    found = load_script(FOLDER / "superblocks.py", monkeypatch)
    drive = tomllib.loads((FOLDER / "pe8110.toml").read_text(encoding="utf-8"))
    plain = found.settings(drive)
    assert not [key for key in plain if key.startswith("buffer.refill")]
    assert found.settings({**drive, "buffer": {**drive["buffer"], **HOLDING["buffer"]}}) == plain


def test_a_reserve_is_left_out_where_a_drive_has_one(script: ModuleType) -> None:
    drive = script.flat(tomllib.loads((FOLDER / "pe8110.toml").read_text(encoding="utf-8")))
    start = next(one for one in space.starts() if one.names == script.alternatives(drive))
    by_name = {one.name: one for one in script.MECHANISMS}
    one = by_name["writes held back in phases"]
    assert not script._has(drive, start.names, start, one)
    assert script._has(drive | script.flat(HOLDING), start.names, start, one)
    assert script._has(drive, start.names, start, by_name["nothing"])
    assert not script._has(drive, (start.names[0], "no limit"), start, by_name["limit of fetched commands"])


def test_a_drive_that_holds_writes_back_does_so_without_the_other_mechanisms(script: ModuleType) -> None:
    drive = script.flat(tomllib.loads((FOLDER / "pe8110.toml").read_text(encoding="utf-8"))) | script.flat(HOLDING)
    start = next(one for one in space.starts() if one.names == script.alternatives(drive))
    by_name = {one.name: one for one in script.MECHANISMS}
    own = script.flat(HOLDING).items()
    without = {name: script._without(drive, start, one) for name, one in by_name.items()}
    assert [name for name, one in without.items() if not own <= one.settings.items()] == ["writes held back in phases"]
    assert without["nothing"].keys == start.keys
    assert "timing.erase" not in {key.name for key in without["erases that reads can't interrupt"].keys}
