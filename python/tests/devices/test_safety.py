"""Refusals of the commands that write real drives: on loop devices of the test's own; skips without root.

The rules themselves are tested in crates/device/src/safety.
"""

import subprocess
import sys
from pathlib import Path

import pytest
from block_devices import MIB, knows_trim, loop_of, mounted, tool
from conftest import flashweir, refused

from flashweir import DeviceError
from flashweir.benchmark import running

WRITES = "random:span=1MiB,size=4KiB,write=1,rate=1000,count=10"
SIZE = 200_000_000 // 4096 * 4096


def commands(target: str, folder: Path) -> list[tuple[str, ...]]:
    """Every command that writes a drive, with the target named twice."""
    named = (target, "--erase", target)
    return [
        ("replay", WRITES, *named),
        ("bench", *named, "--scale", "0.01", "-o", str(folder / "result.json")),
        ("probe", *named, "-o", str(folder / "drive.toml")),
    ]


def test_no_command_writes_what_is_in_use(tmp_path: Path) -> None:
    with loop_of(tmp_path, SIZE) as device:
        subprocess.run([tool("mkfs.ext4"), "-q", device], check=True)
        with mounted(tmp_path / "point", "ext4", source=device) as point:
            (point / "file").write_text("precious")
            for target in (device, str(tmp_path / "image")):
                for command in commands(target, tmp_path):
                    if command[0] == "bench" and not knows_trim(device):
                        continue  # a drive that can't be emptied is refused for that
                    said = refused(*command)
                    assert f"is mounted at {point}" in said
                    assert "--erase does not override this" in said
            answer = flashweir("replay", WRITES, device, "--erase", device, "--dry-run", "--json", "-").json()
            assert f"is mounted at {point}" in answer["refused"]
            assert f"is mounted at {point}" in answer["target"]["found"]
            assert (point / "file").read_text() == "precious"
        with Path(device).open("rb") as drive:
            assert drive.read(MIB).count(0) < MIB


def test_a_dry_run_says_what_a_run_would(tmp_path: Path) -> None:
    with loop_of(tmp_path, 16 * MIB) as device:
        assert flashweir("replay", WRITES, device, "--dry-run", "--json", "-").json()["refused"] is None
        with Path(device).open("r+b") as drive:
            drive.seek(9 * MIB)
            drive.write(b"precious")
        said = refused("replay", WRITES, device)
        assert f"holds data of no known format, at byte {9 * MIB}; expected a target with nothing on it" in said
        answer = flashweir("replay", WRITES, device, "--dry-run", "--json", "-").json()
        assert said == answer["refused"]
        assert answer["target"]["found"] == [f"holds data of no known format, at byte {9 * MIB}"]


def test_a_container_has_to_name_a_device(tmp_path: Path) -> None:
    unshare = (tool("unshare"), "--pid", "--fork", "--mount-proc")
    if subprocess.run([*unshare, "true"], check=False, capture_output=True).returncode != 0:
        pytest.skip("no namespaces can be made here")

    def inside(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [*unshare, sys.executable, "-m", "flashweir", *arguments]
        return subprocess.run(command, check=False, capture_output=True, text=True)

    with loop_of(tmp_path, 16 * MIB) as device:
        unnamed = inside("replay", WRITES, device)
        assert unnamed.returncode == 2
        assert "may be in use, which can't be seen here (mounts outside of this container are hidden)" in unnamed.stderr
        assert f"expected --erase {device} to write it all the same" in unnamed.stderr
        assert inside("replay", WRITES, device, "--erase", device).returncode == 0


def test_a_drive_exchanged_between_two_workloads_is_refused(tmp_path: Path) -> None:
    target, other = tmp_path / "target", tmp_path / "other"
    for file in (target, other):
        with file.open("wb") as drive:
            drive.truncate(SIZE)

    def tell(name: str, *_: object) -> None:
        if name == "bittorrent":
            target.rename(tmp_path / "written")
            other.rename(target)

    with pytest.raises(DeviceError, match="it became another file or drive since it was looked at"):
        running.bench(str(target), suites=["transfer"], scale=0.01, tell=tell, erase=str(target))
    with target.open("rb") as drive:
        assert not any(drive.read(MIB))
