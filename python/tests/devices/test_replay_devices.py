"""`flashweir replay` on block devices whose server says what it was asked, and delays or fails it.

Needs root, loop devices, FUSE, nbdkit and nbdfuse; skips with the reason where one is missing.
"""

import signal
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest
from block_devices import MIB, SECTOR, Served, loop_of, loop_on, mounted, need_no_trim, need_trim, served, wait_for
from conftest import flashweir, refused
from started import start

# Between what is looked at before a drive is written that is named twice: superblocks at its beginning and end.
WITHIN = (8 * MIB, 40 * MIB)
MIXED = f"random:offset={WITHIN[0]},span=32MiB,size=16KiB,write=0.5,trim=0.1,flush=0.05,seed=5"


def named(device: Served) -> tuple[str, ...]:
    """The device, named twice: it is then written without its content being read."""
    return device.device, "--erase", device.device


def asked(device: Served) -> list[tuple[str, int, int]]:
    """Requests to the server in that range."""
    return [one for one in device.requests() if WITHIN[0] <= one[1] < WITHIN[1]]


def logged(path: Path) -> list[tuple[str, int, int]]:
    """The same of a log, in the order of issues."""
    frame = pl.read_parquet(path).sort("issue_ns").filter(pl.col("op") != "flush")
    return [(row["op"], row["lba"] * SECTOR, row["sectors"] * SECTOR) for row in frame.to_dicts()]


@pytest.mark.parametrize("options", [["--engine", "sync"], ["--depth", "1"]])
def test_a_drive_gets_every_request_once_and_in_order(tmp_path: Path, options: list[str]) -> None:
    log = tmp_path / "log.parquet"
    with served(tmp_path) as device:
        need_trim(device.device, "requests with TRIM in order")
        trace = f"{MIXED},rate=2000,count=600"
        flashweir("replay", trace, *named(device), *options, "-o", str(log))
        assert len(logged(log)) > 500
        assert asked(device) == logged(log)


def test_a_drive_gets_every_request_once_with_many_under_way(tmp_path: Path) -> None:
    log = tmp_path / "log.parquet"
    with served(tmp_path, 64 * MIB, "delay:rdelay=3ms") as device:
        need_trim(device.device, "requests with TRIM, many outstanding")
        done = flashweir(
            "replay", f"{MIXED},rate=3000,count=1500", *named(device), "-o", str(log), "--json", "-"
        ).json()
        assert done["max_outstanding"] > 2
        assert Counter(asked(device)) == Counter(logged(log))
    frame = pl.read_parquet(log).sort("due_ns")
    assert frame["issue_ns"].is_sorted()
    assert len(frame) == 1500


def test_response_times_hold_those_of_the_server(tmp_path: Path) -> None:
    log = tmp_path / "log.parquet"
    reads = f"sequential:offset={WITHIN[0]},span=32MiB,size=4KiB,write=0,rate=100,count=100"
    with served(tmp_path, 64 * MIB, "delay:rdelay=2ms") as device:
        for engine in ("io_uring", "sync"):
            flashweir("replay", reads, device.device, "--engine", engine, "-o", str(log))
            took = device.durations_us()
            for row in pl.read_parquet(log).to_dicts():
                response_us = (row["completion_ns"] - row["issue_ns"]) / 1000
                assert response_us >= max(2000, took["read", row["lba"] * SECTOR])
            log.unlink()


@pytest.mark.parametrize("options", [["--engine", "sync"], ["--depth", "4"]])
def test_a_drive_that_is_too_slow_is_said_to_be(tmp_path: Path, options: list[str]) -> None:
    writes = f"random:offset={WITHIN[0]},span=32MiB,size=4KiB,write=1,rate=4000,count=400"
    with served(tmp_path, 64 * MIB, "delay:wdelay=8ms") as device:
        run = flashweir("replay", writes, *named(device), *options, "--json", "-")
    assert run.err.startswith("warning: the drive and not the processor was the limit: ")
    assert run.err.count("\n") == 1
    done = run.json()
    assert done["late_by_drive"] > 300
    assert done["late_by_host"] < 100
    assert [f"warning: {text}\n" for text in done["warnings"]] == [run.err]


@pytest.mark.parametrize("engine", ["io_uring", "sync"])
def test_a_request_that_fails_ends_it_in_a_line(tmp_path: Path, engine: str) -> None:
    log, trigger = tmp_path / "log.parquet", tmp_path / "trigger"
    fails = ("error:error=EIO", "error:error-rate=100%", f"error:error-file={trigger}")
    with served(tmp_path, 64 * MIB, *fails) as device:
        need_trim(device.device, "requests with TRIM on a drive that fails")
        run = start(
            "replay", f"{MIXED},rate=500,count=5000", *named(device), "--engine", engine, "-o", str(log),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        assert wait_for(lambda: len(asked(device)) > 50 or run.poll() is not None)
        trigger.touch()
        out, err = run.communicate(timeout=60)
        trigger.unlink()
    assert (run.returncode, out) == (1, "")
    done = len(pl.read_parquet(log))
    assert done > 25
    assert err.startswith(f"error: {device.device}: a ")
    assert err.endswith(f"; {done} of 5000 requests are done, and {log} has them\n")
    assert "Input/output error" in err
    assert err.count("\n") == 1


def test_a_drive_that_disappears_ends_it_in_a_line(tmp_path: Path) -> None:
    log = tmp_path / "log.parquet"
    with served(tmp_path) as device:
        need_trim(device.device, "requests with TRIM on a drive that disappears")
        run = start(
            "replay", f"{MIXED},rate=500,count=5000", *named(device), "-o", str(log),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        assert wait_for(lambda: len(asked(device)) > 50 or run.poll() is not None)
        device.server.kill()
        out, err = run.communicate(timeout=60)
    assert (run.returncode, out, err.count("\n")) == (1, "", 1)
    assert f"{len(pl.read_parquet(log))} of 5000 requests are done, and {log} has them" in err


def test_a_killed_replay_leaves_what_the_drive_had_done(tmp_path: Path) -> None:
    log = tmp_path / "log.parquet"
    with served(tmp_path) as device:
        need_trim(device.device, "requests with TRIM until a kill")
        run = start(
            "replay", f"{MIXED},rate=500,count=5000", *named(device), "--engine", "sync", "-o", str(log),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        assert wait_for(lambda: len(asked(device)) > 200 or run.poll() is not None)
        run.send_signal(signal.SIGKILL)
        run.communicate(timeout=60)
        time.sleep(0.2)
        flashweir("replay", "--recover", str(log))
        kept = logged(log)
        # Records that the log's thread had not written by then are at the end, and nowhere else.
        assert 0 < len(kept) <= len(asked(device))
        assert asked(device)[: len(kept)] == kept


def test_blocks_of_4096_bytes_get_whole_blocks(tmp_path: Path) -> None:
    log = tmp_path / "log.parquet"
    spec = f"random:offset={WITHIN[0]},span=32MiB,size=6KiB,align=512,write=0.5,trim=0.2,rate=2000,count=400,seed=2"
    with served(tmp_path, 64 * MIB, loop=("--sector-size", "4096")) as device:
        need_trim(device.device, "requests with TRIM in blocks of 4096 bytes")
        done = flashweir("replay", spec, *named(device), "--engine", "sync", "-o", str(log), "--json", "-").json()
        found = asked(device)
    assert done["target"]["block_bytes"] == 4096
    assert all(start % 4096 == 0 and length % 4096 == 0 for _, start, length in found)
    wanted = []
    for op, first, length in logged(log):
        end = first + length
        inner = op == "trim"
        start = -(-first // 4096) * 4096 if inner else first // 4096 * 4096
        stop = end // 4096 * 4096 if inner else -(-end // 4096) * 4096
        wanted += [(op, start, stop - start)] if stop > start else []
    assert found == wanted
    misaligned = sum(first % 4096 != 0 or length % 4096 != 0 for _, first, length in logged(log))
    assert done["widened"] == misaligned == 400
    assert any("were widened" in warning for warning in done["warnings"])


def test_what_lies_behind_the_last_whole_block_is_refused_before_anything_is_done(tmp_path: Path) -> None:
    size = MIB + 512
    spec = f"sequential:span={size},size=512,align=512,write=1,rate=100000,count={size // 512}"
    beyond = "request 2049, a write of sectors 2048 to 2049, lies beyond its 2048 sectors"
    # Files in memory are read and written in pages.
    with mounted(tmp_path / "memory", "tmpfs") as memory:
        there, made = memory / "there", memory / "made"
        with there.open("wb") as file:
            file.truncate(size)
        for target, options in ((there, []), (made, ["--size", str(size)])):
            assert beyond in refused("replay", spec, str(target), *options, "-o", str(memory / "log.parquet"))
        assert list(memory.iterdir()) == [there]
        assert there.stat().st_blocks == 0
        with loop_on(there, "--sector-size", "4096") as device:
            assert beyond in refused("replay", spec, device)
            answer = flashweir("replay", spec, device, "--dry-run", "--json", "-").json()
            assert beyond in answer["refused"]
        assert there.stat().st_blocks == 0


@pytest.fixture
def without_trim(tmp_path: Path) -> Iterator[str]:
    """A loop device that knows no TRIM: the file system below punches no holes."""
    with mounted(tmp_path / "ramfs", "ramfs") as folder:
        image = folder / "image"
        image.write_bytes(bytes(200_000_000 // 4096 * 4096))
        with loop_on(image) as device:
            need_no_trim(device, "a drive without TRIM")
            yield device


def test_a_drive_is_read_from_end_to_end_before_it_is_written_unless_it_is_named_twice(tmp_path: Path) -> None:
    trace = "sequential:span=1MiB,size=64KiB,write=1,rate=1000,count=16"
    with served(tmp_path) as device:
        flashweir("replay", trace, device.device)
        found = device.requests()
        first = next(number for number, one in enumerate(found) if one[0] == "write")
        read: set[int] = set()
        for op, offset, length in found[:first]:
            assert op == "read"
            read.update(range(offset // SECTOR, (offset + length) // SECTOR))
        assert len(read) == 64 * MIB // SECTOR
        assert "holds data of no known format" in refused("replay", trace, device.device)
        before = len(device.requests())
        flashweir("replay", trace, *named(device))
        again = device.requests()[before:]
        assert sum(length for op, _, length in again if op == "read") < 8 * MIB
        assert sum(length for op, _, length in again if op == "write") == MIB


def test_a_drive_that_knows_no_trim_is_refused_before_anything_is_done(without_trim: str, tmp_path: Path) -> None:
    log = tmp_path / "log.parquet"
    trace = f"{MIXED},rate=2000,count=300"
    said = refused("replay", trace, without_trim, "-o", str(log))
    assert "it knows no TRIM" in said
    assert "--only read,write,flush" in said
    answer = flashweir("replay", trace, without_trim, "--dry-run", "--json", "-").json()
    assert "it knows no TRIM" in answer["refused"]
    with Path(without_trim).open("rb") as drive:
        assert not any(drive.read(64 * MIB))
    assert not log.exists()
    flashweir("replay", trace, without_trim, "--only", "read,write,flush", "-o", str(log))
    assert "--state filled or as-is" in refused("bench", without_trim, "--erase", without_trim)


def test_a_log_that_can_not_be_written_ends_it_at_once(tmp_path: Path) -> None:
    with mounted(tmp_path / "small", "tmpfs", "size=256k") as small:
        log = small / "log.parquet"
        # Runs for a quarter of an hour.
        command = ("replay", "random:span=8MiB,write=0.5,rate=20000,count=20000000", str(tmp_path / "file"))
        run = flashweir(*command, "--size", "8MiB", "-o", str(log), code=1)
        part = small / "log.parquet.part"
        assert run.err.startswith(f"error: {part}: No space left on device")
        assert f"what was logged is in {part}: --recover {log}" in run.err
        assert run.err.count("\n") == 1
        left = flashweir("trace", "info", str(part), "--json", "-").json()
        assert left["requests"] > 1000
        assert [path.name for path in small.iterdir()] == [part.name]


def test_partitions_are_refused_and_addresses_are_folded(tmp_path: Path) -> None:
    with loop_of(tmp_path, 16 * MIB) as device:
        trace = "random:span=64MiB,size=4KiB,write=1,rate=5000,count=500,seed=1"
        said = refused("replay", trace, device)
        assert "lies beyond its 32768 sectors" in said
        assert "--wrap" in said
        log = tmp_path / "log.parquet"
        flashweir("replay", trace, device, "--wrap", "-o", str(log))
        frame = pl.read_parquet(log)
        assert ((frame["lba"] + frame["sectors"]) * SECTOR).max() <= 16 * MIB
        with Path(device).open("r+b") as drive:
            # A table with one partition.
            drive.write(bytes(446) + bytes([0, 0, 0, 0, 0x83]) + bytes(59) + b"\x55\xaa")
        assert "holds a DOS partition table" in refused("replay", trace, device, "--wrap")
