"""Checks of claims about curves: each on curves that have the shape, and on some that do not."""

import math
from typing import Any

import pytest

from flashweir.reproduction.curves import Curve
from flashweir.reproduction.shapes import OF_ALL, OF_ONE, OF_TWO
from flashweir.reproduction.shapes_over_time import (
    higher_first_peak,
    mean_where,
    more_periods,
    peaks,
    peaks_that_flatten,
    roles_swap,
)

CHANNELS = ("1", "2", "4", "8")


def curve(*y: float, names: tuple[str, ...] = (), **of: str) -> Curve:
    return Curve(of, names or CHANNELS[: len(y)], tuple(map(float, y)))


ONE: list[tuple[str, dict[str, Any], Curve, bool]] = [
    ("rising", {}, curve(1, 2, 3, 4), True),
    ("rising", {}, curve(1, 2, 1.99, 4), False),
    ("rising", {"slack": 0.01}, curve(1, 2, 1.99, 4), True),
    ("rising", {"gain": 1.0}, curve(1, 1.2, 1.5, 1.9), False),
    ("rising", {"gain": 1.0}, curve(1, 1.2, 1.5, 2.0), True),
    ("falling", {}, curve(4, 3, 2, 1), True),
    ("falling", {}, curve(4, 4.1, 2, 1), False),
    ("falling", {"slack": 0.05}, curve(4, 4.1, 2, 1), True),
    ("falling", {"loss": 0.5}, curve(4, 3.5, 3, 2.5), False),
    ("flat", {"within": 0.02}, curve(100, 101, 99.5, 100), True),
    ("flat", {"within": 0.02}, curve(100, 103, 99.5, 100), False),
    # Square root and square over 1, 2, 4, 8; a line bends neither way.
    ("concave", {}, curve(1, math.sqrt(2), 2, math.sqrt(8)), True),
    ("concave", {}, curve(1, 4, 16, 64), False),
    ("concave", {}, curve(1, 2, 4, 8), True),
    ("concave", {}, curve(1, 2, 3.9, 8), False),
    ("concave", {"slack": 0.1}, curve(1, 2, 3.9, 8), True),
    ("concave", {}, curve(1, 2), False),
    ("convex", {}, curve(1, 4, 16, 64), True),
    ("convex", {}, curve(1, math.sqrt(2), 2, math.sqrt(8)), False),
    ("convex", {}, curve(1, 2, 4, 8), True),
    ("convex", {"steps": "even"}, curve(1, math.sqrt(2), 2, math.sqrt(8)), True),
    ("concave", {"steps": "even"}, curve(1, 2, 2.9, 3.7), True),
    ("changes", {"least": 1.0}, curve(1, 5, 1.5, 2), True),
    ("changes", {"least": 1.0}, curve(1, 5, 1.5, 1.9), False),
    ("changes", {"least": -0.1, "most": -0.01}, curve(100, 98, 96, 95), True),
    ("changes", {"least": -0.1, "most": -0.01}, curve(100, 98, 96, 85), False),
    ("reached", {"by": 4, "share": 0.6}, curve(100, 80, 60, 50), True),
    ("reached", {"by": 2, "share": 0.6}, curve(100, 80, 60, 50), False),
    ("reached", {"by": 3, "share": 0.1}, curve(100, 80, 60, 50), False),
    ("reached", {"by": 4, "share": 0.1}, curve(1, 1, 1, 1), False),
    ("diminishing", {}, curve(100, 60, 40, 35), True),
    ("diminishing", {}, curve(100, 90, 60, 55), False),
    ("goes-on", {"step": 0.01}, curve(100, 95, 92, 90), True),
    ("goes-on", {"step": 0.01}, curve(100, 95, 94.9, 90), False),
    ("goes-on", {"step": 0.01}, curve(100, 95, 97, 90), False),
    ("bounded", {"most": 8}, curve(3, 8, 8, 2), True),
    ("bounded", {"most": 8}, curve(3, 8, 9, 2), False),
    ("bounded", {"least": 1, "most": 8}, curve(3, 8, 0, 2), False),
]


@pytest.mark.parametrize(("check", "options", "shown", "holds"), ONE)
def test_of_one_curve(check: str, options: dict[str, Any], shown: Curve, holds: bool) -> None:
    finding = OF_ONE[check](shown, **options)
    assert finding.ok is holds, finding.said
    assert finding.said
    assert "\n" not in finding.said


TWO: list[tuple[str, dict[str, Any], Curve, Curve, bool]] = [
    ("above", {}, curve(1, 2, 3, 4), curve(1, 1, 1, 1), True),
    ("above", {}, curve(1, 2, 0.9, 4), curve(1, 1, 1, 1), False),
    ("above", {"margin": -0.1}, curve(1, 2, 0.9, 4), curve(1, 1, 1, 1), True),
    ("above", {"margin": 0.5}, curve(1.4, 2, 3, 4), curve(1, 1, 1, 1), False),
    ("above", {}, curve(1, 2), curve(5, 5, names=("3", "5")), False),
    ("alike", {"within": 0.05}, curve(1, 2, 3, 4), curve(1.04, 2, 3, 3.9), True),
    ("alike", {"within": 0.05}, curve(1, 2, 3, 4), curve(1.1, 2, 3, 3.9), False),
    ("gains-more", {}, curve(1, 2, 3, 4), curve(10, 20, 25, 30), True),
    ("gains-more", {}, curve(1, 2, 3, 3), curve(10, 20, 25, 30), False),
    ("gains-more", {"margin": 0.5}, curve(1, 2, 3, 4), curve(10, 20, 25, 30), False),
]


@pytest.mark.parametrize(("check", "options", "one", "other", "holds"), TWO)
def test_of_two_curves(check: str, options: dict[str, Any], one: Curve, other: Curve, holds: bool) -> None:
    finding = OF_TWO[check](one, other, **options)
    assert finding.ok is holds, finding.said


def test_what_is_said_names_the_place_where_it_fails() -> None:
    assert OF_ONE["rising"](curve(1, 2, 1.5, 4)).said == "falls from 2 to 1.5 at 4"
    assert OF_TWO["above"](curve(1, 2, 3, 4), curve(1, 1, 3.5, 1)).said == "3 against 3.5 at 4"
    assert OF_ONE["bounded"](curve(3, 8, 9, 2), most=8).said == "9 at 4"


def test_values_of_an_axis_in_an_order() -> None:
    family = [curve(1, 1.5, 2, 8, trace="Random"), curve(1, 2, 3, 4, trace="WinXP"), curve(1, 1, 1, 1.5, trace="Seq")]
    check = OF_ALL["ranked"]
    assert check(family, axis="trace", order=["Random", "WinXP", "Seq"]).ok
    assert not check(family, axis="trace", order=["WinXP", "Random", "Seq"]).ok
    assert not check(family, axis="trace", order=["Random", "Ubuntu"]).ok
    # Half of the whole change comes last for Random, at 4 + 4 x 2.5 / 6, and for WinXP between 2 and 4.
    found = check(family, axis="trace", order=["Random", "WinXP"], reach=0.5)
    assert found.ok
    assert found.said == "Random 50% at 5.67, WinXP 50% at 3"


def waves(first: float, count: int, period: int = 40, decay: float = 0.6) -> Curve:
    """Peaks at 0, period, ..., each `decay` times as high as the one before, on a floor of 20."""
    length = period * (count + 6)
    y = []
    for at in range(length):
        number = round(at / period)
        height = first * decay**number if number < count else 0.0
        y.append(20 + height * math.exp(-(((at - number * period) / 6) ** 2)))
    return Curve({}, tuple(map(str, range(length))), tuple(y))


def test_peaks_of_a_curve_that_settles() -> None:
    shown = waves(100, 3)
    assert [place for place, _ in peaks(shown)] == [0, 40, 80]
    assert peaks_that_flatten(shown, least=3).ok
    assert not peaks_that_flatten(shown, least=4).ok
    assert not peaks_that_flatten(waves(100, 4, decay=1.1), least=3).ok
    assert peaks_that_flatten(shown, least=3, smooth=0.01).ok
    flat = Curve({}, tuple(map(str, range(100))), (5.0,) * 100)
    assert not peaks_that_flatten(flat, least=1).ok
    assert "0 peaks" in peaks_that_flatten(flat, least=1).said


def test_first_peaks_and_periods_compared() -> None:
    small, large = waves(60, 2), waves(100, 4)
    assert higher_first_peak(large, small).ok
    assert not higher_first_peak(small, large).ok
    assert more_periods(large, small).ok
    assert not more_periods(small, large).ok
    assert not more_periods(small, small).ok


def test_means_where_others_are_high() -> None:
    steps = tuple(map(str, range(4)))
    dirty = [Curve({"channel": name}, steps, y) for name, y in (("0", (9, 9, 0, 0)), ("1", (0, 5, 9, 5)))]
    busy = [
        Curve({"channel": name}, steps, y) for name, y in (("0", (1.0, 0.75, 0.1, 0.2)), ("1", (0.1, 0.5, 0.5, 0.5)))
    ]
    found = mean_where(busy, dirty, above=9, least=0.75)
    assert found[:2] == (True, "0.75 on average in 3 places")
    assert not mean_where(busy, dirty, above=9, least=0.76).ok
    assert not mean_where(busy, dirty, below=0, least=0.5).ok
    assert mean_where(busy, dirty, above=10, least=0.0)[:2] == (False, "nowhere")


def test_two_that_change_places() -> None:
    steps = tuple(map(str, range(8)))
    full_first = Curve({"channel": "a"}, steps, (9, 9, 8, 4, 2, 0, 0, 1))
    full_later = Curve({"channel": "b"}, steps, (0, 0, 1, 4, 6, 9, 9, 8))
    between = Curve({"channel": "c"}, steps, (4, 4, 5, 5, 5, 4, 4, 5))
    found = roles_swap([full_first, full_later, between], high=8, low=1)
    assert found.ok
    assert found.said == "a holds 9 and b 0 at 0; b holds 9 and a 0 at 5; 1 of 3 pairs do"
    assert not roles_swap([full_first, between], high=8, low=1).ok
    assert not roles_swap([full_first, full_later], high=10, low=1).ok
