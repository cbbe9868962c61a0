"""Slow modes of measured writes (experiment 09), by Little's law."""

from pathlib import Path
from types import ModuleType

import pytest
from conftest import load_script

SCRIPT = Path(__file__).parents[3] / "experiments" / "09-real-drives" / "modes.py"


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    return load_script(SCRIPT, monkeypatch)


def test_slow_writes_of_one_drive_are_paced_at_the_rate_of_their_threads(script: ModuleType) -> None:
    paced = [one for one in script.modes("7450-max") if one.writes > 65_000]
    assert len(paced) == 7
    for one in paced:
        assert one.by_p99 / one.sent == pytest.approx(1, abs=0.03), one.writes
    shares = [one.slow_share for one in paced]
    assert shares == sorted(shares)
    # Below that, all places are taken as well, and the threads are not paced at their rate.
    others = [one for one in script.modes("7450-max") if 45_000 < one.writes < 65_000]
    assert [one.by_p99 < 0.9 * one.sent for one in others] == [True, True]


def test_drives_without_slow_writes_have_no_such_mode(script: ModuleType) -> None:
    assert {one.slow_share for one in script.modes("pe8110")[:-2]} == {0.0}


def test_places_fill_in_as_long_as_they_are_full(script: ModuleType) -> None:
    assert script.parts(2000.0, 2600.0, 4000.0) is None
    # An eighth fast, half evenly up to 4 ms (three quarters of these up to 3 ms), the others 4 ms.
    assert script.parts(3000.0, 2500.0, 4000.0) == pytest.approx((0.125, 0.5, 0.375))
    by_load = {round(one.writes): one.parts for one in script.modes("7450-max") if one.parts is not None}
    assert by_load[89161] == pytest.approx((0.44, 0.28, 0.28), abs=0.01)


def test_the_table(script: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    script.main("7450-max")
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2 + 13
    assert "| 79,248 | 74,998 | 0.99 | 0.98 | 30% | - |" in lines
