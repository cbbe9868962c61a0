"""PostgreSQL on a disk whose power is cut: clients that commit, and the checks after its recovery.

Three clients commit transactions of two statements over its protocol: a row of 1,500 bytes is inserted, and a tally of
the client is changed. A transaction is acknowledged when the server is ready for the next one. `fsync`,
`synchronous_commit`, `full_page_writes` and data checksums are on; the buffers and the log are small, so that
checkpoints come often.

After a cut the server recovers. Then all acknowledged rows must be there, tallies must agree with the rows, amcheck
must find nothing in heaps and B-trees, and `pg_checksums` nothing in any page.
"""

import atexit
import contextlib
import functools
import hashlib
import os
import pwd
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Self

# PostgreSQL refuses to run as root.
USER = "postgres"
CLIENTS = 3
SETTINGS = {
    "listen_addresses": "",
    "fsync": "on",
    "synchronous_commit": "on",
    "full_page_writes": "on",
    "shared_buffers": "1MB",
    "min_wal_size": "2MB",
    "max_wal_size": "4MB",
    "max_connections": "10",
    "restart_after_crash": "off",
    "log_checkpoints": "on",
}
# Nothing happens by wall time, which passes without the drive's; checkpoints come by the size of the log.
LOADED = {
    "shared_buffers": "8MB",
    "max_wal_size": "32MB",
    "checkpoint_timeout": "1d",
    "autovacuum": "off",
    "bgwriter_lru_maxpages": "0",
}
TABLES = """\
CREATE EXTENSION amcheck;
CREATE TABLE rows (number bigint PRIMARY KEY, client int NOT NULL, body bytea NOT NULL);
CREATE TABLE tallies (client int PRIMARY KEY, total bigint NOT NULL, last bigint NOT NULL);
"""
# Clients whose tally, total and last, is not that of their rows.
TALLIES = """\
SELECT t.client, t.total, t.last, count(r.number), coalesce(max(r.number), 0) FROM tallies t
  LEFT JOIN rows r USING (client) GROUP BY 1, 2, 3
  HAVING t.total <> count(r.number) OR t.last <> coalesce(max(r.number), 0)
"""
HEAPS = "SELECT c.oid::regclass, v.blkno, v.msg FROM pg_class c, verify_heapam(c.oid) v WHERE c.relkind = 'r'"
# Ends with an error if one is damaged.
TREES = """\
SELECT bt_index_check(i.indexrelid, i.indrelid = 'rows'::regclass) FROM pg_index i
  JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_am a ON a.oid = c.relam
  WHERE a.amname = 'btree' AND i.indisvalid AND c.relpersistence = 'p'
"""
_LIMIT_S = 120


def programs() -> Path | None:
    """The folder of PostgreSQL's programs; nothing if this machine has none."""
    found = shutil.which("initdb")
    folders = [Path(found).resolve().parent] if found else []
    folders += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return next((folder for folder in folders if (folder / "postgres").exists()), None)


def missing() -> str:
    """Names what this machine lacks to run PostgreSQL; empty if nothing."""
    if programs() is None:
        return "PostgreSQL"
    if os.geteuid() != 0:
        return f"root, to become the user {USER}"
    return "" if USER in [one.pw_name for one in pwd.getpwall()] else f"a user {USER}"


def run(program: str, *words: object) -> subprocess.CompletedProcess[str]:
    """Runs one of PostgreSQL's programs to its end, as its user."""
    folder = programs() or Path()
    return subprocess.run(  # noqa: S603
        [folder / program, *map(str, words)],
        user=USER,
        cwd="/",
        capture_output=True,
        text=True,
        timeout=_LIMIT_S,
        check=False,
    )


class Gone(Exception):
    """The server has gone, or refuses."""


class Client:
    """A client of PostgreSQL's protocol, version 3.0, for one simple query at a time."""

    def __init__(self, folder: Path) -> None:
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(_LIMIT_S)
        start = struct.pack(">I", 196_608) + f"user\0{USER}\0database\0postgres\0\0".encode()
        try:
            self.socket.connect(str(folder / ".s.PGSQL.5432"))
            self.socket.sendall(struct.pack(">I", len(start) + 4) + start)
            self._answer()
        except OSError as error:
            self.socket.close()
            raise Gone(str(error)) from error
        except Gone:
            self.socket.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def _take(self, count: int) -> bytes:
        found = bytearray()
        while len(found) < count:
            more = self.socket.recv(count - len(found))
            if not more:
                raise Gone("the connection ended")
            found += more
        return bytes(found)

    def _answer(self) -> list[list[str]]:
        """Rows until the server is ready for the next query."""
        rows, fault = [], ""
        while True:
            try:
                kind, length = struct.unpack(">cI", self._take(5))
                body = self._take(length - 4)
            except Gone as error:
                raise Gone(fault or str(error)) from error
            if kind == b"D":
                rows.append(_row(body))
            elif kind == b"E":
                fault = ", ".join(
                    part[1:] for part in body.decode(errors="replace").split("\0") if part[:1] in ("S", "M")
                )
            elif kind == b"Z":
                if fault:
                    raise Gone(fault)
                return rows

    def ask(self, text: str) -> list[list[str]]:
        """Runs a query, or several in one transaction. Returns the rows when they are committed.

        Raises:
            Gone: the server has gone, or refused.
        """
        body = text.encode() + b"\0"
        try:
            self.socket.sendall(b"Q" + struct.pack(">I", len(body) + 4) + body)
            return self._answer()
        except OSError as error:
            raise Gone(str(error)) from error


def _row(body: bytes) -> list[str]:
    """The values of a message DataRow, as text."""
    at, values = 2, []
    for _ in range(struct.unpack_from(">H", body)[0]):
        (length,) = struct.unpack_from(">i", body, at)
        at += 4
        values.append("" if length < 0 else body[at : at + length].decode())
        at += max(length, 0)
    return values


@contextlib.contextmanager
def server(
    data: Path, stop: signal.Signals = signal.SIGINT, settings: Mapping[str, str] = MappingProxyType({})
) -> Iterator[Path]:
    """Runs the server until the end of the block, once it takes clients. Gives the folder of its socket.

    `stop` ends it: SIGINT with a checkpoint, SIGQUIT without.

    Raises:
        Gone: it does not start.
    """
    with tempfile.TemporaryDirectory(prefix="flashweir-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        shutil.chown(folder, USER)
        words = [str((programs() or Path()) / "postgres"), "-D", str(data), "-k", name]
        words += [word for key, value in {**SETTINGS, **settings}.items() for word in ("-c", f"{key}={value}")]
        with (folder / "log").open("w+", encoding="utf-8", errors="replace") as log:
            process = subprocess.Popen(words, user=USER, cwd="/", stdout=log, stderr=log)  # noqa: S603
            try:
                end = time.monotonic() + _LIMIT_S
                while True:
                    try:
                        Client(folder).__exit__()
                        break
                    except Gone as error:
                        if process.poll() is not None or time.monotonic() > end:
                            log.seek(0)
                            lines = log.read().strip().splitlines()
                            cause = [line for line in lines if "PANIC" in line or "FATAL" in line] or lines[-1:]
                            raise Gone(f"does not start: {cause[0] if cause else error}") from error
                    time.sleep(0.02)
                yield folder
            finally:
                _stop(process, stop)


def _stop(process: subprocess.Popen[bytes], first: signal.Signals) -> None:
    """Ends a server by the first signal that it obeys."""
    for how in (first, signal.SIGQUIT, signal.SIGKILL):
        if process.poll() is None:
            process.send_signal(how)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(_LIMIT_S / 4)


@functools.cache
def _template() -> Path:
    """A new cluster with the tables, made once."""
    folder = Path(tempfile.mkdtemp(prefix="flashweir-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    shutil.chown(folder, USER)
    data = folder / "cluster"
    words = ("-D", data, "-U", USER, "-A", "trust", "--data-checksums", "--wal-segsize=1", "--no-sync", "--locale=C")
    made = run("initdb", *words, "-E", "UTF8")
    if made.returncode:
        raise RuntimeError(f"initdb: {made.stderr.strip()}")
    with server(data, settings={"fsync": "off"}) as folder, Client(folder) as client:
        client.ask(TABLES)
        client.ask("INSERT INTO tallies SELECT client, 0, 0 FROM generate_series(0, 9) client")
    return data


def make(place: Path) -> None:
    """Copies a new cluster onto a disk."""
    subprocess.run(["cp", "-a", _template(), place / "cluster"], check=True, timeout=_LIMIT_S)  # noqa: S603, S607


def body_of(number: int) -> str:
    """The bytes of a row, which follow from its number and can't be compressed, in hexadecimal digits."""
    return "".join(hashlib.sha256(f"{number} {part}".encode()).hexdigest() for part in range(47))


def commit_until_gone(place: Path) -> None:
    """Commits with several clients until the server is gone, and prints each number that was acknowledged."""

    def commit(folder: Path, client_number: int) -> None:
        with contextlib.suppress(Gone), Client(folder) as client:
            for number in range(client_number + 1, 1_000_000, CLIENTS):
                row = f"{number}, {client_number}, '\\x{body_of(number)}'"
                tally = f"total = total + 1, last = {number} WHERE client = {client_number}"
                # Numbers and digits of its own.
                client.ask(f"INSERT INTO rows VALUES ({row}); UPDATE tallies SET {tally}")  # noqa: S608
                # One write, so that lines of several threads don't mix.
                os.write(1, f"{number}\n".encode())

    with server(place / "cluster") as folder:
        threads = [threading.Thread(target=commit, args=(folder, number)) for number in range(CLIENTS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


def faults(place: Path, promised: list[str]) -> list[str]:
    """Lets the server recover. Returns what is lost or damaged."""
    broken = []
    try:
        with server(place / "cluster") as folder, Client(folder) as client:
            rows = {int(number): body for number, body in client.ask("SELECT number, body FROM rows")}
            broken += [f"row {n}: lost" for n in map(int, promised) if n not in rows]
            broken += [f"row {n}: other bytes" for n, body in rows.items() if body != f"\\x{body_of(n)}"]
            broken += [f"tally of client {' '.join(row)}" for row in client.ask(TALLIES)]
            broken += [f"amcheck: {' '.join(row)}" for row in client.ask(HEAPS)]
            client.ask(TREES)
    except Gone as error:
        return [*broken, f"PostgreSQL: {error}"]
    checked = run("pg_checksums", "--check", "-D", place / "cluster")
    if checked.returncode:
        broken.append(f"pg_checksums: {(checked.stderr or checked.stdout).strip().splitlines()[0]}")
    return broken


def fill(place: Path, rows: int, body: int) -> None:
    """Makes a cluster with a table of so many rows of so many bytes."""
    make(place)
    with server(place / "cluster", settings=LOADED) as folder, Client(folder) as client:
        client.ask("CREATE TABLE loaded (number bigint PRIMARY KEY, body bytea NOT NULL)")
        zeroes = f"decode(repeat('00', {body}), 'hex')"
        client.ask(f"INSERT INTO loaded SELECT number, {zeroes} FROM generate_series(0, {rows - 1}) number")  # noqa: S608
        client.ask("VACUUM (FREEZE, ANALYZE) loaded")


def transact(place: Path, transactions: Iterable[tuple[list[tuple[int, bytes]], int, tuple[int, bytes]]]) -> None:
    """Commits transactions, each of rows to change, a row to read, and a row to add. Ends without a checkpoint."""
    with server(place / "cluster", signal.SIGQUIT, LOADED) as folder, Client(folder) as client:
        for changed, read, (added, body) in transactions:
            # Numbers and digits of its own.
            words = [f"UPDATE loaded SET body = '\\x{new.hex()}' WHERE number = {row}" for row, new in changed]  # noqa: S608
            words += [f"SELECT body FROM loaded WHERE number = {read}"]  # noqa: S608
            words += [f"INSERT INTO loaded VALUES ({added}, '\\x{body.hex()}')"]  # noqa: S608
            client.ask(";".join(words))
