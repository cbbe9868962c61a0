"""Workloads whose power is cut, and the checks of what they were promised.

    python workloads.py write WORKLOAD PLACE
    python workloads.py check WORKLOAD PLACE < PROMISED

A writer runs until the disk under PLACE is gone, and prints a line for each thing that was acknowledged. A check reads
these lines and prints a JSON list of faults. It needs nothing but Python, so that a machine in a machine can run it;
`postgres` needs PostgreSQL, too.
"""

import contextlib
import hashlib
import json
import os
import sqlite3
import sys
from collections.abc import Callable
from pathlib import Path


def body_of(name: str) -> bytes:
    """The bytes of a file, which follow from its name: 1 to 20 blocks."""
    seed = hashlib.sha256(name.encode()).digest()
    return seed * (128 * (1 + seed[0] % 20))


def write_files(place: Path) -> None:
    """Makes files and replaces files, each with fsync of file and folder, and prints what is acknowledged."""
    folder = os.open(place, os.O_RDONLY)
    for number in range(1_000_000):
        name = f"replaced-{number % 7}" if number % 3 == 0 else f"file-{number}"
        version = f"{name} {number}"
        part = place / "part"
        with part.open("wb") as file:
            file.write(version.encode().ljust(64) + body_of(version))
            file.flush()
            os.fsync(file.fileno())
        part.rename(place / name)
        os.fsync(folder)
        print(version, flush=True)


def write_rows(place: Path, journal: str) -> None:
    """Commits rows, and prints the number of each once it is acknowledged."""
    database = sqlite3.connect(place / "database", isolation_level=None)
    # Without shared memory, which would end the process with a signal once the disk is gone.
    database.execute("PRAGMA locking_mode=EXCLUSIVE")
    database.execute(f"PRAGMA journal_mode={journal}")
    database.execute("PRAGMA synchronous=FULL")
    database.execute("CREATE TABLE IF NOT EXISTS rows (number INTEGER PRIMARY KEY, body BLOB)")
    for number in range(1, 1_000_000):
        database.execute("INSERT INTO rows VALUES (?, ?)", (number, body_of(str(number))[:3000]))
        print(number, flush=True)


def write_wal(place: Path) -> None:
    """Rows with a write-ahead log."""
    write_rows(place, "WAL")


def write_rollback(place: Path) -> None:
    """Rows with a rollback journal."""
    write_rows(place, "DELETE")


def write_postgres(place: Path) -> None:
    """Transactions of PostgreSQL."""
    from postgres import commit_until_gone

    commit_until_gone(place)


def check_files(place: Path, promised: list[str]) -> list[str]:
    """Files that are not what was acknowledged, or something later."""
    last = {line.split()[0]: int(line.split()[1]) for line in promised}
    broken = []
    for name, number in last.items():
        path = place / name
        if not path.exists():
            broken.append(f"{name}: acknowledged, and not there")
            continue
        found = path.read_bytes()
        version = found[:64].decode(errors="replace").rstrip()
        if found[64:] != body_of(version):
            broken.append(f"{name}: not whole")
        elif int(version.split()[1]) < number:
            broken.append(f"{name}: older than acknowledged")
    return broken


def check_rows(place: Path, promised: list[str]) -> list[str]:
    """Faults of the database: those of its own check, and rows that were acknowledged and are not there."""
    try:
        # Closed after an error, too: an open file would keep the disk busy.
        with contextlib.closing(sqlite3.connect(place / "database")) as database:
            (verdict,) = database.execute("PRAGMA integrity_check(1)").fetchone()
            rows = dict(database.execute("SELECT number, body FROM rows").fetchall())
    except sqlite3.Error as error:
        return [f"SQLite: {error}"] if promised else []
    broken = [] if verdict == "ok" else [f"SQLite: {verdict}"]
    numbers = map(int, promised)
    return broken + [f"row {n}: lost" for n in numbers if rows.get(n) != body_of(str(n))[:3000]]


def check_postgres(place: Path, promised: list[str]) -> list[str]:
    """Faults of a recovered PostgreSQL."""
    from postgres import faults

    return faults(place, promised)


WORKLOADS: dict[str, tuple[Callable[[Path], None], Callable[[Path, list[str]], list[str]]]] = {
    "files": (write_files, check_files),
    "sqlite-wal": (write_wal, check_rows),
    "sqlite-rollback": (write_rollback, check_rows),
    "postgres": (write_postgres, check_postgres),
}


def whole_lines(text: str) -> list[str]:
    """Lines that were written to their end."""
    return [line.strip() for line in text.splitlines(keepends=True) if line.endswith("\n")]


def main() -> None:
    """Writes or checks."""
    what, workload, place = sys.argv[1:]
    write, check = WORKLOADS[workload]
    if what == "write":
        write(Path(place))
    else:
        print(json.dumps(check(Path(place), whole_lines(sys.stdin.read()))))


if __name__ == "__main__":
    main()
