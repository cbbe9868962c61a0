"""Wrong twins: every check of the experiments rejects a wrong measurement, and twins change what they say."""

from functools import cache
from typing import Any

import measured_curves
import pytest

from flashweir import ConfigError
from flashweir.reproduction import catalogue, covered, twins, verdicts
from flashweir.reproduction.curves import Curve, Pick
from flashweir.reproduction.fields import Fields
from flashweir.reproduction.twins import Twin

EXPERIMENTS = {f"{paper.name}/{one.name}": (paper, one) for paper in catalogue.papers() for one in paper.experiments}
CHECKS = [
    *((name, value) for name, (_, one) in EXPERIMENTS.items() for value in one.values if value.judged),
    *((name, part) for name, (_, one) in EXPERIMENTS.items() for claim in one.claims for part in claim.parts),
]
SHOWN = [
    (name, value) for name, (_, one) in EXPERIMENTS.items() for value in one.values if not value.judged and value.twin
]
# Part of a value by which a twin has to change one that is shown and not judged.
REACH = 0.03


def says(check: object) -> str:
    if isinstance(check, catalogue.Value):
        return check.name
    return check.says if isinstance(check, catalogue.Part) else str(check)


@cache
def measured(name: str) -> dict[str, list[Curve]]:
    paper, experiment = EXPERIMENTS[name]
    return measured_curves.load(measured_curves.path_of(paper, experiment))


def families(name: str, twin: Twin | None) -> dict[str, list[Curve]]:
    needed = measured_curves.needed(EXPERIMENTS[name][1])
    wanted = {curve: one for curve, one in EXPERIMENTS[name][1].curves.items() if curve in needed}
    return twins.applied(twin or Twin("as measured"), wanted, measured(name))


def verdict(check: catalogue.Value | catalogue.Part, found: dict[str, list[Curve]]) -> bool | None:
    if isinstance(check, catalogue.Value):
        ok: bool | None = verdicts.row(check, found)["ok"]
        return ok
    return verdicts.found(check, found).ok


@pytest.mark.parametrize(("name", "check"), CHECKS, ids=says)
def test_a_check_rejects_its_wrong_twin(name: str, check: catalogue.Value | catalogue.Part) -> None:
    assert check.twin is not None, f"{name}: expected a twin"
    assert verdict(check, families(name, check.twin)) is False, check.twin.says


@pytest.mark.parametrize(("name", "value"), SHOWN, ids=says)
def test_a_shown_value_is_not_that_of_its_wrong_twin(name: str, value: catalogue.Value) -> None:
    assert value.twin is not None
    shown, wrong = (verdicts.row(value, families(name, twin))["measured"] for twin in (None, value.twin))
    assert shown is not None
    assert wrong is not None
    assert abs(wrong - shown) > REACH * abs(shown), value.twin.says


def test_variants_of_the_coverage_have_twins() -> None:
    assert [row.check for row in covered() if row.status == "variant" and not row.twin] == []


def test_committed_curves_are_those_that_checks_need() -> None:
    for name, (_, experiment) in EXPERIMENTS.items():
        if any(experiment_name == name for experiment_name, _ in (*CHECKS, *SHOWN)):
            assert set(measured(name)) == set(measured_curves.picks(experiment)), name


def line(*y: float, names: tuple[str, ...] = ("1", "2", "4"), **of: str) -> Curve:
    return Curve(of, names, y)


PICKS: dict[str, Any] = {"a": Pick("y", "x", each=("n",)), "b": Pick("y", "x", each=("n",))}
FOUND = {"a": [line(1, 2, 3, n="1"), line(4, 5, 6, n="8")], "b": [line(7, 8, 9, n="1"), line(10, 11, 12, n="8")]}


@pytest.mark.parametrize(
    ("twin", "expected"),
    [
        ({"swap": ["a", "b"]}, [(7, 8, 9), (10, 11, 12)]),
        ({"take": {"a": "b"}}, [(7, 8, 9), (10, 11, 12)]),
        ({"exchange": {"a": ["n", 1, 8]}}, [(4, 5, 6), (1, 2, 3)]),
        ({"scale": {"a": 2}}, [(2, 4, 6), (8, 10, 12)]),
        ({"level": {"a": 5}}, [(5, 5, 5), (5, 5, 5)]),
        ({"flat": ["a"]}, [(1, 1, 1), (4, 4, 4)]),
        ({"reverse": ["a"]}, [(3, 2, 1), (6, 5, 4)]),
    ],
)
def test_a_twin_changes_what_it_says(twin: dict[str, Any], expected: list[Any]) -> None:
    found = twins.read(Fields(measured_curves.FOLDER, {"twin": {"says": "a bug", **twin}}))
    assert found is not None
    changed = twins.applied(found, PICKS, FOUND)
    assert [curve.y for curve in changed["a"]] == expected
    assert [curve.of for curve in changed["a"]] == [{"n": "1"}, {"n": "8"}]
    assert changed["b"] == FOUND["a" if "swap" in twin else "b"]


def test_places_may_be_changed_too() -> None:
    changed = twins.applied(Twin("half", places={"a": 2.0}), PICKS, FOUND)
    assert [curve.names for curve in changed["a"]] == [("2", "4", "8")] * 2


@pytest.mark.parametrize(
    ("twin", "message"),
    [
        ({}, "says: expected this key"),
        ({"says": "a bug"}, "twin: expected a change: swap, take, "),
        ({"says": "a bug", "swap": ["a"]}, "twin.swap: ['a']: expected pairs of curves"),
        ({"says": "a bug", "scale": {"a": "half"}}, "twin.scale.a: 'half': expected a number"),
        ({"says": "a bug", "exchange": {"a": ["n"]}}, "twin.exchange.a: ['n']: expected an axis and two of its values"),
        ({"says": "a bug", "falt": ["a"]}, "twin.falt: unknown key"),
    ],
)
def test_a_wrong_twin_is_one_line(twin: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        twins.read(Fields(measured_curves.FOLDER, {"twin": twin}))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_noise_and_size_may_leave_a_check_undecided() -> None:
    part = catalogue.Part("a below b", "above", "b", "a", noise=0.05)
    near = {"a": [line(1.0, 1.0, 1.0)], "b": [line(1.02, 1.02, 1.02)]}
    assert verdicts.found(part, near).ok is None
    assert verdicts.found(part, {**near, "b": [line(1.2, 1.2, 1.2)]}).ok is True
    assert verdicts.found(part, {**near, "b": [line(0.8, 0.8, 0.8)]}).ok is False
    shape = verdicts.shape(catalogue.Claim("1", "b above a", (part,)), near)
    assert (shape["ok"], shape["undecided"]) == (None, "a below b: the difference is within the 5.0% that seeds make")
    assert "UNDECIDED" in shape["evidence"]
    value = catalogue.Value("v@1", "1", "ratio", "a", {"x": 1}, 2.0, 0.1, needs_full="few blocks")
    assert verdicts.row(value, near)["ok"] is False
    row = verdicts.row(value, near, quick=True)
    assert (row["ok"], row["undecided"]) == (None, "few blocks")
