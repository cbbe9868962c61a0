"""Array and transfer of a read separated by reads of one address and of two."""

from typing import Any

import numpy as np
import pytest

from flashweir.diagnosis.active.one_die import alone, train
from flashweir.probing.cells import _are_distinguished, _is_transfer, _parts

NOTHING_NS = 10_000


class Reads:
    """Reads of dies and channels: the array first, then its channel, in turn.

    `at_once`: a channel is reserved before the array is read; `overtakes`: a die begins its second read halfway.
    """

    def __init__(self, times_us: tuple[int, int], *, dies: int, channels: int, queue: str) -> None:
        self.small, self.random = 4096, np.random.default_rng(3)
        self.array, self.transfer = (1000 * time for time in times_us)
        self.dies, self.channels, self.queue = dies, channels, queue

    def call(self, _op: object, offset: Any, _length: int, _depth: int) -> Any:
        die, bus, complete = [0] * self.dies, [0] * self.channels, []
        for at in offset.tolist():
            number = at // self.small % self.dies
            early = self.array // 2 if self.queue == "overtakes" and die[number] == self.array else 0
            die[number] += self.array - early
            line = number % self.channels
            bus[line] = max(bus[line], 0 if self.queue == "at_once" else die[number]) + self.transfer
            complete.append(NOTHING_NS + max(bus[line], die[number] + self.transfer))
        return np.zeros(len(complete), np.int64), np.array(complete, np.int64)


@pytest.mark.parametrize(
    ("times_us", "dies", "channels", "queue", "separated"),
    [
        # Two dies of a channel wait for each other's transfers alone.
        ((60, 40), 4, 2, "", True),
        ((90, 40), 2, 1, "", True),
        # No pair waits for the shorter time: transfers may be the longer.
        ((40, 60), 4, 2, "", False),
        ((60, 40), 4, 4, "", False),
        ((60, 40), 1, 1, "", False),
        # The second of two reads of one address waits for less than the interval: it can't be the time of the array.
        ((40, 60), 4, 2, "at_once", False),
        ((80, 40), 1, 1, "overtakes", False),
        # Nearly the same times are not separated.
        ((50, 45), 4, 2, "", False),
    ],
)
def test_reads_of_two_addresses_separate_array_and_transfer(
    times_us: tuple[int, int], dies: int, channels: int, queue: str, *, separated: bool
) -> None:
    bench: Any = Reads(times_us, dies=dies, channels=channels, queue=queue)
    places = np.arange(32, dtype=np.uint64) * 4096
    host, die = alone(bench, 0), train(bench, 0, 0)
    array, transfer = _parts(host, NOTHING_NS, die, 0.0)
    assert array == max(times_us) * 1e3
    assert transfer == min(times_us) * 1e3
    assert _are_distinguished(bench, places, (array, transfer), die, host, 0.0) == separated


@pytest.mark.parametrize(
    ("grows_us", "transfer_us", "separated"),
    [(100, 100, True), (95, 100, True), (0, 100, False), (40, 100, False), (44, 44, False)],
)
def test_a_block_more_of_a_page_takes_a_transfer_and_not_the_array(
    grows_us: float, transfer_us: float, *, separated: bool
) -> None:
    assert _is_transfer(grows_us, 40.0, transfer_us) == separated
