"""Power cuts of a live drive: what was flushed is there, and a drive that lies is caught; drives in a folder."""

import random
import time
from pathlib import Path

import pytest
from nbd_client import FLUSH, FUA, LIMIT_S, READ, TRIM, WRITE, Client, ended, served

import flashweir

PAGE = 4096
PAGES = 2048
BUFFERED = {"channels": 2, "capacity": "8MiB", "pages_per_block": 8, "buffer.bytes": "256KiB"}


class Expected:
    """Versions of pages that a drive may show after a cut."""

    def __init__(self) -> None:
        self.flushed: dict[int, int] = {}
        self.since: dict[int, list[int]] = {}

    def write(self, page: int, version: int) -> None:
        self.since.setdefault(page, []).append(version)

    def flush(self) -> None:
        for page, versions in self.since.items():
            self.flushed[page] = versions[-1]
        self.since.clear()

    def lost(self, found: dict[int, int]) -> list[int]:
        """Pages that show a version that no flush and no later write allows."""
        may = {page: {self.flushed.get(page, 0), *self.since.get(page, [])} for page in found}
        return [page for page, version in found.items() if version not in may[page]]


def pattern(page: int, version: int) -> bytes:
    """The bytes of a version of a page; version 0 is zeroes."""
    return bytes(PAGE) if version == 0 else (page * 1_000_003 + version).to_bytes(8, "little") * (PAGE // 8)


def found_on(client: Client, pages: set[int]) -> dict[int, int]:
    """The version of each page; -1 for bytes that no version has."""
    found = {}
    for page in sorted(pages):
        error, data = client.ask(READ, page * PAGE, PAGE)
        assert error == 0
        number = int.from_bytes(data[:8], "little")
        version = 0 if number == 0 else number - page * 1_000_003
        found[page] = version if data == pattern(page, version) else -1
    return found


def write_on(client: Client) -> None:
    """Writes until the drive is gone."""
    for number in range(100_000):
        client.ask(WRITE, number % PAGES * PAGE, b"b" * PAGE)


def cut(folder: Path, draw: random.Random, **options: object) -> tuple[list[int], list[int], dict[str, object]]:
    """Writes and flushes, cuts the power, and looks.

    Returns:
        Pages that broke the promise of a flush, pages that lost an acknowledged write, and the report of the cut.
    """
    expected, last = Expected(), {}
    settings = {**BUFFERED, **options.pop("set", {})}  # type: ignore[dict-item]
    with flashweir.serve(
        nbd=f"unix:{folder / 'sock'}", clock="virtual", power_cuts=True, set=settings, **options
    ) as live:  # type: ignore[arg-type]
        with Client(folder / "sock") as client:
            for version in range(1, draw.randrange(200, 1500)):
                page = draw.randrange(PAGES) if draw.random() < 0.2 else draw.randrange(60)
                kind = draw.random()
                if kind < 0.02:
                    assert client.ask(FLUSH) == (0, b"")
                    expected.flush()
                elif kind < 0.06:
                    assert client.ask(TRIM, page * PAGE, PAGE) == (0, b"")
                    expected.write(page, 0)
                    last[page] = 0
                else:
                    fua = FUA if kind < 0.1 else 0
                    assert client.ask(WRITE, page * PAGE, pattern(page, version), fua) == (0, b"")
                    expected.write(page, version)
                    last[page] = version
                    if fua:
                        expected.flushed[page] = version
                        expected.since.pop(page)
            report = live.control("power-cut")
            with pytest.raises((AssertionError, OSError)):
                client.ask(READ, 0, PAGE)
        with Client(folder / "sock") as client:
            found = found_on(client, set(last))
        assert live.control("smart")["unsafe_shutdowns"] == 1
    assert live.result["serve"]["power_cuts"] == [report]
    # A TRIM counts once it was flushed, on drives without a buffer, too.
    missing = [page for page, version in last.items() if found[page] != version > 0]
    return expected.lost(found), missing, report


def test_a_cut_leaves_what_flash_held(tmp_path: Path) -> None:
    draw = random.Random(11)  # noqa: S311 - nothing to hide
    lost = []
    for _ in range(12):
        broken, missing, report = cut(tmp_path, draw)
        assert broken == []
        assert report["flushed_sectors_lost"] == 0
        assert missing == [] or report["acknowledged_sectors_lost"] > 0  # type: ignore[operator]
        assert report["rebuild_s"] > 0  # type: ignore[operator]
        lost.append(len(missing))
    assert sum(lost) > 20, "a volatile buffer loses what was not flushed"


@pytest.mark.parametrize(
    "options",
    [
        {"protected_buffer": True},
        {"set": {"buffer.bytes": 256 << 10, "buffer.protected": True}},
        {"set": {"buffer.bytes": 0}},
        {"set": {"buffer.ack": "flash"}},
    ],
)
def test_a_protected_buffer_and_none_lose_nothing(tmp_path: Path, options: dict[str, object]) -> None:
    draw = random.Random(12)  # noqa: S311 - nothing to hide
    for _ in range(3):
        broken, missing, report = cut(tmp_path, draw, **options)
        assert (broken, missing) == ([], [])
        assert report["acknowledged_sectors_lost"] == 0


def test_a_drive_that_ignores_flushes_is_caught(tmp_path: Path) -> None:
    draw = random.Random(13)  # noqa: S311 - nothing to hide
    assert any(cut(tmp_path, draw, ignore_flush=True)[0] for _ in range(12))


def test_power_fails_after_so_many_flushes_and_at_a_time(tmp_path: Path) -> None:
    with flashweir.serve(nbd=f"unix:{tmp_path / 'sock'}", clock="virtual", power_cuts=True, set=BUFFERED) as live:
        assert live.control("power-cut", {"after_flushes": 3}) == {"armed": True}
        with Client(tmp_path / "sock") as client:
            for _ in range(3):
                assert client.ask(WRITE, 0, b"a" * PAGE)[0] == 0
                assert client.ask(FLUSH) == (0, b"")
            with pytest.raises((AssertionError, OSError)):
                client.ask(FLUSH)
        with Client(tmp_path / "sock") as client:
            assert client.ask(READ, 0, PAGE) == (0, b"a" * PAGE)
        at_s = live.control("status")["simulated_s"] + 0.01
        assert live.control("power-cut", {"at": f"{at_s * 1e9:.0f}ns"}) == {"armed": True}
        with Client(tmp_path / "sock") as client, pytest.raises((AssertionError, OSError)):
            write_on(client)
        second = live.control("status")["power_cuts"][1]
        assert second["time_s"] == pytest.approx(at_s, abs=1e-6)


def test_a_paced_drive_takes_requests_again_once_its_map_is_rebuilt(tmp_path: Path) -> None:
    with flashweir.serve(nbd=f"unix:{tmp_path / 'sock'}", power_cuts=True, set=BUFFERED) as live:
        with Client(tmp_path / "sock") as client:
            for page in range(100):
                assert client.ask(WRITE, page * PAGE, b"c" * PAGE)[0] == 0
            assert client.ask(FLUSH) == (0, b"")
        report = live.control("power-cut")
        started = time.monotonic()
        with Client(tmp_path / "sock") as client:
            assert client.ask(READ, 0, PAGE) == (0, b"c" * PAGE)
        assert time.monotonic() - started > 0.8 * report["rebuild_s"] - 0.05


def test_a_drive_in_a_folder_opens_as_it_was_also_when_it_was_killed(tmp_path: Path) -> None:
    options = ("--clock", "virtual", "--state", "home", "--control", "ctl", "--set", "buffer.bytes=64KiB")
    expected: dict[int, int] = {}
    version, counts = 0, []
    for turn in range(6):
        with served(tmp_path, *options) as (run, _):
            with Client(tmp_path / "flashweir.sock") as client:
                assert found_on(client, set(expected)) == expected, turn
                for _ in range(300):
                    version += 1
                    page = version * 7 % 200
                    assert client.ask(WRITE, page * PAGE, pattern(page, version))[0] == 0
                    expected[page] = version
                assert client.ask(FLUSH) == (0, b"")
            counts.append(version)
            if turn % 2 == 0:
                run.kill()
                run.wait(LIMIT_S)
            else:
                ended(run)
    names = sorted(path.name for path in (tmp_path / "home").iterdir())
    assert [name.split("-")[0] for name in names] == ["arrivals", "drive", "drive.data", "lock"]
    with flashweir.serve(nbd=f"unix:{tmp_path / 'sock'}", clock="virtual", state=tmp_path / "home") as live:
        assert live.control("counters")["counters"]["requests"]["write"] == version
        with Client(tmp_path / "sock") as client:
            assert found_on(client, set(expected)) == expected


def test_the_state_of_a_killed_drive_is_that_of_one_that_went_on(tmp_path: Path) -> None:
    """The same requests to a drive that is killed in between, and to one that is not: the same wear and counters."""
    outcomes = []
    for name, kills in (("whole", ()), ("killed", (1, 3))):
        folder = tmp_path / name
        folder.mkdir()
        options = ("--clock", "virtual", "--state", "home")
        for turn in range(5):
            with served(folder, *options) as (run, _):
                with Client(folder / "flashweir.sock") as client:
                    draw = random.Random(turn)  # noqa: S311 - nothing to hide
                    for _ in range(600):
                        assert client.ask(WRITE, draw.randrange(PAGES) * PAGE, bytes(PAGE))[0] == 0
                    assert client.ask(FLUSH) == (0, b"")
                if turn in kills:
                    run.kill()
                    run.wait(LIMIT_S)
                else:
                    ended(run)
        with flashweir.serve(nbd=f"unix:{folder / 'sock'}", clock="virtual", state=folder / "home") as live:
            found = live.control("counters")
            outcomes.append((found["wear"], found["flash"], found["counters"]["bytes"]))
    assert outcomes[0] == outcomes[1]
