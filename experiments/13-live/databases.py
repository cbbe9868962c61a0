"""The same database on four drives, served live: `python databases.py [--engine E] [--transactions N] [DRIVE ...]`.

SQLite (WAL, synchronous=FULL), or PostgreSQL (`--engine postgres`, fsync), on ext4 on each drive of drives.toml, with
the virtual clock: simulated time passes only while a request is outstanding, so the times are those of the drive,
whatever this machine does. Each transaction changes 4 of 100,000 rows, drawn by a Zipf law, reads one, and adds one.
The arrivals are recorded and simulated again: the flash operations must be the same.
"""

import argparse
import os
import random
import sqlite3
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import postgres
from disks import disk_of, missing

import flashweir

ROWS = 100_000
# Bytes of a row.
BODY = 400


def fill(place: Path) -> None:
    """Makes the table."""
    database = sqlite3.connect(place / "database", isolation_level=None)
    database.execute("PRAGMA journal_mode=WAL")
    database.execute("PRAGMA synchronous=FULL")
    database.execute("CREATE TABLE rows (number INTEGER PRIMARY KEY, body BLOB)")
    database.execute("BEGIN")
    database.executemany("INSERT INTO rows VALUES (?, zeroblob(?))", ((number, BODY) for number in range(ROWS)))
    database.execute("COMMIT")
    database.close()


def drawn(count: int) -> Iterator[tuple[list[tuple[int, bytes]], int, tuple[int, bytes]]]:
    """So many transactions: rows to change, a row to read, a row to add."""
    draw = random.Random(1)  # noqa: S311 - nothing to hide
    for number in range(count):
        # A Zipf law of exponent 1 by its inverse, spread over the table.
        changed = [(int(ROWS ** draw.random()) * 7919 % ROWS, draw.randbytes(BODY)) for _ in range(4)]
        yield changed, draw.randrange(ROWS), (ROWS + number, draw.randbytes(BODY))


def transact(place: Path, count: int) -> None:
    """So many transactions."""
    database = sqlite3.connect(place / "database", isolation_level=None)
    database.execute("PRAGMA synchronous=FULL")
    for changed, read, added in drawn(count):
        database.execute("BEGIN IMMEDIATE")
        database.executemany("UPDATE rows SET body = ? WHERE number = ?", [(body, row) for row, body in changed])
        database.execute("SELECT body FROM rows WHERE number = ?", (read,)).fetchone()
        database.execute("INSERT INTO rows VALUES (?, ?)", added)
        database.execute("COMMIT")
    (verdict,) = database.execute("PRAGMA integrity_check(1)").fetchone()
    if verdict != "ok":
        sys.exit(f"the database is damaged: {verdict}")
    database.close()


def measured(drive: dict[str, Any], common: dict[str, Any], given: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Runs the database on a drive; a row of the table."""
    transactions = given.transactions
    folder.chmod(0o711)
    settings = {**common, **drive["set"]}
    trace = folder / "live.parquet"
    served = flashweir.serve(
        drive["device"],
        nbd=f"unix:{folder / 'sock'}",
        clock="virtual",
        data=folder / "data",
        record=trace,
        set=settings,
    )
    with served as live, disk_of(folder, live.uri) as disk:
        disk.make()
        place = disk.mount()
        if drive.get("fill_cache"):
            (place / "ballast").write_bytes(bytes(300 << 20))
        step("fill", given.engine, place)
        os.sync()
        before = live.control("counters")
        step("transact", given.engine, place, transactions)
        after = live.control("counters")
    again = flashweir.simulate(trace, drive["device"], set=settings)
    flash = {name: again["flash"][name] for name in ("reads", "programs", "erases")}
    spent = after["simulated_s"] - before["simulated_s"]
    programmed = after["flash"]["programs"] - before["flash"]["programs"]
    written = after["counters"]["bytes"]["write"] - before["counters"]["bytes"]["write"]
    page = live.result["config"]["page"]
    page_bytes = int(page.removesuffix("KiB")) << 10
    flash_bytes = programmed * page_bytes
    raw_bytes = (1 << 30) * (1 + live.result["config"]["op_ratio"])
    latency = live.result["latency_us"]
    return {
        "drive": drive["title"],
        "transactions/s": round(transactions / spent),
        "write p99.9 (us)": round(latency["write"]["p999"]),
        "flush p99.9 (us)": round(latency["flush"]["p999"]),
        "read p99.9 (us)": round(latency["read"]["p999"]),
        "written a transaction (KiB)": written / transactions / 1024,
        "amplification": flash_bytes / written,
        "transactions until worn out, a GiB (million)": round(
            raw_bytes * drive["rated_cycles"] / (flash_bytes / transactions) / 1e6
        ),
        "simulated again": "equal" if flash == {name: live.result["flash"][name] for name in flash} else "differs",
    }


def text_of(value: object) -> str:
    """A value of the table."""
    return f"{value:,.3g}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else str(value)


def step(*words: object) -> None:
    """A step of the database in a process of its own."""
    subprocess.run([sys.executable, __file__, "--step", *map(str, words)], check=True, timeout=1800)  # noqa: S603


def main() -> None:
    """Runs, and prints the table."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("drives", nargs="*")
    options.add_argument("--transactions", type=int, default=5000)
    options.add_argument("--engine", choices=("sqlite", "postgres"), default="sqlite")
    options.add_argument("--step", nargs="+", help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.step:
        name, engine, place, *values = given.step
        if name == "fill":
            fill(Path(place)) if engine == "sqlite" else postgres.fill(Path(place), ROWS, BODY)
        elif engine == "sqlite":
            transact(Path(place), int(values[0]))
        else:
            postgres.transact(Path(place), drawn(int(values[0])))
        return
    if lacks := missing() or (postgres.missing() if given.engine == "postgres" else ""):
        sys.exit(f"not run: this machine lacks {lacks}")
    spec = tomllib.loads(Path(__file__).with_name("drives.toml").read_text(encoding="utf-8"))
    shown = False
    for name in given.drives or spec["drives"]:
        with tempfile.TemporaryDirectory(prefix="flashweir-") as folder:
            row = measured(spec["drives"][name], spec["common"], given, Path(folder))
        if not shown:
            print("| " + " | ".join(row) + " |\n" + "|---" * len(row) + "|")
            shown = True
        print("| " + " | ".join(map(text_of, row.values())) + " |", flush=True)


if __name__ == "__main__":
    main()
