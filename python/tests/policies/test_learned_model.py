"""Models of `tenants.channels=learned`: one decides, and a file that is none is refused."""

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import refused

import flashweir
from flashweir import ConfigError, api

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
def model() -> dict[str, Any]:
    """A model by hand: whatever is served shortest first costs a tenth less."""
    tree = {"feature": [14, -1, -1], "threshold": [0.5, 0.0, -0.1], "left": [1, 0, 0], "right": [2, 0, 0]}
    return {"about": "a test", "inputs": api.schema()["x-model-inputs"], "margin": 0.0, "trees": [tree]}


def learned(**options: Any) -> flashweir.Result:
    return flashweir.simulate(TENANTS, set=DRIVE, windows=True, **options)


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


def test_the_command_that_trained_one_says_where_it_went() -> None:
    said = refused("train-allocator", "-o", "model.json", "--mixes", "5")
    assert said.startswith("error: train-allocator: ")
    assert "just learn-allocator" in said
