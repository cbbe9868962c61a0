"""Threads of `flashweir.fit` with queues of limited depth: a held-back request enters when its queue has room."""

import numpy as np
import numpy.typing as npt
import pytest

from flashweir import Drive
from flashweir.fitting import load
from flashweir.fitting.host import Host
from flashweir.fitting.points import Point, Stream, Workload
from flashweir.fitting.traffic import Source

CAP = 16
MS = 1_000_000
ARBITRATIONS = ("arrival", "round-robin", "weighted", "fair")
# The drive can do the first of them.
RATES = (500.0, 4_000.0, 40_000.0)


def drive(arbitration: str = "arrival", tenants: int = 3) -> Drive:
    return Drive(
        channels=2,
        chips=2,
        pages_per_block=32,
        op_ratio=0.3,
        capacity="32MiB",
        precondition="steady",
        seed=1,
        tenants=[f"thread{number}" for number in range(tenants)],
        set={
            "host.arbitration": arbitration,
            "host.slots": 8,
            **({"host.weights": "1,2,3"} if arbitration == "weighted" else {}),
        },
    )


def point(rate: float | None, origin: str = "issue") -> Point:
    streams = (Stream(0.7, threads=2), Stream(0.5, rate=300.0)) if rate else (Stream(0.7, threads=2), Stream(0.2))
    return Point("p", "p", Workload(streams), "rate" if rate else "saturated", rate or 0.0, CAP, False,
                 "arrival" if origin == "arrival" else "issue", {})  # fmt: skip


def run(one: Drive, at: Point, stops_ms: tuple[int, ...]) -> tuple[Host, npt.NDArray[np.void]]:
    start = one.now_ns
    host = Host(one, Source(at, one.capacity_bytes, 5), at.cap, start + stops_ms[-1] * MS)
    for stop in stops_ms:
        host.run(start + stop * MS)
    found = host.completions()
    return host, found[np.argsort(found["number"])]


@pytest.mark.parametrize("rate", RATES)
def test_a_request_enters_when_it_is_due_or_its_queue_has_room(rate: float) -> None:
    with drive() as one:
        host, _ = run(one, point(rate), (150,))
        one.drain()
        done = np.concatenate([host.completions(), one.poll()])
    done = done[np.argsort(done["number"])]
    assert len(done) == len(host.due_ns)
    due = np.array(host.due_ns)
    for thread in range(3):
        mine = done["tenant"] == thread
        entry, end = done["issue_ns"][mine].astype(np.int64), np.sort(done["complete_ns"][mine].astype(np.int64))
        expected = due[mine].copy()
        # The n-th enters no sooner than all but `CAP` - 1 of those before are complete.
        expected[CAP:] = np.maximum(expected[CAP:], end[: max(0, len(end) - CAP)])
        assert entry.tolist() == expected.tolist()
    assert (done["issue_ns"] > due).any() == (rate > RATES[0])


@pytest.mark.parametrize("rate", [*RATES, None])
def test_stops_on_the_way_change_nothing(rate: float | None) -> None:
    with drive() as one, one.fork() as other:
        _, whole = run(one, point(rate), (100,))
        _, stopped = run(other, point(rate), (1, 7, 30, 31, 99, 100))
    # Numbers say how far ahead a thread was submitted; times do not depend on it.
    names = ["issue_ns", "complete_ns", "tenant", "offset"]
    assert np.sort(whole[names]).tolist() == np.sort(stopped[names]).tolist()


@pytest.mark.parametrize("arbitration", ARBITRATIONS)
def test_the_drive_gets_what_a_trace_of_the_entries_gives(arbitration: str) -> None:
    with drive(arbitration) as one, one.fork() as other:
        _, stepped = run(one, point(None), (100,))
        other.submit(op=stepped["op"], offset=stepped["offset"], length=4096, time_ns=stepped["issue_ns"],
                     tenant=stepped["tenant"])  # fmt: skip
        other.drain()
        replayed = other.poll()
    known = {int(row["number"]): int(row["complete_ns"]) for row in replayed}
    first = min(known)
    # Requests outstanding at the end are missing in the trace: what they do to those before is little, not nothing.
    same = [known[first + at] == int(row["complete_ns"]) for at, row in enumerate(stepped[: len(stepped) // 2])]
    assert all(same)


@pytest.mark.parametrize("arbitration", ARBITRATIONS)
def test_littles_law_at_saturation(arbitration: str) -> None:
    with drive(arbitration) as one:
        _, done = run(one, point(None), (1_000,))
        done = done[done["complete_ns"] >= 200 * MS]
    throughput = len(done) / 0.8
    latency_s = float((done["complete_ns"] - done["issue_ns"]).mean()) / 1e9
    assert 3 * CAP / throughput == pytest.approx(latency_s, rel=0.02)


@pytest.mark.parametrize("arbitration", ARBITRATIONS)
def test_littles_law_in_the_metrics_of_a_point(arbitration: str) -> None:
    at = Point("p", "p", Workload((Stream(1.0, threads=3),)), "saturated", 0.0, CAP, True, "issue", {"iops": 2_000.0})
    with drive(arbitration) as one:
        found = load.run(one, at, load.Effort(samples=2_000, requests=2_000), 3)
    assert 3 * CAP / found["iops"] == pytest.approx(found["write_mean"] / 1e6, rel=0.02)


def test_a_latency_from_arrival_has_the_wait_at_the_host() -> None:
    with drive() as one, one.fork() as other:
        issue = load.run(one, point(RATES[-1]), load.Effort(samples=300, requests=3_000), 3)
        arrival = load.run(other, point(RATES[-1], "arrival"), load.Effort(samples=300, requests=3_000), 3)
    assert arrival["iops"] == issue["iops"]
    assert arrival["write_mean"] > 2 * issue["write_mean"]
