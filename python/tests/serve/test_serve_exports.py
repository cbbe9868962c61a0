"""Exports of a drive that is saved: it has them again, whoever saved it."""

from pathlib import Path
from typing import Any

import pytest
from nbd_client import READ, WRITE, Client

import flashweir
from flashweir import ConfigError

SMALL = {"channels": 2, "capacity": "8MiB", "pages_per_block": 8}
WORK = "random:span=2MiB,count=2000,write=1"
GIVEN = ["web=3MiB", "db"]
PARTS = [("web", 3 << 20), ("db", 5 << 20)]


def serve(folder: Path, device: Path | None = None, **options: Any) -> flashweir.LiveDrive:
    return flashweir.serve(device, nbd=f"unix:{folder / 'sock'}", clock="virtual", **options)


def parts(live: flashweir.LiveDrive) -> list[tuple[str, int]]:
    return [(export["name"], export["size_bytes"]) for export in live.control("status")["exports"]]


def requests(live: flashweir.LiveDrive) -> dict[str, int]:
    """Requests of each tenant."""
    tenants = live.control("sample")["tenants"]
    return {name: sum(tenant["requests"].values()) for name, tenant in tenants.items()}


def test_a_drive_of_a_folder_keeps_its_exports(tmp_path: Path) -> None:
    state = tmp_path / "state"
    with serve(tmp_path, state=state, exports=GIVEN, set=SMALL) as live:
        assert parts(live) == PARTS
        with Client(tmp_path / "sock", "db") as client:
            assert client.ask(WRITE, 4096, b"d" * 4096) == (0, b"")
    for exports in ([], GIVEN, ["web=3MiB", "db=5MiB"]):
        with serve(tmp_path, state=state, exports=exports) as live:
            assert parts(live) == PARTS
            with Client(tmp_path / "sock", "db") as client:
                assert client.ask(READ, 4096, 4096) == (0, b"d" * 4096)
            assert requests(live)["db"] > requests(live)["web"]
    for other in (["web", "db"], ["db", "web=3MiB"], ["web=3MiB"]):
        with pytest.raises(ConfigError, match="saved with the exports web=3MiB, db=5MiB; expected no export"):
            serve(tmp_path, state=state, exports=other)


def test_a_drive_of_a_folder_without_exports_gets_none(tmp_path: Path) -> None:
    serve(tmp_path, state=tmp_path / "state", set=SMALL).stop()
    with pytest.raises(ConfigError, match="saved with no exports; expected no export, or the same"):
        serve(tmp_path, state=tmp_path / "state", exports=GIVEN)
    serve(tmp_path, state=tmp_path / "state").stop()


def test_a_file_keeps_the_exports_of_the_drive_that_was_saved(tmp_path: Path) -> None:
    with serve(tmp_path, exports=GIVEN, set=SMALL) as live:
        live.control("save", {"path": str(tmp_path / "saved")})
    with serve(tmp_path, tmp_path / "saved") as live:
        assert parts(live) == PARTS
    with pytest.raises(ConfigError, match="saved with the exports"):
        serve(tmp_path, tmp_path / "saved", exports=["web", "db"])


@pytest.mark.parametrize("in_folder", [False, True])
def test_an_aged_drive_is_given_to_tenants(tmp_path: Path, in_folder: bool) -> None:
    aged, state = tmp_path / "aged", {"state": tmp_path / "state"} if in_folder else {}
    run = flashweir.simulate(WORK, set={**SMALL, "precondition": "full"}, save_state=aged)
    with serve(tmp_path, aged, exports=GIVEN, **state) as live:
        assert parts(live) == PARTS
        with Client(tmp_path / "sock", "db") as client:
            assert client.ask(WRITE, (5 << 20) - 4096, b"a" * 4096) == (0, b"")
        assert (requests(live)["web"], requests(live)["db"]) == (0, 1)
        assert live.control("counters")["wear"]["mean"] >= run["wear"]["mean"] > 0
    assert live.result["streams"].keys() == {"web", "db"}
    if in_folder:
        with serve(tmp_path, **state) as live:
            assert parts(live) == PARTS
        with pytest.raises(ConfigError, match="a drive is in it; expected it without"):
            serve(tmp_path, aged, **state)


def test_tenants_of_a_mix_are_the_exports_of_its_drive(tmp_path: Path) -> None:
    mix = tmp_path / "mix.toml"
    mix.write_text(f'[tenants.web]\nworkload = "{WORK}"\nvolume = "3MiB"\n[tenants.db]\nworkload = "{WORK}"\n')
    flashweir.simulate(f"mix:{mix}", set=SMALL, save_state=tmp_path / "aged")
    with serve(tmp_path, tmp_path / "aged") as live:
        assert parts(live) == PARTS
    mix.write_text(f'volumes = "shared"\n{mix.read_text()}')
    flashweir.simulate(f"mix:{mix}", set=SMALL, save_state=tmp_path / "shared")
    with serve(tmp_path, tmp_path / "shared") as live:
        assert parts(live) == [("", 8 << 20)]
    with serve(tmp_path, tmp_path / "shared", exports=["a", "b"]) as live:
        assert [name for name, _ in parts(live)] == ["a", "b"]


def test_channels_of_tenants_stay_with_their_names(tmp_path: Path) -> None:
    own = {**SMALL, "tenants.channels": "isolated"}
    flashweir.simulate({"web": WORK, "db": WORK}, set=own, save_state=tmp_path / "aged")
    for exports in (["a", "b"], ["db", "web"], ["web"]):
        with pytest.raises(ConfigError, match="divides the drive among web, db; expected these tenants in this order"):
            serve(tmp_path, tmp_path / "aged", exports=exports)
    with serve(tmp_path, tmp_path / "aged", exports=["web", "db"]) as live:
        assert [name for name, _ in parts(live)] == ["web", "db"]
