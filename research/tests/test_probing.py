"""Accuracy of `flashweir probe`: drives that are drawn, and one that is probed."""

from research.probing import bench, calibration, learning
from research.probing.drives import draw


def test_the_bench_holds_what_was_found_against_what_is() -> None:
    assert draw("measure", 3, 1) == draw("measure", 3, 1) != draw("design", 3, 1)
    found = next(iter(bench.cases("design", 1, seed=77, threads=1)))
    keys, held = bench.rows([found])
    assert {row.name for row in held} == {one.name for one in bench.HELD}
    assert sum(row.right for row in keys) >= sum(row.drives for row in keys) - 1
    assert all(row.right == 1 for row in held), held


def test_drives_of_three_models_are_drawn_with_their_truth() -> None:
    for model in calibration.MODELS:
        one = calibration.drawn("work", model, 2)
        assert one == calibration.drawn("work", model, 2) != calibration.drawn("held", model, 2)
        assert one.noiseless
        assert {"page", "timing.read", "buffer.bytes"} <= set(one.truth)
        assert one.shown <= set(one.truth)


def test_pages_are_exact_and_times_within_a_tenth() -> None:
    assert calibration.is_right("timing.read", ["50us", "70us"], "62us")
    assert not calibration.is_right("timing.read", "50us", "62us")
    assert not calibration.is_right("page", 4097, 4096)
    assert not calibration.is_right("flush_waits", 1, False)


def test_shares_are_learned_by_evidence() -> None:
    lines = [f'{{"key": "page", "evidence": "dies", "value": 1, "right": {right}}}' for right in ("true", "false")]
    assert learning.rates(lines) == {"page": {"dies": (1, 2)}}
