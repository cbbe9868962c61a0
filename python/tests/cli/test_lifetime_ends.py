"""Ends of `flashweir lifetime` other than that of life: against full runs, their bounds, and those not known."""

from typing import Any

import pytest
from conftest import flashweir

from flashweir import ConfigError, lifetime
from flashweir.endurance import running
from flashweir.endurance.bounds import Bound, bound
from flashweir.endurance.cells import rating
from flashweir.endurance.course import Course, Snapshot, fitted
from flashweir.endurance.ends import Limits, by_wear
from flashweir.endurance.errors import Stress
from flashweir.endurance.spread import Class, Spread

Json = dict[str, Any]

# Zones in turn at random, blocks that belong to none, and a block of a zone for good.
ZONES: Json = {
    "capacity": "8MiB",
    "op_ratio": 0.25,
    "channels": 2,
    "pages_per_block": 16,
    "precondition": "empty",
    "alloc.kind": "superblock",
    "ftl.kind": "zones",
    "ftl.host": "none",
}
ZONED = "zones:span=8MiB,zone=128KiB,open=3,request=16KiB,count=5000"
EVEN: Json = {"capacity": "8MiB", "op_ratio": 0.3, "channels": 1, "pages_per_block": 16, "precondition": "full"}
IN_TURN = "sequential:span=8MiB,size=64KiB,count=2000"
READ = "random:span=8MiB,size=4KiB,count=20000,write=0.5"
EARLY: Json = {"cycles": 300, "retention_days": 30, "temperature": 40, "years": 50, "per_day": "1GiB", "seeds": 1}


def _within(bounds: Any, value: float) -> bool:
    """Between bounds; an end between two stretches is known to half a percent."""
    low, high = bounds
    return bool(0.995 * low <= value <= 1.005 * high)


@pytest.mark.parametrize(("workload", "settings"), [(ZONED, ZONES), (IN_TURN, EVEN)], ids=["zones", "sequential"])
def test_the_first_worn_block_is_that_of_the_full_run(workload: str, settings: Json) -> None:
    fast, full = (lifetime(workload, cycles=300, seeds=1, full=whole, set=settings) for whole in (False, True))
    assert fast.simulated_share < 1
    assert fast.ends.settled.first_block
    assert fast.ends.first_block == pytest.approx(full.ends.first_block, rel=0.02)
    assert _within(fast.ends.bounds.first_block, full.ends.first_block)
    last, simulated = fast.curve[-1], full.curve[-1]
    assert last["wear_max"] == pytest.approx(simulated["wear_max"], rel=0.02)
    assert _within((last["wear_max_low"], last["wear_max_high"]), simulated["wear_max"])
    assert simulated["wear_max_low"] == simulated["wear_max"] == simulated["wear_max_high"]


def test_a_first_worn_block_that_is_not_simulated_far_is_said_and_within_its_bounds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(running, "_PROGRAMS", 0)
    full = lifetime(ZONED, cycles=300, seeds=1, full=True, set=ZONES)
    fast = lifetime(ZONED, cycles=300, seeds=1, set=ZONES)
    assert fast.settled
    assert fast.ends.settled.cycles
    assert not fast.ends.settled.first_block
    assert _within(fast.ends.bounds.first_block, full.ends.first_block)
    last = fast.curve[-1]
    assert _within((last["wear_max_low"], last["wear_max_high"]), full.curve[-1]["wear_max"])


@pytest.mark.parametrize(("precondition", "ecc"), [("full", "40/1KiB"), ("empty", "20/1KiB")])
def test_ends_after_an_early_one_have_the_amplification_of_the_full_run(
    precondition: str, ecc: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "_PROGRAMS", 200_000)
    settings = {**EVEN, "precondition": precondition}
    fast, full = (lifetime(READ, ecc=ecc, full=whole, set=settings, **EARLY) for whole in (False, True))
    assert fast.ended_by == full.ended_by == "uncorrectable"
    for name in ("cycles", "spare", "first_block"):
        assert fast.ends[name] == pytest.approx(full.ends[name], rel=0.02), name
        assert _within(fast.ends.bounds[name], full.ends[name]), name
    low, high = fast.ends.bounds.cycles
    assert low < fast.ends.cycles < high


def test_ends_beyond_a_life_of_which_nothing_is_steady_are_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "_PROGRAMS", 0)
    found = lifetime(READ, ecc="20/1KiB", set={**EVEN, "precondition": "empty"}, **EARLY)
    assert found.ended_by == "uncorrectable"
    assert found.ends.uncorrectable > 0
    for name in ("cycles", "spare", "first_block"):
        assert found.ends[name] is None, name
        assert "too short for the wear to be steady" in found.ends.reasons[name]
        assert name not in found.ends.settled


def test_an_extrapolated_end_has_bounds_and_lies_beyond_what_was_simulated() -> None:
    assert bound(100, [100] * 4, simulated=50) == Bound(99.5, 100, 100.5)
    assert bound(100, [100, 60, 100, 100], simulated=90) == Bound(90, 100, 100.5)
    assert bound(100, [100] * 4, simulated=100) == Bound(100, 100, 100)


def test_a_course_of_one_piece_may_change_by_much() -> None:
    assert [one.drift for one in Course([Snapshot(), Snapshot(host=10, mean=10)]).bounds][:2] == [0.5, -0.5]


def _in_two_bins(width: float) -> list[Snapshot]:
    """Blocks that are erased in turn: at each end some others of them are one bin ahead."""
    points = [Snapshot()]
    for mean, ahead in ((2, 0.7), (4, 0.2), (8, 0.1), (16, 0.5)):
        counts = ((mean - ahead * width, 1 - ahead), (mean + (1 - ahead) * width, ahead))
        points.append(Snapshot(mean, mean=mean, most=counts[1][0], counts=counts, blocks=300, width=width))
    return points


@pytest.mark.parametrize("width", [1.0, 2.0])
def test_rounding_of_erases_is_no_growth(width: float) -> None:
    course = fitted(_in_two_bins(width))
    assert course.blocks is not None
    assert len(course.blocks.classes) == 1
    assert course.most(1000) == pytest.approx(1000 + width / 2)
    *_, upper, lower = course.bounds
    assert lower.most(1000) == pytest.approx(1000)
    assert upper.most(1000) > 1000 + width


def test_blocks_without_chance_beside_others_with_it() -> None:
    import numpy as np

    one = np.array([1.0])
    apart = [
        Class(1e6 * one, 0.5 * one, at=1.0, rate=1.0, lower=1.0, chance=0.0, rates=0.0, sampled=0.0),
        Class(0.0 * one, 0.5 * one, at=1.0, rate=1.0, lower=1.0, chance=1.0, rates=0.0, sampled=0.0),
    ]
    assert Spread(tuple(apart), 100).most(101.0, 0) == pytest.approx(1e6 + 100)


def test_the_first_worn_block_does_not_depend_on_when_blocks_are_retired() -> None:
    course = Course([Snapshot(), Snapshot(host=10, mean=10, most=10), Snapshot(host=20, mean=20, most=20)])
    cell = rating(None, {}, None, 100)
    limits = [Limits(cell, one, 100, 0, 4096, 16, Stress(30, 30), None, "") for one in (125, 1e30)]
    assert [by_wear(course, one)["first_block"] for one in limits] == pytest.approx([100, 100])


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("cycles", 1e300, "cycles 1e+300: expected 1 to 1,000,000,000"),
        ("cycles", 0.5, "cycles 0.5: expected 1 to 1,000,000,000"),
        ("block_cycles", 1e300, "block_cycles 1e+300: expected 1 to 1,000,000,000"),
        ("retention_days", 1e6, "retention_days 1e+06: expected at most 100,000"),
        ("tolerance", 2, "tolerance 2: expected at most 1"),
    ],
)
def test_numbers_beyond_their_ranges_are_refused(option: str, value: float, said: str) -> None:
    with pytest.raises(ConfigError) as refused:
        lifetime(READ, set=EVEN, **{option: value})
    assert str(refused.value) == said
    flags = {"cycles": "--cycles", "block_cycles": "--block-cycles", "retention_days": "--retention"}
    if option in flags:
        assert flashweir("lifetime", READ, flags[option], str(value), code=2).err == f"error: {said}\n"


def test_the_summary_says_bounds_of_ends_that_are_not_settled(monkeypatch: pytest.MonkeyPatch) -> None:
    from flashweir.endurance.summary import lines

    monkeypatch.setattr(running, "_PROGRAMS", 0)
    said = dict(lines(lifetime(ZONED, cycles=300, seeds=1, set=ZONES)))
    assert " hours, by extrapolation " in said["first block at the rated cycles"]
    assert "extrapolation" not in said["mean wear at the rated cycles"]
