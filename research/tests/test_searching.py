"""Grids and problems that measure the search."""

import pytest

from flashweir.searching.sampler import Ranks, Space
from flashweir.searching.spec import load
from research.searching import measure, recorded
from research.searching.grids import grid

SPACE = Space((9, 3, 12), (True, False, True))


def test_a_grid_has_ends_names_and_as_many_designs_as_fit() -> None:
    found = grid(SPACE, 48, lambda _: True)
    columns = [sorted(set(column)) for column in zip(*found, strict=True)]
    assert columns[1] == [0, 1, 2]
    assert (columns[0][0], columns[0][-1], columns[2][0], columns[2][-1]) == (0, 8, 0, 11)
    assert len(found) == len(columns[0]) * 3 * len(columns[2]) == 48


def test_designs_that_may_not_run_cost_a_grid_nothing() -> None:
    def may_run(ranks: Ranks) -> bool:
        return ranks[1] == 0

    found = grid(SPACE, 48, may_run)
    assert all(map(may_run, found))
    assert len(found) > 16


def test_ten_problems_load() -> None:
    specs = [load(path) for path in sorted(measure.PROBLEMS.glob("*.toml"))]
    assert len(specs) == 10
    assert all(len(spec.goals) >= 2 and spec.space.count > 10 * measure.BUDGET for spec in specs)


def test_a_problem_is_measured() -> None:
    found = measure.measured(measure.PROBLEMS / "05-three-goals.toml", 8)
    assert 0 < found.grid <= 1
    assert all(0 < value <= 1 for value in found.searches)
    assert found.runs <= 8
    assert found.gain == pytest.approx(found.median / found.grid - 1)


def test_the_plain_combination_has_the_first_of_each_axis() -> None:
    axes = {"gc": {"victim": ["greedy", "fifo"]}, "placement": {"one": {"alloc.order": "CDPW"}, "two": {}}}
    plain = {name: recorded._first(values) for name, values in axes.items()}
    assert plain == {"gc": {"victim": ["greedy"]}, "placement": {"one": {"alloc.order": "CDPW"}}}
