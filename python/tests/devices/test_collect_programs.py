"""`flashweir collect` by other programs than the kernel's tracer."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from test_collect import asked, fio, logged, loop, rows, run, tracefs, works

from flashweir import FlashweirError, collect

pytestmark = pytest.mark.alone

# Fixtures.
__all__ = ["loop", "tracefs"]


@pytest.fixture
def debugfs() -> Iterator[None]:
    """Both programs look for their files there and nowhere else."""
    place = Path("/sys/kernel/debug")
    mounted = not any(place.iterdir())
    if mounted and not works("mount", "-t", "debugfs", "none", place):
        pytest.skip("debugfs can't be mounted")
    yield
    if mounted:
        # A program that looks into its tracing folder mounts tracefs there.
        works("umount", place / "tracing")
        run("umount", place)


@pytest.mark.parametrize("method", ["bpftrace", "blktrace"])
@pytest.mark.usefixtures("debugfs")
def test_other_programs_collect_the_same(loop: Path, tmp_path: Path, method: str) -> None:
    trace = tmp_path / "trace.parquet"
    jobs = ["rw=randrw bs=4k size=48M io_size=4M iodepth=4", "rw=randwrite bs=8k size=1M io_size=2M iodepth=4"]
    try:
        summary = collect(loop, trace, command=fio(loop, tmp_path, *jobs), method=method, allow_drops=True)
    except FlashweirError as error:
        # Neither installed everywhere nor allowed under kernel lockdown.
        pytest.skip(f"{error}")
    assert summary["method"] == method
    found = rows(trace)
    wanted, got = logged(tmp_path), asked([row for row in found if row["process"] == "fio"])
    # The kernel skips events for bpftrace where an interrupt meets another of its programs: no more may be missing.
    assert not got - wanted
    assert (wanted - got).total() <= summary["lost_events"]
    halves = sum(row["completion_ns"] is None for row in found)
    assert summary["lost_events"] == (halves + summary["issued_before"] if method == "bpftrace" else 0)
    assert all(row["completion_ns"] > row["issue_ns"] for row in found if row["completion_ns"])
    assert Path(f"/sys/block/{loop.name}/trace/enable").read_text() == "0\n"
