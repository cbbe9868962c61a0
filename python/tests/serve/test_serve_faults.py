"""Flash that breaks or wears out under a live drive: errors for what is lost, and everything else stays right."""

from pathlib import Path
from typing import Any

from nbd_client import READ, TRIM, WRITE, Client
from test_serve_control import asked, ctl

import flashweir
from flashweir.serving import LiveDrive

PAGE = 4096
PAGES = 2048
NOT_PERMITTED, IO = 1, 5
DRIVE: dict[str, Any] = {"channels": 4, "capacity": "8MiB", "page": "4KiB", "pages_per_block": 16, "op_ratio": 0.4}
WORN = {"ageing.kind": "power-law", "ageing.cycles": 4500, "ageing.spread": 0.4, "ageing.retire": 6}
PARITY = {"alloc.kind": "superblock", "alloc.parity": 3, "ageing.kind": "power-law"}


def bytes_of(page: int, version: int) -> bytes:
    """The bytes of a version of a page."""
    return (page * 1_000_003 + version).to_bytes(8, "little") * (PAGE // 8)


def live(folder: Path, settings: dict[str, Any], power_cuts: bool = False) -> LiveDrive:
    """A drive that is served in a folder, in virtual time."""
    return flashweir.serve(
        set={**DRIVE, **settings},
        nbd=f"unix:{folder}/nbd",
        control=str(folder / "ctl"),
        clock="virtual",
        data="memory",
        power_cuts=power_cuts,
    )


def filled(client: Client, version: int = 1) -> None:
    for page in range(PAGES):
        assert client.ask(WRITE, page * PAGE, bytes_of(page, version)) == (0, b"")


def lost_of(client: Client, version: int = 1) -> list[int]:
    """Pages that can't be read; all others have their bytes."""
    lost = []
    for page in range(PAGES):
        error, data = client.ask(READ, page * PAGE, PAGE)
        assert error in (0, IO)
        if error:
            lost.append(page)
        else:
            assert data == bytes_of(page, version)
    return lost


def test_a_drive_that_is_worn_out_refuses_writes_and_keeps_its_bytes(tmp_path: Path) -> None:
    for power_cuts in (False, True):
        with live(tmp_path, {**WORN, "channels": 1}, power_cuts=power_cuts), Client(tmp_path / "nbd") as client:
            versions = dict.fromkeys(range(PAGES), 0)
            number, error = 0, 0
            while error == 0:
                number += 1
                page = number * 1_103 % PAGES
                error = client.ask(WRITE, page * PAGE, bytes_of(page, number))[0]
                if error == 0:
                    versions[page] = number
            assert error == NOT_PERMITTED
            smart, ocp = asked(tmp_path, "smart"), asked(tmp_path, "ocp")
            assert smart["critical_warning"] == 0b1001
            assert (smart["avail_spare"], smart["num_err_log_entries"], smart["media_errors"]) == (0, 1, 0)
            assert ocp["Bad user nand blocks - Raw"] > 4
            assert ocp["Bad user nand blocks - Normalized"] == 0
            assert client.ask(TRIM, 0, PAGE)[0] == NOT_PERMITTED
            lost = asked(tmp_path, "inject", kind="media-error", offset=0, length=PAGE)["unreadable_sectors"]
            assert client.ask(WRITE, 0, bytes(PAGE))[0] == NOT_PERMITTED
            assert (client.ask(READ, 0, PAGE)[0], lost) == (IO, 8)
            asked(tmp_path, "inject", kind="none")
            for page, version in versions.items():
                # Without power cuts the bytes of a write are taken before the drive decides.
                if power_cuts or page not in (number * 1_103 % PAGES, 0):
                    expected = bytes(PAGE) if version == 0 else bytes_of(page, version)
                    assert client.ask(READ, page * PAGE, PAGE) == (0, expected), page


def test_a_die_that_fails_loses_what_it_holds_until_that_is_written(tmp_path: Path) -> None:
    with live(tmp_path, {}) as run, Client(tmp_path / "nbd") as client:
        filled(client)
        found = asked(tmp_path, "inject", kind="die-failure", die=2)
        assert found["lost_sectors"] == found["unreadable_sectors"] == PAGES * 8 // 4
        lost = lost_of(client)
        assert len(lost) == PAGES // 4
        assert asked(tmp_path, "smart")["media_errors"] == len(lost)
        filled(client, version=2)
        assert lost_of(client, version=2) == []
        assert run.control("status")["faults"]["unreadable_sectors"] == 0


def test_a_block_that_breaks_loses_its_pages(tmp_path: Path) -> None:
    with live(tmp_path, {}), Client(tmp_path / "nbd") as client:
        filled(client)
        assert asked(tmp_path, "inject", kind="bad-block", offset=77 * PAGE)["lost_sectors"] == 16 * 8
        lost = lost_of(client)
        assert len(lost) == 16
        assert 77 in lost
        asked(tmp_path, "inject", kind="none")
        assert lost_of(client) == []
        lost_sectors = 0
        for block in range(40):
            lost_sectors += asked(tmp_path, "inject", kind="bad-block", die=1, block=block)["lost_sectors"]
        assert lost_sectors == PAGES * 8 // 4


def test_parity_keeps_the_bytes_of_a_die_and_its_reads_take_longer(tmp_path: Path) -> None:
    with live(tmp_path, PARITY), Client(tmp_path / "nbd") as client:
        filled(client)

        def seconds() -> float:
            before: float = asked(tmp_path, "status")["simulated_s"]
            assert lost_of(client) == []
            after: float = asked(tmp_path, "status")["simulated_s"]
            return after - before

        usual = seconds()
        assert asked(tmp_path, "inject", kind="die-failure", die=0)["lost_sectors"] == 0
        assert seconds() > 1.2 * usual
        assert asked(tmp_path, "ocp")["XOR recovery count"] > PAGES // 5
        asked(tmp_path, "inject", kind="die-failure", die=1)
        assert len(lost_of(client)) > PAGES // 3


def test_parts_that_a_drive_does_not_have_are_refused_in_a_line(tmp_path: Path) -> None:
    with live(tmp_path, {"alloc.kind": "superblock", "alloc.parity": 3}):
        for words, code, expected in (
            (("kind=die-failure",), 2, "die: missing; expected the number of a die"),
            (("kind=die-failure", "die=-1"), 2, 'die: "-1"; expected a whole number from 0'),
            (("kind=die-failure", "die=1"), 1, "expected ageing.kind=power-law"),
            (("kind=bad-block",), 2, "expected die and block (and plane), or offset"),
            (("kind=bad-block", "die=0", "block=1", "offset=0"), 2, "expected die and block"),
            (("kind=bad-block", "die=0", "block=1", "export=x"), 2, "expected die and block"),
        ):
            done = ctl(tmp_path, "inject", *words)
            assert (done.returncode, done.stderr.count("\n")) == (code, 1), (words, done.stderr)
            assert expected in done.stderr
    with live(tmp_path, {}):
        for words, expected in (
            (("kind=die-failure", "die=4"), "die 4: expected a die from 0 to 3"),
            (("kind=bad-block", "die=0", "plane=1", "block=0"), "plane 1: expected a plane from 0 to 0"),
            (("kind=bad-block", "offset=0"), "sector 0: expected one with data on flash"),
        ):
            done = ctl(tmp_path, "inject", *words)
            assert done.returncode == 1
            assert expected in done.stderr
