"""Lengths of saturated runs in `flashweir.fit`, from their queues."""

from dataclasses import replace

import numpy as np
import pytest

from flashweir.fitting import load
from flashweir.fitting.points import Point, Stream, Workload

EFFORT = load.Effort(samples=1_500, requests=30_000, longest=1_000_000)
# A closed load of 4 x 32 requests.
CLOSED = Point("c", "c", Workload((Stream(1.0, threads=4),)), "saturated", 0.0, 32, True, "issue", {"iops": 50_000.0})


def beside(rate: float, iops: float) -> Point:
    """Six threads as fast as the drive goes, and a measured one with a rate, whose share is a seventh."""
    streams = (Stream(0.99, threads=6, measured=False), Stream(0.5, rate=rate))
    return Point("p", "p", Workload(streams), "saturated", 0.0, 64, False, "issue", {"iops": iops})


def test_a_thread_close_to_its_share_of_turns_needs_a_long_run() -> None:
    # Relative variance 2 / (1 - share)^2 by turns, 10% of deviation.
    assert load.saturated_requests(beside(10_000, 82_250), EFFORT) == round(7 * 200 / (1 - 70_000 / 82_250) ** 2)
    # Far below its share the throughput decides.
    assert load.saturated_requests(beside(1_000, 82_250), EFFORT) == EFFORT.saturated
    # A queue that is full is no longer than its depth.
    assert load.saturated_requests(beside(20_000, 82_250), EFFORT) == 7 * 20_000


def test_a_deep_closed_load_needs_many_turns_of_all_outstanding_requests() -> None:
    assert load.saturated_requests(CLOSED, EFFORT) == EFFORT.saturated
    assert load.saturated_requests(replace(CLOSED, cap=1_024), EFFORT) == 30 * 4 * 1_024
    assert load.saturated_requests(replace(CLOSED, cap=65_536), EFFORT) == EFFORT.longest
    # Without a longest run, the bound is that of all loads.
    assert load.saturated_requests(replace(CLOSED, cap=1_024), load.QUICK) == load.QUICK.requests
    assert load.seconds(CLOSED, EFFORT) == pytest.approx(EFFORT.saturated / 50_000)


@pytest.mark.parametrize("share", [0.6, 0.8])
def test_means_of_runs_so_long_differ_by_about_a_tenth(share: float) -> None:
    iops, threads = 70_000.0, 7
    point = beside(share * iops / threads, iops)
    turns = load.saturated_requests(point, replace(EFFORT, saturated=1)) // threads
    means = []
    for seed in range(200):
        arrivals = np.random.default_rng(seed).poisson(share, turns)
        # A queue that hands over one request a turn (Lindley): its length is above the lowest so far.
        walk = np.cumsum(arrivals - 1)
        means.append(float((walk - np.minimum(0, np.minimum.accumulate(walk))).mean()))
    assert 0.08 < np.std(means) / np.mean(means) < 0.16
