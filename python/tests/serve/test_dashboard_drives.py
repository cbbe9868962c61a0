"""Dashboards of drives: recorded runs, samples and pauses of live drives, the commands that show them."""

import json
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import forked
import pytest
from dashboard_page import LIMIT_S, asked
from nbd_client import FLUSH, READ, WRITE, Client, ended, served

import flashweir
from flashweir import ConfigError
from flashweir.dashboard.sources import Recording

DRIVE: dict[str, object] = {"channels": 2, "capacity": "8MiB", "pages_per_block": 8}
PAGE = 4096
RUN = "random:span=8MiB,count=6000,write=0.8"


def test_a_recorded_run_is_played_from_samples_and_from_its_timeline(tmp_path: Path) -> None:
    samples, timeline, read = tmp_path / "run.jsonl", tmp_path / "run.pftrace", tmp_path / "read.jsonl"
    settings = {**DRIVE, "precondition": "full"}
    result = flashweir.simulate(RUN, set=settings, samples=samples)
    flashweir.simulate(RUN, set=settings, timeline=timeline)
    flashweir._native.timeline_samples(str(timeline), str(read))
    last, other = (json.loads(path.read_text().splitlines()[-1]) for path in (samples, read))
    assert last["requests"]["write"] == other["requests"]["write"] == result["counters"]["requests"]["write"]
    assert last["flash"]["gc"] == other["flash"]["gc"] == result["flash"]["gc"]
    assert last["programmed_bytes"] / last["written_bytes"] == pytest.approx(result["write_amplification"])
    busy = [sum(map(sum, found["dies"]["busy_ns"])) for found in (last, other)]
    assert busy[0] == pytest.approx(busy[1], rel=0.01)
    assert sum(last["free_blocks"]) == sum(other["free_blocks"])
    for path in (samples, read):
        source = Recording("run", path, None)
        about = source.about()
        assert len(about["points"]) == len(about["times_s"]) > 20
        assert source.state({"at": 10**9})["at"] == len(about["times_s"]) - 1
        picture = source.state({"at": 5})["frame"]
        assert all(0 <= sum(row) <= 1.01 for row in picture["dies"]["shares"])
        with pytest.raises(ConfigError, match="the run is over"):
            source.command("pause", {})


def test_samples_of_a_long_run_are_few_and_cover_it(tmp_path: Path) -> None:
    found = tmp_path / "run.jsonl"
    flashweir.simulate("random:span=8MiB,count=60000,write=0.5", set=DRIVE, samples=found)
    times = [json.loads(line)["time_s"] for line in found.read_text().splitlines()]
    assert 300 <= len(times) <= 601
    assert times == sorted(times)
    assert times[0] < times[-1] / 100


WATCHED: tuple[dict[str, object], ...] = (
    {},
    {"engine": "event", "buffer.bytes": "64KiB"},
    {"sched.kind": "suspend", "dies": 2},
    {"gc.planner": "cycle-stealing", "ftl.kind": "log-block", "clock": "lock-step"},
    {"ftl.kind": "log-block"},
    {"alloc.kind": "superblock"},
)


@pytest.mark.parametrize("verify", [False, True])
@pytest.mark.parametrize("settings", WATCHED, ids=str)
def test_a_run_of_which_samples_are_taken_has_the_same_result(
    tmp_path: Path, settings: dict[str, object], verify: bool
) -> None:
    options: dict[str, Any] = {"set": {**DRIVE, "precondition": "full", **settings}, "verify": verify}
    plain = flashweir.simulate(RUN, **options).to_dict()
    found = flashweir.simulate(RUN, **options, samples=tmp_path / "run.jsonl").to_dict()
    assert {key: value for key, value in found.items() if "wall" not in key} == {
        key: value for key, value in plain.items() if "wall" not in key
    }
    last = json.loads((tmp_path / "run.jsonl").read_text().splitlines()[-1])
    assert sum(map(sum, last["dies"]["busy_ns"])) > 0


def test_serve_shows_the_address_of_its_page_and_ends_it(tmp_path: Path) -> None:
    with served(tmp_path, "--clock", "virtual", "--dashboard", "127.0.0.1:0") as (run, ready):
        assert list(ready) == ["event", "uri", "size_bytes", "pid", "dashboard"]
        host = ready["dashboard"].removeprefix("http://").removesuffix("/")
        assert json.loads(asked(host, "GET", "/about")[1])["title"] == "default drive"
        ended(run)
    with pytest.raises(ConnectionRefusedError):
        asked(host, "GET", "/about")


def test_a_page_that_can_t_be_shown_leaves_no_trace_of_the_drive(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        words = ["serve", "--data", "disk.img", "--dashboard", f"127.0.0.1:{port}"]
        done = forked.run(words, cwd=tmp_path, timeout_s=LIMIT_S)
    assert done.returncode == 2
    assert done.stderr.startswith(f"error: --dashboard 127.0.0.1:{port}: ")
    assert list(tmp_path.iterdir()) == []


def test_watch_prints_its_address_and_ends_with_ctrl_c(tmp_path: Path) -> None:
    run = subprocess.Popen(
        [sys.executable, "-m", "flashweir", "watch", RUN, "--set", "capacity=8MiB", "--set", "pages_per_block=8"],
        cwd=tmp_path,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    watch = threading.Timer(3 * LIMIT_S, run.kill)
    watch.start()
    assert run.stdout is not None
    url = run.stdout.readline().strip()
    about = json.loads(asked(url.removeprefix("http://").removesuffix("/"), "GET", "/about")[1])
    assert about["kind"] == "recorded"
    assert about["title"] == RUN
    run.send_signal(signal.SIGINT)
    out, err = run.communicate(timeout=LIMIT_S)
    watch.cancel()
    assert (run.returncode, out, err) == (0, "", "")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("none.pftrace",), "none.pftrace: No such file"),
        (("bad.pftrace",), "expected a timeline"),
        (("bad.pftrace", "--device", "tlc"), "expected no --device"),
        ((RUN, "--speed", "0"), "--speed 0.0: expected a number above 0"),
        ((RUN, "--dashboard", "0.0.0.0:0"), "--exposed"),
        (("none.trace",), "none.trace"),
    ],
)
def test_watch_refuses_in_one_line(tmp_path: Path, words: tuple[str, ...], expected: str) -> None:
    (tmp_path / "bad.pftrace").write_bytes(b"nothing")
    done = forked.run(["watch", *words], cwd=tmp_path, timeout_s=LIMIT_S)
    assert done.returncode == 2
    assert expected in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_drive_that_is_served_stands_still_while_paused(tmp_path: Path) -> None:
    with flashweir.serve(nbd=f"unix:{tmp_path / 'sock'}", set=DRIVE) as live:
        assert live.dashboard is None
        assert live.control("sample")["dies"]["work"] == ["host", "collection", "mapping"]
        with Client(tmp_path / "sock") as client:
            assert client.ask(WRITE, 0, bytes(PAGE)) == (0, b"")
            before = live.control("pause")["simulated_s"]
            assert live.control("pause") == {"paused": True, "simulated_s": before}
            done: list[float] = []
            writer = threading.Thread(
                target=lambda: (client.ask(WRITE, PAGE, bytes(PAGE)), done.append(time.monotonic()))
            )
            writer.start()
            time.sleep(0.3)
            assert live.control("status")["simulated_s"] == before
            assert live.control("sample")["served"]["paused"]
            assert done == []
            assert live.control("resume")["paused"] is False
            writer.join(LIMIT_S)
            assert done
            assert client.ask(READ, PAGE, PAGE) == (0, bytes(PAGE))
            live.control("pause")
    assert live.result["counters"]["requests"]["write"] == 2


def test_virtual_time_stands_still_too_and_a_paused_drive_can_be_stopped(tmp_path: Path) -> None:
    with (
        flashweir.serve(nbd=f"unix:{tmp_path / 'sock'}", clock="virtual", set=DRIVE) as live,
        Client(tmp_path / "sock") as client,
    ):
        live.control("pause")
        writer = threading.Thread(target=lambda: client.ask(WRITE, 0, bytes(PAGE)))
        writer.start()
        time.sleep(0.2)
        assert writer.is_alive()
        assert live.control("status")["outstanding"] == 1
        live.stop()
        writer.join(LIMIT_S)
        assert not writer.is_alive()


@pytest.mark.parametrize("engine", ["auto", "event"])
def test_a_sample_says_what_the_counters_say(tmp_path: Path, engine: str) -> None:
    draw = random.Random(1)  # noqa: S311 - nothing to hide
    settings = {**DRIVE, "engine": engine, "precondition": "full", "buffer.bytes": "64KiB"}
    with flashweir.serve(
        nbd=f"unix:{tmp_path / 'sock'}", clock="virtual", dashboard="127.0.0.1:0", exports=["a", "b"], set=settings
    ) as live:
        with Client(tmp_path / "sock", "b") as client:
            for _ in range(400):
                assert client.ask(WRITE, draw.randrange(800) * PAGE, bytes(PAGE)) == (0, b"")
            client.ask(FLUSH)
        found, counters = live.control("sample"), live.control("counters")
        assert found["requests"]["write"] == counters["counters"]["requests"]["write"] == 400
        assert found["collections"] == counters["counters"]["collections"] > 0
        assert found["tenants"]["b"]["requests"]["write"] == 400
        assert found["tenants"]["a"]["requests"]["write"] == 0
        assert found["buffer"] == {"bytes": 0, "capacity_bytes": 64 << 10}
        assert sum(count for _, count in found["latency_ns"]["write"]) == 400
        work = dict(zip(found["dies"]["work"], map(sum, zip(*found["dies"]["busy_ns"], strict=True)), strict=True))
        assert work["program"] > 0
        assert work["copy"] > 0
        assert work["erase"] > 0
        blocks = found["blocks"]
        free = sum(row.count(-1) for row in blocks["valid"])
        assert free == sum(blocks["free"]) == sum(found["free_blocks"])
        assert sum(map(len, blocks["valid"])) == found["total_blocks"]
        assert sum(map(sum, blocks["erases"])) == pytest.approx(
            counters["wear"]["mean"] * found["total_blocks"], rel=0.01
        )


def test_a_watched_drive_is_saved_as_one_that_is_not(tmp_path: Path) -> None:
    state, options = tmp_path / "state", {"nbd": f"unix:{tmp_path / 'sock'}", "clock": "virtual"}
    for dashboard, settings in (("127.0.0.1:0", DRIVE), (None, None), ("127.0.0.1:0", None)):
        with flashweir.serve(state=state, dashboard=dashboard, set=settings, **options) as live:  # type: ignore[arg-type]
            with Client(tmp_path / "sock") as client:
                if settings is None:
                    assert client.ask(READ, PAGE, PAGE) == (0, b"a" * PAGE)
                assert client.ask(WRITE, PAGE, b"a" * PAGE) == (0, b"")
            live.control("save", {"path": str(tmp_path / "saved"), "force": True})
    with flashweir.serve(tmp_path / "saved", dashboard="127.0.0.1:0", **options) as live:  # type: ignore[arg-type]
        assert live.control("sample")["dies"]["work"][0] == "read"
