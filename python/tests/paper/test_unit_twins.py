"""Wrong twins of unit tests: the example of each test holds as it is and fails with a plausible bug."""

from typing import Any

import pytest
from unit_twins import TWINS, UnitTwin
from unit_twins_of_numbers import TWINS as OF_NUMBERS

from flashweir.reproduction import covered

ALL = [*TWINS, *OF_NUMBERS]
# Twins that stand beside their tests: of tables, workloads and diagnoses.
BESIDE = ("test_reproduce_tables.py", "test_microscopic_claims.py", "test_diagnose", "test_replay.py")
# The rest, which no twin is known of.
WITHOUT = {"python/tests/devices/test_diagnose.py::test_report_and_picture_are_written"}


def holds(expected: Any, found: Any) -> bool:
    return bool(expected(found)) if callable(expected) else bool(found == expected)


@pytest.mark.parametrize("twin", ALL, ids=lambda twin: twin.check.rpartition("::")[2])
def test_an_example_holds_and_its_wrong_twin_does_not(twin: UnitTwin) -> None:
    assert holds(twin.expected, twin.example())
    assert not holds(twin.expected, twin.example(**twin.wrong)), twin.says


def test_the_list_of_the_papers_names_the_twins() -> None:
    listed = {row.check: row.twin for row in covered() if row.status == "unit-test" and row.check}
    assert len({twin.check for twin in ALL}) == len(ALL)
    assert {twin.check: twin.says for twin in ALL}.items() <= listed.items()
    others = {check for check in listed if check not in {twin.check for twin in ALL}}
    assert {check for check in others if not any(file in check for file in BESIDE)} == set()
    assert {check for check, twin in listed.items() if not twin} == WITHOUT
