"""Time of runs with a policy in Python over that with the same policy in Rust, by collections a second of the latter.

    python benches/external.py

Medians of five pairs, run in turn; results of both are equal.
"""

import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

import flashweir
from flashweir.external import PlannerView, VictimView

DRIVE = {"capacity": "1GiB", "op_ratio": 0.15, "precondition": "full", "channels": 4}
SPARE_BLOCKS = 20
BUFFER = {"buffer.bytes": "1MiB", "gc.spare_blocks": SPARE_BLOCKS}


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


CASES: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    *(
        (f"victim, {pages} pages a block", {"gc.victim": "fifo", **shape}, {"gc.victim": oldest, **shape})
        for pages in (64, 256, 1024)
        for shape in [{"pages_per_block": pages}]
    ),
    (
        "planner, together",
        {"gc.planner": "cycle-filling", **BUFFER},
        {"gc.planner": filling, "gc.planner_together": True, **BUFFER},
    ),
    ("planner, ahead", {"gc.planner": "forwarding", **BUFFER}, {"gc.planner": forwarding, **BUFFER}),
]


def timed(settings: dict[str, Any]) -> tuple[float, flashweir.Result]:
    """Wall time of the run itself, s."""
    started = time.perf_counter()
    result = flashweir.simulate("random:span=1GiB,size=4KiB,count=600000,write=1", set={**DRIVE, **settings})
    return time.perf_counter() - started, result


def median(pairs: list[tuple[float, float]], of: Callable[[tuple[float, float]], float]) -> float:
    """Median over the pairs."""
    return statistics.median(map(of, pairs))


if __name__ == "__main__":
    for name, rust, python in CASES:
        pairs = []
        for _ in range(5):
            (in_rust, first), (in_python, second) = timed(rust), timed(python)
            if first.flash != second.flash:
                raise SystemExit(f"{name}: the policies differ")
            pairs.append((in_rust, in_python))
        rate = first.flash.erases / median(pairs, lambda pair: pair[0])
        ratio = median(pairs, lambda pair: pair[1] / pair[0])
        print(f"{name:28} {rate:10,.0f} collections/s   {ratio:5.2f} times")
