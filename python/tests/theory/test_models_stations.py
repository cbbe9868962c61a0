"""The simulator against a model of managed channels whose dies share buses: every completion is the same."""

from random import Random

import pytest

import flashweir
from research.models.stations.drive import Access, Drive, Planner, Shape
from research.models.stations.flash import Order, Times

PAGE = 4096
# Without a common measure, so that two dies seldom do something at the same instant by chance.
TIMES = Times(read=20_011, program=200_017, erase=1_500_041, transfer=10_003)
ORDERS: list[Order] = ["fifo", "read-first", "preempt-gc"]
PLANNERS: list[Planner] = ["forwarding", "cycle-filling"]


def settings(shape: Shape) -> dict[str, object]:
    """The drive as the simulator takes it."""
    pages = shape.channels * shape.dies * shape.data_blocks * shape.per_block
    times = shape.times
    return {
        "page": PAGE,
        "channels": shape.channels,
        "dies": shape.dies,
        "pages_per_block": shape.per_block,
        "capacity": pages * PAGE,
        "op_ratio": shape.spare_blocks / shape.data_blocks,
        "precondition": "full",
        "alloc.order": "CWDP",
        "timing.read": times.read,
        "timing.program": times.program,
        "timing.erase": times.erase,
        "timing.bus": 0,
        "timing.command": times.transfer,
        "gc.planner": shape.planner,
        "gc.spare_blocks": shape.threshold,
        "buffer.bytes": shape.buffer * PAGE,
        "host.mode": "open",
        "sched.kind": "fifo" if shape.order == "fifo" else "read-first",
        **({"sched.preempt_gc": True} if shape.order == "preempt-gc" else {}),
    }


def stream(random: Random, shape: Shape, *, reads: float, load: float, count: int = 300) -> list[Access]:
    """Reads and writes of random pages at random times; `load` is that of the programs alone."""
    pages = shape.channels * shape.dies * shape.data_blocks * shape.per_block
    gap = int((shape.times.program + shape.times.transfer) / load / (shape.channels * shape.dies))
    accesses, time = [], 0
    for _ in range(count):
        time += random.randrange(1, 2 * gap)
        accesses.append(Access(time, random.random() < reads, random.randrange(pages)))
    return accesses


def simulated(shape: Shape, accesses: list[Access]) -> list[int]:
    """When the simulator has completed each request, ns."""
    drive = flashweir.Drive(set=settings(shape), verify=True)
    drive.submit(
        op=["read" if access.reads else "write" for access in accesses],
        offset=[access.page * PAGE for access in accesses],
        length=PAGE,
        time_ns=[access.time for access in accesses],
    )
    drive.drain()
    done = drive.poll()
    ends = dict(zip(done["number"].tolist(), done["complete_ns"].tolist(), strict=True))
    return [ends[number] for number in range(len(accesses))]


@pytest.mark.parametrize("planner", PLANNERS)
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("dies", [1, 2])
def test_every_request_is_done_when_the_model_says(planner: Planner, order: Order, dies: int) -> None:
    collections = dict.fromkeys(("must", "ahead", "followed", "erases"), 0)
    for seed, (reads, load) in enumerate([(0.4, 1.4), (0.4, 0.9), (0.7, 2.5), (0.0, 1.2), (0.2, 0.7)]):
        shape = Shape(2, dies, 4, 8, 2, TIMES, planner, order, buffer=4, threshold=2)
        accesses = stream(Random(seed), shape, reads=reads, load=load)  # noqa: S311 - no secret
        drive = Drive(shape, accesses)
        assert simulated(shape, accesses) == drive.run(), f"seed {seed}"
        collections = {name: count + drive.counts[name] for name, count in collections.items()}
    assert collections["must"] > 50
    assert collections["ahead" if planner == "forwarding" else "followed"] > 100


@pytest.mark.parametrize("planner", PLANNERS)
def test_drives_of_all_shapes_agree_with_the_model(planner: Planner) -> None:
    collections = 0
    for seed in range(60):
        random = Random(seed)  # noqa: S311 - no secret
        shape = Shape(
            channels=random.choice([1, 2, 3, 4]),
            dies=random.choice([1, 2, 2, 3]),
            per_block=random.choice([2, 4, 8]),
            data_blocks=random.choice([6, 8, 12]),
            spare_blocks=random.choice([1, 2, 3, 4]),
            times=Times(
                random.choice([3_001, 20_011, 60_013]),
                random.choice([90_001, 200_017, 800_029]),
                random.choice([300_007, 1_500_041]),
                random.choice([10_003, 40_009, 106_019]),
            ),
            planner=planner,
            order=random.choice(ORDERS),
            buffer=random.choice([1, 2, 4, 8, 16]),
            threshold=random.choice([0, 1, 2, 4]),
        )
        accesses = stream(random, shape, reads=random.choice([0, 0.2, 0.5, 0.8]), load=random.choice([0.4, 1, 2]))
        drive = Drive(shape, accesses)
        expected = drive.run()
        assert simulated(shape, accesses) == expected, f"seed {seed}: {shape}"
        collections += drive.counts["must"]
    assert collections > 500


def test_reads_first_changes_when_reads_are_done() -> None:
    """The orders are three: a model that ignored them would agree with nothing."""
    ends = set()
    for order in ORDERS:
        shape = Shape(2, 2, 4, 8, 2, TIMES, "cycle-filling", order, buffer=4, threshold=2)
        accesses = stream(Random(1), shape, reads=0.5, load=1.4)  # noqa: S311 - no secret
        ends.add(tuple(Drive(shape, accesses).run()))
    assert len(ends) == 3
