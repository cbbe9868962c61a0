"""The closed form of latencies under load, and the search that begins with it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from fit_samples import GENERAL, TABLES, written

from flashweir import Drive
from flashweir.fitting import evaluation, fit, forms, load, measurements, search, space
from flashweir.fitting.closed import Form
from flashweir.fitting.forms import Corrected
from flashweir.fitting.trials import Trial

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
        for metric, tolerance in (("read_mean", 0.08), ("read_p50", 0.1), ("read_p99", 0.35), ("write_mean", 0.05)):
            assert closed[point.id][metric] == pytest.approx(simulated[point.id][metric], rel=tolerance), metric


def test_slow_firmware_lengthens_means_before_medians(tmp_path: Path) -> None:
    found = form(tmp_path)
    data = measurements.read(tmp_path / "m.toml")
    start = space.starts()[0]
    places = [{"chips": 0.1, "timing.erase": 0.1}.get(key.name, 0.4) for key in start.keys]
    slow = start.drive(places) | {"op_ratio": 0.3, "firmware.write_time": 12_000, "firmware.read_time": 12_000}
    whole, _ = evaluation.solve(slow, None, data, space.solved(), 1)
    closed = found.predict(slow)
    simulated = evaluation.predict(evaluation.Candidate(None, whole), found.points, data.capacity, LONGER, 1)
    for point in found.points:
        assert closed[point.id]["write_mean"] > closed[point.id]["write_p50"]
        for metric, tolerance in (("write_mean", 0.05), ("write_p50", 0.05), ("write_p99", 0.15)):
            assert closed[point.id][metric] == pytest.approx(simulated[point.id][metric], rel=tolerance), metric
    # 40,000 requests a second of 25 us each.
    assert found.predict(slow | {"firmware.write_time": 40_000}) == {}


def test_it_needs_several_loads(tmp_path: Path) -> None:
    assert form(tmp_path).applies
    assert not form(tmp_path, GENERAL).applies


def test_without_the_highest_rate_the_time_of_a_program_says_how_busy_dies_are(tmp_path: Path) -> None:
    bare = "\n".join(line for line in LARGE.splitlines() if not line.startswith(("saturated", "    [29990")))
    found = form(tmp_path, bare.replace(", mib_s = [100, 50]", ""))
    assert found.applies
    data, name = measurements.read(tmp_path / "m.toml"), space.solved().key.name
    start = space.starts([space.UNSATURATED])[0]
    places = [{"chips": 0.1, "timing.erase": 0.4, name: 0.75, "gc.batch": 0.0}.get(key.name, 0.4) for key in start.keys]
    settings = start.drive(places) | {"op_ratio": 0.3}
    closed = found.predict(settings)
    simulated = evaluation.predict(evaluation.Candidate(None, settings), found.points, data.capacity, LONGER, 1)
    for point in found.points:
        for metric, tolerance in (("read_mean", 0.08), ("read_p50", 0.1), ("write_mean", 0.05)):
            assert closed[point.id][metric] == pytest.approx(simulated[point.id][metric], rel=tolerance), metric
    # Twice as long, twice as busy: the wait of a read that finds its die busy is longer as well.
    means = [
        found.predict(settings | {name: [factor * time for time in settings[name]]})["2"]["read_mean"]  # type: ignore[attr-defined]
        for factor in (0.5, 1.0)
    ]
    assert means[0] < means[1]
    # Dies that are too slow for the highest load are no drive.
    assert found.predict(settings | {name: [100 * time for time in settings[name]]}) == {}  # type: ignore[attr-defined]


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


def test_a_search_stays_near_and_leaves_keys_alone_that_the_form_does_not_know(tmp_path: Path) -> None:
    cma = pytest.importorskip("cmaes").CMA
    found = form(tmp_path)
    start = next(one for one in space.starts(["waf"]) if one.names == ("suspension", "limited, round robin"))
    begin = tuple({"chips": 0.1}.get(key.name, 0.4) for key in start.keys)
    corrected = Corrected(found, start, {"op_ratio": 0.3})
    names = [key.name for key in start.keys]
    assert [names[at] for at in corrected.unseen(begin)] == ["host.slots", "host.arbitration_burst"]
    after = corrected.search(cma, 1, 5, begin, 0.03)
    assert corrected.error(after) < corrected.error(begin)
    assert after[names.index("host.slots")] == begin[names.index("host.slots")]
    assert max(abs(late - early) for late, early in zip(after, begin, strict=True)) <= 0.03 + 1e-9


def test_a_value_that_no_drive_has_does_not_pull_the_others(tmp_path: Path) -> None:
    point = measurements.read(written(tmp_path, "m.toml", LARGE)).points[0]
    point = replace(point, measured={"write_mean": 1000.0, "write_p50": 10.0})

    def error(mean: float, p50: float) -> float:
        return evaluation.error([point], {point.id: {"write_mean": mean, "write_p50": p50}})

    # Ten times nearer to what it can't reach, and 10% off what it can.
    assert error(10.0, 10.0) < error(100.0, 11.0)
    # The nearer of two that are far off is still the better one.
    assert error(100.0, 10.0) < error(10.0, 10.0) < error(1.0, 10.0)
    # A value within reach counts.
    assert error(1000.0, 10.0) < 0.1 < error(800.0, 10.0)


class OfForm(search.Search):
    """A search whose simulations are the closed form times a factor, and for which one front end is best."""

    def prepare(self, found: Form, start: space.Start, begin: tuple[float, ...]) -> None:
        """Evaluates the drive that the search begins at."""
        self._found, self._slots = found, [key.name for key in start.keys].index("host.slots")
        self._settled, self._budget = {"op_ratio": 0.3}, 60
        self._batch([(start, begin)])

    def _batch(self, chosen: Sequence[search.Place]) -> list[Trial]:
        made = []
        for start, places in chosen:
            closed = self._found.predict(start.drive(places) | self._settled)
            values = {point: {name: 1.1 * value for name, value in one.items()} for point, one in closed.items()}
            off = evaluation.error(self._found.points, values) + (places[self._slots] - 0.7) ** 2
            made.append(Trial(start, places, {}, off, values))
        self.trials += made
        return made


def test_a_search_comes_closer_also_by_keys_that_the_form_does_not_know(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cma = pytest.importorskip("cmaes").CMA
    monkeypatch.setattr(search, "_ROUNDS", 12)
    found = form(tmp_path)
    start = next(one for one in space.starts(["waf"]) if one.names == ("suspension", "limited, round robin"))
    data = measurements.read(tmp_path / "m.toml")
    # Without the mean of writes at saturation the limit does not follow from there.
    points = [
        replace(point, measured={name: value for name, value in point.measured.items() if name != "write_mean"})
        if point.kind == "saturated"
        else point
        for point in data.points
    ]
    one, known = OfForm(replace(data, points=tuple(points)), None, 1), OfForm(data, None, 1)
    for each, budget in ((one, 60), (known, 24)):
        each.prepare(found, start, tuple({"chips": 0.1}.get(key.name, 0.4) for key in start.keys))
        each._budget = budget
        each._approach(cma, found)
    slots = [key.name for key in start.keys].index("host.slots")
    best = min(one.trials, key=lambda trial: trial.error)
    assert best.error < 0.7 * one.trials[0].error
    assert abs(best.places[slots] - 0.7) < 0.2
    # Where it does, no evaluation goes to it.
    assert {trial.places[slots] for trial in known.trials} == {0.4}


def test_every_key_is_varied_by_a_small_step_before_any_by_a_larger_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = space.starts()[0]
    best = Trial(start, (0.5,) * len(start.keys), {}, 1.0)
    one = search.Search(measurements.read(written(tmp_path, "m.toml", LARGE)), None, 1)
    asked: list[search.Place] = []
    monkeypatch.setattr(one, "_task", None, raising=False)
    monkeypatch.setattr(one, "_budget", 2 * len(start.keys), raising=False)

    def evaluated(_: object, chosen: Sequence[search.Place]) -> list[Trial]:
        asked.extend(chosen)
        return []

    monkeypatch.setattr(one, "_evaluated", evaluated)
    one._vary(best)
    changed = [[at for at, place in enumerate(places) if place != 0.5] for _, places in asked]
    assert sorted(at for (at,) in changed) == sorted(2 * list(range(len(start.keys))))


def test_a_search_by_the_closed_form_is_the_same_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("cmaes")
    for name, value in (("_BEGINS", 1), ("_ROUNDS", 4), ("_CORRECTIONS", (2, 1)), ("_FINAL", 1), ("_MENDED", 1)):
        monkeypatch.setattr(search, name, value)
    for name, value in (("_DRAWN", 20), ("_BEGINS", 2), ("_ROUNDS_FIRST", 4)):
        monkeypatch.setattr(forms, name, value)
    for name in ("MIDDLE", "THROUGHPUT", "FINE"):
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


@dataclass
class Valleys(Corrected):
    """A bounded error with a wide valley of 0.3 at 0.5, and a deeper narrow one at 0.85."""

    def error(self, places: Sequence[float]) -> float:
        wide = 0.3 + sum((place - 0.5) ** 2 for place in places)
        return min(wide, 20 * sum((place - 0.85) ** 2 for place in places[:2]) + 0.1)

    def unseen(self, _: tuple[float, ...]) -> list[int]:
        return [at for at in range(len(self.start.keys)) if at > 1]


def test_finds_lie_in_narrow_valleys_too_and_are_not_the_same_twice(tmp_path: Path) -> None:
    cma = pytest.importorskip("cmaes").CMA
    one = Valleys(form(tmp_path), space.starts()[0], {})
    middle = tuple([0.5] * len(one.start.keys))
    assert one.error(one.search(cma, 1, 30, middle, 0.3)) > 0.2
    finds = one.finds(cma, 1, 3)
    assert one.error(finds[0]) < 0.11
    assert finds[0][:2] == pytest.approx((0.85, 0.85), abs=0.05)
    for at, places in enumerate(finds[1:], 1):
        assert all(max(abs(a - b) for a, b in zip(places, other, strict=True)) > 0.1 for other in finds[:at])
