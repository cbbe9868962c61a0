"""Loads of the experiment on the read tail: the scale of time at which dies are as busy as asked."""

import math
from types import ModuleType
from unittest.mock import Mock

import pytest
from conftest import ROOT, load_script


@pytest.fixture
def loads(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    return load_script(ROOT / "experiments" / "10-read-tail" / "loads.py", monkeypatch)


@pytest.mark.parametrize("start", [1.0, 30.0, 0.0005])
def test_the_scale_is_found_from_both_sides(loads: ModuleType, start: float) -> None:
    calls: list[float] = []

    def busy(scale: float) -> float:
        calls.append(scale)
        return min(1.0, 0.4 / scale)

    scale, share = loads.nearest(busy, start, 0.5)
    assert scale == pytest.approx(0.8, rel=0.03)
    assert share == pytest.approx(0.5, abs=0.01)
    assert len(calls) == len(set(calls)) <= 12


def test_a_load_that_is_as_asked_stays(loads: ModuleType) -> None:
    busy = Mock(return_value=0.505)
    assert loads.nearest(busy, 3.0, 0.5) == (3.0, pytest.approx(0.505))
    assert busy.call_count == 1


def test_a_load_out_of_reach_gets_the_nearest(loads: ModuleType) -> None:
    """All arrive at once, and dies are busy for 60 % of the time still."""
    scale, share = loads.nearest(lambda scale: 0.6 - math.atan(scale) / 10, 1.0, 0.7)
    assert share == pytest.approx(0.6, abs=0.001)
    assert scale < 1e-3
