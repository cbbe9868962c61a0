"""`flashweir bench` on files and on block devices whose server says what it was asked.

Block devices need root, loop devices, FUSE, nbdkit and nbdfuse; skips with the reason where one is missing.
"""

import signal
import subprocess
from pathlib import Path

import pytest
from block_devices import loop_of, mounted, need_no_trim, need_trim, served, tool, wait_for
from conftest import flashweir, refused
from started import start

from flashweir.benchmark import comparing

SIZE = 200_000_000 // 4096 * 4096
SMALL = ("--scale", "0.01", "--suite", "buffer")


def test_what_it_wrote_itself_is_no_reason_to_stop(tmp_path: Path) -> None:
    file, result = tmp_path / "file", tmp_path / "result.json"
    with file.open("wb") as drive:
        drive.truncate(SIZE)
    flashweir("bench", str(file), "--scale", "0.01", "--suite", "transfer", "-o", str(result))
    assert [one["name"] for one in comparing.read(result)["workloads"]] == ["copy-mp3", "bittorrent"]
    # By another run it is.
    said = refused("bench", str(file), "--scale", "0.01", "--suite", "transfer")
    assert f"it is a file that is not empty; expected a target with nothing on it, or --erase {file}" in said
    assert "--size" not in refused("bench", str(tmp_path / "none"))


@pytest.mark.parametrize("state", ["empty", "filled"])
def test_a_drive_is_brought_into_its_state(tmp_path: Path, state: str) -> None:
    with served(tmp_path, SIZE) as device:
        if state == "empty":
            need_trim(device.device, "a drive that is emptied")
        done = flashweir("bench", device.device, *SMALL, "--state", state, "--json", "-").json()
        found = device.requests()
    (one,) = done["workloads"]
    written = sum(length for op, _, length in found if op == "write")
    assert written >= one["bytes"]
    first = [(offset, length) for op, offset, length in found if op == ("write" if state == "filled" else "trim")]
    # From end to end, before anything else.
    end = 0
    for offset, length in first:
        if end < SIZE:
            assert offset == end
            end += length
    assert end == SIZE


def test_drives_in_use_are_refused_and_stay_as_they_are(tmp_path: Path) -> None:
    result = tmp_path / "result.json"
    with loop_of(tmp_path, SIZE) as device:
        need_trim(device, "a drive in use that would be emptied")
        command = ("bench", device, *SMALL, "-o", str(result))
        assert subprocess.run([tool("mkfs.ext4"), "-q", device], check=False).returncode == 0
        image = (tmp_path / "image").read_bytes()
        assert "holds an ext4 file system" in refused(*command)
        assert "is not the name of this target" in refused(*command, "--erase", "/dev/sdx")
        with mounted(tmp_path / "point", "ext4", source=device) as point:
            assert f"is mounted at {point}" in refused(*command)
            assert "--erase does not override this" in refused(*command, "--erase", device)
        subprocess.run([tool("wipefs"), "-aq", device], check=True)
        subprocess.run([tool("sfdisk"), "-q", "--no-reread", device], input="8MiB,16MiB\n", text=True, check=True)
        assert "holds a DOS partition table" in refused(*command)
        with Path(device).open("rb") as drive:
            drive.seek(64 << 20)
            assert drive.read(1 << 20) == image[64 << 20 : 65 << 20]
    assert not result.exists()


def test_a_mount_is_named_before_a_missing_trim(tmp_path: Path) -> None:
    with loop_of(tmp_path, SIZE) as device:
        need_no_trim(device, "a mounted drive without TRIM")
        assert "it knows no TRIM" in refused("bench", device, *SMALL, "--erase", device)
        assert subprocess.run([tool("mkfs.ext4"), "-q", device], check=False).returncode == 0
        with mounted(tmp_path / "point", "ext4", source=device) as point:
            assert f"is mounted at {point}" in refused("bench", device, *SMALL, "--erase", device)


def test_ctrl_c_keeps_what_was_finished_and_it_goes_on(tmp_path: Path) -> None:
    result = tmp_path / "result.json"
    with served(tmp_path, SIZE) as device:
        need_trim(device.device, "a drive that is emptied and interrupted")
        command = ("bench", device.device, "--erase", device.device, "--scale", "0.01", "-o", str(result))
        for suites, kept in (["transfer"], "no workload is finished"), (["transfer", "gc"], "what was finished is in"):
            options = [word for suite in suites for word in ("--suite", suite)]
            run = start(*command, *options, "--resume", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            before = len(device.requests())
            assert wait_for(
                lambda before=before, run=run, suites=suites: (
                    run.poll() is not None
                    or (
                        any(op == "write" for op, _, _ in device.requests()[before:])
                        if len(suites) == 1
                        else result.exists()
                    )
                )
            )
            run.send_signal(signal.SIGINT)
            out, err = run.communicate(timeout=60)
            assert (run.returncode, out) == (130, "")
            assert err.startswith("error: stopped by Ctrl-C: stopped while ")
            assert kept in err
            assert err.endswith("--resume goes on\n")
            assert err.count("\n") == 1
        before = comparing.read(result)
        assert not before["complete"]
        assert before["workloads"]
        options = ["--suite", "transfer"]
        done = flashweir(*command, *options, "--resume", "--json", "-").json()
    assert done["complete"]
    assert done["workloads"][0] == before["workloads"][0]
