"""`flashweir replay`: files, loop devices and simulated drives of the test's own; refusals; what a kill leaves."""

import json
import shutil
import signal
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest
from block_devices import knows_trim, need_trim
from conftest import SHIPPED_TRACE, flashweir
from started import start

import flashweir as api

SIM = "sim:slc-2006,capacity=64MiB"
TIMED = "random:span=8MiB,rate=5000,write=0.5,seed=3"
# Runs for longer than a test waits, at times that any file keeps up with.
LONG = f"{TIMED},count=2000000"


def system(*command: str | Path) -> subprocess.CompletedProcess[str]:
    """Runs a tool of the system, if it is there."""
    found = shutil.which(str(command[0]))
    if found is None:
        pytest.skip(f"there is no {command[0]} here")
    return subprocess.run([found, *command[1:]], capture_output=True, text=True, check=False)


def log_of(path: Path) -> pl.DataFrame:
    """A log, with the invariants that all logs have."""
    frame = pl.read_parquet(path)
    assert frame["time_ns"].is_sorted()
    assert (frame["completion_ns"] >= frame["issue_ns"]).all()
    assert (frame["issue_ns"] >= frame["due_ns"]).all()
    return frame


@pytest.fixture
def loop(tmp_path: Path) -> Iterator[str]:
    """A loop device on a file of the test's own."""
    backing = tmp_path / "backing"
    with backing.open("wb") as file:
        file.truncate(64 << 20)
    made = system("losetup", "--find", "--show", backing)
    if made.returncode != 0:
        pytest.skip(f"no loop device can be made here: {made.stderr.strip()}")
    device = made.stdout.strip()
    yield device
    assert system("losetup", "--detach", device).returncode == 0


def test_every_request_is_in_the_log_with_its_times(tmp_path: Path) -> None:
    spec = f"{TIMED},count=2000"
    flashweir("trace", "generate", spec, "trace.msr.csv", cwd=tmp_path)
    for target, options in ((SIM, []), ("file.img", ["--size", "8MiB"])):
        done = flashweir(
            "replay", "trace.msr.csv", target, *options, "-o", "log.parquet", "--force", "--json", "-", cwd=tmp_path
        ).json()
        assert done["requests"] == 2000
        log = log_of(tmp_path / "log.parquet")
        expected = flashweir("trace", "info", "trace.msr.csv", "--json", "-", cwd=tmp_path).json()
        found = flashweir("trace", "info", "log.parquet", "--json", "-", cwd=tmp_path).json()
        for field in ("reads", "writes", "max_lba", "footprint_bytes", "duration_ns"):
            assert found[field] == expected[field], field
        assert (log["issue_ns"] - log["due_ns"]).max() / 1e3 == pytest.approx(done["lateness_us"]["max"])
        assert not (tmp_path / "log.parquet.part").exists()


def test_a_log_without_the_reads_is_not_that_of_the_trace(tmp_path: Path) -> None:
    """The wrong twin of the test above, named in the coverage of yang2009."""
    flashweir("trace", "generate", f"{TIMED},count=2000", "trace.msr.csv", cwd=tmp_path)
    flashweir("replay", "trace.msr.csv", SIM, "--only", "write", "-o", "log.parquet", cwd=tmp_path)
    logged = flashweir("trace", "info", "log.parquet", "--json", "-", cwd=tmp_path).json()
    expected = flashweir("trace", "info", "trace.msr.csv", "--json", "-", cwd=tmp_path).json()
    assert (logged["reads"], logged["writes"]) == (0, expected["writes"])
    assert expected["reads"] > 0


def test_the_shipped_trace_goes_to_a_simulated_drive(tmp_path: Path) -> None:
    done = flashweir(
        "replay", str(SHIPPED_TRACE), "sim:tlc,capacity=4GiB", "--only", "write,trim,flush", "--json", "-", cwd=tmp_path
    ).json()
    assert done["by_op"] == {"read": 0, "write": 30035, "trim": 505, "flush": 4033}
    assert done["planned_s"] <= done["elapsed_s"] < done["planned_s"] * 1.1
    assert done["lateness_us"]["max"] == 0


def test_the_summary_says_what_matters(tmp_path: Path) -> None:
    run = flashweir("replay", f"{TIMED},count=200", "file.img", "--size", "8MiB", cwd=tmp_path)
    for part in ("200 requests in", "latency", "lateness", "p99", "outstanding", "the trace"):
        assert part in run.out
    closed = flashweir("replay", f"{TIMED},count=200", SIM, "--timing", "closed", "--depth", "3", cwd=tmp_path)
    assert "at most 3 requests" in closed.out


def test_targets_with_something_on_them_are_refused_unless_named(tmp_path: Path) -> None:
    target = tmp_path / "file.img"
    target.write_bytes(b"precious" * (1 << 20))
    command = ("replay", f"{TIMED},count=100", str(target), "-o", str(tmp_path / "log.parquet"))
    for extra, part in (([], f"--erase {target}"), (["--erase", "/dev/sda"], "is not the name of this target")):
        run = flashweir(*command, *extra, code=2)
        assert run.err.startswith(f"error: {target}: ")
        assert part in run.err
        assert run.err.count("\n") == 1
    assert target.read_bytes() == b"precious" * (1 << 20)
    assert list(tmp_path.iterdir()) == [target]
    flashweir(*command, "--only", "read")
    assert target.read_bytes() == b"precious" * (1 << 20)
    (tmp_path / "log.parquet").unlink()
    flashweir(*command, "--erase", str(target))
    assert target.read_bytes() != b"precious" * (1 << 20)


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["TRACE"], "expected TRACE and TARGET"),
        (["TRACE", "none.img"], "expected one, or --size"),
        (["TRACE", "/dev/no-such-drive"], "there is no such device"),
        (["TRACE", "."], "neither a block device nor a file"),
        (["TRACE", "sim:no-such-preset"], "no such preset or file"),
        (["TRACE", f"{SIM},host.mode=open"], "--depth or --timing"),
        (["TRACE", SIM, "--timing", "now"], "expected one of original, asap, closed"),
        (["TRACE", SIM, "--speed", "0"], "a factor above 0"),
        (["TRACE", SIM, "--scale", "nan"], "--scale nan: expected a factor on the trace's times"),
        (["TRACE", SIM, "--scale", "inf"], "--scale inf: expected a factor on the trace's times"),
        (["TRACE", SIM, "--speed", "2", "--scale", "2"], "are the same"),
        (["TRACE", SIM, "--scale", "2", "--timing", "asap"], "timing original"),
        (["TRACE", SIM, "--engine", "sync", "--depth", "2"], "io_uring"),
        (["TRACE", SIM, "--until-steady"], "snia or random"),
        (["TRACE", "x.img", "--size", "many"], "1GiB"),
        (["TRACE", "x.img", "--size", "1MiB"], "--wrap"),
        (["random:count=10", SIM], "asap or closed"),
        (["no-such-trace.csv", SIM], "no-such-trace.csv"),
        (["--recover", "none.parquet"], "a replay that was killed"),
    ],
)
def test_bad_input_is_one_line(arguments: list[str], part: str, tmp_path: Path) -> None:
    given = [f"{TIMED},count=100" if argument == "TRACE" else argument for argument in arguments]
    run = flashweir("replay", *given, cwd=tmp_path, code=2)
    assert run.err.startswith("error: ")
    assert run.err.count("\n") == 1
    assert part in run.err
    assert list(tmp_path.iterdir()) == []


def test_a_dry_run_says_what_would_be_done(tmp_path: Path) -> None:
    target = tmp_path / "file.img"
    target.write_bytes(bytes(4096) + b"x" * (8 << 20))
    answer = flashweir("replay", f"{TIMED},count=100", str(target), "--dry-run", "--json", "-").json()
    assert (answer["requests"], answer["opens"], answer["planned_s"]) == (100, "to write", pytest.approx(0.02, rel=0.5))
    assert "not empty" in answer["refused"]
    assert answer["range_bytes"][1] <= 8 << 20
    assert list(tmp_path.iterdir()) == [target]


def grown(path: Path, run: subprocess.Popen[str], size: int) -> None:
    """Waits until a file has so many bytes."""
    while not (path.exists() and path.stat().st_size >= size):
        assert run.poll() is None, run.communicate()[1]
        threading.Event().wait(0.02)


def test_a_killed_replay_leaves_what_was_done(tmp_path: Path) -> None:
    log, part = tmp_path / "log.parquet", tmp_path / "log.parquet.part"
    command = ("replay", LONG, str(tmp_path / "file.img"), "--size", "8MiB", "-o", str(log))
    run = start(*command, stdout=-1, stderr=-1)
    grown(part, run, 64 * 1000)
    run.send_signal(signal.SIGKILL)
    run.communicate(timeout=60)
    assert not log.exists()
    left = flashweir("trace", "info", str(part), "--json", "-").json()
    assert left["format"] == "journal"
    assert left["requests"] >= 999
    refused = flashweir(*command, "--erase", str(tmp_path / "file.img"), code=2)
    assert "--recover" in refused.err
    recovered = flashweir("replay", "--recover", str(log), "--json", "-").json()
    assert recovered == {"log": str(log), "requests": left["requests"]}
    assert len(log_of(log)) == left["requests"]
    assert not part.exists()


def test_an_interrupted_replay_has_a_log(tmp_path: Path) -> None:
    log = tmp_path / "log.parquet"
    run = start("replay", LONG, str(tmp_path / "file.img"), "--size", "8MiB", "-o", str(log), stdout=-1, stderr=-1)
    grown(tmp_path / "log.parquet.part", run, 64 * 1000)
    run.send_signal(signal.SIGINT)
    out, err = run.communicate(timeout=60)
    assert (run.returncode, out) == (130, "")
    done = len(log_of(log))
    assert f"{done} of 2000000 requests are done, and {log} has them" in err
    assert err.count("\n") == 1
    assert not (tmp_path / "log.parquet.part").exists()


def test_a_block_device_is_replayed_to(loop: str, tmp_path: Path) -> None:
    log = tmp_path / "log.parquet"
    # The trace has discards.
    known = [] if knows_trim(loop) else ["--only", "read,write,flush"]
    for engine in ("io_uring", "sync"):
        done = flashweir(
            "replay", str(SHIPPED_TRACE), loop, "--erase", loop, "--wrap", "--limit", "3000", "--timing", "asap",
            "--engine", engine, "-o", str(log), "--json", "-", *known,
        ).json()  # fmt: skip
        assert (done["requests"], done["target"]["size_bytes"]) == (3000, 64 << 20)
        assert len(pl.read_parquet(log)) == 3000
        log.unlink()
    need_trim(loop, "TRIM on a loop device")


def test_a_mounted_file_system_is_refused(loop: str, tmp_path: Path) -> None:
    assert system("mkfs.ext4", "-q", loop).returncode == 0
    assert "holds an ext4 file system" in flashweir("replay", f"{TIMED},count=10", loop, code=2).err
    point = tmp_path / "mounted"
    point.mkdir()
    if system("mount", loop, point).returncode != 0:
        pytest.skip("nothing can be mounted here")
    try:
        run = flashweir("replay", f"{TIMED},count=10", loop, code=2)
        named = flashweir("replay", f"{TIMED},count=10", loop, "--erase", loop, code=2)
        wrong = flashweir("replay", f"{TIMED},count=10", loop, "--erase", str(point), code=2)
        reads = flashweir("replay", f"{TIMED},count=10", loop, "--only", "read", "--json", "-")
    finally:
        assert system("umount", point).returncode == 0
    assert f"is mounted at {point}" in run.err
    assert f"is mounted at {point}" in named.err
    assert "--erase does not override this" in named.err
    assert "is not the name of this target" in wrong.err
    assert reads.json()["by_op"]["write"] == 0


def test_the_api_replays_tells_and_stops(tmp_path: Path) -> None:
    states: list[dict[str, object]] = []
    done = api.replay(
        f"{TIMED},count=3000",
        f"{SIM},op_ratio=0.2",
        timing="closed",
        depth=4,
        precondition="random",
        until_steady=True,
        log=tmp_path / "log.parquet",
        progress=states.append,
    )
    assert done.requests == 3000
    assert done.preconditioned.steady in (True, False)
    assert len(done.preconditioned.rounds) >= 5
    assert {state["phase"] for state in states} >= {"trace"}
    assert len(pl.read_parquet(tmp_path / "log.parquet")) == 3000
    with pytest.raises(api.FlashweirError, match="stopped while"):
        api.replay(LONG, SIM, progress=lambda state: state["phase"] == "trace")
    with pytest.raises(api.DeviceError, match="or size to make it"):
        api.replay(LONG, tmp_path / "none.img")
    json.dumps(done.to_dict())
