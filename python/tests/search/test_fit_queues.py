"""Waits at the firmware, against a queue that is simulated request by request."""

import numpy as np
import pytest

from flashweir.fitting import queues

COUNT = 2_000_000


def simulated(busy: float) -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
    """Waits of requests in service times (Lindley's recursion, solved by the lowest of its sums)."""
    sums = np.concatenate([[0.0], np.cumsum(1 - np.random.default_rng(7).exponential(1 / busy, COUNT))])
    waits: np.ndarray[tuple[int], np.dtype[np.float64]] = sums - np.minimum.accumulate(sums)
    return waits


@pytest.mark.parametrize("busy", [0.1, 0.3, 0.6, 0.85])
def test_waits_are_those_of_a_simulated_queue(busy: float) -> None:
    waits = simulated(busy)
    assert queues.mean_wait(busy) == pytest.approx(waits.mean(), rel=0.03)
    for at in (0.5, 0.9, 0.99):
        assert queues.wait_quantile(busy, at) == pytest.approx(np.quantile(waits, at), rel=0.03, abs=0.02)
    for wait in (0.0, 0.7, 2.4):
        assert queues.share_within(busy, wait) == pytest.approx((waits <= wait).mean(), abs=0.01)


def test_a_server_without_load_keeps_nobody_waiting() -> None:
    assert queues.mean_wait(0.0) == queues.wait_quantile(0.0, 0.999) == 0.0


def test_a_server_that_can_not_keep_up() -> None:
    assert queues.mean_wait(1.0) == float("inf")
