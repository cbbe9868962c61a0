"""A client of the NBD protocol, and drives of a test's own that it opens."""

import json
import signal
import socket
import ssl
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

SMALL = ("--set", "channels=2", "--set", "capacity=8MiB", "--set", "pages_per_block=8")
CAPACITY = 8 << 20
# Seconds after which a wait is a failure.
LIMIT_S = 60
READ, WRITE, DISCONNECT, FLUSH, TRIM, WRITE_ZEROES = 0, 1, 2, 3, 4, 6
FUA = 1
INVALID, NO_SPACE = 22, 28
OPTION, OPTION_REPLY = 0x49484156454F5054, 0x3E889045565A9
GO, STRUCTURED_REPLY, STARTTLS = 7, 8, 5
ACK, INFO, POLICY, TLS_REQUIRED = 1, 3, (1 << 31) + 2, (1 << 31) + 5
CHUNK = 0x668E33EF


class Client:
    """A client of the NBD protocol."""

    def __init__(
        self, at: Path | int, export: str = "", *, structured: bool = False, tls: ssl.SSLContext | None = None
    ) -> None:
        """Connects to a unix socket, or to a TCP port of this machine."""
        self.socket = socket.socket(socket.AF_UNIX if isinstance(at, Path) else socket.AF_INET)
        self.socket.settimeout(LIMIT_S)
        self.socket.connect(str(at) if isinstance(at, Path) else ("127.0.0.1", at))
        try:
            self._negotiate(export, structured=structured, tls=tls)
        except BaseException:
            self.socket.close()
            raise

    def _negotiate(self, export: str, *, structured: bool, tls: ssl.SSLContext | None) -> None:
        assert self._read(16) == b"NBDMAGICIHAVEOPT"
        assert struct.unpack(">H", self._read(2))[0] & 3 == 3
        self.socket.sendall(struct.pack(">I", 3))
        if tls is not None:
            assert self._option(STRUCTURED_REPLY)[0][0] == TLS_REQUIRED
            assert self._option(STARTTLS) == [(ACK, b"")]
            self.socket = tls.wrap_socket(self.socket, server_hostname="localhost")
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
