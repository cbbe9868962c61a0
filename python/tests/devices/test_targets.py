"""Drives in Python as targets: `py:FILE.py:CLASS`, objects, and classes that do not keep the contract."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import flashweir, refused

import flashweir as api
from flashweir import _native

DRIVE = '''
"""A drive of two units: a write takes 100 us, a read 50 us, less by its speed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass
class Kept:
    ends: list[int]


class Drive:
    def __init__(self, capacity="1048576", speed="1"):
        self.size_bytes, self.block_bytes = int(capacity), 4096
        self.speed = float(speed)
        self.free = [0, 0]
        self.kept = Kept([])

    def submit(self, requests):
        issues, completes = [], []
        for due, op, offset, length in zip(*(requests[name].tolist() for name in ("due_ns", "op", "offset", "length"))):
            ends = sorted(self.kept.ends)[-self.depth :]
            issue = due if due >= 0 else (ends[0] if len(ends) == self.depth else 0)
            unit = offset // 4096 % 2
            took = 0 if op > 1 else (50_000 if op == 0 else 100_000) * -(-length // 4096) / self.speed
            self.free[unit] = max(self.free[unit], issue) + int(took)
            self.kept.ends = [*ends, self.free[unit]]
            issues.append(issue)
            completes.append(self.free[unit])
        return {"issue_ns": np.array(issues, dtype=np.int64), "complete_ns": np.array(completes, dtype=np.int64)}
'''
QUICK = "random:span=1MiB,size=4KiB,count=2000,write=1"


@pytest.fixture
def drive(tmp_path: Path) -> Path:
    file = tmp_path / "drive.py"
    file.write_text(DRIVE)
    return file


def test_a_replay_to_a_class_has_its_clock(drive: Path) -> None:
    done = flashweir("replay", QUICK, f"py:{drive}:Drive,speed=2", "--timing", "closed", "--json", "-").json()
    assert done["requests"] == 2000
    assert done["elapsed_s"] == pytest.approx(2000 * 50e-6)
    assert done["target"] == {
        "name": f"py:{drive}:Drive,speed=2",
        "simulated": True,
        "size_bytes": 1 << 20,
        "block_bytes": 4096,
    }
    both = flashweir("replay", QUICK, f"py:{drive}:Drive", "--timing", "closed", "--depth", "2", "--json", "-").json()
    assert 0.1 < both["elapsed_s"] < 0.2
    assert both["max_outstanding"] == 2


def test_replays_at_times_are_logged(drive: Path, tmp_path: Path) -> None:
    log = tmp_path / "log.parquet"
    flashweir("replay", QUICK + ",rate=1000", f"py:{drive}:Drive", "-o", str(log))
    assert flashweir("trace", "info", str(log), "--json", "-").json()["requests"] == 2000
    plan = flashweir("replay", QUICK + ",rate=1000", f"py:{drive}:Drive", "--dry-run", "--json", "-").json()
    assert (plan["requests"], plan["refused"]) == (2000, None)


def test_bench_and_probe_take_a_class(drive: Path, tmp_path: Path) -> None:
    target = f"py:{drive}:Drive,capacity=268435456"
    result = flashweir("bench", target, "--suite", "transfer", "--scale", "0.01", "--json", "-").json()
    assert result["size_bytes"] == 1 << 28
    assert "device_file_sha256" in result
    probed = flashweir("probe", f"py:{drive}:Drive,capacity=4194304", "-o", str(tmp_path / "d.toml"), "--json", "-")
    assert probed.json()["written_bytes"] > 4 << 20


class Vector:
    """A drive without waiting, for speed: each request takes 10 us."""

    def __init__(self) -> None:
        self.size_bytes, self.block_bytes, self.depth = 1 << 30, 4096, 0
        self.now = 0
        self.calls: list[int] = []

    def submit(self, requests: dict[str, Any]) -> dict[str, Any]:
        due = requests["due_ns"]
        self.calls.append(len(due))
        begin = max(self.now, int(due.max()))
        issue = begin + np.arange(len(due), dtype=np.int64) * 10_000
        self.now = int(issue[-1]) + 10_000
        return {"issue_ns": issue, "complete_ns": issue + 10_000}


def test_an_object_is_a_target_and_keeps_its_state() -> None:
    drive = Vector()
    first = api.replay(QUICK, drive, timing="closed")
    assert first["target"]["name"] == "py:Vector"
    assert drive.depth == 1
    assert drive.now == 20_000_000
    api.replay(QUICK, drive, timing="closed", depth=4)
    assert drive.depth == 4
    assert drive.now == 40_000_000
    with pytest.raises(api.ConfigError, match="expected a name, or an object with"):
        api.replay(QUICK, 5, timing="closed")  # type: ignore[arg-type]


def test_a_hundred_thousand_requests_a_second() -> None:
    drive = Vector()
    api.replay("random:span=1GiB,size=4KiB,count=500000", drive, timing="closed", depth=4)
    # Calls of the target cost the time: there are few, of many requests each.
    assert sum(drive.calls) == 500_000
    assert max(drive.calls) <= 65_536
    assert len(drive.calls) < 100


BROKEN = """
import numpy as np

class Good:
    size_bytes, block_bytes = 1 << 20, 4096
    def times(self, requests):
        due = requests["due_ns"]
        end = np.arange(1, len(due) + 1, dtype=np.int64) * 10
        return {"issue_ns": end - 10, "complete_ns": end}
    def submit(self, requests):
        return self.times(requests)

class NoSize:
    block_bytes = 512
    def submit(self, requests): pass

class NoBlock(Good):
    block_bytes = None

class NanSize(Good):
    size_bytes = float("nan")

class OddBlock(Good):
    block_bytes = 1000

class NoSubmit:
    size_bytes, block_bytes = 1 << 20, 4096

class Raising(Good):
    def submit(self, requests): return 1 // 0

class Leaving(Good):
    def submit(self, requests): raise SystemExit(3)

class NoInit(Good):
    def __init__(self, colour): pass

class Nothing(Good):
    def submit(self, requests): return None

class OneColumn(Good):
    def submit(self, requests): return {"issue_ns": requests["due_ns"]}

class Floats(Good):
    def submit(self, requests): return {k: v + np.nan for k, v in self.times(requests).items()}

class Lists(Good):
    def submit(self, requests): return {k: v.tolist() for k, v in self.times(requests).items()}

class Short(Good):
    def submit(self, requests): return {k: v[1:] for k, v in self.times(requests).items()}

class Early(Good):
    def submit(self, requests):
        times = self.times(requests)
        times["complete_ns"][6] = 59
        return times

class BeforeDue(Good):
    def submit(self, requests):
        times = self.times(requests)
        times["issue_ns"][1] = -5
        return times

number = 5
"""


@pytest.mark.parametrize(
    ("name", "code", "part"),
    [
        ("NoSize", 2, "NoSize has no attribute size_bytes: expected a number of bytes"),
        ("NoBlock", 2, "NoBlock has no attribute block_bytes"),
        ("NanSize", 2, "NanSize.size_bytes is nan: expected a whole number of bytes above 0"),
        ("OddBlock", 2, "block_bytes 1000: expected a multiple of 512"),
        ("NoSubmit", 2, "NoSubmit has no method submit"),
        ("NoInit", 2, "TypeError: "),
        ("Good,colour=red", 2, "expected __init__(**kwargs: str)"),
        ("Good,red", 2, "'red': expected key=value after the first comma"),
        ("Absent", 2, "has no class Absent"),
        ("number", 2, "has int, not a class, number"),
        ("Raising", 1, "requests 1 to 2000: ZeroDivisionError: integer division or modulo by zero (broken.py, line "),
        ("Leaving", 1, "requests 1 to 2000: SystemExit: 3 (broken.py, line "),
        ("Nothing", 1, "submit returned NoneType: expected a dict of issue_ns and complete_ns"),
        ("OneColumn", 1, "submit returned no complete_ns: expected an array of int64"),
        ("Floats", 1, "issue_ns has dtype float64: expected one column of int64"),
        ("Lists", 1, "issue_ns is list: expected an array of int64"),
        ("Short", 1, "issue_ns has 1999 elements; expected 2000, one a request"),
        ("Early", 1, "complete_ns 59 is before 60, when it was issued"),
        ("BeforeDue", 1, "issue_ns -5 is before 0, when it was due"),
    ],
)
def test_faults_of_a_class_are_one_line(name: str, code: int, part: str, tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text(BROKEN)
    line = refused("replay", QUICK, f"py:broken.py:{name}", "--timing", "closed", cwd=tmp_path, code=code)
    assert part in line
    assert line.startswith(f"py:broken.py:{name}: ")
    if name in ("Early", "BeforeDue"):
        assert f"request {7 if name == 'Early' else 2} (write of 4096 bytes at " in line


def test_files_that_are_none(tmp_path: Path) -> None:
    for target in ("py:", "py:absent.py:Drive", "py:drive.py", "py:drive.py:"):
        assert "expected FILE.py:CLASS" in refused("replay", QUICK, target, "--timing", "closed", cwd=tmp_path)


def test_the_cause_of_an_error_is_the_exception() -> None:
    class Drive(Vector):
        def submit(self, requests: dict[str, Any]) -> dict[str, Any]:
            raise LookupError(f"no such page among {len(requests)}")

    with pytest.raises(api.FlashweirError, match="LookupError: no such page") as caught:
        api.replay(QUICK, Drive(), timing="closed")
    assert isinstance(caught.value.__cause__, LookupError)


def test_requests_are_whole_blocks() -> None:
    drive = Vector()
    done = api.replay("random:span=1MiB,size=512,count=100,align=512", drive, timing="closed")
    assert done["widened"] == 100


def test_a_session_gives_times_in_the_order_of_the_requests() -> None:
    session = _native.Session(json.dumps({"target": "sim:slc-2006,capacity=16MiB"}))
    assert session.size_bytes == 16 << 20
    ops = np.array([1, 1, 0, 3], dtype=np.uint8)
    offsets = np.array([0, 65536, 0, 0], dtype=np.uint64)
    lengths = np.array([4096, 65536, 4096, 0], dtype=np.uint64)
    at_once = np.full(4, -1, dtype=np.int64)
    issue, complete = (np.frombuffer(one, "<i8") for one in session.execute(at_once, ops, offsets, lengths, 4))
    assert (complete >= issue).all()
    assert issue.tolist() == [0, 0, 0, 0]
    before = session.now_ns
    session.pause(1_000_000)
    assert session.now_ns == before + 1_000_000
    due = np.array([0, 5000, 10_000, 20_000], dtype=np.int64)
    issue, _ = (np.frombuffer(one, "<i8") for one in session.execute(due, ops, offsets, lengths, 1))
    assert (issue - session.now_ns <= 0).all()
    assert (issue[1:] - issue[0]).tolist() == [5000, 10_000, 20_000]


def test_a_session_writes_no_real_drive_that_is_not_named(tmp_path: Path) -> None:
    image = tmp_path / "disk.img"
    image.write_bytes(bytes(1 << 21))
    with pytest.raises(api.DeviceError, match="measuring destroys all that a drive holds; expected --erase"):
        _native.Session(json.dumps({"target": str(image)}))
