"""The front end of a drive from its saturated load: Little's law, and drives whose waits are known by arithmetic."""

from dataclasses import replace
from pathlib import Path

import pytest
from fit_samples import GENERAL, TABLES, written

from flashweir.fitting import evaluation, frontend, load, measurements, space
from flashweir.fitting.points import Measurements, Point, Stream, Workload
from flashweir.fitting.trials import Trial

EFFORT = load.Effort(samples=2000, requests=40_000, saturated=40_000)
THREADS = 6
# Six threads of depth 64 that write as fast as the drive does, and one that asks now and then.
WORKLOAD = Workload((Stream(1.0, threads=THREADS, measured=False), Stream(0.5, rate=2000.0)))
FULL = Point("full", "saturated", WORKLOAD, "saturated", 0.0, 64, False, "issue", {"iops": 50_000.0})
NAMES = ("reads first", "limited, round robin")


def simulated(**front_end: object) -> evaluation.Values:
    """Metrics of the saturated load on a drive of which the front end alone is given."""
    start = next(one for one in space.starts() if one.names == NAMES)
    settings = start.drive([0.2] * len(start.keys))
    settings |= {"gc.batch": 1, "chips": 4, "op_ratio": 0.5, "timing.program": 400_000, "spread of timing.program": 1.0}
    settings |= {key.replace("_", ".", 1): value for key, value in front_end.items()}
    del settings["spread of timing.program"]
    return evaluation.predict(evaluation.Candidate(None, settings), [FULL], None, EFFORT, 1)["full"]


def test_commands_inside_are_their_rate_times_their_time(tmp_path: Path) -> None:
    data = measurements.read(written(tmp_path, "m.toml", TABLES))
    # Of 35,200 requests a second 10,000 are half reads, the others 1% reads. Writes are inside for 1.9 ms longer than
    # reads, and those for 89 us, as at the highest load below the knee.
    writes, reads = 0.99 * 25_200 + 5000, 0.01 * 25_200 + 5000
    assert frontend.fetched(data) == pytest.approx((writes * (2400 - 500 + 89) + reads * 89) * 1e-6)
    assert frontend.is_limited(data)
    assert all("host.slots" in frontend.names(one) for one in frontend.begins(data, space.starts()))
    # Where reads don't wait, and writes as long as the threads' 384 requests take, the drive has all of them.
    held = replace(data, points=tuple(_held(point) for point in data.points))
    assert frontend.is_limited(held) is False
    assert not any("host.slots" in frontend.names(one) for one in frontend.begins(held, space.starts()))


def _held(point: Point) -> Point:
    if point.kind != "saturated":
        return point
    own = {"iops": 120_000.0, "read_mean": 89.0, "write_mean": 384e6 / 110_000}
    return replace(point, measured={**point.measured, **own})


def test_measurements_without_means_say_nothing(tmp_path: Path) -> None:
    data = measurements.read(written(tmp_path, "m.toml", GENERAL))
    assert frontend.fetched(data) is None
    assert frontend.is_limited(data) is None
    assert frontend.guess(data) == {}
    # The simplest front end of each combination.
    assert {one.names[-1] for one in frontend.begins(data, space.starts())} == {"no limit"}


def test_the_limit_of_a_simulated_drive_is_found() -> None:
    for slots in (60, 200):
        values = simulated(host_slots=slots)
        # A read is inside for as long as without a limit.
        alone = simulated(host_slots=4096)["read_mean"]
        full = replace(FULL, measured=values)
        assert frontend.inside(full, values, alone) == pytest.approx(slots, rel=0.07)


def test_a_limit_is_mended_by_what_is_inside() -> None:
    start = next(one for one in space.starts() if one.names == NAMES)
    at = frontend.names(start).index(frontend.SLOTS)
    key = start.keys[at]
    few, wanted = 60, 200
    places = tuple(key.place(few) if other == at else 0.5 for other in range(len(start.keys)))
    data = Measurements("a drive", None, None, (replace(FULL, measured=simulated(host_slots=wanted)),), "here")
    mended = frontend.mended(data, Trial(start, places, {}, 1.0, {"full": simulated(host_slots=few)}))
    assert mended is not None
    assert key.at(mended[at]) == pytest.approx(wanted, rel=0.07)
    assert mended[:at] + mended[at + 1 :] == places[:at] + places[at + 1 :]


def test_between_two_turns_every_other_queue_has_a_burst() -> None:
    one, sixteen = (simulated(host_slots=100, host_arbitration_burst=burst) for burst in (1, 16))
    # A request that comes at any time waits for half of the way around.
    longer_us = (16 - 1) * THREADS / 2 * 1e6 / one["iops"]
    assert sixteen["read_mean"] - one["read_mean"] == pytest.approx(longer_us, rel=0.15)
    assert sixteen["write_mean"] - one["write_mean"] == pytest.approx(longer_us, rel=0.15)
    assert sixteen["iops"] == pytest.approx(one["iops"], rel=0.02)
