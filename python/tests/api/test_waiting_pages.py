"""Pages of writes that wait on drives without a write buffer ("Pages that wait for a planner" of channels.md)."""

from typing import Any

import pytest

import flashweir

PAGE = 4096
PROGRAM_NS, READ_NS = 750_000, 75_000
DEVICE: dict[str, Any] = {
    "capacity": "64MiB", "channels": 2, "chips": 1, "dies": 1, "planes": 1, "page": PAGE, "pages_per_block": 64,
    "op_ratio": 0.25, "precondition": "full", "host.mode": "open", "timing.program": PROGRAM_NS, "timing.read": READ_NS,
    "timing.bus": 0.0, "timing.command": 0, "buffer.bytes": 0,
}  # fmt: skip
MANAGED: list[dict[str, Any]] = [
    {"gc.planner": "cycle-filling"},
    {"gc.planner": "cycle-stealing", "alloc.kind": "dynamic"},
    {"clock": "lock-step"},
]


def last(op: str, page: int, **settings: Any) -> tuple[int, flashweir.Result]:
    """Latency in ns of a request behind two pages on each of two dies, at 2 us, and the result of the drive.

    Page 3 is among those that wait when the request comes; page 9 is not written, and lies on the same die.
    """
    drive = flashweir.Drive(set={**DEVICE, **settings})
    drive.submit(op="write", offset=[n * PAGE for n in range(4)], length=PAGE, time_ns=0)
    drive.submit(op=op, offset=page * PAGE, length=PAGE, time_ns=2000)
    drive.advance_to(100_000_000)
    done = drive.poll()
    (latency,) = (int(each["latency_ns"]) for each in done if int(each["issue_ns"]) == 2000)
    return latency, drive.finish()


@pytest.mark.parametrize("settings", MANAGED)
def test_a_planner_keeps_pages_that_wait_in_memory(settings: dict[str, Any]) -> None:
    latency, result = last("read", 3, **settings)
    assert (latency, result["counters.buffer_hits"], result["flash.host.reads"]) == (0, 1, 0)
    latency, result = last("trim", 3, **settings)
    assert (latency, result["flash.host.programs"]) == (0, 3)
    assert result["write_amplification"] == 0.75
    # It passes the pages that wait, under fifo.
    latency, result = last("read", 9, **settings)
    assert latency == PROGRAM_NS + READ_NS - 2000
    assert result["counters.buffer_hits"] == 0


def test_without_a_planner_a_page_is_a_command_at_its_die() -> None:
    for page in (3, 9):
        latency, result = last("read", page, **{"alloc.kind": "striped"})
        assert latency == 2 * PROGRAM_NS + READ_NS - 2000
        assert (result["counters.buffer_hits"], result["flash.host.reads"]) == (0, 1)
    assert last("trim", 3)[1]["flash.host.programs"] == 4


def test_without_a_planner_a_page_that_waits_for_a_die_is_read_as_it_was() -> None:
    for page in (3, 9):
        latency, result = last("read", page, **{"alloc.kind": "dynamic"})
        assert latency == PROGRAM_NS + READ_NS - 2000
        assert (result["counters.buffer_hits"], result["flash.host.reads"]) == (0, 1)
    assert last("trim", 3, **{"alloc.kind": "dynamic"})[1]["flash.host.programs"] == 4


def test_on_one_unit_a_planner_acts_by_memory_and_the_steps_of_collections() -> None:
    one = {**DEVICE, "capacity": "16MiB", "channels": 1, "precondition": "steady"}
    work = "random:span=16MiB,size=4KiB,count=2000,write=0.5,rate=200"
    for buffer in (0, "256KiB"):
        settings = {**one, "buffer.bytes": buffer}
        none, planned = (
            flashweir.simulate(work, set={**settings, "gc.planner": kind}) for kind in ("none", "cycle-filling")
        )
        assert not planned["no_effect"]
        assert planned["write_amplification"] == none["write_amplification"]
        assert planned["latency_us.read.mean"] < none["latency_us.read.mean"] / 3
