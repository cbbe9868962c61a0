"""Accuracy of `flashweir probe`: drives that are drawn, and one that is probed."""

from research.probing import bench
from research.probing.drives import draw


def test_the_bench_holds_what_was_found_against_what_is() -> None:
    assert draw("measure", 3, 1) == draw("measure", 3, 1) != draw("design", 3, 1)
    found = next(iter(bench.cases("design", 1, seed=77, threads=1)))
    keys, held = bench.rows([found])
    assert {row.name for row in held} == {one.name for one in bench.HELD}
    assert sum(row.right for row in keys) >= sum(row.drives for row in keys) - 1
    assert all(row.right == 1 for row in held), held
