"""Control of a live drive: commands, what they do, and lines that are none."""

import json
import os
import random
import socket
import subprocess
import threading
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import forked
import pytest
from conftest import refused
from nbd_client import FLUSH, LIMIT_S, READ, SMALL, WRITE, Client, ended, served

import flashweir
from flashweir import ConfigError, FlashweirError

PAGE = 4096
VIRTUAL = ("--clock", "virtual", "--control", "ctl", "--data", "none")


def ctl(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """A run of `flashweir ctl`."""
    return forked.run(["ctl", "ctl", *words], cwd=folder, timeout_s=LIMIT_S)


def lines(folder: Path, *sent: bytes) -> list[dict[str, Any]]:
    """The answers to lines of one connection."""
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(LIMIT_S)
        client.connect(str(folder / "ctl"))
        with client.makefile("rb") as answers:
            found = []
            for line in sent:
                client.sendall(line + b"\n")
                found.append(json.loads(answers.readline()))
            return found


def asked(folder: Path, command: str, **arguments: object) -> dict[str, Any]:
    """The result of a command."""
    named = {name.replace("__", "."): value for name, value in arguments.items()}
    (reply,) = lines(folder, json.dumps({"id": 7, "cmd": command, "args": named}).encode())
    assert reply["id"] == 7
    assert reply["ok"], reply
    result: dict[str, Any] = reply["result"]
    return result


def overwrite(client: Client, count: int, seed: int = 1) -> None:
    """Writes pages, most of them to a few."""
    draw = random.Random(seed)  # noqa: S311 - nothing to hide
    for _ in range(count):
        page = draw.randrange(2048) if draw.random() < 0.2 else draw.randrange(200)
        assert client.ask(WRITE, page * PAGE, bytes(PAGE)) == (0, b"")


def test_the_command_prints_what_the_drive_answers_and_its_exit_codes_say_the_rest(tmp_path: Path) -> None:
    with served(tmp_path, *VIRTUAL, "--export", "db") as (run, _):
        with Client(tmp_path / "flashweir.sock") as client:
            overwrite(client, 10)
            status = json.loads(ctl(tmp_path, "status").stdout)
            assert status["requests"] == 10
            assert status["connections"] == 1
            assert [export["name"] for export in status["exports"]] == ["db"]
            assert json.loads(ctl(tmp_path, "counters").stdout)["flash"]["programs"] == 10
        for words, code, expected in (
            (("set", "channels=4"), 1, "`channels`"),
            (("set", "gc.victims=fifo"), 2, "gc.victims"),
            (("power-cut",), 1, "--power-cuts"),
            (("inject", "kind=latency", "add=5"), 2, "a time with its unit"),
            (("inject", "kind=throttle", "rate=0"), 2, "rate: 0; expected bytes a second above 0"),
            (("inject",), 2, "inject: kind: missing; expected kind="),
            (("set", "no.key=1"), 2, "error: set: unknown key"),
            (("fork",), 2, "gc.victim"),
            (("save",), 2, "path"),
            (("reboot",), 2, "expected one of status"),
            (("status", "verbosely"), 2, "KEY=VALUE"),
        ):
            done = ctl(tmp_path, *words)
            assert done.returncode == code, (words, done.stderr)
            assert done.stderr.startswith("error: ")
            assert expected in done.stderr
            assert done.stderr.count("\n") == 1
            assert done.stdout == ""
        assert ctl(tmp_path, "stop").returncode == 0
        assert run.wait(LIMIT_S) == 0
    done = ctl(tmp_path, "status")
    assert done.returncode == 4
    assert "expected the socket of a drive" in done.stderr


def test_a_line_that_is_none_has_one_clear_error(tmp_path: Path) -> None:
    bad = [
        b"{",
        b"[1]",
        b'"status"',
        b"\xff\xfe",
        b"{}",
        b'{"id": 1}',
        b'{"cmd": 5}',
        b'{"cmd": "status", "args": []}',
        b'{"cmd": "status", "args": {"x": 1}}',
        b'{"cmd": "status", "more": 1}',
        b'{"cmd": "set", "args": {"gc.victim": null}}',
        b'{"cmd": "set", "args": {"gc.victim": {"a": 1}}}',
        b'{"cmd": "set", "args": {}}',
        b'{"cmd": "inject", "args": {"kind": 4}}',
        b'{"cmd": "inject", "args": {"kind": "latency"}}',
        b'{"cmd": "inject", "args": {"kind": "latency", "add": "1ms", "count": -1}}',
        b'{"cmd": "inject", "args": {"kind": "media-error", "offset": 100}}',
        b'{"cmd": "inject", "args": {"kind": "media-error", "offset": 1e30}}',
        b'{"cmd": "inject", "args": {"kind": "throttle", "rate": 0}}',
        b'{"cmd": "power-cut", "args": {"at": "1s", "after_flushes": 1}}',
        b'{"cmd": "' + b"a" * 5000 + b'"}',
        b"[" * 30000,
    ]
    with served(tmp_path, *VIRTUAL) as (run, _):
        for reply in lines(tmp_path, *bad):
            assert reply["ok"] is False
            assert reply["error"]["kind"] == "bad-input", reply
            assert "\n" not in reply["error"]["message"]
            assert 10 < len(reply["error"]["message"]) < 400
        # A line without an end closes its connection, and nothing else.
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(LIMIT_S)
            client.connect(str(tmp_path / "ctl"))
            client.sendall(b"a" * 70000)
            with client.makefile("rb") as answers:
                assert "65536 bytes" in json.loads(answers.readline())["error"]["message"]
                assert answers.readline() == b""
        draw = random.Random(5)  # noqa: S311 - nothing to hide
        for _ in range(200):
            noise = bytes(draw.randrange(256) for _ in range(draw.randrange(1, 60))).replace(b"\n", b"") + b"x"
            (reply,) = lines(tmp_path, noise)
            assert reply["ok"] is False
        assert asked(tmp_path, "status")["requests"] == 0
        ended(run)


def test_health_logs_have_the_names_of_nvme_cli_and_count(tmp_path: Path) -> None:
    with served(tmp_path, *VIRTUAL) as (run, _):
        with Client(tmp_path / "flashweir.sock") as client:
            overwrite(client, 500)
            assert client.ask(WRITE, 512, bytes(512)) == (0, b"")
            assert asked(tmp_path, "inject", kind="media-error", offset=PAGE * 9)["unreadable_sectors"] == 1
            assert client.ask(READ, PAGE * 9, PAGE) == (5, b"")
            assert client.ask(READ, PAGE * 9 + 512, 512)[0] == 0
            assert client.ask(WRITE, PAGE * 9, bytes(PAGE)) == (0, b"")
            assert client.ask(READ, PAGE * 9, PAGE)[0] == 0
        smart = asked(tmp_path, "smart", rated_cycles=1)
        counters = asked(tmp_path, "counters")
        assert smart["host_write_commands"] == 502
        assert smart["host_read_commands"] == 3
        assert smart["data_units_written"] == -(-(501 * PAGE + 512) // 512_000)
        assert smart["media_errors"] == 1
        assert smart["percent_used"] == int(min(255, counters["wear"]["mean"] * 100))
        assert asked(tmp_path, "smart")["percent_used"] is None
        ocp = asked(tmp_path, "ocp")
        assert ocp["Physical media units written"] == {"hi": 0, "lo": counters["flash"]["programs"] * PAGE}
        assert ocp["Max User data erase counts"] == counters["wear"]["max"]
        assert ocp["Unaligned I/O"] == 1
        assert ocp["Uncorrectable read error count"] == 1
        assert ocp["Log page GUID"] == "0xafd514c97c6f4f9ca4f2bfea2810afc5"
        ended(run)


def test_latency_and_throttling_hold_requests_back(tmp_path: Path) -> None:
    with served(tmp_path, *VIRTUAL, "--json", "r.json") as (run, _):
        with Client(tmp_path / "flashweir.sock") as client:

            def takes(count: int) -> float:
                """Simulated time of pages read one after the other."""
                before: float = asked(tmp_path, "status")["simulated_s"]
                for page in range(count):
                    assert client.ask(READ, page * PAGE, PAGE)[0] == 0
                return asked(tmp_path, "status")["simulated_s"] - before

            usual = takes(10)
            assert asked(tmp_path, "inject", kind="latency", add="5ms", count=3)["latency"]["requests_left"] == 3
            assert takes(10) == pytest.approx(usual + 0.015, abs=1e-4)
            assert takes(10) == pytest.approx(usual, abs=1e-4)
            # A page of 4 KiB takes 4 ms at this rate.
            assert asked(tmp_path, "inject", kind="throttle", rate=1_024_000)["throttle"]["bytes_per_s"] == 1_024_000
            assert takes(11) > 0.04
            assert asked(tmp_path, "ocp")["Current throttling status"] == 1
            assert asked(tmp_path, "smart")["thm_temp1_trans_count"] == 1
            assert asked(tmp_path, "inject", kind="none")["throttle"] is None
            assert takes(10) == pytest.approx(usual, abs=1e-4)
        ended(run)
    assert json.loads((tmp_path / "r.json").read_text())["latency_us"]["read"]["max"] > 4000


def test_a_policy_changes_while_the_drive_runs_and_a_fork_says_what_that_does(tmp_path: Path) -> None:
    with served(tmp_path, *VIRTUAL, "--set", "precondition=full") as (run, _):
        with Client(tmp_path / "flashweir.sock") as client:
            overwrite(client, 3000)
            found: list[dict[str, Any]] = []

            def fork() -> None:
                found.append(asked(tmp_path, "fork", count=2000, gc__victim="random"))

            thread = threading.Thread(target=fork)
            thread.start()
            while thread.is_alive():
                overwrite(client, 100, seed=2)
            (outcome,) = found
            assert outcome["requests"] == 2000
            assert outcome["changed"] == {"gc.victim": "random"}
            live, forked = outcome["live"], outcome["fork"]
            assert live["latency_us"]["write"]["count"] == forked["latency_us"]["write"]["count"] == 2000
            assert forked["flash"]["programs"] > live["flash"]["programs"] * 1.05
            for side in (live, forked):
                write = side["latency_us"]["write"]
                assert 1 < write["p50"] <= write["p99"] <= write["p99.9"] <= write["max"]
                assert write["mean"] <= write["max"]
            # The live drive goes on as it was, until it is set, too.
            assert asked(tmp_path, "set", gc__victim="random") == {"set": {"gc.victim": "random"}}
            before = asked(tmp_path, "counters")["flash"]["programs"]
            overwrite(client, 2000, seed=3)
            programs = asked(tmp_path, "counters")["flash"]["programs"] - before
            assert programs > live["flash"]["programs"] * 1.05
        ended(run)


def test_a_fork_with_the_settings_of_the_drive_is_equal_to_it(tmp_path: Path) -> None:
    """Requests before the fork, after the last that is compared, and meanwhile are the same for both."""
    with served(tmp_path, *VIRTUAL, "--set", "precondition=full", "--set", "gc.victim=greedy") as (run, _):
        with Client(tmp_path / "flashweir.sock") as client:
            overwrite(client, 1000)
            found: list[dict[str, Any]] = []
            thread = threading.Thread(
                target=lambda: found.append(asked(tmp_path, "fork", count=1500, gc__victim="greedy"))
            )
            thread.start()
            while not asked(tmp_path, "sample")["served"]["is_compared"]:
                overwrite(client, 10, seed=3)
            (reply,) = lines(tmp_path, b'{"cmd": "set", "args": {"gc.victim": "random"}}')
            assert "a fork is being compared" in reply["error"]["message"]
            while thread.is_alive():
                overwrite(client, 50, seed=4)
        (outcome,) = found
        assert outcome["live"] == outcome["fork"]
        assert outcome["live"]["flash"]["programs"] >= 1500
        ended(run)


def test_ctl_is_refused_in_a_line_while_64_clients_are_connected(tmp_path: Path) -> None:
    with served(tmp_path, *VIRTUAL) as (run, _), ExitStack() as held:
        for _ in range(64):
            client = held.enter_context(socket.socket(socket.AF_UNIX))
            client.connect(str(tmp_path / "ctl"))
            client.sendall(b'{"cmd": "status"}\n')
            assert client.recv(1)
        done = ctl(tmp_path, "status")
        assert (done.returncode, done.stderr.count("64 clients send commands")) == (1, 1)
        held.close()
        ended(run)


def test_dilation_changes_on_the_paced_clock_only(tmp_path: Path) -> None:
    with served(tmp_path, "--control", "ctl", "--json", "r.json") as (run, _):
        asked(tmp_path, "set", dilate=20)
        with Client(tmp_path / "flashweir.sock") as client:
            assert client.ask(READ, 0, PAGE)[0] == 0
        assert asked(tmp_path, "status")["dilate"] == 20
        (reply,) = lines(tmp_path, b'{"cmd": "set", "args": {"dilate": 0.5}}')
        assert "from 1 to" in reply["error"]["message"]
        ended(run)
    assert json.loads((tmp_path / "r.json").read_text())["serve"]["dilate"] == 20


def test_a_saved_drive_is_served_again(tmp_path: Path) -> None:
    with served(tmp_path, *VIRTUAL) as (run, _):
        with Client(tmp_path / "flashweir.sock") as client:
            overwrite(client, 2500)
        assert asked(tmp_path, "save", path=str(tmp_path / "aged.drive"))["path"] == str(tmp_path / "aged.drive")
        # From the folder of ctl, whatever that of the server is.
        (tmp_path / "notes.txt").write_text("mine")
        for words, expected in (("path=aged.drive", "force=true"), ("path=notes.txt", "no saved drive")):
            done = ctl(tmp_path, "save", words)
            assert (done.returncode, done.stderr.count(expected)) == (1, 1)
        assert ctl(tmp_path, "save", "path=notes.txt", "force=true").returncode == 1
        assert (tmp_path / "notes.txt").read_text() == "mine"
        os.mkfifo(tmp_path / "pipe")
        assert ctl(tmp_path, "save", "path=pipe", "force=true").returncode == 1, "a pipe holds nobody up"
        assert ctl(tmp_path, "save", "path=aged.drive", "force=true").returncode == 0
        worn = asked(tmp_path, "counters")["wear"]
        ended(run)
    assert "expected no --set" in refused("serve", "aged.drive", *SMALL, cwd=tmp_path)
    with flashweir.serve(
        tmp_path / "aged.drive", nbd=f"unix:{tmp_path / 'sock'}", clock="virtual", data="none"
    ) as live:
        assert live.control("counters")["wear"] == worn
        with Client(tmp_path / "sock") as client:
            assert client.ask(FLUSH) == (0, b"")
        with pytest.raises(ConfigError, match="expected one of status"):
            live.control("reboot")
        with pytest.raises(FlashweirError, match="`channels`"):
            live.control("set", {"channels": 4})
    assert live.result["serve"]["connections"] == 1
    assert live.stop() is live.result
