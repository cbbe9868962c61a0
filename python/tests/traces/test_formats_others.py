"""Traces of other programs, and other programs with our traces: tables of any origin, blktrace's own tools, fio."""

import re
import subprocess
from pathlib import Path

import polars as pl
import pytest
from block_devices import tool
from conftest import flashweir, refused

import flashweir as package

WORK = "random:span=8MiB,count=300,rate=2000,write=0.6"
NAMED = "time=when:us,op=rw,lba=offset:bytes,size=length:bytes,response=rt:us"


def run(*args: str, cwd: Path) -> str:
    done = subprocess.run(args, cwd=cwd, capture_output=True, text=True, timeout=300, check=True)
    return done.stdout + done.stderr


@pytest.fixture
def table() -> pl.DataFrame:
    rows = [(10 * row, "x", ["r", "write"][row % 2], 4096 * (row % 50), 4096, 80.5 + row) for row in range(200)]
    return pl.DataFrame(rows, schema=["when", "more", "rw", "offset", "length", "rt"], orient="row")


@pytest.mark.parametrize("compression", ["uncompressed", "snappy", "gzip", "zstd"])
def test_a_parquet_table_of_any_origin_is_a_trace(table: pl.DataFrame, compression: str, tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    table.write_parquet(path, compression=compression, row_group_size=64)  # type: ignore[arg-type]
    info = package.trace_info(path, columns=NAMED)
    assert (info.requests, info.reads, info.writes, info.duration_ns) == (200, 100, 100, 1_990_000)
    flashweir("trace", "convert", str(path), str(tmp_path / "log.parquet"), "--columns", NAMED)
    log = pl.read_parquet(tmp_path / "log.parquet")
    assert log["lba"].to_list() == [8 * (row % 50) for row in range(200)]
    assert (log["completion_ns"] - log["time_ns"]).to_list() == [80_500 + 1000 * row for row in range(200)]
    assert 'no "size" among when, more, rw, offset, length, rt' in refused(
        "simulate", str(path), "--columns", NAMED.replace("length", "size")
    )


def test_a_csv_with_headings_is_the_same_trace(table: pl.DataFrame, tmp_path: Path) -> None:
    table.write_csv(tmp_path / "t.csv", quote_style="non_numeric")
    table.write_parquet(tmp_path / "t.parquet")
    results = [package.simulate(tmp_path / name, columns=NAMED) for name in ("t.csv", "t.parquet")]
    assert results[0].latency_us == results[1].latency_us
    assert results[0]["requests"] == 200


def test_a_damaged_parquet_table_is_one_line(table: pl.DataFrame, tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    table.write_parquet(path)
    whole = path.read_bytes()
    for content in (whole[:100], whole[:300] + bytes(200) + whole[500:], b"PAR1" + bytes(500) + b"PAR1"):
        path.write_bytes(content)
        message = refused("trace", "info", str(path), "--columns", NAMED)
        assert str(path) in message


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    """A run's log as blktrace."""
    settings = ["--set", "host.mode=open", "--set", "capacity=64MiB", "--set", "channels=2"]
    flashweir("simulate", WORK, *settings, "--requests", "log.parquet", "-q", cwd=tmp_path)
    flashweir("trace", "convert", "log.parquet", "sda.blktrace.0", "-q", cwd=tmp_path)
    return tmp_path


def test_the_tools_of_blktrace_read_what_we_write(recorded: Path) -> None:
    blkparse, btt = tool("blkparse"), tool("btt")
    out = run(blkparse, "-i", "sda", "-d", "all.bin", cwd=recorded)
    stages = [line.split()[5] for line in out.splitlines() if re.match(r"\s+8,0 ", line)]
    assert {stage: stages.count(stage) for stage in "QGIDC"} == dict.fromkeys("QGIDC", 300)
    table = run(btt, "-i", "all.bin", cwd=recorded)
    counts = {words[0]: int(words[4]) for line in table.splitlines() if len(words := line.split()) == 5 and words[0] in
              ("Q2G", "G2I", "I2D", "D2C", "Q2C")}  # fmt: skip
    assert set(counts) == {"Q2G", "G2I", "I2D", "D2C", "Q2C"}
    assert min(counts.values()) > 250


def test_fio_replays_what_we_write(recorded: Path) -> None:
    fio = tool("fio")
    (recorded / "target").write_bytes(bytes(8 << 20))
    out = run(fio, "--name=r", "--read_iolog=sda.blktrace.0", "--replay_redirect=target", "--ioengine=psync",
              "--replay_no_stall=1", cwd=recorded)  # fmt: skip
    reads = pl.read_parquet(recorded / "log.parquet").filter(op="read").height
    assert f"issued rwts: total={reads},{300 - reads},0,0" in out
