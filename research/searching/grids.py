"""Regular grids of a number of designs, as somebody would choose them by hand."""

from collections.abc import Callable, Sequence
from itertools import product

from flashweir.searching.sampler import Ranks, Space


def grid(space: Space, count: int, may_run: Callable[[Ranks], bool]) -> list[Ranks]:
    """The largest grid of at most `count` designs that may run.

    A dimension without an order has all its places. Those with one have their ends, and get one place more in turn, the
    dimension with the fewest first, evenly over its places.
    """
    levels = [min(size, 2) if ordered else size for size, ordered in zip(space.sizes, space.ordered, strict=True)]
    best = _crossed(space, levels, may_run)
    stuck: set[int] = set()
    while len(stuck) < len(levels):
        free = [at for at, size in enumerate(space.sizes) if at not in stuck and levels[at] < size]
        if not free:
            break
        at = min(free, key=lambda one: levels[one])
        more = [*levels[:at], levels[at] + 1, *levels[at + 1 :]]
        designs = _crossed(space, more, may_run)
        if len(designs) > count:
            stuck.add(at)
        else:
            levels, best = more, designs
    return best[:count]


def _crossed(space: Space, levels: Sequence[int], may_run: Callable[[Ranks], bool]) -> list[Ranks]:
    places = [
        sorted({round(at * (size - 1) / max(1, count - 1)) for at in range(count)})
        for size, count in zip(space.sizes, levels, strict=True)
    ]
    return [ranks for ranks in product(*places) if may_run(ranks)]
