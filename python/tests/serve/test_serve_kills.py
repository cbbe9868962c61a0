"""A drive that lives in a folder is killed, and fio verifies one: a few turns of experiments/13-live."""

import importlib
import sys
from pathlib import Path
from types import ModuleType

import pytest
from conftest import ROOT


@pytest.fixture
def experiment(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "experiments" / "13-live"))
    sys.modules.pop(request.param, None)
    return importlib.import_module(request.param)


@pytest.mark.parametrize("experiment", ["kills"], indirect=True)
def test_what_was_flushed_outlives_kills(experiment: ModuleType, tmp_path: Path) -> None:
    model, moments, broken = experiment.kill(tmp_path, kills=5, seed=3)
    assert broken == []
    assert sum(moments.values()) == 5
    assert model.acknowledged > 0
    assert model.flushes > 0


@pytest.mark.parametrize("experiment", ["kills"], indirect=True)
def test_a_drive_that_forgets_a_flush_is_found(experiment: ModuleType, tmp_path: Path) -> None:
    model = experiment.Model()
    model.flushed[7] = model.written[7] = model.count = 1
    run = experiment.started(tmp_path, new=True)
    try:
        assert run.stdout is not None
        assert run.stdout.readline()
        with experiment.Client(tmp_path / "nbd.sock") as client:
            broken = experiment.check(client, model)
            assert broken[0] == "block 7, sector 0: from write 0, and 1 was flushed"
            assert len(broken) == 8
            client.ask(experiment.WRITE, 7 * 4096, 4096, experiment.body_of(8, 1))
            model.flushed[7] = 1
            assert "bytes of block 8" in experiment.check(client, model)[0]
    finally:
        run.kill()
        run.communicate(timeout=60)


@pytest.mark.parametrize("experiment", ["verify"], indirect=True)
def test_fio_finds_no_difference_over_several_connections(experiment: ModuleType, tmp_path: Path) -> None:
    if lacks := experiment.missing():
        pytest.skip(f"not run: this machine lacks {lacks}")
    job = experiment.verify(tmp_path, 16 << 20, connections=2, depth=4)
    # All that was written is read again.
    assert job["read"]["io_bytes"] > job["write"]["io_bytes"] > 14 << 20
