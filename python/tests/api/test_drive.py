"""A drive that Python steps."""

import copy
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from stepped import FULL, SMALL, refusal

import flashweir
from flashweir import Drive

# Fields that a stepped drive lacks: wall times, and the source of its requests.
OTHERS = ("wall_s", "setup_wall_s", "precondition_wall_s", "workloads")


def drive(**options: Any) -> Drive:
    return Drive(set=FULL, verify=True, **options)


def comparable(result: flashweir.Result) -> dict[str, Any]:
    return {key: value for key, value in result.to_dict().items() if key not in OTHERS}


def random_writes(count: int, *, gap_ns: int, seed: int = 1) -> dict[str, Any]:
    random = np.random.default_rng(seed)
    return {
        "op": np.where(random.random(count) < 0.7, "write", "read"),
        "offset": random.integers(0, 1000, count) * 4096,
        "length": 4096,
        "time_ns": np.arange(count) * gap_ns,
    }


@settings(max_examples=20, deadline=None)
@given(
    cuts=st.lists(st.integers(1, 399), max_size=6, unique=True),
    steps=st.integers(1, 5),
    chips=st.sampled_from([1, 2]),
    slots=st.sampled_from([None, 3]),
)
def test_slices_are_a_run_with_open_arrivals(cuts: list[int], steps: int, chips: int, slots: int | None) -> None:
    workload = "random:span=4MiB,size=4KiB,count=400,write=0.6,trim=0.05,flush=0.02,rate=20000"
    flashweir.trace_generate(workload, path := Path("slices.parquet").resolve())
    frame = pl.read_parquet(path)
    path.unlink()
    columns = {
        "op": frame["op"],
        "offset": frame["lba"] * 512,
        "length": frame["sectors"].cast(pl.UInt64) * 512,
        "time_ns": frame["time_ns"],
    }
    keys = {**FULL, "chips": chips, **({} if slots is None else {"host.slots": slots})}
    expected = flashweir.simulate(workload, seed=None, set={**keys, "host.mode": "open"}, verify=True)
    with Drive(set=keys, verify=True) as stepped:
        for first, end in zip([0, *sorted(cuts)], [*sorted(cuts), 400], strict=True):
            slice_ = {name: column[first:end] for name, column in columns.items()}
            assert stepped.submit(slice_) == range(first, end)
            last = int(slice_["time_ns"][-1])
            for step in range(1, steps + 1):
                stepped.advance_to(stepped.now_ns + (last - stepped.now_ns) * step // steps)
        done = stepped.poll()
        assert (np.diff(done["complete_ns"].astype(np.int64)) >= 0).all()
        assert comparable(stepped.finish()) == comparable(expected)
    assert stepped.closed


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path_factory.mktemp("drive"))


def test_requests_in_any_form_are_the_same_requests() -> None:
    rows = [
        {"op": "write", "offset": 0, "length": 8192},
        {"op": "read", "offset": 4096, "length": 4096},
        {"op": "flush"},
        {"op": "trim", "offset": 0, "length": 4096},
    ]
    columns = {"op": ["write", "read", "flush", "trim"], "offset": [0, 4096, 0, 0], "length": [8192, 4096, 0, 4096]}
    record = np.array(
        list(zip(*columns.values(), strict=True)), dtype=[("op", "U5"), ("offset", "i8"), ("length", "u4")]
    )
    forms: list[Any] = [rows, columns, pl.DataFrame(columns), record, tuple(rows)]
    seen = []
    for form in forms:
        stepped = drive()
        assert stepped.submit(form) == range(4)
        stepped.drain()
        seen.append(stepped.poll())
    one_by_one = drive()
    for number, row in enumerate(rows):
        assert one_by_one.submit(**row) == range(number, number + 1)  # type: ignore[arg-type]
    one_by_one.drain()
    seen.append(one_by_one.poll())
    assert all((other == seen[0]).all() for other in seen)
    assert sorted(seen[0]["op"]) == ["flush", "read", "trim", "write"]
    assert seen[0].dtype.names == (
        "number", "issue_ns", "complete_ns", "latency_ns", "offset", "length", "tenant", "status", "op",
    )  # fmt: skip


def test_one_value_is_that_of_all_requests() -> None:
    stepped = drive(tenants=["web", "db"])
    stepped.submit(op="write", offset=np.arange(10) * 4096, length=4096, tenant="db", time_ns=5)
    stepped.submit(op="read", offset=0, length=[4096, 8192], tenant=["web", "db"], time_ns=np.uint64(7))
    stepped.submit(op="flush", time_ns=[20, 10])
    stepped.drain()
    done = np.sort(stepped.poll(), order="number")
    assert done["tenant"].tolist() == [1] * 10 + [0, 1, 0, 0]
    assert done["issue_ns"].tolist() == [5] * 10 + [7, 7, 20, 10]
    assert done["length"].tolist() == [4096] * 11 + [8192, 0, 0]
    done["number"] = 0  # the array is the caller's own
    streams = stepped.finish().streams
    assert (streams.web.requests, streams.db.requests) == (3, 11)


def test_a_closed_loop_with_think_time() -> None:
    stepped = drive()
    random = np.random.default_rng(3)
    clients = {int(stepped.submit(op="read", offset=0, length=4096)[0]): name for name in range(4)}
    issued = []
    while len(issued) < 200:
        for done in stepped.wait():
            client = clients.pop(int(done["number"]))
            issued.append(client)
            later = int(done["complete_ns"]) + int(random.exponential(50_000))
            number = stepped.submit(op="write", offset=client * 4096, length=4096, time_ns=later)[0]
            clients[number] = client
        assert stepped.outstanding == 4
    assert set(issued) == {0, 1, 2, 3}
    stats = stepped.stats()
    assert stats["requests"] == len(issued)
    assert stats.simulated_s == stepped.now_ns / 1e9


def test_a_wait_ends_at_the_next_completion_or_the_limit() -> None:
    stepped = drive()
    assert len(stepped.wait()) == 0
    assert stepped.now_ns == 0
    stepped.submit(op="read", offset=0, length=4096, time_ns=1_000_000)
    assert len(stepped.wait(500_000)) == 0
    assert stepped.now_ns == 500_000
    done = stepped.wait()
    assert done["issue_ns"] == 1_000_000
    assert stepped.now_ns == done["complete_ns"]
    assert len(stepped.poll()) == 0


def test_forks_are_what_ifs() -> None:
    stepped = drive()
    stepped.submit(random_writes(500, gap_ns=20_000))
    stepped.advance_to(5_000_000)
    fork, twin = stepped.fork(), copy.copy(stepped)
    assert comparable(copy.deepcopy(twin).finish()) == comparable(twin.fork().finish())
    fork.submit(op="trim", offset=0, length=4 << 20)
    fork.drain()
    assert fork.stats().counters.trimmed_pages > 0
    assert stepped.stats().counters.trimmed_pages == 0
    assert comparable(stepped.finish()) == comparable(twin.finish())
    assert not fork.closed


def test_statistics_begin_again() -> None:
    stepped = drive(latency_parts=True)
    stepped.submit(random_writes(200, gap_ns=100_000))
    stepped.drain()
    aged = stepped.stats()
    stepped.reset_stats()
    assert stepped.stats()["requests"] == 0
    stepped.submit(op="read", offset=4096, length=4096)
    done = stepped.wait()
    parts = [
        name for name in done.dtype.names or () if name.endswith("_ns") and name[:-3] in aged.latency_parts_us.read
    ]
    assert len(parts) == 12
    assert sum(int(done[name][0]) for name in parts) == done["latency_ns"][0]
    again = stepped.finish()
    assert (again["requests"], again.flash.host.reads) == (1, 1)
    assert again.wear == aged.wear
    assert again.simulated_s < aged.simulated_s


def test_settings_are_those_of_simulate() -> None:
    with Drive("femu", capacity="1GiB", gc={"victim": "fifo"}, host__slots=8) as stepped:
        assert stepped.capacity_bytes == 1 << 30
        assert stepped.config["gc"]["victim"] == "fifo"
        assert stepped.config["host"]["slots"] == 8
    result = flashweir.simulate("random:span=1MiB,count=10", capacity="64MiB", host={"queue_depth": 4})
    with Drive(result.config) as again:
        assert again.config == {**result.config, "host": {**again.config["host"], "mode": "open"}}
    config = flashweir.ConfigError
    assert "did you mean" in refusal(config, lambda: Drive(chanels=3))
    assert "the caller of a stepped drive is its host" in refusal(config, lambda: Drive(host={"queue_depth": 4}))
    assert "no such preset or file" in refusal(config, lambda: Drive("femuu"))
    assert "expected a name of its own" in refusal(config, lambda: Drive(capacity="1GiB", tenants=["a", "a"]))
    ahead = {"alloc.kind": "dynamic", "tenants.channels": "look-ahead"}
    assert refusal(config, lambda: Drive({"channels": 0})).startswith("device: `channels`")
    assert "expected a list of names" in refusal(config, lambda: Drive(tenants="web"))
    assert "seed: -1: expected a whole number" in refusal(config, lambda: Drive(seed=-1))
    assert "holds requests back" in refusal(config, lambda: Drive(set=ahead))


def test_an_allocator_in_python_is_asked() -> None:
    windows = []

    def allocate(features: Any) -> Any:
        windows.append(features["requests"])
        if len(windows) > 2:
            raise ValueError("no more")
        return {"web": [0], "db": [1]}

    keys = {**SMALL, "alloc.kind": "dynamic", "tenants.window_requests": 10}
    stepped = Drive(set=keys, tenants=["web", "db"], allocator=allocate)
    stepped.submit(op="write", offset=np.arange(20) * 4096, length=4096, tenant=[0, 1] * 10)
    assert windows == [10, 10]
    assert stepped.stats().allocation.windows == 2
    with pytest.raises(flashweir.FlashweirError, match="no more") as raised:
        stepped.submit(op="write", offset=np.arange(20) * 4096, length=4096, tenant=[0, 1] * 10)
    assert isinstance(raised.value.__cause__, ValueError)


def test_one_thread_at_a_time_steps_a_drive() -> None:
    keys = {**SMALL, "alloc.kind": "dynamic", "tenants.window_requests": 10}
    seen: list[str] = []

    def allocate(_: Any) -> Any:
        ask = threading.Thread(
            target=lambda: seen.append(refusal(flashweir.FlashweirError, lambda: stepped.now_ns)), daemon=True
        )
        ask.start()
        ask.join(60)
        return {"workload": [0, 1]}

    stepped = Drive(set=keys, allocator=allocate)
    stepped.submit(op="write", offset=np.arange(10) * 4096, length=4096)
    assert seen[0].startswith("this drive is being stepped by another call")
    assert stepped.now_ns == 0


def test_a_saved_drive_is_loaded_as_it_was(tmp_path: Path) -> None:
    aged = drive(tenants=["web", "db"], latency_parts=True)
    aged.submit(random_writes(500, gap_ns=10_000))
    aged.advance_to(2_000_000)
    aged.save(tmp_path / "aged.drive")
    again = Drive.load(tmp_path / "aged.drive")
    assert (again.now_ns, again.outstanding, again.tenants) == (aged.now_ns, aged.outstanding, ("web", "db"))
    assert again.config == aged.config
    for stepped in (aged, again):
        stepped.submit(op="read", offset=np.arange(50) * 4096, length=4096, tenant="db")
        stepped.drain()
    assert (aged.poll() == again.poll()).all()
    assert comparable(aged.finish()) == comparable(again.finish())
    # In a process of its own, too.
    code = (
        "import flashweir; drive = flashweir.Drive.load('aged.drive'); drive.drain(); print(drive.stats()['requests'])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == "500\n"


def test_files_that_are_no_saved_drive_are_refused(tmp_path: Path) -> None:
    config, path = flashweir.ConfigError, tmp_path / "aged.drive"
    path.write_text("capacity = '1GiB'")
    assert refusal(config, lambda: Drive.load(path)) == (
        f"{path}: this is no saved drive; expected a file that a drive was saved to"
    )
    with drive() as stepped:
        stepped.save(path)
        assert "/nowhere/aged.drive: " in refusal(flashweir.FlashweirError, lambda: stepped.save("/nowhere/aged.drive"))
    whole = path.read_bytes()
    path.write_bytes(whole[:-5])
    assert refusal(config, lambda: Drive.load(path)) == f"{path}: it is cut short"
    assert "No such file" in refusal(config, lambda: Drive.load(tmp_path / "none.drive"))
    assert refusal(flashweir.FlashweirError, lambda: stepped.save(path)).startswith("this drive is closed")
    assert path.read_bytes() == whole[:-5]


def test_progress_may_give_up() -> None:
    phases = []

    def stop(state: dict[str, Any]) -> bool:
        phases.append(state["phase"])
        return False

    with pytest.raises(flashweir.FlashweirError, match="stopped while preconditioning"):
        Drive(capacity="64GiB", precondition="full", progress=stop)
    assert phases == ["precondition"]


def test_a_drive_is_there_without_numpy() -> None:
    code = """
import sys, flashweir
drive = flashweir.Drive(capacity="64MiB")
drive.submit(op="write", offset=0, length=4096, time_ns=5)
drive.drain()
assert drive.stats()["requests"] == 1 and drive.now_ns > 5
assert "numpy" not in sys.modules and "polars" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_ctrl_c_stops_an_advance_and_the_drive_can_go_on() -> None:
    code = """
import signal, threading, time, os
import numpy as np
import flashweir
drive = flashweir.Drive(capacity="128MiB", precondition="full", chips=2)
count = 6_000_000
drive.submit(op="read", offset=np.arange(count) % 16384 * 4096, length=4096, time_ns=np.arange(count) * 10_000)
threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    drive.advance_to(count * 10_000)
except KeyboardInterrupt:
    now = drive.now_ns
    assert 0 < now < count * 10_000, now
    drive.advance_to(now + 1000)
    assert len(drive.poll()) > 0
    print("stopped")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "stopped\n"), done.stderr
