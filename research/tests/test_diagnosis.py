"""Detectors of `flashweir diagnose`: drives that are drawn, a small bench, training twice."""

from pathlib import Path

import pytest

from flashweir import diagnose
from research.diagnosis import bench, drives, measure, training
from research.diagnosis.__main__ import LEARN

SHIPPED_TRACE = Path(__file__).resolve().parents[2] / "traces" / "package-build.blktrace.0.zst"


def test_a_drive_is_the_same_for_the_same_seed_and_no_other() -> None:
    assert drives.draw("learn", 3, 1) == drives.draw("learn", 3, 1)
    assert drives.draw("learn", 3, 1) != drives.draw("measure", 3, 1)
    assert drives.draw("learn", 3, 1) != drives.draw("learn", 3, 2)


def test_wilson() -> None:
    # Newcombe 1998, table I: 81 of 263 is 0.2553 to 0.3662, 0 of 20 is 0 to 0.1611.
    assert measure.Share(81, 263).interval == pytest.approx((0.2553, 0.3662), abs=5e-5)
    assert measure.Share(0, 20).interval == pytest.approx((0.0, 0.1611), abs=5e-5)


@pytest.fixture(scope="module")
def few() -> list[bench.Case]:
    return list(bench.cases("measure", 10, 5))


@pytest.mark.parametrize("alone", [False, True])
def test_a_small_bench_is_mostly_right(few: list[bench.Case], alone: bool) -> None:
    # Of 210 other drives, 94 % of what is said of a symptom is right (research/diagnosis/README.md). The seed is fixed.
    right = sum(
        (symptom in case.ill)
        == any(
            finding["symptom"] == symptom and finding["shown"]
            for finding in (case.alone if alone else case.said)["symptoms"]
        )
        for case in few
        for symptom in drives.SYMPTOMS
    )
    assert right >= 0.8 * 3 * len(few)


def test_the_same_drives_make_the_same_model(few: list[bench.Case]) -> None:
    model, found = training.train(few, 1)
    assert (model, found) == training.train(few, 1)
    assert len(model["symptoms"]) == len(drives.SYMPTOMS)
    assert model["inputs"] == sorted(few[0].said["features"])


def test_the_model_that_ships_is_the_one_that_is_learned_by_default() -> None:
    about = diagnose(SHIPPED_TRACE)["detectors"]
    assert f"{LEARN[0]} simulated drives" in about
