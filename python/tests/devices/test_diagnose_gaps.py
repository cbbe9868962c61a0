"""Tests that the active diagnosis is made of: writes with gaps, writes at once, the volume before collection begins."""

import heapq
import json
from typing import Any

import numpy as np
import pytest
from model_drive import Drive

import flashweir as api
from flashweir.diagnosis.active import at_once
from flashweir.diagnosis.active.collection import fast_volume
from flashweir.diagnosis.active.ratios import Span
from flashweir.diagnosis.active.reads import Reads
from flashweir.diagnosis.active.session import Bench, Course, opened
from flashweir.diagnosis.active.strided import _together, in_streams, places, range_of, strided
from flashweir.diagnosis.passive import answered
from flashweir.targets import given

KIB, MIB = 1 << 10, 1 << 20
READS = Reads(Span(6e4, 6e4, 6e4), 1e9, [])


def unit_of(**settings: str) -> int | None:
    """Mapping unit by writes with gaps, of a drive that was written in order once."""
    with given(Drive(**{"mib": "24", "dies": "4", "pages": "32", "buffer": "256"} | settings)) as name:
        bench = Bench(opened(name, None, 1), 1, target=name)
        bench.pour(bench.in_order(0, bench.size, 128 * KIB), bench.size, 128 * KIB)
        return strided(bench, READS, range_of(bench), 256 * KIB, free="silent" not in settings).unit


@pytest.mark.parametrize(
    ("settings", "least", "most"),
    [
        ({}, 4, 4),
        ({"fault": "static", "dies": "16"}, 4, 4),
        ({"fault": "random", "silent": "1", "used": "2"}, 4, 16),
        ({"fault": "fullest", "used": "2", "mib": "48"}, 4, 16),
        ({"fault": "unit", "unit": "32", "pages": "8"}, 32, 32),
        ({"fault": "unit", "unit": "64", "pages": "8"}, 64, 64),
        ({"fault": "blocks"}, None, None),
        ({"fault": "blocks", "log": "0.28"}, None, None),
    ],
)
def test_gaps_cost_a_coarse_map_and_no_page_map_whatever_its_victims(
    settings: dict[str, str], least: int | None, most: int | None
) -> None:
    unit = unit_of(**settings)
    if least is None or most is None:
        assert unit is None
    else:
        # Poor victims may hide a page, which holds up to 16 KiB; none makes a page map coarse.
        assert unit is not None
        assert least * KIB <= unit <= most * KIB


@pytest.mark.parametrize("chunk", [64 * 16 * KIB, 8 * 16 * KIB])
def test_a_turn_of_passes_writes_each_place_once_and_the_next_one_in_the_same_order(chunk: int) -> None:
    with given(Drive(mib="16")) as name:
        bench = Bench(opened(name, None, 1), 1, target=name)
        offsets = places(bench, 64 * 16 * KIB, 16 * KIB, chunk)(0, 128) // (16 * KIB)
    turn = offsets[:64]
    assert sorted(turn.tolist()) == list(range(64))
    np.testing.assert_array_equal(turn, offsets[64:])
    # Each pass over a chunk writes one place of every four.
    passes = turn.reshape(-1, chunk // (64 * KIB))
    for one in passes:
        assert len(set((one // 4).tolist())) == len(one)


def test_the_first_gap_is_where_the_buffer_is_full() -> None:
    link, flash = 10_000.0, 60_000.0
    full = np.concatenate([np.arange(1, 17) * link, 500_000 + np.arange(48) * 30_000.0])
    assert at_once.first_gap(full, flash) == 16
    # Programs that end before the buffer is full leave no gap.
    assert at_once.first_gap(np.arange(1, 65) * link, flash) == 64
    assert at_once.first_gap(np.arange(1, 65) * link + flash, flash) == 0


def test_a_hiccup_is_no_collection() -> None:
    steps = np.where(np.arange(200) < 120, 1.0, 3.0)
    steps[[20, 21 + 30]] = 300.0
    course = Course(np.arange(201.0), np.concatenate([[0.0], np.cumsum(steps)]))
    begun = fast_volume(course, 1.0, 1.6)
    assert begun is not None
    assert abs(begun - 120) <= 4
    assert fast_volume(Course(np.arange(101.0), course.time_ns[:101]), 1.0, 1.6) is None


@pytest.mark.parametrize(
    ("later_us", "first_us", "verdict"),
    [
        # Later writes take ten times as long, so that flash took little out of the first 128 KiB.
        (2.0, {"128k": 1.0, "256k": 1.5, "512k": 1.7, "1024k": 1.9}, "good"),
        # Twice as long: half of 256 KiB was taken out, half of 128 KiB would be a buffer of 64.
        (1.301, {"128k": 1.0, "256k": 1.0, "512k": 1.2, "1024k": 1.25}, "good"),
        (1.301, {"128k": 1.0, "256k": 1.1, "512k": 1.2, "1024k": 1.25}, "unknown"),
        # Flash keeps up: any buffer looks like this.
        (1.0, {"128k": 1.0, "256k": 1.0, "512k": 1.0, "1024k": 1.0}, "unknown"),
    ],
)
def test_a_log_shows_a_buffer_only_if_later_writes_wait(
    later_us: float, first_us: dict[str, float], verdict: str
) -> None:
    features = {f"first_{size}_us": value for size, value in first_us.items()}
    features |= {"first_32k_us": 1.0, "first_64k_us": 1.0, "p05_us": 1.0, "mean_us": later_us, "eighth_0": 0.0}
    features |= {"count_below_100us": 1.0, "size_spread": 0.0, "idle": 0.0}
    found: dict[str, Any] = {"features": features, "symptoms": [], "writes": 5000, "requests": 5000, "depth": 1.0}
    found |= {"usual_pbr_ns_per_byte": 2.0, "mean_pbr_ns_per_byte": 4.0, "written_bytes": 2, "distinct_bytes": 1}
    buffer = answered({**found, "verdict": "", "sentence": ""}, empty=True)["symptoms"]["buffer"]
    assert buffer["verdict"] == verdict
    assert ("--active" in buffer["reason"]) == (verdict == "unknown")


def test_the_json_of_the_issue_is_exact() -> None:
    sim = "sim:mlc-2006,capacity=16MiB,channels=1,dies=1,op_ratio=0.2,pages_per_block=32,buffer.bytes=256KiB"
    found = json.loads(json.dumps(api.diagnose(sim, active=True).to_dict()))
    keys = {"format", "target", "size_bytes", "admissible", "health", "drive", "tests", "symptoms", "written_bytes"}
    assert keys | {"elapsed_s"} <= set(found)
    assert set(found) - keys - {"elapsed_s"} == {"not_flash", "verdict", "buffer", "read_us"}
    for one in found["symptoms"].values():
        assert set(one) == {"verdict", "reason"}
        assert one["verdict"] in ("good", "bad", "uncertain", "unknown")
    for value in found["drive"].values():
        assert value is None or value["method"] in ("counter", "inferred")


class Blocks:
    """A map by blocks: each block of 256 KiB lies on one die, with two log blocks a die; its buffer holds one block."""

    size_bytes, block_bytes, depth = 16 << 20, 4096, 1

    def __init__(self) -> None:
        self.dies, self.per, self.slots = 8, 64, 64
        self.busy = [0] * self.dies
        self.logs: list[dict[int, list[int]]] = [{} for _ in range(self.dies)]
        self.present: dict[int, set[int]] = {}
        self.held: list[int] = []
        self.running: list[int] = []
        self.now = 0

    def _merge(self, die: int, block: int) -> None:
        pages = self.logs[die].pop(block)
        base = self.present.get(block, set())
        ordered = pages == list(range(len(pages)))
        self.busy[die] += len(base - set(pages) if ordered else base | set(pages)) * 660_000 + 3_000_000
        self.present[block] = base | set(pages)

    def _write(self, unit: int, time: int) -> int:
        block, page = divmod(unit, self.per)
        die = block % self.dies
        while self.held and self.held[0] <= time:
            heapq.heappop(self.held)
        while len(self.held) >= self.slots:
            time = max(time, heapq.heappop(self.held))
        self.busy[die] = max(self.busy[die], time)
        log = self.logs[die]
        if block in log and len(log[block]) >= self.per:
            self._merge(die, block)
        if block not in log and len(log) > 1:
            self._merge(die, next(iter(log)))
        log.setdefault(block, []).append(page)
        self.busy[die] += 610_000
        heapq.heappush(self.held, self.busy[die])
        return time

    def _read(self, unit: int, time: int) -> int:
        block, page = divmod(unit, self.per)
        die = block % self.dies
        if page not in self.present.get(block, set()) and page not in self.logs[die].get(block, []):
            return time
        self.busy[die] = max(self.busy[die], time) + 60_000
        return self.busy[die]

    def submit(self, requests: dict[str, Any]) -> dict[str, Any]:
        issues, ends = [], []
        for due, op, offset, length in zip(*(requests[name].tolist() for name in
                                             ("due_ns", "op", "offset", "length")), strict=True):  # fmt: skip
            while len(self.running) >= self.depth:
                self.now = max(self.now, heapq.heappop(self.running))
            issue = self.now = max(self.now, due)
            units = range(offset // 4096, (offset + length) // 4096)
            end = start = issue + 8000 + (10_000 * len(units) if op == 1 else 0)
            if op == 3:
                end = max([start, *self.held])
            elif op == 2:
                for unit in units:
                    block, page = divmod(unit, self.per)
                    self.present.get(block, set()).discard(page)
                    if page == 0:
                        self.logs[block % self.dies].pop(block, None)
            else:
                end = max([start, *((self._write if op == 1 else self._read)(unit, start) for unit in units)])
            heapq.heappush(self.running, end)
            issues.append(issue)
            ends.append(end)
        return {"issue_ns": np.array(issues, np.int64), "complete_ns": np.array(ends, np.int64)}


def test_merges_are_found_where_writes_in_order_keep_one_die_busy() -> None:
    found = api.diagnose(Blocks(), active=True).to_dict()
    tests = {test["name"]: test for test in found["tests"]}
    # With gaps more dies work at the same time, which hides the copies.
    assert tests["mapping-gaps"]["ratio"] > 0.7
    assert tests["mapping-streams"]["verdict"] == "bad"
    assert found["symptoms"]["mapping"]["verdict"] == "bad"
    assert "whole blocks are merged" in found["symptoms"]["mapping"]["reason"]
    assert found["symptoms"]["collection"]["verdict"] == "unknown"
    assert found["drive"]["spare"] is found["drive"]["mapping_unit_bytes"] is None


def test_poor_victims_are_no_merges_though_random_writes_over_half_are_slow() -> None:
    settings = {"mib": "16", "dies": "4", "pages": "32", "buffer": "256", "fault": "random", "spare": "0.2"}
    with given(Drive(**settings)) as name:
        bench = Bench(opened(name, None, 1), 1, target=name)
        bench.pour(bench.at_random(0, bench.size, 4 * KIB), 2 * bench.size, 4 * KIB)
        assert in_streams(bench, range_of(bench), 16 * KIB).value > 0.75


def test_streams_have_their_own_ranges() -> None:
    with given(Drive(mib="16")) as name:
        bench = Bench(opened(name, None, 1), 1, target=name)
    share, length = MIB, 16 * KIB
    orders = [bench.in_order(0, share, length) for _ in range(4)]
    offsets = _together(bench, orders, share, length)
    both = np.concatenate([offsets(0, 100), offsets(100, 156)]).astype(np.int64)
    assert sorted(both.tolist()) == list(range(0, 4 * share, length))
    streams = both.reshape(-1, 4).T
    assert (streams // share).tolist() == [[number] * 64 for number in range(4)]
    assert (np.diff(streams // length) % 64 == 1).all()
