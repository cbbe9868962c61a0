"""Time of runs with a policy in Python, by that of runs with the same policy in Rust.

    python benches/external.py [NAME ...]

CPU time of the thread, medians of five pairs, run in turn; results of both are equal. A row has collections a second of
simulated time and of time of the run in Rust, the ratio of the times, calls of the function and its cost for each
collection, and the ratio where the run in Rust makes 10,000 collections a second.
"""

import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

import flashweir
from flashweir.external import BackgroundView, DestageView, PlannerView, VictimView

DRIVE = {"capacity": "1GiB", "op_ratio": 0.15, "precondition": "full", "channels": 4}
SPARE_BLOCKS = 20
BUFFER = {"buffer.bytes": "1MiB", "gc.spare_blocks": SPARE_BLOCKS}
# Dies that are idle now and then. Blocks of 64 pages, so that collections are many.
OPEN = {
    **DRIVE,
    "capacity": "256MiB",
    "host.mode": "open",
    "buffer.bytes": "256KiB",
    "pages_per_block": 64,
    "op_ratio": 0.3,
}
PATIENCE_NS = 1_000_000
UNTIL = 8
# 10,000 collections a second.
COLLECTION_S = 1e-4


def oldest(view: VictimView) -> int:
    """`gc.victim=fifo`."""
    return int(view.blocks[view.filled_at.argmin()])


def filling(view: PlannerView) -> NDArray[np.int64]:
    """`gc.planner=cycle-filling`."""
    return np.flatnonzero(view.spare_blocks <= SPARE_BLOCKS)


def forwarding(view: PlannerView) -> NDArray[np.int64]:
    """`gc.planner=forwarding`."""
    begins = view.buffer_full & view.others_must & (view.spare_blocks <= SPARE_BLOCKS)
    return np.flatnonzero((view.dirty_pages == 0) & (view.under_way | begins))


def whenever(view: BackgroundView) -> dict[str, Any]:
    """`background.collect`, asked whenever the view changes."""
    wants = (view.idle_since_ns >= 0) & (view.under_way | (view.spare_blocks < UNTIL))
    due = view.idle_since_ns + PATIENCE_NS
    now = np.flatnonzero(wants & (due <= view.now_ns))
    later = due[wants & (due > view.now_ns)]
    return {"steps": [(unit, "collect") for unit in now], "ask_again_ns": int(later.min()) if len(later) else None}


def once_ready(view: BackgroundView) -> dict[str, Any]:
    """`background.collect`, asked when one more unit is ready."""
    wants = view.under_way | (view.spare_blocks < UNTIL)
    wants &= (view.idle_since_ns >= 0) & (view.idle_since_ns <= view.now_ns - PATIENCE_NS)
    steps = [(unit, "collect") for unit in wants.nonzero()[0].tolist()]
    return {"steps": steps, "ask_spare_below": UNTIL, "ask_idle_ns": PATIENCE_NS}


def once_idle(view: DestageView) -> bool | int:
    """`buffer.destage=idle`."""
    if view.idle_since_ns is None:
        return False
    due = view.idle_since_ns + 100_000
    return due <= view.now_ns or due


CLOSED = "random:span=1GiB,size=4KiB,count=300000,write=1"
SLOW = "random:span=256MiB,size=4KiB,write=1"
COLLECT = {**OPEN, "background.collect.after": f"{PATIENCE_NS}ns", "background.collect.until": UNTIL}
# Name, workload, key of the function, the function; settings in Rust, and others of the run in Python.
Function = Callable[[Any], object]
Case = tuple[str, str, str, Function, dict[str, Any], dict[str, Any]]
CASES: list[Case] = [
    *(
        (
            f"victim, {pages} pages",
            CLOSED,
            "gc.victim",
            oldest,
            {**DRIVE, "gc.victim": "fifo", **shape},
            {**DRIVE, **shape},
        )
        for pages in (64, 256, 1024)
        for shape in [{"pages_per_block": pages}]
    ),
    (
        "planner, together",
        CLOSED,
        "gc.planner",
        filling,
        {**DRIVE, "gc.planner": "cycle-filling", **BUFFER},
        {**DRIVE, "gc.planner_together": True, **BUFFER},
    ),
    (
        "planner, ahead",
        CLOSED,
        "gc.planner",
        forwarding,
        {**DRIVE, "gc.planner": "forwarding", **BUFFER},
        {**DRIVE, **BUFFER},
    ),
    *(
        (
            f"{name}, {rate}/s",
            f"{SLOW},count=60000,rate={rate}",
            "background.kind",
            function,
            COLLECT,
            OPEN,
        )
        for rate in (500, 3000)
        for name, function in (("background, whenever", whenever), ("background, once ready", once_ready))
    ),
    (
        "destage",
        f"{SLOW},count=100000,rate=2500",
        "buffer.destage",
        once_idle,
        {**OPEN, "buffer.destage": "idle", "buffer.idle_after": "100us"},
        OPEN,
    ),
]


def timed(workload: str, settings: dict[str, Any]) -> tuple[float, flashweir.Result]:
    """CPU time of the run itself, s."""
    started = time.thread_time()
    result = flashweir.simulate(workload, set=settings)
    return time.thread_time() - started, result


def calls_of(workload: str, key: str, function: Function, settings: dict[str, Any]) -> int:
    """Calls of the function in a run."""
    calls = 0

    def counted(view: object) -> object:
        nonlocal calls
        calls += 1
        return function(view)

    timed(workload, {**settings, key: counted})
    return calls


def row(case: Case) -> str:
    """The row of a case."""
    name, workload, key, function, rust, python = case
    pairs = []
    for _ in range(5):
        (in_rust, first), (in_python, second) = timed(workload, rust), timed(workload, {**python, key: function})
        if first.flash != second.flash:
            raise SystemExit(f"{name}: the policies differ")
        pairs.append((in_rust, in_python))
    erases = first.flash.erases
    calls = calls_of(workload, key, function, python)
    rust_s = statistics.median(pair[0] for pair in pairs)
    more_s = statistics.median(pair[1] - pair[0] for pair in pairs) / erases
    ratio = statistics.median(pair[1] / pair[0] for pair in pairs)
    return (
        f"{name:32}{erases / first.simulated_s:9,.0f}{erases / rust_s:9,.0f}{ratio:8.2f}{calls / erases:8.2f}"
        f"{more_s * 1e6:9.1f}{1 + more_s / COLLECTION_S:8.2f}"
    )


if __name__ == "__main__":
    print(f"{'':32}{'sim. 1/s':>9}{'1/s':>9}{'ratio':>8}{'calls':>8}{'us':>9}{'at 10k':>8}")
    for case in CASES:
        if not sys.argv[1:] or any(case[0].startswith(name) for name in sys.argv[1:]):
            print(row(case), flush=True)
