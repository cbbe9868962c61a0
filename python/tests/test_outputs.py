"""Outputs: no option for one writes to a drive, or to what the command reads."""

import os
import stat
from pathlib import Path

import pytest
from conftest import QUICK, SHIPPED_TRACE, flashweir, refused

from flashweir import whole

DRIVE = "sim:slc-2006,capacity=16MiB"


def test_a_text_is_whole_or_absent_and_a_link_is_followed(tmp_path: Path) -> None:
    file, link = tmp_path / "file", tmp_path / "link"
    file.write_text("old")
    link.symlink_to(file)
    whole.write(link, "new")
    assert link.is_symlink()
    assert file.read_text() == "new"
    with pytest.raises(OSError, match="No such file") as refused:
        whole.write(tmp_path / "nowhere" / "file", "text")
    assert refused.value.filename == str(tmp_path / "nowhere" / "file")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "link"]


def test_files_are_the_same_under_other_names(tmp_path: Path) -> None:
    file, linked = tmp_path / "file", tmp_path / "linked"
    assert whole.same_file(file, tmp_path / "." / "file")
    file.touch()
    os.link(file, linked)
    assert whole.same_file(file, linked)
    assert not whole.same_file(file, tmp_path / "other")


@pytest.fixture
def block_device(tmp_path: Path) -> Path:
    """A node of a block device, which nothing need be behind: none of these commands may open it."""
    node = tmp_path / "device"
    try:
        os.mknod(node, 0o600 | stat.S_IFBLK, os.makedev(7, 250))
    except PermissionError:
        pytest.skip("only root makes device nodes")
    return node


@pytest.mark.parametrize(
    "command",
    [
        ("probe", DRIVE, "-o"),
        ("simulate", QUICK, "--json"),
        ("simulate", QUICK, "--requests"),
        ("replay", QUICK, DRIVE, "--timing", "asap", "--json"),
        ("replay", QUICK, DRIVE, "--timing", "asap", "-o"),
        ("bench", DRIVE, "--scale", "0.01", "-o"),
        ("bench", DRIVE, "--scale", "0.01", "--html"),
        ("trace", "characterize", QUICK, "--html"),
        ("trace", "convert", "--to", "msr", str(SHIPPED_TRACE)),
    ],
    ids=lambda command: "-".join(part for part in command if part.isalpha()),
)
def test_no_output_goes_to_a_block_device(command: tuple[str, ...], block_device: Path) -> None:
    run = flashweir(*command, str(block_device), code=None)
    assert run.code in (1, 2)
    assert "block device" in run.err
    assert run.err.count("\n") == 1, run.err


def test_no_output_replaces_what_is_read(tmp_path: Path) -> None:
    device, odd = tmp_path / "d.toml", tmp_path / "x=1.parquet"
    device.write_text('capacity = "16MiB"\n')
    target = f"sim:{device},channels=2"
    assert "a file of its own" in refused("probe", target, "-o", str(device))
    replay = ("replay", QUICK, target, "--timing", "asap")
    assert "a file of its own" in refused(*replay, "--json", str(device))
    assert "a file of its own" in refused(*replay, "-o", str(device))
    flashweir("simulate", "random:span=8MiB,count=2000", "--requests", str(odd))
    before = odd.read_bytes()
    assert "a file of its own" in refused("diagnose", str(odd), "--json", str(odd))
    assert odd.read_bytes() == before
    assert device.read_text() == 'capacity = "16MiB"\n'


def test_a_trace_is_not_replayed_to_itself_under_another_name(tmp_path: Path) -> None:
    trace, linked = tmp_path / "trace.parquet", tmp_path / "linked.img"
    flashweir("trace", "generate", "random:span=8MiB,count=2000,rate=1000", str(trace))
    os.link(trace, linked)
    before = trace.read_bytes()
    message = refused("replay", str(trace), str(linked), "--erase", str(linked), "--wrap")
    assert "another file than the trace" in message
    assert trace.read_bytes() == before


def test_a_drive_is_not_probed_for_an_answer_that_can_not_be_kept(tmp_path: Path) -> None:
    drive = tmp_path / "drive.img"
    drive.write_bytes(b"kept" * 1_048_576)
    run = flashweir("probe", str(drive), "--erase", str(drive), "-o", "/proc/drive.toml", code=None)
    assert run.code in (1, 2)
    assert run.err.startswith("error: /proc/drive.toml: ")
    assert drive.read_bytes() == b"kept" * 1_048_576
