"""`flashweir collect` on loop devices of its own, against fio's own logs: every request, the same sectors.

Needs root, loop devices, tracefs with the blk tracer, and fio; skips with the reason where one is missing.
"""

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest
from block_devices import need_trim

from flashweir import ConfigError, DeviceError, FlashweirError, collect, trace_convert

pytestmark = pytest.mark.alone

MIB = 1 << 20
SETTINGS = ("current_tracer", "buffer_size_kb", "trace_clock", "tracing_on", "trace_options")


def run(*words: object, **options: Any) -> str:
    done = subprocess.run([str(word) for word in words], check=True, capture_output=True, text=True, **options)
    return done.stdout.strip()


def works(*words: object) -> bool:
    return subprocess.run([str(word) for word in words], check=False, capture_output=True).returncode == 0


@pytest.fixture(scope="module")
def tracefs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    if os.geteuid() != 0:
        pytest.skip("collecting needs root")
    for tool in ("losetup", "fio", "sfdisk"):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed")
    place = Path("/sys/kernel/tracing")
    mounted = None
    if not (place / "current_tracer").exists():
        place = mounted = tmp_path_factory.mktemp("tracefs")
        if not works("mount", "-t", "tracefs", "none", place):
            pytest.skip("tracefs can't be mounted")
    if "blk" not in (place / "available_tracers").read_text().split():
        pytest.skip("this kernel has no blk tracer")
    yield place
    if mounted:
        run("umount", mounted)


@pytest.fixture
def loop(tracefs: Path, tmp_path: Path) -> Iterator[Path]:
    """A loop device of 64 MiB, whose requests are not merged."""
    assert tracefs.is_dir()
    image = tmp_path / "image"
    with image.open("wb") as file:
        file.truncate(64 * MIB)
    try:
        name = run("losetup", "-f", "--show", "-P", image)
    except subprocess.CalledProcessError as error:
        pytest.skip(f"no loop device: {error.stderr.strip()}")
    queue = Path(f"/sys/block/{Path(name).name}/queue")
    # These outlive the image that is behind the device.
    before = {setting: (queue / setting).read_text() for setting in ("nomerges", "max_sectors_kb")}
    (queue / "nomerges").write_text("2")
    yield Path(name)
    for setting, value in before.items():
        (queue / setting).write_text(value)
    run("losetup", "-d", name)


def settings(tracefs: Path, loop: Path) -> dict[str, str]:
    """State that must be restored. A buffer that nobody has used yet becomes as large as the kernel makes it."""
    found = {name: (tracefs / name).read_text() for name in SETTINGS}
    found["buffer_size_kb"] = re.sub(r"^\d+ \(expanded: (\d+)\)", r"\1", found["buffer_size_kb"])
    for file in sorted(Path(f"/sys/block/{loop.name}/trace").iterdir()):
        found[file.name] = file.read_text()
    return found


def fio(loop: Path, folder: Path, *jobs: str, common: str = "") -> list[str]:
    """The command that runs `jobs`, each a line of settings; each writes its own log."""
    text = f"[global]\nfilename={loop}\ndirect=1\nioengine=libaio\nrandrepeat=1\n" + common.replace(" ", "\n") + "\n"
    for number, job in enumerate(jobs):
        text += f"[job{number}]\nwrite_iolog={folder}/log.{number}\n" + job.replace(" ", "\n") + "\n"
    file = folder / "jobs.fio"
    file.write_text(text)
    return ["fio", "--output=/dev/null", str(file)]


def logged(folder: Path) -> Counter:
    """Operation, first sector and sectors of everything that fio did."""
    found: Counter = Counter()
    for log in folder.glob("log.*"):
        for line in log.read_text().splitlines():
            words = line.split()
            if len(words) >= 4 and words[-3] in ("read", "write", "trim"):
                found[words[-3], int(words[-2]) // 512, int(words[-1]) // 512] += 1
            elif "sync" in words or "datasync" in words:
                found["flush", 0, 0] += 1
    return found


def rows(trace: Path) -> list[dict[str, Any]]:
    return pl.read_parquet(trace).to_dicts()


def metadata(trace: Path) -> dict[str, str]:
    found = duckdb.execute("select key, value from parquet_kv_metadata(?)", [str(trace)]).fetchall()
    return {key.decode(): value.decode() for key, value in found}


def asked(found: list[dict[str, Any]]) -> Counter:
    return Counter((row["op"], row["lba"], row["sectors"]) for row in found)


def test_every_request_of_several_jobs_is_there_with_its_sectors(tracefs: Path, loop: Path, tmp_path: Path) -> None:
    need_trim(str(loop), "jobs that discard")
    before = settings(tracefs, loop)
    jobs = [
        "rw=randrw bsrange=4k-64k size=48M io_size=12M iodepth=8",
        "rw=randread bs=4k size=1M io_size=8M iodepth=16",
        "rw=randwrite bs=8k offset=32M size=16M io_size=4M iodepth=4",
        "rw=write bs=128k size=8M iodepth=1 ioengine=psync",
        "rw=trim bs=64k offset=60M size=2M ioengine=sync",
    ]
    trace = tmp_path / "trace.parquet"
    summary = collect(loop, trace, command=fio(loop, tmp_path, *jobs))
    found = rows(trace)
    of_fio = [row for row in found if row["process"] == "fio"]
    assert asked(of_fio) == logged(tmp_path)
    assert summary["lost_events"] == 0
    assert summary["complete"]
    assert summary["in_flight"] == 0
    assert summary["requests"] == sum(row["op"] != "flush" for row in found)
    assert summary["written_bytes"] == sum(row["sectors"] * 512 for row in found if row["op"] == "write")
    assert all(row["completion_ns"] > row["issue_ns"] == row["time_ns"] for row in found)
    assert [row["time_ns"] for row in found] == sorted(row["time_ns"] for row in found)
    assert settings(tracefs, loop) == before
    assert not list(tmp_path.glob("*.blktrace.*"))
    notes = metadata(trace)
    assert notes["flashweir.lost_events"] == "0"
    assert json.loads(notes["flashweir.collect"])["requests"] == summary["requests"]


def test_times_are_within_those_that_fio_saw(loop: Path, tmp_path: Path) -> None:
    job = f"rw=randread bs=4k size=32M io_size=4M iodepth=1 ioengine=psync write_lat_log={tmp_path}/lat log_offset=1"
    trace = tmp_path / "trace.parquet"
    collect(loop, trace, command=fio(loop, tmp_path, job))
    completions = [line.split(", ") for line in (tmp_path / "lat_clat.1.log").read_text().splitlines()]
    found = [row for row in rows(trace) if row["process"] == "fio"]
    assert [row["lba"] * 512 for row in found] == [int(words[4]) for words in completions]
    spans = [
        (row["completion_ns"] - row["issue_ns"], int(words[1])) for row, words in zip(found, completions, strict=True)
    ]
    assert all(inner <= outer for inner, outer in spans)


def test_flushes_and_forced_writes_are_told(loop: Path, tmp_path: Path) -> None:
    trace = tmp_path / "trace.parquet"
    job = "rw=randwrite bs=4k size=8M io_size=512k iodepth=1 ioengine=psync fsync=16"
    summary = collect(loop, trace, command=fio(loop, tmp_path, job))
    found = rows(trace)
    expected = logged(tmp_path)
    assert asked([row for row in found if row["op"] == "write"]) == Counter(
        {key: count for key, count in expected.items() if key[0] == "write"}
    )
    flushes = [row for row in found if row["op"] == "flush"]
    assert summary["flushes"] == len(flushes) == expected["flush", 0, 0]
    assert all(row["completion_ns"] > row["issue_ns"] for row in flushes)


def test_split_requests_cover_what_was_asked(loop: Path, tmp_path: Path) -> None:
    limit = Path(f"/sys/block/{loop.name}/queue/max_sectors_kb")
    limit.write_text("64")
    trace = tmp_path / "trace.parquet"
    collect(loop, trace, command=fio(loop, tmp_path, "rw=read bs=1M size=16M iodepth=4"))
    found = sorted((row["lba"], row["sectors"]) for row in rows(trace) if row["process"] == "fio")
    assert found == [(lba, 128) for lba in range(0, 16 * MIB // 512, 128)]


def test_a_partition_is_told_from_its_disk(loop: Path, tmp_path: Path) -> None:
    run("sfdisk", "-q", loop, input="8MiB,16MiB\n32MiB,8MiB\n")
    first, second = (Path(f"{loop}p{number}") for number in (1, 2))
    for _ in range(100):
        if second.exists():
            break
        run("partx", "-u", loop)
        time.sleep(0.05)
    if not second.exists():
        pytest.skip("the kernel shows no partitions of loop devices here")
    both = ["/bin/sh", "-c", f"dd if={second} of=/dev/null bs=4k count=9 iflag=direct; "]
    both[2] += f"dd if={first} of=/dev/null bs=4k count=5 skip=1 iflag=direct"
    for relative, start in ((False, 8 * MIB // 512), (True, 0)):
        trace = tmp_path / f"{relative}.parquet"
        summary = collect(first, trace, command=both, relative=relative)
        found = [row for row in rows(trace) if row["process"] == "dd"]
        assert [row["lba"] for row in found] == [start + 8 * index for index in range(1, 6)]
        assert summary["first_sector"] == 8 * MIB // 512
        assert summary["device_sectors"] == 16 * MIB // 512
        assert summary["sectors_count_from"] == ("partition" if relative else "disk")
    with pytest.raises(ConfigError, match="this is a whole disk; expected a partition"):
        collect(loop, tmp_path / "no.parquet", relative=True, duration_s=1)


def start(loop: Path, trace: Path, *options: str) -> subprocess.Popen:
    """A collector of its own, once it collects."""
    words = [sys.executable, "-m", "flashweir", "collect", str(loop), "-o", str(trace), *options]
    # Its output is none of the test's: a guardian that outlives it must not keep a pipe open.
    with trace.with_suffix(".err").open("w") as stderr:
        process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=stderr)
    mask = Path(f"/sys/block/{loop.name}/trace/act_mask")
    for _ in range(400):
        if "complete" in mask.read_text() or process.poll() is not None:
            break
        time.sleep(0.05)
    assert process.poll() is None, trace.with_suffix(".err").read_text()
    return process


def wait_for(condition: Callable[[], bool], seconds: float = 20.0) -> bool:
    end = time.monotonic() + seconds
    while not (done := condition()) and time.monotonic() < end:
        time.sleep(0.05)
    return bool(done)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_in_order(tracefs: Path, loop: Path, tmp_path: Path, number: signal.Signals) -> None:
    before = settings(tracefs, loop)
    trace = tmp_path / "trace.parquet"
    process = start(loop, trace, "--json", str(tmp_path / "summary.json"))
    run("dd", f"if={loop}", "of=/dev/null", "bs=4k", "count=100", "iflag=direct")
    process.send_signal(number)
    assert process.wait(30) == 0, trace.with_suffix(".err").read_text()
    assert sum(row["process"] == "dd" for row in rows(trace)) == 100
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert summary["ended_by"] == "stop"
    assert summary["lost_events"] == 0
    assert settings(tracefs, loop) == before


def test_a_killed_collector_leaves_the_kernel_as_it_was_and_a_trace_that_can_be_read(
    tracefs: Path, loop: Path, tmp_path: Path
) -> None:
    before = settings(tracefs, loop)
    load = "rw=randread bs=4k size=32M iodepth=8 time_based runtime=60 norandommap thread"
    reader = subprocess.Popen(fio(loop, tmp_path, load))
    try:
        for turn in range(4):
            trace = tmp_path / f"trace{turn}.parquet"
            process = start(loop, trace)
            assert settings(tracefs, loop) != before
            # Whatever it is doing then.
            time.sleep(0.3 + 0.17 * turn)
            process.kill()
            process.wait(10)
            assert wait_for(lambda: settings(tracefs, loop) == before), settings(tracefs, loop)
            assert not trace.exists()
            # A process that is being restored from has said where the events are.
            assert wait_for(lambda trace=trace: "trace convert" in trace.with_suffix(".err").read_text())
            done = trace_convert(f"{trace}.blktrace", trace)
            assert done["requests"] > 0
            assert {row["process"] for row in rows(trace)} <= {"fio", ""}
            with pytest.raises(ConfigError, match="is left of a collection that was killed"):
                collect(loop, trace, duration_s=1)
    finally:
        reader.kill()
        reader.wait()


def test_lost_events_are_counted_and_fail_loudly(tracefs: Path, loop: Path, tmp_path: Path) -> None:
    before = settings(tracefs, loop)
    # A reader that is stopped for a while reads nothing while a buffer of a few pages overflows.
    for allowed in (False, True):
        trace = tmp_path / f"{allowed}.parquet"
        process = start(
            loop,
            trace,
            "--buffer-kb",
            "8",
            "--json",
            str(tmp_path / f"lost{allowed}.json"),
            *(["--allow-drops"] * allowed),
        )
        process.send_signal(signal.SIGSTOP)
        run("dd", f"if={loop}", "of=/dev/null", "bs=4k", "count=4000", "iflag=direct")
        process.send_signal(signal.SIGCONT)
        process.send_signal(signal.SIGINT)
        code = process.wait(30)
        said = trace.with_suffix(".err").read_text()
        summary = json.loads((tmp_path / f"lost{allowed}.json").read_text())
        lost = summary["lost_events"]
        assert lost > 4000
        assert not summary["complete"]
        assert code == (0 if allowed else 1), said
        assert allowed or (f"error: {lost} events were lost" in said and "--allow-drops" in said)
        assert metadata(trace)["flashweir.lost_events"] == str(lost)
        kept = sum(row["process"] == "dd" for row in rows(trace))
        assert 0 < kept < 4000
        assert settings(tracefs, loop) == before
    # The command stops and wakes whoever runs it: this process.
    script = f"kill -STOP $PPID; dd if={loop} of=/dev/null bs=4k count=4000 iflag=direct; kill -CONT $PPID"
    with pytest.raises(FlashweirError, match="events were lost"):
        collect(loop, tmp_path / "api.parquet", buffer_kb=8, command=["/bin/sh", "-c", script])


def test_it_refuses_what_others_use(tracefs: Path, loop: Path, tmp_path: Path) -> None:
    trace = tmp_path / "trace.parquet"
    switch = Path(f"/sys/block/{loop.name}/trace/enable")
    switch.write_text("1")
    try:
        with pytest.raises(ConfigError, match=f"somebody traces {loop} already"):
            collect(loop, trace, duration_s=1)
        assert switch.read_text() == "1\n"
    finally:
        switch.write_text("0")
    said = r"the kernel's tracer is in use \(blk\): expected nop"
    with using(tracefs / "current_tracer", "blk", "nop"), pytest.raises(ConfigError, match=said):
        collect(loop, trace, duration_s=1)
    said = r"the kernel's tracing is in use \(1 events are on\)"
    with using(tracefs / "events/block/block_plug/enable", "1", "0"), pytest.raises(ConfigError, match=said):
        collect(loop, trace, duration_s=1)
    assert not list(tmp_path.glob("trace*"))


@contextlib.contextmanager
def using(file: Path, value: str, back: str) -> Iterator[None]:
    file.write_text(value)
    try:
        yield
    finally:
        file.write_text(back)


def test_it_ends_by_itself_and_says_why(loop: Path, tmp_path: Path) -> None:
    began = time.monotonic()
    summary = collect(loop, tmp_path / "a.parquet", duration_s=0.3)
    assert summary["ended_by"] == "duration"
    assert 0.3 <= summary["collected_s"] <= time.monotonic() - began
    assert summary["requests"] == 0
    assert rows(tmp_path / "a.parquet") == []
    summary = collect(loop, tmp_path / "b.parquet", command=["sh", "-c", "exit 3"], method="tracefs")
    assert summary["ended_by"] == "command"
    assert "3" in summary["command_status"]
    seen: list[dict[str, Any]] = []
    summary = collect(
        loop, tmp_path / "c.blktrace", command=["sleep", "60"], progress=lambda state: seen.append(state) or False
    )
    assert summary["ended_by"] == "stop"
    assert "signal: 15" in summary["command_status"]
    assert seen[0]["phase"] == "collect"
    assert summary["format"] == "blktrace"
    with pytest.raises(ConfigError, match="command /no/such: it does not start"):
        collect(loop, tmp_path / "d.parquet", command=["/no/such"])
    assert not list(tmp_path.glob("d.*"))


def test_what_is_no_drive_is_refused(tmp_path: Path) -> None:
    trace = tmp_path / "trace.parquet"
    for device, said in (("/dev/nothing", "no such device"), (tmp_path, "this is a folder"), ("/dev/null", "no drive")):
        with pytest.raises(DeviceError, match=said):
            collect(device, trace, duration_s=1)


def test_the_command_line_says_it_in_a_line(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "flashweir", "collect", "/dev/nothing", "-o", str(tmp_path / "a.parquet")]
    done = subprocess.run(words, check=False, capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr == "error: /dev/nothing: no such device; expected one that `lsblk` lists\n"
