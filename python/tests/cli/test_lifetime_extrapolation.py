"""Extrapolation of `flashweir lifetime`: differences of wear between blocks, bounds, and full runs of small drives."""

import math
from typing import Any

import numpy as np
import pytest

from flashweir import lifetime
from flashweir.endurance import running
from flashweir.endurance.bounds import Bound, bound
from flashweir.endurance.course import Course, Snapshot, fitted
from flashweir.endurance.spread import Spread

SMALL: dict[str, Any] = {
    "capacity": "8MiB",
    "pages_per_block": 16,
    "op_ratio": 0.25,
    "precondition": "full",
    "channels": 1,
}
HOT = "hotcold:span=8MiB,size=4KiB,count=10000,hot_share=0.1,hot_writes=0.9"
BTREE = {"ftl.classifier": "stream", "alloc.kind": "superblock"}
BLOCKS = 1000


def _points(kinds: list[tuple[float, float, float]], means: tuple[float, ...] = (10, 20, 40, 80)) -> list[Snapshot]:
    """Stretches of blocks of several kinds: share, rate, and variance by chance for each erase of the mean."""
    rng = np.random.default_rng(7)
    parts = [(rate, chance, np.zeros(round(share * BLOCKS))) for share, rate, chance in kinds]
    points, before = [Snapshot()], 0.0
    for mean in means:
        more = mean - before
        parts = [
            (rate, chance, blocks + rate * more + rng.normal(0, math.sqrt(chance * more), len(blocks)))
            for rate, chance, blocks in parts
        ]
        before = mean
        points.append(_point(mean, np.maximum(np.concatenate([blocks for _, _, blocks in parts]), 0)))
    return points


def _point(host: float, erases: Any) -> Snapshot:
    every = [float(one) for one in sorted(erases)]
    counts = tuple((one, 1 / BLOCKS) for one in every)
    return Snapshot(host=host, mean=sum(every) / BLOCKS, most=every[-1], counts=counts, blocks=BLOCKS)


def _blocks(course: Course) -> Spread:
    assert course.blocks is not None
    return course.blocks


def test_what_chance_adds_grows_with_the_root_of_the_mean() -> None:
    course = fitted(_points([(1.0, 1.0, 2.0)]))
    assert len(_blocks(course).classes) == 1
    # At 800 cycles the deviation is that of 2 x 800: 40, and the most erased of 1,000 blocks 3.2 of them ahead.
    assert course.share_beyond(800, 840) == pytest.approx(0.16, abs=0.04)
    assert course.most(800) == pytest.approx(800 + 3.2 * 40, rel=0.03)
    # Stretched about the mean, it would be ten times that of 80 cycles.
    assert course.most(800) < 800 * course.last.most / 80 - 100


def test_blocks_with_a_rate_of_their_own_keep_it() -> None:
    """A quarter is erased three times as often as the mean, the others a third as often; little is chance."""
    course = fitted(_points([(0.25, 3.0, 0.5), (0.75, 1 / 3, 0.05)]))
    slow, fast = _blocks(course).classes
    assert (slow.share, fast.share) == pytest.approx((0.75, 0.25))
    assert (slow.rate, fast.rate) == pytest.approx((1 / 3, 3), rel=0.02)
    for host in (100.0, 1000.0):
        assert course.share_beyond(host, 2.5 * host) == pytest.approx(0.25, abs=0.01)
        assert course.quantiles(host, [0.1, 0.7, 0.8]) == pytest.approx([host / 3, host / 3, 3 * host], rel=0.25)
    # Chance does not grow with the rates.
    assert course.most(1000) == pytest.approx(3000 + 2.8 * math.sqrt(500), rel=0.02)


def test_levelled_blocks_stay_together() -> None:
    rng = np.random.default_rng(1)
    points = [Snapshot()]
    for mean in (10, 20, 40, 80):
        every = np.sort(mean + rng.normal(0, 2, BLOCKS))
        counts = tuple((float(one), 1 / BLOCKS) for one in every)
        points.append(
            Snapshot(host=mean, mean=float(every.mean()), most=float(every[-1]), counts=counts, blocks=BLOCKS)
        )
    assert fitted(points).most(3000) == pytest.approx(3000, rel=0.01)


def test_rates_of_single_blocks_are_believed_where_the_stretches_say_so() -> None:
    """Without a gap: rates are spread evenly from 0.5 to 1.5 of the mean."""
    rates = np.linspace(0.5, 1.5, BLOCKS)
    points = [Snapshot(), *(_point(mean, rates * mean) for mean in (10, 20, 40, 80))]
    assert fitted(points).share_beyond(1000, 1400) == pytest.approx(0.1, abs=0.01)
    assert fitted(points).most(1000) == pytest.approx(1500, rel=0.01)


def test_blocks_that_wear_alike_reach_the_rating_together() -> None:
    course = fitted([Snapshot(), Snapshot(host=10, mean=20, most=20)])
    assert course.most(1000) == 2000
    assert course.host_at("mean", 3000) == 1500
    assert course.share_beyond(10, 20) == 1
    assert course.share_beyond(10, 21) == 0


def test_between_two_stretches_each_share_of_the_blocks_goes_on_evenly() -> None:
    counts = (((1.0, 0.5), (3.0, 0.5)), ((2.0, 0.75), (14.0, 0.25)))
    one, two = (Snapshot(host=host, mean=mean, most=most, counts=count) for (host, mean, most), count in
                zip(((2, 2, 3), (5, 5, 14)), counts, strict=True))  # fmt: skip
    values, weights = Course([Snapshot(), one, two]).distribution(3.5)
    assert values == pytest.approx([1.5, 2.5, 8.5])
    assert weights == pytest.approx([0.5, 0.25, 0.25])


def test_bounds_hold_both_uncertainties() -> None:
    points = [Snapshot(), Snapshot(host=10, mean=10), Snapshot(host=20, mean=21)]
    course = Course(points)
    assert [one.drift for one in course.bounds] == pytest.approx([0.2, -0.2, 0, 0])
    # The wear of a byte is that of the piece before, but not of the one before that.
    assert Course([*points, Snapshot(host=30, mean=32)]).bounds[0].drift == pytest.approx(0.1)
    assert [one.side for one in course.bounds] == [0, 0, 1, -1]
    found = bound(100, [98, 103, 95, 101])
    assert found == Bound(93, 100, 104)
    assert found.error == pytest.approx(0.07)
    assert bound(100, [100, 100, 100, 100]).error == 0


def test_the_bounds_of_the_differences_are_wider_with_fewer_blocks() -> None:
    most = []
    for blocks in (100.0, 1000.0):
        points = [*_points([(1.0, 1.0, 2.0)])]
        points[-1] = Snapshot(**{**points[-1].__dict__, "blocks": blocks})
        *_, upper, lower = fitted(points).bounds
        assert upper.share_beyond(800, 850) > fitted(points).share_beyond(800, 850) > lower.share_beyond(800, 850)
        most.append(upper.share_beyond(800, 850) - lower.share_beyond(800, 850))
    assert most[0] > 1.5 * most[1]


@pytest.mark.parametrize(
    ("workload", "settings"),
    [
        ("btree:span=8MiB,page=8KiB,count=20000", BTREE),
        ("random:span=2MiB,size=4KiB,count=20000", {}),
        ("sequential:span=4MiB,size=64KiB,count=2000", {}),
        ("zipf:span=8MiB,size=4KiB,count=20000,theta=1.2", {"ftl.classifier": "learned"}),
        (HOT, {"ftl.classifier": "age-groups"}),
        ("random:span=8MiB,size=4KiB,count=20000", {"ftl.kind": "zones", "alloc.kind": "superblock"}),
    ],
    ids=["btree", "half", "sequential", "learned", "age-groups", "zones"],
)
def test_the_ends_are_those_of_the_full_run(workload: str, settings: dict[str, Any]) -> None:
    options: dict[str, Any] = {"cycles": 300, "block_cycles": 330, "seeds": 1, "set": {**SMALL, **settings}}
    fast, full = (lifetime(workload, full=whole, **options) for whole in (False, True))
    assert fast.settled
    assert fast.ended_by == full.ended_by
    assert fast.tbw_bytes == pytest.approx(full.tbw_bytes, rel=0.02)
    assert fast.check.tbw_low <= full.tbw_bytes * 1.0001
    assert fast.check.tbw_high >= full.tbw_bytes * 0.9999
    low, high = fast.ends.bounds.first_block
    assert low * 0.98 <= full.ends.first_block <= high * 1.02
    assert full.check.tbw_low == full.check.tbw_high == full.tbw_bytes


def test_an_end_that_needs_more_than_may_be_simulated_has_wide_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cold data leaves some blocks behind, and nobody knows for how long."""
    monkeypatch.setattr(running, "_LONGEST", 16)
    monkeypatch.setattr(running, "_PAGES", 0)
    cold = "hotcold:span=8MiB,size=4KiB,count=20000,hot_share=0.05,hot_writes=0.995"
    options: dict[str, Any] = {"cycles": 300, "block_cycles": 330, "seeds": 2, "set": SMALL}
    found, full = (lifetime(cold, full=whole, **options) for whole in (False, True))
    assert not found.settled
    assert found.check.tbw_high > 1.02 * found.tbw_bytes or found.check.tbw_low < 0.98 * found.tbw_bytes
    assert found.check.tbw_low < full.tbw_bytes < found.check.tbw_high
    assert found.tbw_low <= found.check.tbw_low
    assert found.tbw_high >= found.check.tbw_high
