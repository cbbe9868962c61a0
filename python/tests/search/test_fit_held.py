"""Writes held back in phases: the fluid model by arithmetic and by simulation, and its search."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from fit_samples import TABLES, written

from flashweir.fitting import evaluation, held, load, measurements, space
from flashweir.fitting.points import Measurements, Point, Stream, Workload
from flashweir.fitting.trials import Evaluated, Task

METRICS = {"read_mean": 80.0, "write_mean": 10.0, "write_p50": 9.0, "write_p99": 15.0, "write_p999": 20.0}
DRIVE = {held.RESERVE: 0.0, held.LEFT: 1.0, held.ALWAYS: 0.0, held.SHARE: 0.8}


def model(rates: list[float], highest: float, outstanding: float, longest_s: float = 1e9) -> held.Fluid:
    points = tuple(
        Point(f"{rate:g}", f"{rate:g}", Workload((Stream(1.0),)), "rate", rate, 64, False, "issue", METRICS)
        for rate in rates
    )
    return held.Fluid(points, np.array(rates), np.full(len(rates), longest_s), highest, outstanding, 4096)


def test_a_phase_of_known_length_gives_known_times() -> None:
    drive = DRIVE | {held.RESERVE: 1e6 * 4096}
    mean, p50, p99, _ = model([1000], 2000, 100).times([drive])[0, 0] / 1e3
    # At half of the highest rate 1 - 0.2 / 2 of it enters, 900 a second, for 454.5 s: 2 x (2000 - 900) a second are
    # erased, up to a million. 45,450 more come, and enter with others at 2,000 a second in 45.45 s. The rest: at once.
    held_back, late = 900 * 454.5, 2000 * 45.45
    assert mean == pytest.approx((held_back * 100 / 0.9 + late * 100 / 2) / (held_back + 1e6), rel=0.03)
    assert p50 == 0
    assert p99 == pytest.approx(100 / 0.9, rel=0.01)


def test_slow_writes_and_phases_that_no_simulation_shows_are_not_held() -> None:
    drive = DRIVE | {held.RESERVE: 1e4 * 4096, held.ALWAYS: 1500.0 * 4096}
    times = model([1000, 1800], 2000, 100).times([drive])[0]
    assert times[0].tolist() == [0, 0, 0, 0]
    assert times[1, 0] > 1000
    assert not model([1000, 1800], 2000, 100, longest_s=1.0).times([drive]).any()


def test_metrics_are_those_of_the_drive_and_the_times_held() -> None:
    one = model([1000], 2000, 100)
    found = one.predict(np.array([[500.0, 0.0, 4000.0, 5000.0]]), {"1000": METRICS})["1000"]
    assert found == {"write_mean": 510.0, "write_p50": 9.0, "write_p99": 4010.0, "write_p999": 5010.0}


def test_the_search_finds_a_drive_that_holds_writes() -> None:
    cmaes = pytest.importorskip("cmaes")
    truth = (0.6, 0.6, 0.4, 0.5)
    one = model([20_000, 50_000, 80_000, 100_000], 120_000, 400)
    without = {point.id: METRICS for point in one.points}
    drive = {key.name: key.at(place) for key, place in zip(space.held(), truth, strict=True)}
    made = one.predict(one.times([drive])[0], without)
    assert made["100000"]["write_mean"] > 1000
    there = replace(one, points=tuple(replace(point, measured=METRICS | made[point.id]) for point in one.points))
    search = held.Held(there, without)
    found = search.search(cmaes.CMA, 1)
    assert search.whole(there.points, found) < 0.1
    assert search.settings(found, {"chips": 4}).keys() == {"chips", *held.names()}
    assert evaluation.error(there.points, without) > 0.3


def test_a_reserve_is_kept_where_simulations_say_that_it_is_closer() -> None:
    cmaes = pytest.importorskip("cmaes")
    one = model([20_000, 50_000, 80_000, 100_000], 120_000, 400)
    without = {point.id: METRICS for point in one.points}
    drive = {key.name: key.at(0.5) for key in space.held()}
    made = one.predict(one.times([drive])[0], without)
    there = replace(one, points=tuple(replace(point, measured=METRICS | made[point.id]) for point in one.points))
    asked: list[bool] = []

    def chosen(of: held.Fluid, helps: bool) -> bool:
        task = Task(Measurements("", None, None, of.points, ""), None, 1, of.points, load.FULL)
        first = Evaluated({}, evaluation.error(of.points, without), without)

        def simulate(settings: Mapping[str, object]) -> Evaluated:
            asked.append(held.POLICY in settings)
            values = {point.id: point.measured for point in of.points} if helps and asked[-1] else without
            return Evaluated(settings, evaluation.error(of.points, values), values)

        return held.POLICY in held.choose(cmaes.CMA, of, task, first, simulate)

    assert chosen(there, helps=True)
    assert asked == [False, True, True, True]
    assert not chosen(there, helps=False)
    # A drive that was measured as it is without holding is not simulated.
    asked.clear()
    assert not chosen(one, helps=True)
    assert asked == []


def test_a_simulation_corrects_the_model() -> None:
    one = model([50_000], 60_000, 400)
    without = {"50000": METRICS}
    search = held.Held(one, without)
    places = (0.5, 0.5, 0.1, 0.5)
    drive = {key.name: key.at(place) for key, place in zip(space.held(), places, strict=True)}
    mean = one.predict(one.times([drive])[0], without)["50000"]["write_mean"]
    search.learn(places, {"50000": {"write_mean": 1.5 * mean}})
    assert search.ratios["50000"] == {"write_mean": pytest.approx(1.5)}


def test_loads_without_saturation_have_no_model(tmp_path: Path) -> None:
    data = measurements.read(written(tmp_path, "m.toml", TABLES))
    one = held.fluid(data)
    assert one is not None
    assert one.rates == pytest.approx([9953, 19854], rel=0.01)
    assert held.fluid(replace(data, points=tuple(point for point in data.points if point.kind == "rate"))) is None


def test_a_simulated_drive_holds_writes_as_the_model_says() -> None:
    workload = Workload((Stream(1.0, threads=6, measured=False), Stream(0.5, rate=4000.0)))
    one = replace(model([40_000, 60_000], 80_000, 390), size=4096)
    points = tuple(replace(point, workload=workload, value=point.value + 2000) for point in one.points)
    start = space.starts()[0]
    plain = start.drive([0.3] * len(start.keys))
    del plain["spread of timing.program"]
    plain |= {"chips": 8, "op_ratio": 0.5, "timing.program": [150_000, 150_000, 150_000]}
    search = held.Held(one, {})
    drive = {held.RESERVE: 4e7, held.LEFT: 2.0, held.ALWAYS: 4e7, held.SHARE: 0.5}
    settings = search.settings(tuple(key.place(drive[key.name]) for key in space.held()), plain)
    effort = load.Effort(samples=4000, requests=150_000)
    without = evaluation.predict(evaluation.Candidate(None, plain), points, None, effort, 1)
    found = evaluation.predict(evaluation.Candidate(None, settings), points, None, effort, 1)
    said = replace(one, points=points).predict(one.times([drive])[0], without)
    for point in points:
        assert without[point.id]["write_mean"] < 100
        assert found[point.id]["write_mean"] == pytest.approx(said[point.id]["write_mean"], rel=0.25)
        assert found[point.id]["write_p99"] == pytest.approx(said[point.id]["write_p99"], rel=0.1)
