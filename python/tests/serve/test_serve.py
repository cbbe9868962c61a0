"""`flashweir serve`: a disk that clients open, and how it ends."""

import json
import signal
import socket
import struct
import subprocess
from pathlib import Path

import pytest
from block_devices import tool
from conftest import refused
from nbd_client import (
    CAPACITY,
    FLUSH,
    FUA,
    INVALID,
    LIMIT_S,
    NO_SPACE,
    READ,
    SMALL,
    TRIM,
    WRITE,
    WRITE_ZEROES,
    Client,
    ended,
    served,
)


@pytest.mark.parametrize("clock", ["paced", "virtual"])
@pytest.mark.parametrize("structured", [False, True])
def test_bytes_come_back_and_requests_beyond_the_drive_are_refused(
    tmp_path: Path, clock: str, structured: bool
) -> None:
    with served(tmp_path, "--clock", clock, "--json", "r.json") as (run, ready):
        assert ready["event"] == "ready"
        assert ready["size_bytes"] == CAPACITY
        assert ready["uri"].startswith("nbd+unix:///")
        with Client(tmp_path / "flashweir.sock", structured=structured) as client:
            assert client.size == CAPACITY
            assert client.ask(WRITE, 4096, b"a" * 8192) == (0, b"")
            assert client.ask(WRITE, 16384, b"b" * 512, FUA) == (0, b"")
            assert client.ask(FLUSH) == (0, b"")
            assert client.ask(READ, 4096, 8192) == (0, b"a" * 8192)
            assert client.ask(READ, 16384, 1024) == (0, b"b" * 512 + bytes(512))
            assert client.ask(TRIM, 4096, 4096) == (0, b"")
            assert client.ask(WRITE_ZEROES, 16384, 512) == (0, b"")
            assert client.ask(READ, 4096, 8192) == (0, bytes(4096) + b"a" * 4096)
            assert client.ask(READ, 16384, 512) == (0, bytes(512))
            assert client.ask(READ, CAPACITY, 512)[0] == INVALID
            assert client.ask(WRITE, CAPACITY - 512, bytes(1024))[0] == NO_SPACE
            assert client.ask(READ, 100, 512)[0] == INVALID
            assert client.ask(99)[0] == INVALID
            out = ended(run)
    result = json.loads((tmp_path / "r.json").read_text())
    assert next(iter(result)) == "verdict"
    assert result["verdict"].startswith("valid: " if result["valid"] else "not valid: ")
    assert result["serve"]["clock"] == clock
    assert result["serve"]["connections"] == 1
    assert result["latency_us"]["read"]["mean"] > 0
    assert out.splitlines()[0] == result["verdict"]
    assert not (tmp_path / "flashweir.sock").exists()


def test_a_file_keeps_the_bytes_and_says_if_it_is_not_whole(tmp_path: Path) -> None:
    options = ("--clock", "virtual", "--data", "disk")
    with served(tmp_path, *options) as (run, _):
        with Client(tmp_path / "flashweir.sock") as client:
            assert client.ask(WRITE, 512, b"c" * 512) == (0, b"")
        ended(run, signal.SIGINT)
    assert (tmp_path / "disk").read_bytes()[512:1024] == b"c" * 512
    with served(tmp_path, *options) as (run, _):
        with Client(tmp_path / "flashweir.sock") as client:
            assert client.ask(READ, 512, 512) == (0, b"c" * 512)
        run.kill()
        run.communicate(timeout=LIMIT_S)
    assert "is not whole" in refused("serve", *SMALL, *options, cwd=tmp_path)
    (tmp_path / "disk.open").unlink()
    with served(tmp_path, *options) as (run, _):
        ended(run)


def test_exports_are_parts_of_the_drive(tmp_path: Path) -> None:
    with served(tmp_path, "--clock", "virtual", "--export", "web=2MiB", "--export", "db", "--json", "-") as (run, _):
        path = tmp_path / "flashweir.sock"
        with Client(path, "web") as web, Client(path, "db") as db:
            assert (web.size, db.size) == (2 << 20, 6 << 20)
            assert web.ask(WRITE, 0, b"w" * 512) == (0, b"")
            assert db.ask(READ, 0, 512) == (0, bytes(512))
            assert web.ask(READ, 0, 512) == (0, b"w" * 512)
        out = ended(run)
    assert json.loads(out)["serve"]["connections"] == 2


def test_noise_and_clients_that_vanish_end_only_their_connection(tmp_path: Path) -> None:
    with served(tmp_path, "--clock", "virtual") as (run, _):
        for count in range(40):
            header = struct.pack(">IHHQQI", 0x25609513, 0, count % 9, 7, 0, 4096)
            with Client(tmp_path / "flashweir.sock") as client:
                client.socket.sendall(header[: count % 28 + 1] + bytes(count * 7))
        with Client(tmp_path / "flashweir.sock") as client:
            assert client.ask(READ, 0, 512)[0] == 0
        ended(run)


def test_nbdinfo_reads_the_drive(tmp_path: Path) -> None:
    nbdinfo = tool("nbdinfo")
    with served(tmp_path, "--clock", "virtual") as (run, ready):
        found = subprocess.run(
            [nbdinfo, "--json", ready["uri"]], capture_output=True, text=True, timeout=LIMIT_S, check=True
        )
        export = json.loads(found.stdout)["exports"][0]
        assert export["export-size"] == CAPACITY
        assert export["can_fua"]
        assert export["can_multi_conn"]
        ended(run)


def test_nbdcopy_copies_in_and_out(tmp_path: Path) -> None:
    nbdcopy = tool("nbdcopy")
    data = bytes(range(256)) * (CAPACITY // 256)
    (tmp_path / "in").write_bytes(data)
    with served(tmp_path, "--clock", "virtual") as (run, ready):
        for pair in (("in", ready["uri"]), (ready["uri"], "out")):
            subprocess.run([nbdcopy, *pair], cwd=tmp_path, timeout=LIMIT_S, check=True)
        ended(run)
    assert (tmp_path / "out").read_bytes() == data


def test_bad_options_are_refused_in_a_line(tmp_path: Path) -> None:
    for options, expected in (
        (("--nbd", "here"), "expected unix:PATH or tcp:HOST:PORT"),
        (("--nbd", "tcp:0.0.0.0:0"), "--exposed"),
        (("--dilate", "0.5"), "expected a factor from 1"),
        (("--clock", "virtual", "--dilate", "2"), "--clock paced"),
        (("--export", "a=9MiB"), "expected exports that fit"),
        (("--data", "no/such/folder/disk"), "expected a file, a folder, memory or none"),
        (("--set", "host.queue_depth=3"), "host.queue_depth"),
    ):
        assert expected in refused("serve", *SMALL, *options, cwd=tmp_path)
    assert not (tmp_path / "flashweir.sock").exists()


def test_a_machine_that_breaks_vhost_user_is_ended_with_a_line(tmp_path: Path) -> None:
    with served(tmp_path, "--clock", "virtual", "--vhost-user-blk", "vm.sock") as (run, ready):
        assert ready["vhost_user_blk"] == ["vm.sock"]
        with socket.socket(socket.AF_UNIX) as machine:
            machine.settimeout(LIMIT_S)
            machine.connect(str(tmp_path / "vm.sock"))
            machine.sendall(b"\xff" * 64)
            assert machine.recv(1) == b""
        assert run.stderr is not None
        line = run.stderr.readline()
        assert line.startswith("flashweir serve: --vhost-user-blk vm.sock: a client was ended: ")
        with Client(tmp_path / "flashweir.sock") as client:
            assert client.ask(READ, 0, 512)[0] == 0
        ended(run)
    assert not (tmp_path / "vm.sock").exists()
    assert "expected the path of a socket" in refused(
        "serve", *SMALL, "--export", "a", "--vhost-user-blk", "a=", cwd=tmp_path
    )
