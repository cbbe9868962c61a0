"""Training of the model behind `tenants.channels=learned`: a seed gives a model, and the engine takes it."""

from pathlib import Path

import pytest

import flashweir
from flashweir import ConfigError
from research.allocators import training
from research.allocators.__main__ import main

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


@pytest.mark.usefixtures("small")
def test_the_same_seed_gives_the_same_model_however_many_threads() -> None:
    one = training.train(5, 7)
    calls: list[tuple[int, int]] = []
    two = training.train(5, 7, threads=3, progress=lambda done, of: calls.append((done, of)))
    assert one == two
    assert calls == [(done, 5) for done in range(1, 6)]
    assert one.model["about"].startswith("just learn-allocator MODEL.json 5 7: ")


@pytest.mark.usefixtures("small")
def test_what_is_measured_is_of_mixes_held_back(tmp_path: Path) -> None:
    found = training.train(5, 8)
    # One mix of five; of it all windows but the first, of which nothing is known before.
    assert found.windows == 3
    assert found.best <= min(found.picked, 0.0)
    path = tmp_path / "model.json"
    training.write(found, path)
    assert list(tmp_path.iterdir()) == [path]
    assert flashweir.simulate(TENANTS, set=DRIVE, windows=True, model=path)["allocation"]["windows"] == 6


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


def test_too_few_mixes_and_a_place_that_can_not_be_written_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ConfigError, match="expected at least 5"):
        training.train(4, 1)
    assert main([str(tmp_path / "model.json"), "4"]) == 2
    assert capsys.readouterr().err.startswith("error: 4 mixes: expected at least 5")
    for arguments in ([], ["m.json", "x"], ["m.json", "5", "1", "2"], ["m.json", "5", str(2**31)]):
        assert main(arguments) == 2
        assert capsys.readouterr().err.startswith("error: ")
    monkeypatch.setattr(training, "train", lambda *_, **__: training.Learned({"about": "a test"}, 0.0, 0.0, 1))
    assert main([str(tmp_path / "none" / "model.json"), "5"]) == 2
    assert "none" in capsys.readouterr().err
