"""`flashweir serve`: a disk that clients open, and how it ends."""

import json
import signal
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import pytest
from block_devices import tool
from conftest import refused

SMALL = ("--set", "channels=2", "--set", "capacity=8MiB", "--set", "pages_per_block=8")
CAPACITY = 8 << 20
# Seconds after which a wait is a failure.
LIMIT_S = 60
READ, WRITE, DISCONNECT, FLUSH, TRIM, WRITE_ZEROES = 0, 1, 2, 3, 4, 6
FUA = 1
INVALID, NO_SPACE = 22, 28
OPTION, OPTION_REPLY = 0x49484156454F5054, 0x3E889045565A9
GO, STRUCTURED_REPLY, STARTTLS = 7, 8, 5
ACK, INFO, POLICY = 1, 3, (1 << 31) + 2
CHUNK = 0x668E33EF


class Client:
    """A client of the NBD protocol."""

    def __init__(self, path: Path, export: str = "", *, structured: bool = False) -> None:
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(LIMIT_S)
        self.socket.connect(str(path))
        assert self._read(16) == b"NBDMAGICIHAVEOPT"
        assert struct.unpack(">H", self._read(2))[0] & 3 == 3
        self.socket.sendall(struct.pack(">I", 3))
        if structured:
            assert self._option(STRUCTURED_REPLY) == [(ACK, b"")]
        assert self._option(STARTTLS)[0][0] == POLICY
        name = export.encode()
        *infos, last = self._option(GO, struct.pack(">I", len(name)) + name + struct.pack(">H", 0))
        assert last == (ACK, b"")
        self.structured = structured
        self.size = next(
            struct.unpack(">Q", data[2:10])[0] for kind, data in infos if kind == INFO and data[:2] == b"\0\0"
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def _read(self, count: int) -> bytes:
        found = b""
        while len(found) < count:
            more = self.socket.recv(count - len(found))
            assert more, "the server ended the connection"
            found += more
        return found

    def _option(self, kind: int, data: bytes = b"") -> list[tuple[int, bytes]]:
        self.socket.sendall(struct.pack(">QII", OPTION, kind, len(data)) + data)
        replies = []
        while True:
            magic, option, answer, length = struct.unpack(">QIII", self._read(20))
            assert (magic, option) == (OPTION_REPLY, kind)
            replies.append((answer, self._read(length)))
            if answer not in (2, INFO):
                return replies

    def ask(self, command: int, offset: int = 0, data: bytes | int = 0, flags: int = 0) -> tuple[int, bytes]:
        """Sends a request; the error of its reply, and the bytes that were read."""
        length = data if isinstance(data, int) else len(data)
        body = b"" if isinstance(data, int) else data
        self.socket.sendall(struct.pack(">IHHQQI", 0x25609513, flags, command, 7, offset, length) + body)
        if self.structured and command == READ:
            magic, last, kind, cookie, size = struct.unpack(">IHHQI", self._read(20))
            assert (magic, last, cookie) == (CHUNK, 1, 7)
            payload = self._read(size)
            if kind >> 15:
                return struct.unpack(">I", payload[:4])[0], b""
            assert struct.unpack(">Q", payload[:8])[0] == offset
            return 0, payload[8:]
        magic, error, cookie = struct.unpack(">IIQ", self._read(16))
        assert (magic, cookie) == (0x67446698, 7)
        return error, self._read(length) if command == READ and error == 0 else b""


@contextmanager
def served(folder: Path, *options: str) -> Iterator[tuple[subprocess.Popen[str], dict[str, Any]]]:
    """A drive that is served in a folder, and the line with which it is ready."""
    run = subprocess.Popen(
        [sys.executable, "-m", "flashweir", "serve", *SMALL, *options],
        cwd=folder,
        text=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    watch = threading.Timer(3 * LIMIT_S, run.kill)
    watch.start()
    try:
        assert run.stdout is not None
        line = run.stdout.readline()
        assert line, run.communicate(timeout=LIMIT_S)[1]
        yield run, json.loads(line)
    finally:
        watch.cancel()
        run.kill()
        run.communicate(timeout=LIMIT_S)


def ended(run: subprocess.Popen[str], number: int = signal.SIGTERM) -> str:
    """Asks a drive to stop; the rest of its standard output."""
    run.send_signal(number)
    out, err = run.communicate(timeout=LIMIT_S)
    assert run.returncode == 0, err
    assert err == ""
    return out


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
