"""Training of the model behind `tenants.channels=learned`: a seed gives a model, and the engine takes it."""

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import refused

import flashweir
from flashweir import ConfigError, api, training

DRIVE = {
    "capacity": "16MiB",
    "channels": 4,
    "pages_per_block": 16,
    "op_ratio": 0.5,
    "host.mode": "open",
    "alloc.kind": "dynamic",
    "tenants.channels": "learned",
    "tenants.window_requests": 100,
}
TENANTS = {
    "web": "random:span=8MiB,count=300,write=0.2,rate=2000,size=4KiB",
    "db": "random:span=8MiB,offset=8MiB,count=300,write=0.9,rate=2000,size=4KiB|64KiB:0.2",
}


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Mixes of which a test can afford some."""
    monkeypatch.setattr(training, "WINDOW_REQUESTS", 40)
    monkeypatch.setattr(training, "WINDOWS", 4)


@pytest.fixture
def model() -> dict[str, Any]:
    """A model by hand: whatever is served shortest first costs a tenth less."""
    tree = {"feature": [14, -1, -1], "threshold": [0.5, 0.0, -0.1], "left": [1, 0, 0], "right": [2, 0, 0]}
    return {"about": "a test", "inputs": api.schema()["x-model-inputs"], "margin": 0.0, "trees": [tree]}


def learned(**options: Any) -> flashweir.Result:
    return flashweir.simulate(TENANTS, set=DRIVE, windows=True, **options)


@pytest.mark.usefixtures("small")
def test_the_same_seed_gives_the_same_model_however_many_threads() -> None:
    one = training.train(5, 7)
    calls: list[tuple[int, int]] = []
    two = training.train(5, 7, threads=3, progress=lambda done, of: calls.append((done, of)))
    assert one == two
    assert calls == [(done, 5) for done in range(1, 6)]
    assert "--mixes 5 --seed 7" in one.model["about"]


@pytest.mark.usefixtures("small")
def test_what_is_measured_is_of_mixes_held_back(tmp_path: Path) -> None:
    found = training.train(5, 8)
    # One mix of five; of it all windows but the first, of which nothing is known before.
    assert found.windows == 3
    assert found.best <= min(found.picked, 0.0)
    path = tmp_path / "model.json"
    training.write(found, path)
    assert list(tmp_path.iterdir()) == [path]
    assert learned(model=path)["allocation"]["windows"] == 6


@pytest.mark.usefixtures("small")
def test_mixes_are_drawn_from_the_seed_and_are_all_drives_that_run() -> None:
    drawn = list(training.draw_mixes(40, 3))
    assert drawn == list(training.draw_mixes(40, 3))
    assert drawn[:10] == list(training.draw_mixes(10, 3))
    assert len({str(mix) for mix in drawn}) == 40
    for mix in drawn[:8]:
        assert 2 <= len(mix.workloads) <= 4
        run = flashweir.simulate(mix.workloads, "ssdsim", set={**mix.settings, "tenants.channels": "isolated"})
        assert run["requests"] == len(mix.workloads) * training.WINDOW_REQUESTS * training.WINDOWS


def test_a_model_decides(tmp_path: Path, model: dict[str, Any]) -> None:
    path = tmp_path / "model.json"
    path.write_text(json.dumps(model))
    each = learned(model=path)["allocation"]["each"]
    assert [window["turns"] for window in each[:3]] == ["arrival", "shortest", "shortest"]


def test_the_shipped_model_decides_the_same_twice() -> None:
    first, second = learned().to_dict(), learned().to_dict()
    assert first["allocation"]["each"] == second["allocation"]["each"]
    assert first["latency_us"] == second["latency_us"]


def test_a_model_that_is_none_is_refused_in_a_line(tmp_path: Path, model: dict[str, Any]) -> None:
    path = tmp_path / "model.json"
    cases = [
        (json.dumps({**model, "inputs": ["tenants"]}), "train it again"),
        (json.dumps({**model, "trees": [{"feature": [99], "threshold": [0], "left": [0], "right": [0]}]}), "tree 0"),
        (json.dumps({**model, "margin": -1}), "margin"),
        ("not JSON", "no model"),
        ('{"about": 1}', "no model"),
    ]
    for text, expected in cases:
        path.write_text(text)
        with pytest.raises(ConfigError) as error:
            learned(model=path)
        assert expected in str(error.value)
        assert "\n" not in str(error.value)
        assert str(path) in str(error.value)
    with pytest.raises(ConfigError, match=r"none\.json"):
        learned(model=tmp_path / "none.json")
    with pytest.raises(ConfigError, match=r"tenants\.channels=learned"):
        flashweir.simulate(TENANTS, set={**DRIVE, "tenants.channels": "isolated"}, model=path)


def test_too_few_mixes_and_a_place_that_can_not_be_written_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="expected at least 5"):
        training.train(4, 1)
    assert "none" in refused("train-allocator", "-o", str(tmp_path / "none" / "model.json"))
