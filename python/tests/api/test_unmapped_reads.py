"""Reads of pages that a run has not written: from flash by default, without it on a drive that is said to be empty."""

import pytest
from conftest import flashweir, refused

import flashweir as api

READS = "random:span=32MiB,size=4KiB,count=2000,write=0,seed=1"
DRIVE = {"channels": 2, "capacity": "64MiB"}
SETTINGS = [f"--set={key}={value}" for key, value in DRIVE.items()]


def test_what_is_read_before_it_is_written_was_there() -> None:
    found = api.simulate(READS, **DRIVE)
    assert found["unmapped_reads"] == {"pages": 0, "share": 0.0}
    # A page is read once or more often, and appears once.
    assert 1000 < found["preexisting_pages"] < 2000
    assert found.flash.reads == 2000
    full = api.simulate(READS, **DRIVE, precondition="full")
    assert found.latency_us == full.latency_us
    assert full["preexisting_pages"] == 0


def test_an_empty_drive_answers_without_flash_and_the_result_says_so() -> None:
    empty = api.simulate(READS, **DRIVE, precondition="empty")
    assert empty["unmapped_reads"] == {"pages": 2000, "share": 1.0}
    assert (empty["preexisting_pages"], empty.flash.reads, empty.iops) == (0, 0, None)
    said = flashweir("simulate", READS, *SETTINGS, "--set", "precondition=empty").out
    assert "reads of nothing" in said
    assert "100.00% of the pages read (2,000), without flash" in said
    assert "reads of nothing" not in flashweir("simulate", READS, *SETTINGS).out


def test_a_trimmed_page_is_not_there_any_more() -> None:
    trimmed = api.simulate("random:span=1MiB,size=4KiB,count=5000,write=0.1,trim=0.5,seed=1", **DRIVE)
    assert 0 < trimmed["unmapped_reads"]["share"] < 1
    assert trimmed["preexisting_pages"] > 0


def test_a_workload_without_reads_has_no_share() -> None:
    written = api.simulate("random:span=32MiB,size=4KiB,count=2000,write=1,seed=1", **DRIVE)
    assert written["unmapped_reads"] == {"pages": 0, "share": None}
    assert written["preexisting_pages"] == 0


def test_other_states_are_refused_with_those_there_are() -> None:
    message = refused("simulate", READS, *SETTINGS, "--set", "precondition=on-write")
    assert "precondition" in message
    assert "on-read" in message


@pytest.mark.parametrize("ftl", ["page", "dftl", "fast"])
def test_a_replay_on_a_simulated_drive_reads_flash(ftl: str) -> None:
    # 4 KiB in less than the time of a read of flash would be a drive that answers from nothing.
    drive = f"sim:slc-2006,capacity=64MiB,op_ratio=1,ftl.kind={ftl}"
    found = api.replay(READS, drive, timing="asap", depth=1)
    assert found["latency_us"]["read"]["p50"] > 20
    assert found["mb_per_s"] < 200
    free = api.replay(READS, f"{drive},precondition=empty", timing="asap", depth=1)
    assert free["latency_us"]["read"]["max"] == 0
