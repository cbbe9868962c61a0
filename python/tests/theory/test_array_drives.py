"""The independent drive model of research/models/arrays: conservation, closed forms, the contract, labels."""

import json
import math
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from conftest import ROOT
from numpy.typing import NDArray
from scipy.special import lambertw

import flashweir as api
from research.models.arrays import drives, truth
from research.models.arrays.drive import ArrayDrive
from research.models.arrays.log_blocks import Bast, Fast, LogBlocks
from research.models.arrays.page_map import OPEN, MapCache, PageMap
from research.models.arrays.parameters import SECTOR, Parameters

SMALL = {"capacity_mib": "16", "channels": "2", "dies": "2", "block_pages": "8"}
KINDS: list[dict[str, str]] = [
    {},
    {"victims": "poor", "collect": "block", "destage": "full"},
    {"victims": "random", "collect": "paced", "destage": "idle", "idle_blocks": "3"},
    {"victims": "fifo", "buffer_kib": "0", "spare": "0.3"},
    {"mapping_kib": "32", "buffer_kib": "16"},
    {"page_kib": "16", "block_pages": "4"},
    {"page_kib": "16", "block_pages": "4", "buffer_kib": "0"},
    {"ftl": "cached", "map_cache_kib": "8"},
    {"ftl": "bast", "collect": "paced"},
    {"ftl": "fast", "logs": "5", "buffer_kib": "0"},
]
Requests = dict[str, NDArray[Any]]


def mixed(count: int, size_bytes: int, seed: int = 1, due_step: int = 100_000) -> Requests:
    """Reads, writes, discards and flushes of 4 to 128 KiB, a third of them timed, with a pause after each 500."""
    random = np.random.default_rng(seed)
    op = random.choice([0, 1, 2, 3], count, p=[0.3, 0.6, 0.07, 0.03]).astype(np.uint8)
    length = 2 ** random.integers(0, 6, count) * SECTOR
    offset = random.integers(0, (size_bytes - length) // SECTOR) * SECTOR
    due = np.arange(count) * due_step + np.arange(count) // 500 * 10**9
    due[random.random(count) < 0.67] = -1
    due[0] = 0
    flush = op == 3
    return {
        "due_ns": due,
        "op": op,
        "offset": np.where(flush, 0, offset).astype(np.uint64),
        "length": np.where(flush, 0, length).astype(np.uint64),
    }


def writes(offsets: NDArray[np.int64], length: int = SECTOR, due: int = -1) -> Requests:
    count = len(offsets)
    return {
        "due_ns": np.full(count, due),
        "op": np.ones(count, np.uint8),
        "offset": offsets.astype(np.uint64),
        "length": np.full(count, length, np.uint64),
    }


def made(depth: int = 4, **settings: str) -> ArrayDrive:
    drive = ArrayDrive(**{**SMALL, **settings})
    drive.depth = depth
    return drive


@pytest.mark.parametrize("settings", KINDS, ids=str)
@pytest.mark.parametrize("state", ["new", "used", "fragmented"])
def test_the_map_and_the_blocks_agree(settings: dict[str, str], state: str) -> None:
    drive = made(**settings, state=state)
    drive.submit(mixed(1500, drive.size_bytes))
    ftl = drive.ftl
    if isinstance(ftl, LogBlocks):
        assert min(ftl.where) >= -1
        assert all(0 <= ftl.locate(unit) < ftl.slots for unit, at in enumerate(ftl.where) if at >= 0)
        if isinstance(ftl, Bast):
            assert len(ftl.log) <= ftl.logs
        elif isinstance(ftl, Fast):
            assert len(ftl.full) <= ftl.logs - 2
            assert Counter(at for at in ftl.where if at >= 2 * ftl.slots).most_common(1)[0][1] == 1
        return
    assert isinstance(ftl, PageMap)
    assert {unit: at for unit, at in enumerate(ftl.where) if at >= 0} == {
        unit: at for at, unit in enumerate(ftl.holds) if unit >= 0
    }
    stripes = np.array(ftl.holds).reshape(-1, ftl.slots)
    assert [count % OPEN for count in ftl.valid] == (stripes >= 0).sum(1).tolist()
    assert sorted([*ftl.free, *ftl.closed, ftl.open]) == list(range(len(ftl.valid)))
    assert all((count < OPEN) == (stripe in ftl.closed) for stripe, count in enumerate(ftl.valid))


@pytest.mark.parametrize("settings", KINDS, ids=str)
def test_dies_and_the_buffer_hold_no_more_than_they_can(settings: dict[str, str]) -> None:
    drive = made(**settings, state="used")
    done = drive.submit(mixed(2000, drive.size_bytes))
    clocks = drive.clocks
    assert 0 < clocks.busy_ns <= clocks.lanes * max(*clocks.die, done["complete_ns"].max()) * (1 + 1e-9)
    assert drive.waiting == sum(bits.bit_count() for bits in drive.dirty.values())
    assert drive.used == drive.waiting + sum(sectors for _, sectors in drive.inflight) <= drive.room


@pytest.mark.parametrize("settings", KINDS, ids=str)
def test_times_keep_the_contract_and_do_not_depend_on_batches(settings: dict[str, str]) -> None:
    noisy = {**settings, "noise": "0.2", "hiccup_rate": "0.01", "state": "used"}
    drive, other = made(**noisy), made(**noisy)
    requests = mixed(1200, drive.size_bytes)
    done = drive.submit({name: column.copy() for name, column in requests.items()})
    parts = [
        other.submit({name: column[first : first + 77] for name, column in requests.items()})
        for first in range(0, 1200, 77)
    ]
    for name, times in done.items():
        assert times.dtype == np.int64
        assert np.array_equal(times, np.concatenate([part[name] for part in parts]))
    issue, complete = done["issue_ns"], done["complete_ns"]
    assert (issue >= requests["due_ns"]).all()
    assert (complete >= issue).all()
    outstanding = [(complete[:index] > at).sum() for index, at in enumerate(issue)]
    assert max(outstanding) == drive.depth - 1


def amplification(victims: str, spare: float) -> tuple[float, float]:
    """Of uniform writes to a used drive, and its stripes per stripe of data, without the one that is kept free."""
    parameters = Parameters(victims=victims, spare=spare, channels=1, dies=1, block_pages=64, buffer_kib=0)
    drive = ArrayDrive(**{name: str(value).lower() for name, value in vars(replace(parameters, state="used")).items()})
    ftl = drive.ftl
    assert isinstance(ftl, PageMap)
    for unit in np.random.default_rng(5).integers(0, len(ftl.where), 3 * len(ftl.where)).tolist():
        ftl.program([unit])
    return 1 + ftl.copied / ftl.written, (len(ftl.valid) - ftl.reserve) / parameters.stripes


@pytest.mark.parametrize("spare", [0.1, 0.3])
def test_write_amplification_of_uniform_writes(spare: float) -> None:
    # Desnoyers 2012: victims in order (LRU) leave 1 / A = 1 + W(-a exp(-a)) / a, with a stripes per stripe of data;
    # random ones leave the mean share of valid pages, 1 / a.
    fifo, a = amplification("fifo", spare)
    closed = a / (a + lambertw(-a * math.exp(-a)).real)
    assert fifo == pytest.approx(closed, rel=0.02)
    assert amplification("random", spare)[0] == pytest.approx(a / (a - 1), rel=0.04)
    # Greedy approaches the same limit from below, as blocks grow.
    greedy = amplification("greedy", spare)[0]
    assert 0.9 * closed < greedy < closed
    assert amplification("poor", spare)[0] > 1.15 * a / (a - 1)


def test_a_coarse_unit_reads_and_programs_all_of_it() -> None:
    times = {"read_us": "50", "program_us": "400", "bus_mbps": "1000000", "overhead_us": "0", "buffer_kib": "0"}
    for mapping, pages in (("4", 1), ("64", 16)):
        drive = made(1, **times, mapping_kib=mapping, block_pages="16", state="full")
        request = writes(np.array([SECTOR]), due=0)
        took = int(drive.submit(request)["complete_ns"][0])
        reads = 0 if pages == 1 else pages
        assert took == pytest.approx(400_000 * pages + 50_000 * reads, rel=0.02)


def test_sequential_overwrites_switch_and_random_ones_merge() -> None:
    for kind in ("bast", "fast"):
        drive = made(ftl=kind, state="full", buffer_kib="0")
        ftl = drive.ftl
        drive.submit(writes(np.arange(0, drive.size_bytes, SECTOR)))
        assert ftl.copied == 0
        # A switch erases one block; some log blocks wait for theirs.
        blocks = len(ftl.where) // ftl.slots
        assert blocks - ftl.logs <= ftl.erased < blocks
        drive.submit(writes(np.random.default_rng(1).integers(0, len(ftl.where), 3000) * SECTOR))
        assert ftl.copied > 3 * 3000


def test_the_link_bounds_the_rate_of_reads_and_writes() -> None:
    for op in (0, 1):
        drive = made(32, link_mbps="100", program_us="1", read_us="1", erase_us="1", bus_mbps="100000", state="full")
        requests = writes(np.arange(0, drive.size_bytes, 65536), 65536)
        requests["op"][:] = op
        assert drive.submit(requests)["complete_ns"].max() >= drive.size_bytes * 10


def test_discards_lower_write_amplification_on_drives_that_know_them() -> None:
    found = {}
    for known in ("true", "false"):
        drive = made(discard=known, state="used")
        half = drive.size_bytes // 2
        gone = writes(np.array([half]), half)
        gone["op"][:] = 2
        drive.submit(gone)
        drive.submit(writes(np.random.default_rng(1).integers(0, half // SECTOR, 4000) * SECTOR))
        found[known] = drive.ftl.copied / drive.ftl.written
    assert 2 * found["true"] < found["false"]


def test_the_map_cache_forgets_the_least_recently_used() -> None:
    cache = MapCache(Parameters(ftl="cached", map_cache_kib=8))
    entries = cache.entries
    assert [cache.touch(page * entries, page == 0) for page in (0, 1, 0, 2, 1, 3)] == [
        *[(1, 0), (1, 0), (0, 0), (1, 0)],
        *[(1, 1), (1, 0)],
    ]


def test_a_flush_waits_for_flash_if_it_is_said_to() -> None:
    for waits in ("true", "false"):
        drive = made(1, flush_waits=waits, buffer_kib="64", destage="idle")
        drive.submit(writes(np.array([0, SECTOR])))
        flush = {"due_ns": [-1], "op": [3], "offset": [0], "length": [0]}
        done = drive.submit({name: np.array(column) for name, column in flush.items()})
        assert (done["complete_ns"][0] - done["issue_ns"][0] > 400_000) == (waits == "true")


def test_settings_and_requests_that_are_refused() -> None:
    for settings, part in (
        ({"ftl": "hybrid"}, "ftl=hybrid: expected one of page"),
        ({"speed": "1"}, "speed: expected one of ftl"),
        ({"spare": "much"}, "spare=much: expected a number"),
        ({"noise": "2"}, "noise=2.0: expected 0"),
        ({"discard": "yes"}, "discard=yes: expected true or false"),
        ({"reserve": "500"}, "spare stripes: expected at least"),
        ({"block_pages": "7"}, "divides the capacity"),
    ):
        with pytest.raises(ValueError, match=part):
            made(**settings)
    drive = made()
    for offset, length in ((drive.size_bytes, SECTOR), (0, 512), (1, SECTOR), (0, 2 * drive.size_bytes), (0, 0)):
        with pytest.raises(ValueError, match=r"request 0: .*expected whole blocks of 4096"):
            drive.submit(writes(np.array([offset]), length))


def test_labels_of_drives_with_one_fault() -> None:
    healthy = {**SMALL, "spare": "0.2", "buffer_kib": "512"}
    for fault, expected in (
        ({}, set()),
        ({"spare": "0.04"}, set()),
        ({"ftl": "bast"}, {"mapping"}),
        ({"mapping_kib": "32"}, {"mapping"}),
        ({"ftl": "cached", "map_cache_kib": "4"}, {"mapping"}),
        ({"ftl": "cached", "map_cache_kib": "64"}, set()),
        ({"victims": "random"}, {"collection"}),
        ({"buffer_kib": "64"}, {"buffer"}),
        ({"buffer_kib": "0"}, {"buffer"}),
    ):
        found = truth.label({**healthy, **fault}, 3000)
        assert {symptom for symptom, ill in found.labels.items() if ill} == expected, (fault, found)


def test_labels_that_hang_on_little_are_named() -> None:
    saved = {"mapping": {"throughput": 0.25, "p99": 0.0}, "collection": {"throughput": 0.9, "p99": 0.5}}
    assert truth.Truth({}, saved, 150 * 1024).borderline == ["mapping", "buffer"]
    saved["collection"] = {"throughput": 0.15, "p99": 0.12}
    assert truth.Truth({}, saved, 64 * 1024).borderline == ["mapping", "collection"]


def test_the_buffer_absorbs_its_size() -> None:
    for destage in ("eager", "idle"):
        absorbed = truth.absorbed_bytes(made(state="used", buffer_kib="256", destage=destage))
        assert 256 * 1024 <= absorbed < 300 * 1024


def test_half_a_buffer_makes_room_for_a_request_as_long_as_the_buffer() -> None:
    # The first write is half of the buffer, which is not yet destaged on its own; the second one needs all of it.
    drive = made(buffer_kib="16", mapping_kib="32", destage="full")
    requests = writes(np.array([0, 64 << 10]))
    requests["length"] = np.array([8 << 10, 16 << 10], np.uint64)
    complete = drive.submit(requests)["complete_ns"]
    assert complete[1] - complete[0] > 400_000  # a program
    assert drive.used == drive.room


def test_drives_are_drawn_by_seed_and_number() -> None:
    drawn = [drives.draw(3, number) for number in range(150)]
    assert drawn == [drives.draw(3, number) for number in range(150)]
    assert drawn[7] != drives.draw(4, 7)
    for settings in drawn:
        Parameters.read(settings)
    meant = Counter(symptom for number in range(150) for symptom, ill in drives.intended(3, number).items() if ill)
    assert meant == dict.fromkeys(drives.SYMPTOMS, 40)


def test_a_divisor_makes_blocks_and_capacities_smaller() -> None:
    for number in range(6):
        whole, quarter = drives.draw(5, number), drives.draw(5, number, 4)
        Parameters.read(quarter)
        assert 256 <= int(whole["capacity_mib"]) <= 512
        assert 64 <= int(quarter["capacity_mib"]) <= 128
        assert int(quarter["buffer_kib"]) <= 16384


def test_a_drawn_drive_is_a_target(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(drives, "draw", lambda *_: {**SMALL, "buffer_kib": "64", "collect": "paced"})
    found = drives.drive(1, 1)
    assert json.loads(json.dumps(found)) == found
    assert found["labels"] == {"mapping": False, "collection": False, "buffer": True}
    result = api.replay("random:span=8MiB,size=4KiB,count=500,write=1", str(found["target"]), timing="closed", depth=4)
    assert result["elapsed_s"] > 0
