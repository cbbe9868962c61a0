"""Sweeps on real Dask clusters of several processes on this machine."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import dask
import distributed
import polars as pl
import pytest
from conftest import ENDLESS, SHIPPED_TRACE, SMALL_DRIVE
from deadly_runs import deadly

from flashweir import ConfigError, FlashweirError
from flashweir.sweeps import cluster as on_cluster
from flashweir.sweeps import deployment, sweep
from flashweir.sweeps.frame import SweepFrame

SETTINGS = {**SMALL_DRIVE, "precondition": "empty"}
TINY = "random:span=32MiB,size=4KiB,count=500"
# A few tenths of a second.
MIDDLE = "random:span=32MiB,size=4KiB,count=3000000"
MEMORY_LIMIT = 1 << 30


def quietly(make: Callable[[], Any]) -> Any:
    """Clusters warn of what does not matter here, such as ports that others use."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return make()


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Two worker processes. One that takes long to come back is waited for.

    After 15 s, the default, it is closed as lost, even if it has just come and begun a run, which then counts a death.
    """
    options = {"distributed.scheduler.allowed-failures": 1, "distributed.logging.distributed": "critical"}
    with dask.config.set({**options, "distributed.deploy.lost-worker-timeout": "1h"}):
        made = quietly(
            lambda: distributed.LocalCluster(
                n_workers=2,
                threads_per_worker=1,
                processes=True,
                dashboard_address=None,
                host="127.0.0.1",
                memory_limit=MEMORY_LIMIT,
                silence_logs=100,
            )
        )
        yield made
        made.close()


@pytest.fixture
def client(cluster: Any) -> Iterator[Any]:
    with distributed.Client(cluster.scheduler_address, set_as_default=False) as made:
        yield made


@pytest.fixture
def backends(monkeypatch: pytest.MonkeyPatch) -> list[on_cluster.ClusterBackend]:
    """Every backend that the test makes."""
    made: list[on_cluster.ClusterBackend] = []

    class Seen(on_cluster.ClusterBackend):
        def __init__(self, *args: Any) -> None:
            super().__init__(*args)
            made.append(self)

    monkeypatch.setattr(on_cluster, "ClusterBackend", Seen)
    return made


def spec(workloads: Any = TINY, **more: Any) -> dict[str, Any]:
    return {"workloads": workloads, "set": SETTINGS, **more}


def places(frame: SweepFrame) -> list[tuple[int, int]]:
    return list(frame.select("point", "seed").iter_rows())


def without_wall_times(frame: SweepFrame) -> pl.DataFrame:
    return frame.select(name for name in frame.columns if not name.endswith("wall_s"))


def results(frame: SweepFrame) -> dict[tuple[int, int], dict[str, Any]]:
    found = {}
    for row, result in frame.results():
        assert (row["point"], row["seed"]) not in found
        found[row["point"], row["seed"]] = {name: v for name, v in result.items() if not name.endswith("wall_s")}
    return found


def eventually(check: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not check():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def everywhere(client: Any, call: Callable[..., Any], *args: Any) -> list[Any]:
    """Value of a function on each worker that answers: some are just being killed."""
    return list(client.run(call, *args, on_error="ignore").values())


def started(cluster: Any) -> list[int]:
    """Worker processes that their nannies have started: one that dies before is never started again."""
    running = distributed.core.Status.running
    # Another thread takes processes away, and their numbers before their status: each is read once.
    made = [(nanny.status, nanny.process) for nanny in list(cluster.workers.values())]
    numbers = [process.pid for status, process in made if process and status == process.status == running]
    return sorted(number for number in numbers if number is not None)


def is_clean(cluster: Any, client: Any) -> bool:
    """True if nothing of any sweep is left: tasks, running simulations, traces, files."""

    def left(dask_worker: Any) -> int:
        from flashweir.sweeps import worker

        held = len(worker.process(dask_worker).traces)
        return held + len(dask_worker.state.tasks) + len([*Path(dask_worker.local_directory).glob("flashweir-*")])

    return not cluster.scheduler.tasks and not any(everywhere(client, left))


def test_the_frame_is_that_of_a_local_sweep(cluster: Any, client: Any) -> None:
    given = spec(
        {"random": TINY, "trace": str(SHIPPED_TRACE)},
        axes={"gc.victim": ["greedy", "fifo"], "channels": [1, 2]},
        seeds=3,
        wrap=True,
        derived={"share": "flash.gc.programs / flash.programs"},
    )
    here = sweep(given)
    there = sweep(given, on=cluster.scheduler_address)
    assert here["error"].null_count() == here.height == 24
    assert without_wall_times(there).equals(without_wall_times(here))
    assert results(there) == results(here)
    eventually(lambda: is_clean(cluster, client))


def test_tiny_runs_go_together_and_long_ones_alone(cluster: Any, backends: list[Any]) -> None:
    frame = sweep(spec(seeds=400), on=cluster.scheduler_address)
    assert frame["error"].null_count() == frame.height == 400
    assert backends[0].tasks < 40
    slow = backends[0]
    slow._seconds = {"long": 1.0}
    run = type("Run", (), {"workload": "long"})
    slow._todo.extend(type("Planned", (), {"run": run})() for _ in range(3))
    assert [len(slow._next()[0]) for _ in range(3)] == [1, 1, 1]


def test_the_grid_is_not_held_in_memory(cluster: Any, backends: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(on_cluster, "FIRST_RUNS", 2)
    monkeypatch.setattr(on_cluster, "MAX_RUNS", 2)
    held = [0]

    def watch(_: Any) -> None:
        if backends:
            held.append(sum(len(batch.runs) for batch in backends[0]._batches.values()) + len(backends[0]._todo))

    sweep(spec(seeds=60), on=cluster.scheduler_address, progress=watch)
    # Three batches for each of two threads, and one at hand.
    assert 0 < max(held) <= 14


def test_killed_workers_cost_no_result(
    cluster: Any, client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Many batches, so that workers have some to do whenever one of them is killed.
    monkeypatch.setattr(on_cluster, "MAX_RUNS", 2)
    killed: list[int] = []

    def kill(state: Any) -> None:
        new = [pid for pid in started(cluster) if pid not in killed]
        if new and len(killed) < 3 and state.done >= 4 * (len(killed) + 1):
            killed.append(new[0])
            os.kill(new[0], signal.SIGKILL)

    given = spec(MIDDLE.replace("3000000", "1000000"), seeds=24)
    frame = sweep(given, tmp_path / "sweep", on=cluster.scheduler_address, progress=kill)
    assert len(killed) == 3
    assert places(frame) == [(0, seed) for seed in range(1, 25)]
    assert frame["error"].null_count() == 24
    assert len(results(frame)) == 24
    eventually(lambda: is_clean(cluster, client))


def test_a_run_that_kills_its_workers_fails_alone(cluster: Any, client: Any, tmp_path: Path) -> None:
    def kill(_: Any) -> None:
        for pid in started(cluster):
            if (begun := tmp_path / str(pid)).exists():
                begun.unlink()
                os.kill(pid, signal.SIGKILL)

    client.register_plugin(deadly(tmp_path, seed=3))
    try:
        frame = sweep(spec(seeds=12), on=cluster.scheduler_address, progress=kill)
    finally:
        client.unregister_worker_plugin("deadly")
    failed = frame.filter(pl.col("error").is_not_null())
    assert places(frame) == [(0, seed) for seed in range(1, 13)]
    assert failed["seed"].to_list() == [3], failed["error"].to_list()
    assert "2 workers died under this run, at last tcp://127.0.0.1:" in failed["error"][0]
    assert "with 1.0 GiB of memory: the run needs about" in failed["error"][0]


def test_large_runs_go_to_large_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    made = quietly(
        lambda: distributed.SpecCluster(
            scheduler={"cls": distributed.Scheduler, "options": {"dashboard_address": ":0", "host": "127.0.0.1"}},
            workers={
                name: {"cls": distributed.Nanny, "options": {"nthreads": 1, "memory_limit": limit, "host": "127.0.0.1"}}
                for name, limit in {"small": 400 << 20, "large": 4 << 30}.items()
            },
            silence_logs=100,
        )
    )
    del monkeypatch
    try:
        # 20,000 requests all over a large drive need 1.2 GiB at most by the plan, and much less in truth.
        given = {"workloads": "random:span=512GiB,size=4KiB,count=20000", "set": {"capacity": "1TiB"}, "seeds": 3}
        frame = sweep(given, on=made.scheduler_address)
    finally:
        made.close()
    assert frame["error"].to_list() == [None] * 3


def test_another_engine_is_refused(cluster: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(on_cluster, "engine", lambda: "0.0.1+other")
    with pytest.raises(FlashweirError, match=r"worker tcp://\S+: runs flashweir \S+: expected .* 0\.0\.1\+other"):
        sweep(spec(), on=cluster.scheduler_address)


def test_a_worker_without_flashweir_is_refused(cluster: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(on_cluster, "_RUN", "nothing_like_it.run")
    with pytest.raises(FlashweirError, match="a worker can't run flashweir: No module named 'nothing_like_it'"):
        sweep(spec(), on=cluster.scheduler_address)


@pytest.mark.parametrize("how", [False, KeyboardInterrupt])
def test_stopping_leaves_nothing_behind(cluster: Any, client: Any, how: Any, tmp_path: Path) -> None:
    def stop(_: Any) -> bool:
        running = any(everywhere(client, lambda dask_worker: dask_worker.state.executing_count))
        if running and how is KeyboardInterrupt:
            raise KeyboardInterrupt
        return not running

    with pytest.raises(KeyboardInterrupt if how else FlashweirError):
        sweep(spec(ENDLESS, seeds=8), tmp_path / "sweep", on=cluster.scheduler_address, progress=stop)
    eventually(lambda: is_clean(cluster, client))


def script(address: str, workload: str, seeds: int) -> list[str]:
    call = f"sweep({spec(workload, seeds=seeds)!r}, on={address!r})"
    return [
        sys.executable,
        "-c",
        f"from flashweir.sweeps import sweep\nif __name__ == '__main__':\n    print({call}.height)",
    ]


def test_nothing_is_said_on_stderr(cluster: Any) -> None:
    command = script(cluster.scheduler_address, TINY, 5)
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "5\n", "")


def test_ctrl_c_says_nothing_on_stderr(cluster: Any, client: Any) -> None:
    command = script(cluster.scheduler_address, ENDLESS, 5)
    command[-1] = f"try:\n    exec({command[-1]!r})\nexcept KeyboardInterrupt:\n    print('interrupted')"
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        eventually(lambda: any(everywhere(client, lambda dask_worker: dask_worker.state.executing_count)))
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=60) == ("interrupted\n", "")
    eventually(lambda: is_clean(cluster, client))


def test_runs_of_a_killed_client_stop(cluster: Any, client: Any) -> None:
    command = script(cluster.scheduler_address, ENDLESS, 5)
    with subprocess.Popen(command) as process:
        eventually(lambda: any(everywhere(client, lambda dask_worker: dask_worker.state.executing_count)))
        process.kill()
    eventually(lambda: is_clean(cluster, client))


def test_workers_may_come_late(capfd: pytest.CaptureFixture[str]) -> None:
    made = quietly(
        lambda: distributed.LocalCluster(
            n_workers=0, threads_per_worker=1, dashboard_address=None, host="127.0.0.1", silence_logs=100
        )
    )
    asked = 0

    def scale(_: Any) -> None:
        nonlocal asked
        asked += 1
        if asked == 3:
            made.scale(1)

    try:
        frame = sweep(spec(seeds=4), on=made.scheduler_address, progress=scale)
    finally:
        made.close()
    assert frame["error"].null_count() == 4
    assert capfd.readouterr().err == f"flashweir: {made.scheduler_address} has no workers yet: waiting for them\n"


def test_a_lost_scheduler_is_one_line_and_finished_runs_are_kept(tmp_path: Path) -> None:
    file = tmp_path / "scheduler.json"
    common = ["--no-dashboard", "--scheduler-file", str(file)]
    # The scheduler need not have flashweir.
    bare = "import sys; sys.modules['flashweir'] = None; from distributed.cli.dask_scheduler import main; main()"
    start = [sys.executable, "-c", bare, "--host", "127.0.0.1", "--port", "0", *common]
    work = [sys.executable, "-m", "distributed.cli.dask_worker", "--no-nanny", "--nthreads", "1", *common]
    work += ["--death-timeout", "20", "--local-directory", str(tmp_path)]
    with subprocess.Popen(start, stderr=subprocess.DEVNULL, cwd=tmp_path) as scheduler:
        eventually(file.exists)
        address = json.loads(file.read_text())["address"]
        with subprocess.Popen(work, stderr=subprocess.DEVNULL, cwd=tmp_path) as worker:

            def lose(state: Any) -> None:
                if state.done >= 2:
                    scheduler.kill()

            lost = rf"{address}: the connection to the Dask scheduler is lost"
            try:
                with pytest.raises(FlashweirError, match=lost):
                    sweep(spec(MIDDLE, seeds=200), tmp_path / "sweep", on=f"file:{file}", progress=lose)
            finally:
                worker.kill()
                scheduler.kill()
    lines = (tmp_path / "sweep" / "runs.jsonl").read_text().splitlines()
    assert 2 <= len(lines) < 200


def test_nobody_at_the_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deployment, "CONNECT_S", 1)
    with pytest.raises(FlashweirError, match=r"tcp://127\.0\.0\.1:1: no Dask scheduler answers there: "):
        sweep(spec(), on="tcp://127.0.0.1:1")


@pytest.mark.parametrize(
    ("on", "expected"),
    [
        ("cloud", "expected local, the address of a Dask scheduler such as tcp://"),
        ("local:3", "expected local, the address of a Dask scheduler such as tcp://"),
        ("carrier://pigeon", "expected an address that starts with one of .*tcp"),
        ("tcp://", "and a place"),
        ("slurm:many", "expected local"),
        ("slurm:", "expected local"),
        ("slurm:0", "expected from 1 to 100,000 jobs"),
        ("file:nowhere.json", "No such file or directory: expected the scheduler file of a running"),
    ],
)
def test_what_is_no_cluster_is_refused_at_once(on: str, expected: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=expected) as caught:
        sweep(spec(), tmp_path / "sweep", on=on)
    assert str(caught.value).startswith(f"on {on}: ")
    assert not (tmp_path / "sweep").exists()


def test_a_file_that_is_no_scheduler_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "scheduler.json").write_text("[]")
    with pytest.raises(ConfigError, match="expected the scheduler file of a running Dask scheduler"):
        sweep(spec(), on=f"file:{tmp_path / 'scheduler.json'}")


def test_threads_are_those_of_the_workers() -> None:
    with pytest.raises(ConfigError, match="its workers have threads and memory of their own"):
        sweep(spec(), on="tcp://127.0.0.1:1", threads=2)


def test_the_libraries_are_imported_when_they_are_used() -> None:
    check = "import sys, flashweir.sweeps, flashweir.cli; print({'distributed', 'dask', 'polars'} & {*sys.modules})"
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
