"""Patterns of writes with which studies tell drives apart, each in steady state against uniformly random writes.

Between two patterns the drive is filled in order, so that none inherits the blocks of the one before.
"""

from typing import TYPE_CHECKING, Any

from flashweir.benchmark.pts.driver import Driver
from flashweir.benchmark.pts.trials import Settings

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    Places = Callable[[int], NDArray[np.int64]]

_SIZE, _DEPTH = 4 << 10, 32
# Capacities written with a pattern before it counts, and those that count.
_BEFORE, _COUNTED = 1.0, 0.5
# Share of the addresses that is hot, and of the writes that go there.
_HOT, _HEAT = 0.1, 0.9
_THETA = 0.99
# Share of the addresses that is written once, and bytes of each piece of it.
_READ_ONLY, _PIECE = 0.5, 1 << 20
_STREAMS = 8


def patterns(driver: Driver, _: Settings) -> dict[str, Any]:
    """Writes of 4 KiB at depth 32 in each pattern; `ratio` is the rate over that of uniformly random ones."""
    purge = driver.purge()
    size = max(_SIZE, driver.block)
    count = driver.size // size
    rows: list[dict[str, Any]] = []
    for name, places in _patterns(driver, count, size).items():
        driver.tell(f"patterns: {name}")
        driver.precondition(128 << 10, 1.0)
        driver.measure_at(places, size, _DEPTH, int(_BEFORE * count))
        found = driver.measure_at(places, size, _DEPTH, int(_COUNTED * count))
        rows.append({"pattern": name, **found})
        rows[-1]["ratio"] = rows[-1]["iops"] / rows[0]["iops"]
    return {"test": "patterns", "purge": purge, "size": size, "depth": _DEPTH, "rows": rows}


def _patterns(driver: Driver, count: int, size: int) -> "dict[str, Places]":
    import numpy as np

    rng = driver.rng
    hot, piece = max(int(_HOT * count), 1), max(_PIECE // size, 1)
    pieces = max(count // piece, 2)
    scattered = rng.permutation(count)
    written = [0]

    def two_zones(number: int) -> "NDArray[np.int64]":
        warm = rng.random(number) < _HEAT
        return np.where(warm, rng.integers(hot, size=number), hot + rng.integers(max(count - hot, 1), size=number))

    def read_only(number: int) -> "NDArray[np.int64]":
        # Every second piece is left as it is.
        chosen = rng.integers(max(int(pieces * _READ_ONLY), 1), size=number) * 2
        return (chosen * piece + rng.integers(piece, size=number)).clip(max=count - 1)

    def streams(number: int) -> "NDArray[np.int64]":
        zone = max(count // _STREAMS, 1)
        numbers = written[0] + np.arange(number)
        written[0] += number
        return (numbers % _STREAMS * zone + numbers // _STREAMS % zone).clip(max=count - 1)

    return {
        "random": lambda number: rng.integers(count, size=number),
        "two-zones": two_zones,
        "zipf-scattered": lambda number: scattered[_zipf(rng, count, number)],
        "zipf-in-place": lambda number: _zipf(rng, count, number),
        "read-only-half": read_only,
        "sequential-streams": streams,
    }


def _zipf(rng: "np.random.Generator", count: int, number: int) -> "NDArray[np.int64]":
    """Ranks from 0 by a power law of exponent `_THETA`, by the inverse of its continuous distribution."""
    import numpy as np

    power = 1 - _THETA
    drawn = (rng.random(number) * ((count + 1) ** power - 1) + 1) ** (1 / power) - 1
    ranks: NDArray[np.int64] = drawn.astype(np.int64).clip(max=count - 1)
    return ranks
