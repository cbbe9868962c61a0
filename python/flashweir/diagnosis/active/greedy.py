"""Closed forms of write amplification under uniformly random writes; spare is a share of the logical space."""

import math

from flashweir.diagnosis.active.ratios import Span

# Pages of a block; larger blocks have more amplification. The bounds are those of drives on sale.
_FEW, _USUAL, _MANY = 64, 256, 4096
_EXACT = 1e-12


def greedy(spare: float, pages: int = _USUAL) -> float:
    """Amplification of greedy (Desnoyers, ACM TOS 2014, section 4): blocks of so many pages, chosen by fewest valid."""
    over = 1 + max(spare, 1e-4)
    shifted = (1 + 1 / (2 * pages)) * over
    left = 0.5 - pages / over * _lambert(-shifted * math.exp(-shifted))
    return pages / max(pages - (left - 1), 1e-9)


def greedy_span(spare: Span) -> Span:
    """Amplification at a measured spare, over the blocks that a drive may have."""
    return Span(greedy(spare.value), greedy(spare.high, _FEW), greedy(spare.low, _MANY))


def spare_of(amplification: float) -> float:
    """Spare at which greedy has this amplification on small blocks: that of a drive is no less."""
    low, high = 1e-4, 2.0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if greedy(middle, _FEW) > amplification else (low, middle)
    return low


def hot(spare: float, share: float) -> float:
    """Amplification of greedy once only `share` of the addresses is written: cold blocks are full of valid pages."""
    return greedy(spare / share)


def in_order(spare: float) -> float:
    """Amplification of first in first out, which is that of greedy on blocks of any number of pages."""
    return hot_in_order(spare, 1.0)


def hot_in_order(spare: float, share: float) -> float:
    """Amplification of first in first out where `share` of the addresses is written: it moves all cold pages.

    Between two collections of a block all places are written once: with the cold pages, 1 - share, and with hot ones.
    Of these exp(-w / share) are still valid after w capacities of the host's writes, and are copied.
    """
    spare = max(spare, 1e-4)
    low, high = 0.0, spare + share
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if (spare + share) * (1 - math.exp(-middle / share)) > middle else (low, middle)
    return (1 + spare) / low


def _lambert(value: float) -> float:
    """Principal branch of Lambert's W between -1/e and 0, by Halley's method."""
    root = -1 + math.sqrt(max(0.0, 2 * (1 + math.e * value)))
    for _ in range(50):
        power = math.exp(root)
        error = root * power - value
        step = error / (power * (root + 1) - (root + 2) * error / (2 * root + 2) + 1e-300)
        root -= step
        if abs(step) < _EXACT:
            break
    return root
