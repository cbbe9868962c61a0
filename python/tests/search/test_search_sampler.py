"""Hypervolume, its expected improvement, the surrogate, and the sampler on functions with a known front."""

from itertools import product

import numpy as np
import pytest

from flashweir.searching.sampler import Known, Ranks, Sampler, Seen, Space
from flashweir.searching.surrogate import Surrogate, _cost, distances
from flashweir.searching.volume import expected_improvement, free_boxes, hypervolume

NOTHING = Known(may_run=True, goals=(None, None))


def test_hypervolume_of_known_fronts() -> None:
    assert hypervolume(np.array([[0.25], [0.5]]), np.array([1.0])) == 0.75
    assert hypervolume(np.array([[0.0, 0.5], [0.5, 0.0]]), np.ones(2)) == 0.75
    assert hypervolume(np.array([[2.0, 0.0]]), np.ones(2)) == 0.0
    cube = np.array([[0.0, 0.5, 0.5], [0.5, 0.0, 0.5], [0.5, 0.5, 0.0]])
    # Three bars of 1 x 0.5 x 0.5 that share the cube of their ends.
    assert hypervolume(cube, np.ones(3)) == pytest.approx(3 * 0.25 - 2 * 0.125)


def test_free_boxes_and_front_fill_the_space() -> None:
    points = np.random.default_rng(1).random((12, 3))
    low, high = free_boxes(points, np.ones(3))
    free = np.prod(np.maximum(high - np.maximum(low, 0.0), 0.0), axis=1).sum()
    assert free + hypervolume(points, np.ones(3)) == pytest.approx(1.0)


def test_expected_improvement_is_the_mean_over_draws() -> None:
    random = np.random.default_rng(2)
    front = random.random((6, 2))
    mean, deviation = np.array([[0.3, 0.4]]), np.array([[0.2, 0.1]])
    found = expected_improvement(mean, deviation, free_boxes(front, np.ones(2)))[0]
    draws = mean + deviation * random.standard_normal((4000, 2))
    before = hypervolume(front, np.ones(2))
    gains = [hypervolume(np.vstack([front, draw]), np.ones(2)) - before for draw in draws]
    assert found == pytest.approx(float(np.mean(gains)), rel=0.06)
    # Without uncertainty it is the improvement itself.
    sure = expected_improvement(mean, np.full((1, 2), 1e-9), free_boxes(front, np.ones(2)))[0]
    assert sure == pytest.approx(hypervolume(np.vstack([front, mean]), np.ones(2)) - before, abs=1e-6)


def test_the_surrogate_learns_numbers_and_names() -> None:
    random = np.random.default_rng(3)
    ordered = np.array([True, True, False])

    def drawn(count: int) -> np.ndarray:
        places = random.random((count, 3))
        places[:, 2] = random.integers(0, 3, count)
        return places

    def value(places: np.ndarray) -> np.ndarray:
        return np.sin(4 * places[:, 0]) + places[:, 1] * (places[:, 2] == 1)

    known, other = drawn(60), drawn(100)
    model = Surrogate(known, value(known), ordered)
    mean, deviation = model.predict(other)
    assert np.abs(mean - value(other)).mean() < 0.05
    assert (deviation > 0).all()
    at_known, _ = model.with_one(other[0], value(other)[0]).predict(other[:1])
    assert at_known[0] == pytest.approx(value(other)[0], abs=1e-2)


def test_the_gradient_of_the_fit() -> None:
    random = np.random.default_rng(4)
    places, values = random.random((15, 2)), random.standard_normal(15)
    squares = distances(places, places, np.array([True, True]))
    at = np.array([-0.3, 0.4, -3.0])
    _, gradient = _cost(at, squares, values)
    for which in range(3):
        step = np.eye(3)[which] * 1e-6
        slope = (_cost(at + step, squares, values)[0] - _cost(at - step, squares, values)[0]) / 2e-6
        assert gradient[which] == pytest.approx(slope, rel=1e-3, abs=1e-5)


def curve(place: np.ndarray) -> tuple[float, float]:
    """ZDT1, whose front has zeros in all dimensions but the first."""
    far = 1 + 9 * float(place[1:].mean())
    return float(place[0]), far * (1 - float(place[0] / far) ** 0.5)


SIZES = (9, 9, 9)


def searched(seed: int, count: int, *, limited: bool = False) -> list[Seen]:
    space = Space(SIZES, (True,) * 3)
    sampler = Sampler(space, [1.0, 1.0], lambda _: NOTHING, seed)
    seen: list[Seen] = []
    while len(seen) < count:
        for ranks in sampler.suggest(seen, 4) if seen else sampler.first(8):
            place = np.array(ranks) / 8
            misses = (0.5 - float(place[1]),) if limited else ()
            seen.append(Seen(ranks, curve(place), misses, all(miss <= 0 for miss in misses)))
    return seen


@pytest.mark.parametrize("seed", [1, 2])
def test_fewer_designs_than_a_grid_dominate_more(seed: int) -> None:
    reference = np.array([1.1, 3.0])
    found = hypervolume(np.array([one.goals for one in searched(seed, 24)]), reference)
    grid = [curve(np.array(place)) for place in product((0, 0.5, 1), repeat=3)]
    every = [curve(np.array(ranks) / 8) for ranks in product(range(9), repeat=3)]
    assert found > hypervolume(np.array(grid), reference)
    assert found > 0.99 * hypervolume(np.array(every), reference)


def test_designs_meet_a_constraint_that_is_simulated() -> None:
    seen = searched(1, 28, limited=True)
    assert sum(one.feasible for one in seen[8:]) >= 16


def test_the_same_seed_suggests_the_same() -> None:
    one, two, other = searched(5, 20), searched(5, 20), searched(6, 20)
    assert one == two
    assert one != other


def test_excluded_designs_are_never_suggested() -> None:
    def known(ranks: Ranks) -> Known:
        return Known(may_run=ranks[0] % 2 == 0 and ranks[1] > 6, goals=(float(ranks[0]), None))

    sampler = Sampler(Space((9, 9), (True, False)), [1.0, -1.0], known, 1)
    found = sampler.first(4)
    while True:
        seen = [Seen(ranks, (float(ranks[0]), float(ranks[1])), (), feasible=True) for ranks in found]
        more = sampler.suggest(seen, 4)
        if not more:
            break
        found += more
    assert sorted(found) == sorted((first, second) for first in range(0, 9, 2) for second in (7, 8))
