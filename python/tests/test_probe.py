"""`flashweir probe`: what it finds and writes, what it refuses, what an end before the end leaves."""

import os
import shutil
import signal
import tomllib
from pathlib import Path

import pytest
from conftest import flashweir
from test_interrupt import start
from test_replay import loop

import flashweir as api

__all__ = ["loop"]

SIM = "sim:slc-2006,capacity=24MiB,channels=2,dies=2,op_ratio=0.3125,buffer.bytes=128KiB"


def test_a_probed_drive_is_a_device_file(tmp_path: Path) -> None:
    answer = flashweir("probe", SIM, "-o", "drive.toml", cwd=tmp_path)
    assert "pages_per_block  64" in answer.out
    drive = tomllib.loads((tmp_path / "drive.toml").read_text())
    assert (drive["channels"], drive["dies"], drive["page"], drive["buffer"]["bytes"]) == (2, 2, 2048, 131072)
    run = ("simulate", "random:span=20MiB,count=2000", "--set", "precondition=full", "--json", "-")
    found = flashweir(*run, "--device", "drive.toml", cwd=tmp_path).json()
    settings = [part for setting in SIM.split(",")[1:] for part in ("--set", setting)]
    truth = flashweir(*run, "--device", "slc-2006", *settings, cwd=tmp_path).json()
    assert found["iops"] == pytest.approx(truth["iops"], rel=0.01)
    assert [path.name for path in tmp_path.iterdir()] == ["drive.toml"]


def test_json_has_every_answer_and_a_seed_repeats_it(tmp_path: Path) -> None:
    file = tmp_path / "drive.toml"
    said = flashweir("probe", SIM, "-o", str(file), "--json", "-", "--seed", "3").json()
    assert said == flashweir("probe", SIM, "-o", str(file), "--force", "--json", "-", "--seed", "3").json()
    assert said["device_file"] == file.read_text()
    assert {"page", "channels", "op_ratio", "buffer.bytes"} <= {answer["key"] for answer in said["answers"]}
    assert all(0 <= answer["sure"] <= 1 and answer["how"] for answer in said["answers"])
    assert said["written_bytes"] > 24 << 20


def test_what_is_not_named_is_not_written(tmp_path: Path) -> None:
    image, file = tmp_path / "disk.img", tmp_path / "drive.toml"
    image.write_bytes(b"precious" * (1 << 19))
    before = image.read_bytes()
    for erase in ([], ["--erase", "other.img"]):
        refused = flashweir("probe", str(image), "-o", str(file), *erase, code=2)
        assert f"--erase {image}" in refused.err
        assert refused.err.count("\n") == 1
    assert image.read_bytes() == before
    assert not file.exists()


@pytest.mark.parametrize(
    ("target", "part"),
    [
        ("sim:nothing", "no such preset or file"),
        ("sim:slc-2006,capacity=1MiB,op_ratio=1", "expected at least 2097152"),
        ("sim:slc-2006,host.mode=open", "--depth or --timing"),
        ("/dev/null", "neither a block device nor a file"),
        ("none.img", "no such device or file"),
    ],
)
def test_bad_targets_are_one_line(tmp_path: Path, target: str, part: str) -> None:
    refused = flashweir("probe", target, "--erase", target, "-o", "drive.toml", cwd=tmp_path, code=2)
    assert part in refused.err
    assert refused.err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_outputs_are_looked_at_before_the_drive(tmp_path: Path) -> None:
    assert "there is no folder" in flashweir("probe", SIM, "-o", str(tmp_path / "none" / "drive.toml"), code=2).err
    image = tmp_path / "disk.img"
    image.write_bytes(bytes(4 << 20))
    refused = flashweir("probe", str(image), "--erase", str(image), "-o", str(image), code=2)
    assert "expected a file of its own" in refused.err


def test_a_read_only_file_is_refused(tmp_path: Path) -> None:
    image = tmp_path / "disk.img"
    image.write_bytes(bytes(4 << 20))
    image.chmod(0o444)
    if os.geteuid() == 0:
        pytest.skip("root may write it")
    refused = flashweir("probe", str(image), "--erase", str(image), "-o", str(tmp_path / "drive.toml"), code=2)
    assert str(image) in refused.err


def test_ctrl_c_leaves_nothing(tmp_path: Path) -> None:
    # Fills for longer than the test waits.
    run = start("probe", "sim:tlc,capacity=4TiB", "-o", str(tmp_path / "drive.toml"), stdout=-1, stderr=-1)
    with pytest.raises(Exception, match="timed out"):
        run.wait(timeout=3)
    run.send_signal(signal.SIGINT)
    out, err = run.communicate(timeout=60)
    assert (run.returncode, out) == (130, "")
    assert err.startswith("error: stopped by Ctrl-C")
    assert err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_a_loop_device_is_probed(loop: str, tmp_path: Path) -> None:
    assert shutil.which("losetup")
    file = tmp_path / "drive.toml"
    assert "--erase" in flashweir("probe", loop, "-o", str(file), code=2).err
    said = flashweir("probe", loop, "--erase", loop, "-o", str(file), "--json", "-").json()
    capacity = next(answer for answer in said["answers"] if answer["key"] == "capacity")
    assert capacity["value"] == 64 << 20
    # Whatever memory looks like from outside, it is a device.
    assert api.simulate("random:span=1MiB,count=10", file)["requests"] == 10


def test_progress_tells_and_stops() -> None:
    states: list[dict[str, object]] = []

    def stop(state: dict[str, object]) -> bool:
        states.append(state)
        return False

    with pytest.raises(api.FlashweirError, match="there is no device file"):
        api.probe("sim:tlc,capacity=16GiB", progress=stop)
    assert states[0]["phase"] == "run"
