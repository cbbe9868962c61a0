"""Live drives that are opened again, what killed ones leave, lies about flushes, and readers that go."""

from pathlib import Path

import pytest
from conftest import refused
from nbd_client import FLUSH, LIMIT_S, READ, SMALL, WRITE, Client, ended, served

import flashweir
from flashweir import ConfigError

PAGE = 4096
HOME = ("--clock", "virtual", "--state", "home")
BUFFERED = {"channels": 2, "capacity": "8MiB", "pages_per_block": 8, "buffer.bytes": "256KiB"}


def overwritten(folder: Path, socket: str) -> None:
    """Writes some pages, of which the first are flushed."""
    with Client(folder / socket) as client:
        for page in range(20):
            assert client.ask(WRITE, page * PAGE, b"a" * PAGE) == (0, b"")
        assert client.ask(FLUSH) == (0, b"")
        for page in range(20, 40):
            assert client.ask(WRITE, page * PAGE, b"b" * PAGE) == (0, b"")


def first_of(folder: Path, socket: str, page: int) -> bytes:
    with Client(folder / socket) as client:
        error, data = client.ask(READ, page * PAGE, PAGE)
    assert error == 0
    return data[:1]


def test_a_drive_whose_power_can_be_cut_opens_so_again(tmp_path: Path) -> None:
    nbd = f"unix:{tmp_path / 'sock'}"
    with flashweir.serve(nbd=nbd, clock="virtual", state=tmp_path / "home", power_cuts=True, set=BUFFERED):
        overwritten(tmp_path, "sock")
    with flashweir.serve(nbd=nbd, clock="virtual", state=tmp_path / "home") as live:
        live.control("save", {"path": str(tmp_path / "kept.drive")})
        overwritten(tmp_path, "sock")
        report = live.control("power-cut")
        assert (report["acknowledged_sectors_lost"], report["flushed_sectors_lost"]) == (20 * 8, 0)
        with Client(tmp_path / "sock") as client:
            assert client.ask(WRITE, 0, b"c" * PAGE) == (0, b"")
        assert live.control("power-cut")["acknowledged_sectors_lost"] == 8
        assert first_of(tmp_path, "sock", 0) == b"a"
    with flashweir.serve(tmp_path / "kept.drive", nbd=nbd, clock="virtual", power_cuts=True) as live:
        overwritten(tmp_path, "sock")
        live.control("power-cut")
        assert (first_of(tmp_path, "sock", 0), first_of(tmp_path, "sock", 39)) == (b"a", b"\0")
    with flashweir.serve(nbd=nbd, clock="virtual", state=tmp_path / "other", set=BUFFERED) as live:
        live.control("save", {"path": str(tmp_path / "plain.drive")})
    for given in ({"state": tmp_path / "other"}, {"device": tmp_path / "plain.drive"}):
        with pytest.raises(ConfigError, match="without"):
            flashweir.serve(nbd=nbd, clock="virtual", power_cuts=True, **given)  # type: ignore[arg-type]


def test_a_lie_about_flushes_is_counted(tmp_path: Path) -> None:
    with flashweir.serve(
        nbd=f"unix:{tmp_path / 'sock'}", clock="virtual", power_cuts=True, ignore_flush=True, set=BUFFERED
    ) as live:
        overwritten(tmp_path, "sock")
        report = live.control("power-cut")
        # Of the 40 pages in the buffer 20 were said to be flushed.
        assert (report["acknowledged_sectors_lost"], report["flushed_sectors_lost"]) == (40 * 8, 20 * 8)


def test_a_folder_without_its_bytes_is_refused(tmp_path: Path) -> None:
    with served(tmp_path, *HOME) as (run, _):
        overwritten(tmp_path, "flashweir.sock")
        ended(run)
    (tmp_path / "home" / "drive.data").rename(tmp_path / "moved.data")
    for more in ((), ("--data", "typo.data"), ("--record", "rec.parquet")):
        assert "has no bytes of the drive that --state has" in refused("serve", *HOME, *more, cwd=tmp_path)
    names = {path.name for path in (*tmp_path.iterdir(), *(tmp_path / "home").iterdir())}
    assert not names & {"drive.data", "typo.data", "rec.parquet.part"}
    with served(tmp_path, *HOME, "--data", "moved.data") as (run, _):
        assert first_of(tmp_path, "flashweir.sock", 0) == b"a"
        ended(run)


def test_what_a_killed_process_had_begun_is_removed(tmp_path: Path) -> None:
    with served(tmp_path, *HOME) as (run, _):
        ended(run)
    (tmp_path / "home" / ".drive-0.state.4711.1.part").write_bytes(b"half a drive")
    (tmp_path / "home" / "notes.part").write_text("mine")
    with served(tmp_path, *HOME) as (run, _):
        ended(run)
    assert [path.name for path in (tmp_path / "home").iterdir() if path.name.endswith(".part")] == ["notes.part"]


def test_arrivals_up_to_a_flush_outlive_a_killed_recording(tmp_path: Path) -> None:
    record = ("--clock", "virtual", "--record", "rec.parquet")
    with served(tmp_path, *record) as (run, _):
        overwritten(tmp_path, "flashweir.sock")
        run.kill()
        run.wait(LIMIT_S)
    assert flashweir.trace_info(tmp_path / "rec.parquet.part")["requests"] >= 20
    for more in ((), ("--force",)):
        message = refused("serve", *SMALL, *record, *more, cwd=tmp_path)
        assert "rec.parquet.part is there" in message
        assert "to be removed" in message


def test_a_reader_of_the_first_line_may_go(tmp_path: Path) -> None:
    with served(tmp_path, "--clock", "virtual", "--json", "r.json") as (run, _):
        assert run.stdout is not None
        run.stdout.close()
        run.terminate()
        assert run.wait(LIMIT_S) == 0
        assert run.stderr is not None
        assert run.stderr.read() == ""
        run.stderr.close()
        run.stdout = run.stderr = None
    assert (tmp_path / "r.json").exists()
