"""Choice of the block that is collected, for page maps and for logs alike."""

from collections.abc import Callable, Collection
from itertools import islice
from random import Random

MIN_GAIN = 0.04  # share of a block that the worst victim must give, or nothing would ever be gained


def choose(
    policy: str,
    blocks: Collection[int],
    cost: Callable[[int], float],
    age: Callable[[int], int],
    window: int,
    random: Random,
) -> int:
    """A block of `blocks`, which stand in the order in which they were filled.

    Args:
        policy: `greedy` takes the cheapest, `fifo` the oldest, `random` any, `window` the cheapest of the oldest,
            `worst` the dearest of some drawn at random, `cost-benefit` weighs age against cost.
        blocks: full blocks.
        cost: share of a block that must be copied.
        age: writes since a block was filled.
        window: blocks from which `window` and `worst` choose.
        random: source of choices.
    """
    if policy == "greedy":
        return min(blocks, key=cost)
    if policy == "fifo":
        return next(iter(blocks))
    if policy == "window":
        return min(islice(blocks, window), key=cost)
    if policy == "cost-benefit":
        return max(blocks, key=lambda block: age(block) * (1 - cost(block)) / (2 * cost(block) + 1e-9))
    every = list(blocks)
    if policy == "random":
        return every[int(random.random() * len(every))]
    drawn = {every[int(random.random() * len(every))] for _ in range(window)}
    gaining = sorted(block for block in drawn if cost(block) <= 1 - MIN_GAIN)
    return max(gaining, key=cost) if gaining else min(blocks, key=cost)
