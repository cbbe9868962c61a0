"""`simulate --save-state`: the drive that a run leaves is served, or stepped on."""

from pathlib import Path

import pytest
from conftest import flashweir as command
from conftest import refused
from nbd_client import READ, WRITE, Client

import flashweir

SMALL = {"channels": 2, "capacity": "8MiB", "pages_per_block": 8}
WORK = "random:span=8MiB,count=6000,write=1"


@pytest.mark.parametrize(
    "settings",
    [
        {"host.queue_depth": 8},
        {"host.mode": "open"},
        {"buffer.bytes": "64KiB"},
        {"engine": "event"},
        {"chips": 2, "background.collect.after": "1ms"},
    ],
)
def test_the_drive_goes_on_as_the_run_left_it(tmp_path: Path, settings: dict[str, object]) -> None:
    work = f"{WORK},rate=2000" if "host.mode" in settings else WORK
    saved = tmp_path / "aged"
    plain = flashweir.simulate(work, set={**SMALL, **settings}, verify=True)
    run = flashweir.simulate(work, set={**SMALL, **settings}, verify=True, save_state=saved)
    assert (run["flash"], run["latency_us"], run["wear"]) == (plain["flash"], plain["latency_us"], plain["wear"])
    drive = flashweir.Drive.load(saved)
    assert drive.stats()["wear"] == run["wear"]
    assert drive.now_ns >= run["simulated_s"] * 1e9
    drive.submit(op="write", offset=4096, length=65536)
    drive.submit(op="read", offset=0, length=1 << 20)
    drive.drain()
    done = drive.poll()
    assert [int(number) for number in done["number"]] == [0, 1]
    assert max(done["latency_ns"]) > 0
    assert drive.stats()["requests"] == 2
    for turn in range(2):
        with flashweir.serve(saved, nbd=f"unix:{tmp_path / 'sock'}", clock="virtual") as live:
            with Client(tmp_path / "sock") as client:
                assert client.ask(WRITE, 0, b"a" * 4096) == (0, b""), turn
                assert client.ask(READ, 0, 4096) == (0, b"a" * 4096)
            assert live.control("counters")["wear"]["mean"] >= run["wear"]["mean"] > 0


def test_tenants_keep_their_names(tmp_path: Path) -> None:
    saved = tmp_path / "aged"
    flashweir.simulate({"web": WORK, "db": WORK}, set=SMALL, save_state=saved)
    assert flashweir.Drive.load(saved).tenants == ("web", "db")


def test_a_run_with_a_log_of_requests_saves_its_drive(tmp_path: Path) -> None:
    saved, log = tmp_path / "aged", tmp_path / "log.parquet"
    run = flashweir.simulate(WORK, set=SMALL, save_state=saved, requests=log, activity=True)
    assert log.exists()
    assert run["activity"]
    assert flashweir.Drive.load(saved).stats()["wear"] == run["wear"]


def test_the_command_replaces_a_saved_drive_with_force_only(tmp_path: Path) -> None:
    words = ("simulate", WORK, "--set", "capacity=8MiB", "--set", "pages_per_block=8", "--save-state", "aged")
    command(*words, cwd=tmp_path)
    assert "--force replaces it" in refused(*words, cwd=tmp_path)
    command(*words, "--force", cwd=tmp_path)
