"""`flashweir collect` under load, by whoever may not, and by the methods that are there."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from block_devices import mounted, need_trim, tool
from test_collect import asked, fio, logged, loop, rows, settings, tracefs
from test_collect_programs import debugfs

from flashweir import ConfigError, FlashweirError, collect, trace_convert

pytestmark = pytest.mark.alone

# Fixtures.
__all__ = ["debugfs", "loop", "tracefs"]

JOBS = [
    "rw=randrw bsrange=4k-64k size=48M io_size=24M iodepth=32",
    "rw=randrw rwmixread=30 bs=4k size=48M io_size=12M iodepth=32",
    "rw=randwrite bs=4k size=48M io_size=8M iodepth=32",
    "rw=randread bs=512 size=48M io_size=2M iodepth=32",
    "rw=trim bs=64k offset=56M size=8M iodepth=1 ioengine=sync loops=2",
]


def test_nothing_is_lost_with_a_hundred_under_way(tracefs: Path, loop: Path, tmp_path: Path) -> None:
    need_trim(str(loop), "a hundred requests, discards among them")
    before = settings(tracefs, loop)
    trace = tmp_path / "trace.parquet"
    summary = collect(loop, trace, command=fio(loop, tmp_path, *JOBS))
    found = [row for row in rows(trace) if row["process"] == "fio"]
    assert len(found) > 10_000
    assert asked(found) == logged(tmp_path)
    assert (summary["lost_events"], summary["in_flight"], summary["issued_before"]) == (0, 0, 0)
    assert summary["trims"] == 256
    assert settings(tracefs, loop) == before


def test_a_full_disk_ends_it_and_what_came_before_can_be_read(tracefs: Path, loop: Path, tmp_path: Path) -> None:
    before = settings(tracefs, loop)
    with mounted(tmp_path / "small", "tmpfs", "size=300k") as small:
        trace = small / "trace.parquet"
        with pytest.raises(FlashweirError) as failure:
            collect(loop, trace, command=["dd", f"if={loop}", "of=/dev/null", "bs=512", "count=30000", "iflag=direct"])
        said = str(failure.value)
        assert said.startswith(f"{loop}: collecting ended early, {trace}.blktrace.* has what came before, and ")
        assert f"`flashweir trace convert {trace}.blktrace OUT` reads it" in said
        assert "No space left on device" in said
        assert not isinstance(failure.value, ConfigError)
        assert not trace.exists()
        assert trace_convert(f"{trace}.blktrace", tmp_path / "left.parquet")["requests"] > 1000
    assert {row["process"] for row in rows(tmp_path / "left.parquet")} == {"dd"}
    assert settings(tracefs, loop) == before


@pytest.mark.usefixtures("debugfs")
def test_two_methods_see_the_same(tracefs: Path, loop: Path, tmp_path: Path) -> None:
    assert tracefs.is_dir()
    inner, outer = tmp_path / "inner.parquet", tmp_path / "outer.parquet"
    # The one runs the other, which runs the load.
    command = [sys.executable, "-m", "flashweir", "collect", str(loop), "-o", str(inner), "--method", "tracefs", "--"]
    try:
        summary = collect(
            loop, outer, command=[*command, *fio(loop, tmp_path, JOBS[1])], method="bpftrace", allow_drops=True
        )
    except ConfigError as error:
        pytest.skip(f"{error}")
    assert summary["method"] == "bpftrace"
    of_fio = [[row for row in rows(trace) if row["process"] == "fio"] for trace in (outer, inner)]
    assert asked(of_fio[1]) == logged(tmp_path)
    missing = asked(of_fio[1]) - asked(of_fio[0])
    assert not asked(of_fio[0]) - asked(of_fio[1])
    assert missing.total() <= summary["lost_events"]


def test_only_root_may(loop: Path) -> None:
    words = [tool("setpriv"), "--reuid=65534", "--regid=65534", "--clear-groups", sys.executable, "-m", "flashweir"]
    # Other users can't enter a test's own folder.
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o777)
        trace = Path(folder) / "a.parquet"
        if subprocess.run([*words, "--version"], check=False, capture_output=True).returncode != 0:
            pytest.skip("another user can't run this interpreter")
        done = subprocess.run(
            [*words, "collect", loop, "-o", trace, "--duration", "1"], check=False, capture_output=True, text=True
        )
        assert list(Path(folder).iterdir()) == []
    said = "the kernel shows requests to root only; run this with sudo"
    assert (done.returncode, done.stderr) == (2, f"error: collecting from {loop}: {said}\n")


@pytest.mark.parametrize("duration", [float("nan"), float("inf"), -1.0])
def test_durations_are_numbers(loop: Path, tmp_path: Path, duration: float) -> None:
    with pytest.raises(ConfigError, match=r"duration.*: expected seconds above 0$"):
        collect(loop, tmp_path / "trace.parquet", duration_s=duration)


@pytest.mark.parametrize("method", ["bpftrace", "blktrace"])
def test_a_program_that_is_not_installed_is_named(
    loop: Path, tmp_path: Path, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ConfigError, match=f"method {method}: it can't be used here: {method} is not installed"):
        collect(loop, tmp_path / "trace.parquet", duration_s=1, method=method)
    assert list(tmp_path.glob("trace*")) == []


@pytest.mark.parametrize("method", ["bpftrace", "blktrace"])
def test_a_program_that_does_not_work_is_told_in_a_line(
    loop: Path, tmp_path: Path, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / method
    program.write_text("#!/bin/sh\necho it can not >&2\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with pytest.raises(FlashweirError) as refusal:
        collect(loop, tmp_path / "trace.parquet", duration_s=1, method=method)
    assert str(refusal.value) == f"method {method}: it can't be used here: {method} does not work here: it can not"
    assert list(tmp_path.glob("trace*")) == []


def test_the_next_method_is_taken_where_one_is_missing(tracefs: Path, loop: Path, tmp_path: Path) -> None:
    if tracefs.is_relative_to("/sys"):
        pytest.skip("tracefs is mounted, so the first method works")
    program = tmp_path / "bpftrace"
    # Two requests, the second without an end.
    lines = ["ready", "D 0 1000 8 16 R 7 some one", "C 0 3000 8 16 R 0 -", "D 1 4000 64 8 WS 8 other"]
    program.write_text("#!/bin/sh\n" + "\n".join(f"echo '{line}'" for line in lines) + "\nexec sleep 60\n")
    program.chmod(0o755)
    trace, summary = tmp_path / "trace.parquet", tmp_path / "summary.json"
    # A user who may not mount gets no tracefs.
    words = [tool("setpriv"), "--bounding-set=-sys_admin", "--inh-caps=-sys_admin", sys.executable, "-m", "flashweir"]
    words += ["collect", str(loop), "-o", str(trace), "--duration", "1", "--json", str(summary)]
    path = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run(words, check=False, capture_output=True, text=True, env=path)
    found = json.loads(summary.read_text())
    assert found["method"] == "bpftrace"
    assert found["method_because"].startswith("tracefs: tracefs is not mounted at /sys/kernel/tracing and can't be: ")
    assert [(row["op"], row["lba"], row["process"]) for row in rows(trace)] == [
        ("read", 8, "some one"),
        ("write", 64, "other"),
    ]
    # An event without its end counts as lost.
    assert (found["lost_events"], done.returncode) == (1, 1)
    path["PATH"] = str(tmp_path / "nothing")
    none = subprocess.run(
        [*words[:-2], "--force", "--json", "-"], check=False, capture_output=True, text=True, env=path
    )
    assert none.returncode == 2
    assert none.stderr.startswith("error: method auto: no method works here: tracefs: tracefs is not mounted")
    assert none.stderr.endswith("bpftrace: bpftrace is not installed; blktrace: blktrace is not installed\n")
