"""Evidence of the active diagnosis, each against what would be taken for it: stalls, wide ranges, pages, idle dies."""

from typing import Any

import numpy as np
import pytest
from model_drive import Drive

import flashweir as api
from flashweir.diagnosis.active import at_once, greedy
from flashweir.diagnosis.active.locality import _runs
from flashweir.diagnosis.active.ratios import Span
from flashweir.diagnosis.active.reads import Reads, map_cache
from flashweir.diagnosis.active.session import Bench, opened
from flashweir.diagnosis.active.stalls import tail_of
from flashweir.diagnosis.active.strided import range_of, strided
from flashweir.targets import given

KIB = 1 << 10
READS = Reads(Span(6e4, 6e4, 6e4), 1e9, [])
SMALL = {"mib": "24", "dies": "4", "pages": "32", "buffer": "512"}


def symptoms(**settings: str) -> dict[str, Any]:
    found: dict[str, Any] = api.diagnose(Drive(**SMALL | settings), active=True).to_dict()["symptoms"]
    return found


def bursts(gaps: list[int], wait: float = 500_000.0) -> "np.ndarray[Any, Any]":
    """Ends of bursts with one gap each, after so many writes."""
    return np.array([np.arange(1, 65) * 10_000.0 + wait * (np.arange(64) >= gap) for gap in gaps])


def test_stalls_come_after_any_number_of_writes_and_a_full_buffer_after_the_same() -> None:
    assert at_once._gaps(bursts([16] * 12), 60_000).taken == 16
    # Two thirds of the bursts meet an erase, where the block ends: the median burst would have a gap after 28.
    stalled = at_once._gaps(bursts([4, 9, 14, 20, 28, 33, 41, 52, 64, 64, 64, 64]), 60_000)
    assert stalled.taken * 4 * KIB >= 128 * KIB
    # Half of the bursts begin with a hiccup of the host, which is no missing buffer.
    assert at_once._gaps(bursts([0] * 6 + [64] * 6), 60_000).taken == 64


def test_each_burst_begins_where_nothing_was_written() -> None:
    with given(Drive(**SMALL)) as name:
        bench = Bench(opened(name, None, 1), 1, target=name)
        written: list[int] = []
        call = bench.call

        def noted(op: Any, offset: Any, *rest: Any) -> Any:
            written.extend(offset.tolist() if op == 1 else [])
            return call(op, offset, *rest)

        bench.call = noted  # type: ignore[method-assign]
        low = bench.size - at_once.VOLUME * bench.small
        at_once.in_order(bench, low, bench.size, 60_000)
    assert len(written) == len(set(written))
    assert low <= min(written) <= max(written) < bench.size


def test_a_buffer_takes_as_many_pages_as_it_has() -> None:
    # 64 KiB in units of 16: a model whose joined writes passed a full buffer took 208.
    found = api.diagnose(Drive(mib="24", dies="1", page="16", unit="16", buffer="64"), active=True).to_dict()
    assert found["symptoms"]["buffer"]["verdict"] == "bad"
    assert found["drive"]["buffer_bytes"]["value"] <= 96 * KIB


def test_writes_in_order_free_log_places() -> None:
    with given(Drive(fault="blocks", log="0.1", mib="8", pages="32", dies="2")) as name:
        session = opened(name, None, 1)
        bench = Bench(session, 1, target=name)
        _, first, *_, last = (
            bench.pour(bench.in_order(0, bench.size, 128 * KIB), bench.size, 128 * KIB).time_ns[-1] for _ in range(5)
        )
    assert last == pytest.approx(first, rel=0.05)


@pytest.mark.parametrize(("page", "expected"), [("4", 8), ("8", 8), ("16", 16)])
def test_a_unit_of_16_kib_is_a_page_if_one_read_has_all_of_it(page: str, expected: int) -> None:
    with given(Drive(mib="24", dies="4", pages="32", buffer="256", unit="16", page=page)) as name:
        bench = Bench(opened(name, None, 1), 1, target=name)
        bench.pour(bench.in_order(0, bench.size, 128 * KIB), bench.size, 128 * KIB)
        found = strided(bench, READS, range_of(bench), 256 * KIB, free=True)
    assert (found.unit, found.page) == (16 * KIB, expected * KIB)


def test_a_miss_behind_a_slow_link_is_seen_against_the_read_of_flash() -> None:
    class Slow:
        """Reads of 180 us, 60 of them flash's; over all of the drive half of them miss a map cache."""

        small = 4 * KIB

        def read(self, low: float, high: float, count: int) -> tuple[Any, float]:
            return np.where((np.arange(count) % 2 == 0) & (high - low > 1 << 20), 240e3, 180e3), 1.0

    bench: Any = Slow()
    assert map_cache(bench, 64 << 20, 60e3)[1].verdict == "bad"
    assert map_cache(bench, 64 << 20)[1].verdict == "good"
    # A cache of data, or jitter, adds less than half of what flash takes.
    assert map_cache(bench, 64 << 20, 120e3)[1].verdict == "good"


def test_a_run_writes_each_unit_once() -> None:
    with given(Drive(**SMALL)) as name:
        bench = Bench(opened(name, None, 1), 1, target=name)
        offsets = _runs(bench, 4 * KIB, 16 * KIB)(0, 240).reshape(10, 24)
    for run in offsets // (16 * KIB):
        assert len(set(run.tolist())) == 24
        assert int(run.max() - run.min()) < 64


def test_first_in_first_out_moves_cold_pages_and_greedy_does_not() -> None:
    assert greedy.in_order(0.1) == pytest.approx(greedy.greedy(0.1, 1 << 16), rel=0.01)
    # A range as large as the spare: as many copies as over all of the drive.
    assert greedy.hot_in_order(0.1, 0.1) > greedy.in_order(0.1) > 2 * greedy.hot(0.1, 0.1)
    # The host writes w = 1 - exp(-2 w) = 0.80 capacities while 1.5 are written.
    assert greedy.hot_in_order(0.5, 0.5) == pytest.approx(1.88, abs=0.01)


def test_even_stalls_are_the_tail_of_greedy_and_grouped_ones_are_not() -> None:
    random = np.random.default_rng(1)

    def of(gaps: "np.ndarray[Any, Any]") -> list["np.ndarray[Any, Any]"]:
        single = np.full(int(gaps.sum()) + 1, 10.0)
        single[np.cumsum(gaps)] += 2000.0
        return [single, np.convolve(single, np.ones(8), "valid")]

    even = of(np.full(1000, 11))
    grouped = of(np.clip(random.normal(11, 4, 1000).round().astype(int), 2, None))
    assert tail_of(even, small=True).ratio == pytest.approx(1, abs=0.05)
    assert tail_of(grouped, small=True).ratio < 0.6
    assert tail_of(grouped, small=False).ratio == 1


@pytest.mark.parametrize(
    ("settings", "verdict"),
    [
        ({"fault": "blocks", "pages": "64"}, ("bad",)),
        # Poor victims copy in order as well, so that nothing is slow against that.
        ({"fault": "random"}, ("good", "uncertain")),
        ({"fault": "fullest"}, ("good", "uncertain")),
        ({"fault": "fifo"}, ("good", "uncertain")),
    ],
)
def test_merges_show_without_discards_where_writes_in_order_are_fast(
    settings: dict[str, str], verdict: tuple[str, ...]
) -> None:
    assert symptoms(silent="1", used="2", **settings)["mapping"]["verdict"] in verdict


def test_a_buffer_of_fewer_pages_than_dies_hides_no_copies() -> None:
    # Writes wait for one die at a time, so that random ones take no longer than those in order.
    assert symptoms(silent="1", used="2", buffer="16", dies="16")["collection"]["verdict"] != "bad"


def test_victims_that_are_not_looked_for_copy_in_order() -> None:
    found = symptoms(fault="random")
    assert found["collection"]["verdict"] == "bad"
    assert "though writes in order free whole blocks" in found["collection"]["reason"]
    assert symptoms(fault="none")["collection"]["verdict"] == "good"
