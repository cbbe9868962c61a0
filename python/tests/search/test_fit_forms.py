"""The closed form of reads under load, and the search that begins with it."""

from pathlib import Path

import numpy as np
import pytest
from fit_samples import GENERAL, TABLES, written

from flashweir import Drive
from flashweir.fitting import evaluation, fit, load, measurements, search, space
from flashweir.fitting.closed import Form
from flashweir.fitting.forms import Corrected

SHORT = load.Effort(samples=300, requests=3000)
# A drive of the size that its name says.
LARGE = TABLES.replace("capacity_gib = 1.0", "capacity_gib = 900.0").replace("[0.5, 1.0]", "[450, 900]")
LONGER = load.Effort(samples=4000, requests=80_000)


def form(folder: Path, text: str = LARGE) -> Form:
    """The closed form for measurements of a large drive."""
    path = written(folder, "m.toml", text)
    return Form(measurements.read(path), None, space.solved(), 1)


@pytest.mark.parametrize("scheduler", ["reads first", "suspension"])
def test_it_agrees_with_simulations(tmp_path: Path, scheduler: str) -> None:
    found = form(tmp_path)
    data = measurements.read(tmp_path / "m.toml")
    start = next(one for one in space.starts() if one.names == (scheduler, "no limit"))
    places = [{"gc.batch": 0.0, "chips": 0.1, "timing.erase": 0.5}.get(key.name, 0.4) for key in start.keys]
    settings = start.drive(places) | {"op_ratio": 0.3}
    closed = found.predict(settings)
    whole, _ = evaluation.solve(settings, None, data, space.solved(), 1)
    middle = whole["timing.program"]
    assert isinstance(middle, list)
    assert middle[1] == pytest.approx(found.program(settings), rel=0.2)
    simulated = evaluation.predict(evaluation.Candidate(None, whole), found.points, data.capacity, LONGER, 1)
    for point in found.points:
        for metric, tolerance in (("read_mean", 0.08), ("read_p50", 0.1), ("read_p99", 0.35)):
            assert closed[point.id][metric] == pytest.approx(simulated[point.id][metric], rel=tolerance), metric


def test_it_needs_the_highest_rate_and_others(tmp_path: Path) -> None:
    assert form(tmp_path).applies
    assert not form(tmp_path, GENERAL).applies


def test_programs_that_would_take_no_time_are_no_drive(tmp_path: Path) -> None:
    found = form(tmp_path)
    start = space.starts()[0]
    few = [0.0 if key.name in ("chips", "op_ratio") else 1.0 for key in start.keys]
    assert found.predict(start.drive(few)) == {}
    assert Corrected(found, start, {}).error(few) > 50


def test_corrections_make_it_agree_with_a_simulation(tmp_path: Path) -> None:
    found = form(tmp_path)
    start = space.starts()[0]
    places = [0.1 if key.name == "chips" else 0.4 for key in start.keys]
    corrected = Corrected(found, start, {"op_ratio": 0.3})
    closed = found.predict(start.drive(places) | {"op_ratio": 0.3})
    simulated = {point: {name: 1.2 * value for name, value in values.items()} for point, values in closed.items()}
    corrected.learn(places, simulated)
    for ratios in corrected.ratios.values():
        assert list(ratios.values()) == pytest.approx([1.2] * len(ratios))


def test_a_search_by_the_closed_form_is_the_same_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("cmaes")
    for name, value in (("_BEGINS", 1), ("_ROUNDS", 4), ("_CORRECTIONS", (2, 1)), ("_FINAL", 1), ("_PLACES", (0.5,))):
        monkeypatch.setattr(search, name, value)
    for name in ("MIDDLE", "FINE"):
        monkeypatch.setattr(load, name, SHORT)
    path = written(tmp_path, "m.toml", LARGE[LARGE.index("[latency") :])
    first = fit(path, output=tmp_path / "a.toml", budget=6, seed=3, effort=SHORT)
    again = fit(path, output=tmp_path / "b.toml", budget=6, seed=3, effort=SHORT)
    assert first.runs == 6
    assert first.to_dict() == again.to_dict()
    assert {"read_mean", "read_p99"} <= first.medians.keys()


def test_eager_destage_keeps_the_buffer_empty() -> None:
    settings = {"capacity": 64 << 20, "channels": 2, "buffer.bytes": 1 << 20, "buffer.destage": "eager"}
    with Drive(set=settings) as drive:
        drive.submit(op="write", offset=np.arange(100) * 4096, length=4096, time_ns=np.arange(100) * 1_000_000)
        drive.drain()
        assert len(drive.poll()) == 100
        # Less than the buffer holds, and yet on flash.
        assert drive.stats()["flash.programs"] >= 99
