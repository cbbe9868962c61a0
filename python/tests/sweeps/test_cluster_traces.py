"""Sweeps on a cluster whose workers do not see the traces, or lack memory."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import distributed
import pytest
from test_cluster import TINY, client, cluster, eventually, everywhere, is_clean, places, results, spec

from flashweir import FlashweirError
from flashweir.sweeps import cluster as on_cluster
from flashweir.sweeps import sweep

# Fixtures.
__all__ = ["client", "cluster"]


@pytest.fixture
def elsewhere(client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder that is current here and not on the workers: paths through /proc/self/cwd lead to different files."""
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    ours.mkdir()
    theirs.mkdir()
    folder = str(theirs)

    def moving() -> Any:
        class Moving(distributed.WorkerPlugin):
            name = "moving"

            def setup(self, worker: Any) -> None:  # noqa: ARG002
                os.chdir(folder)

        return Moving()

    monkeypatch.chdir(ours)
    client.register_plugin(moving())
    yield ours
    client.unregister_worker_plugin("moving")


HIDDEN = "/proc/self/cwd/hidden.csv"


COLUMNS = "time=0:us,lba=2:bytes,size=3:bytes,op=4"


def rows(count: int) -> str:
    return "".join(f"{n},0,{n * 4096 % (1 << 24)},4096,W\n" for n in range(count))


def test_a_trace_that_workers_do_not_see_arrives_by_content(cluster: Any, client: Any, elsewhere: Path) -> None:
    (elsewhere / "hidden.csv").write_text(rows(500))
    # Another file, of the same size.
    (elsewhere.parent / "theirs" / "hidden.csv").write_text(rows(500).replace("W", "R"))
    given = spec({"hidden": HIDDEN}, columns=COLUMNS, axes={"channels": [1, 2]}, seeds=6)
    here = sweep(given)
    there = sweep(given, on=cluster.scheduler_address)
    assert here["error"].null_count() == here.height == 12
    assert results(there) == results(here)
    assert {result["workloads"][0]["workload"] for result in results(there).values()} == {"hidden.csv"}
    eventually(lambda: is_clean(cluster, client))


def test_traces_are_sent_again_to_workers_that_come_back(cluster: Any, client: Any, elsewhere: Path) -> None:
    (elsewhere / "hidden.csv").write_text(rows(200_000))
    killed: list[int] = []

    def kill(state: Any) -> None:
        cluster.scale(2)
        if len(killed) < 2 and state.done > 8 * len(killed):
            for pid in set(everywhere(client, os.getpid)) - set(killed):
                killed.append(pid)
                os.kill(pid, signal.SIGKILL)

    given = spec({"hidden": HIDDEN}, columns=COLUMNS, seeds=40)
    frame = sweep(given, on=cluster.scheduler_address, progress=kill)
    assert len(killed) >= 2
    assert places(frame) == [(0, seed) for seed in range(1, 41)]
    assert frame["error"].null_count() == 40
    eventually(lambda: is_clean(cluster, client))


def test_a_run_that_fails_is_a_failed_row(cluster: Any, elsewhere: Path) -> None:
    (elsewhere / "hidden.csv").write_text("1,0,0,4096,W\nnonsense\n")
    given = spec({"seen": str(elsewhere / "hidden.csv"), "hidden": HIDDEN}, columns=COLUMNS)
    here, there = sweep(given), sweep(given, on=cluster.scheduler_address)
    assert here["error"].null_count() == 0
    assert there["error"].to_list() == here["error"].to_list()
    assert there["error"][1].startswith(f"{HIDDEN}, line 2: ")


def test_a_trace_that_goes_or_changes_is_said(cluster: Any, tmp_path: Path) -> None:
    backend = on_cluster.cluster_backend(cluster.scheduler_address)()
    assert isinstance(backend, on_cluster.ClusterBackend)
    trace = tmp_path / "trace.csv"
    trace.write_text("1,0,0,4096,W\n")
    try:
        with pytest.raises(FlashweirError, match=r"trace.csv: changed while the sweep ran"):
            backend._content(on_cluster.Trace(str(trace), str(trace), 13, "0" * 32))
    finally:
        backend.close()


def test_a_run_that_needs_more_than_a_worker_has_fails(cluster: Any) -> None:
    large = "random:span=512GiB,size=4KiB,count=200000"
    given = spec({"large": large, "small": TINY}, axes={"device": {"device": {"capacity": "1TiB"}}}, seeds=2)
    frame = sweep(given, on=cluster.scheduler_address)
    errors = dict(frame.select("workload", "error").unique().iter_rows())
    assert errors["small"] is None
    assert errors["large"].startswith("needs about ")
    assert errors["large"].endswith("has 1.0 GiB in all")
