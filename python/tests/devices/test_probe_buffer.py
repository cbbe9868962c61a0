"""Write buffer by reading back what was written last; SLC cache by the knee of a first fill."""

import json

import numpy as np
import pytest

from flashweir import _native
from flashweir.diagnosis.active.session import MIB, Bench, Course
from flashweir.probing.fill import knee
from flashweir.probing.questions import slc_cache
from flashweir.probing.recent import recently_written

DRIVE = "sim:tlc,capacity=64MiB,channels=2,chips=1,dies=1,planes=1,page=16KiB,pages_per_block=32,op_ratio=0.2"


def opened(settings: str) -> Bench:
    return Bench(_native.Session(json.dumps({"target": f"{DRIVE},{settings}", "erase": None, "seed": 1})), 1)


@pytest.mark.parametrize("size", [16 << 10, 256 << 10, 1 << 20, 5 << 20])
def test_a_buffer_is_what_is_read_without_flash(size: int) -> None:
    bench = opened(f"buffer.bytes={size}")
    found = recently_written(bench, 32 * MIB, 60_000.0)
    assert found.low <= size <= found.high
    assert found.high - found.low <= 0.05 * size


def test_a_drive_without_a_buffer_reads_all_from_flash() -> None:
    assert recently_written(opened("buffer.bytes=0"), 32 * MIB, 60_000.0).value == 0


def course(*rates: float) -> Course:
    """20 MB at each time of a byte, ns, a point every 1 MB."""
    steps = np.repeat(rates, 20) * 1e6
    return Course(np.arange(len(steps) + 1) * 1e6, np.concatenate([[0.0], np.cumsum(steps)]))


def test_the_knee_is_where_writes_become_slower() -> None:
    found = knee(course(2.0, 7.0))
    assert found is not None
    assert (found.volume, found.slower, found.grain) == (20e6, pytest.approx(3.5), 1e6)
    straight = knee(course(2.0, 2.0))
    assert straight is not None
    assert straight.slower == pytest.approx(1.0)
    assert knee(Course(np.arange(5.0), np.arange(5.0))) is None


@pytest.mark.parametrize(
    ("rates", "buffered", "size"),
    [((2.0, 7.0), 0.0, 20e6), ((2.0, 7.0), 14e6, 0), ((2.0, 7.0), 1e6, 18.6e6), ((2.0, 2.8), 0.0, 0)],
)
def test_an_slc_cache_is_a_knee_that_the_buffer_does_not_explain(
    rates: tuple[float, ...], buffered: float, size: float
) -> None:
    assert slc_cache(course(*rates), 40e6, buffered).value == pytest.approx(size)
