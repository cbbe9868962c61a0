"""Latencies over the life of a drive."""

from typing import Any

import pytest

from flashweir import lifetime, simulate
from flashweir.endurance.latency import Ages, Latencies

DRIVE: dict[str, Any] = {
    "capacity": "16MiB",
    "pages_per_block": 16,
    "op_ratio": 0.25,
    "precondition": "full",
    "channels": 1,
}
WORKLOAD = "random:span=16MiB,size=4KiB,count=20000,write=0.2"
AGES = {**DRIVE, "ageing.kind": "power-law"}


def test_latencies_age_with_the_cells() -> None:
    found = lifetime(WORKLOAD, cycles=3000, seeds=1, set=AGES)
    first, last = found.curve[0], found.curve[-1]
    for name in ("read_us", "read_p99_us", "read_p999_us", "write_p99_us"):
        assert last[name] > 1.2 * first[name], name
    new, old = (
        simulate(WORKLOAD, seed=1, set={**AGES, "ageing.cycles": cycles, "ageing.retention": 30})
        for cycles in (0, 3000)
    )
    assert first["read_us"] == pytest.approx(new.latency_us.read.mean, rel=0.1)
    assert last["read_us"] == pytest.approx(old.latency_us.read.mean, rel=0.15)
    # Data that is new needs fewer retries.
    fresh = lifetime(WORKLOAD, cycles=3000, retention_days=0.001, seeds=1, set=AGES)
    assert fresh.curve[-1]["read_us"] < 0.85 * last["read_us"]


def test_latencies_of_cells_that_do_not_age_are_those_of_the_run() -> None:
    found = lifetime(WORKLOAD, cycles=300, seeds=1, set=DRIVE)
    run = simulate(WORKLOAD.replace("count=20000", "count=200000"), seed=1, set=DRIVE)
    for kind in ("read", "write"):
        assert found.curve[-1][f"{kind}_us"] == pytest.approx(run.latency_us[kind].mean, rel=0.1)
        assert found.curve[-1][f"{kind}_p99_us"] == pytest.approx(run.latency_us[kind].p99, rel=0.05)


def test_a_piece_has_the_requests_of_the_longer_stretch_alone() -> None:
    longer = Latencies(2000.0, {1000: 10, 5000: 90, 9000: 2})
    piece = longer - Latencies(1000.0, {1000: 10, 5000: 41})
    assert piece.counts == {5000: 49, 9000: 2}
    assert piece.numbers() == {"us": pytest.approx(1000 / 51), "p99_us": 9.0, "p999_us": 9.0}
    assert (longer - longer).numbers() == {"us": None, "p99_us": None, "p999_us": None}


def test_between_two_ages_latencies_go_on_evenly() -> None:
    none = {"us": None, "p99_us": None, "p999_us": None}
    low, high = ({"us": one, "p99_us": 2 * one, "p999_us": 3 * one} for one in (10.0, 30.0))
    ages = Ages(((0.0, {"read": low, "write": none}), (100.0, {"read": high, "write": none})))
    assert ages.at(25, "read") == {"us": 15.0, "p99_us": 30.0, "p999_us": 45.0}
    assert ages.at(200, "read") == high
    assert ages.at(25, "write") == none
