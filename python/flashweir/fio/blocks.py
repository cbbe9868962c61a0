"""Numbers of blocks by fio's random distributions (lib/zipf.c, lib/pareto.c, lib/gauss.c of fio, and its zones).

zipf, pareto and normal are spread over the range by fio's multiplicative hash and a random start, as there; other
random numbers are drawn, so popularities agree and not the single blocks.
"""

from typing import TYPE_CHECKING

from flashweir.fio.job import Distribution

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_GOLDEN_RATIO_64 = 0x61C8864680B583EB
# fio sums at most so many terms for the normalisation of zipf.
_MAX_ZIPF_TERMS = 10_000_000
_GAUSS_ITERATIONS = 12


def drawn(
    distribution: Distribution, count: int, blocks: int, block_bytes: int, rng: "np.random.Generator"
) -> "NDArray[np.int64]":
    """Draws `count` numbers of blocks below `blocks`."""
    import numpy as np

    if distribution.kind == "random":
        return rng.integers(blocks, size=count, dtype=np.int64)
    if distribution.kind in ("zoned", "zoned_abs"):
        return _zoned(distribution, count, blocks, block_bytes, rng)
    start = int(rng.integers(1 << 32))
    if distribution.kind == "zipf":
        found = _zipf(distribution.value, count, blocks, rng)
    elif distribution.kind == "pareto":
        power = np.log(distribution.value) / np.log(1 - distribution.value)
        found = ((blocks - 1) * rng.random(count) ** power).astype(np.uint64)
    else:
        found = _normal(distribution.value, count, blocks, rng)
        start = 0
    if distribution.center is not None:
        middle = distribution.center - (0.5 if distribution.kind == "normal" else 0.0)
        start = int(blocks * middle) % blocks
    with np.errstate(over="ignore"):
        hashed = found * np.uint64(_GOLDEN_RATIO_64) + np.uint64(start)
    return (hashed % np.uint64(blocks)).astype(np.int64)


def _zipf(theta: float, count: int, blocks: int, rng: "np.random.Generator") -> "NDArray[np.uint64]":
    """Ranks from 0 on, by the method of Gray et al. (1994) that fio has."""
    import numpy as np

    terms = np.arange(1, min(blocks, _MAX_ZIPF_TERMS) + 1, dtype=np.float64)
    zeta = float(np.sum(terms**-theta))
    second = 0.5**theta
    eta = (1 - (2 / blocks) ** (1 - theta)) / (1 - (1 + second) / zeta) if blocks > 2 else 1.0  # noqa: PLR2004
    uniform = rng.random(count)
    with np.errstate(invalid="ignore", divide="ignore"):
        powers = blocks * np.maximum(eta * uniform - eta + 1, 0) ** (1 / (1 - theta))
    ranks: NDArray[np.uint64] = np.clip(np.nan_to_num(powers), 0, blocks - 1).astype(np.uint64)
    ranks[uniform * zeta < 1 + second] = min(1, blocks - 1)
    ranks[uniform * zeta < 1] = 0
    return ranks


def _normal(deviation: float, count: int, blocks: int, rng: "np.random.Generator") -> "NDArray[np.uint64]":
    """The mean of twelve uniform numbers, and a uniform deviation of so many per cent of the range."""
    import numpy as np

    total = np.zeros(count, np.int64)
    for _ in range(_GAUSS_ITERATIONS):
        total += rng.integers(blocks + 1, size=count, dtype=np.int64)
    found = (total + _GAUSS_ITERATIONS - 1) // _GAUSS_ITERATIONS
    if deviation:
        width = min(int(np.ceil(blocks * deviation / 100)), blocks // 2)
        found += (width * rng.random(count)).astype(np.int64) - width // 2
    return np.clip(found, 0, blocks - 1).astype(np.uint64)


def _zoned(
    distribution: Distribution, count: int, blocks: int, block_bytes: int, rng: "np.random.Generator"
) -> "NDArray[np.int64]":
    import numpy as np

    absolute = distribution.kind == "zoned_abs"
    extents = np.array([float(size) / block_bytes if absolute else float(size) * blocks
                        for _, size in distribution.zones])  # fmt: skip
    ends = np.minimum(np.floor(np.cumsum(extents) + 1e-9).astype(np.int64), blocks)
    starts = np.concatenate(([0], ends[:-1]))
    shares = np.array([float(access) for access, _ in distribution.zones])
    which = rng.choice(len(shares), size=count, p=shares / shares.sum())
    lengths = np.maximum(ends - starts, 1)
    found: NDArray[np.int64] = starts[which] + (rng.random(count) * lengths[which]).astype(np.int64)
    inside: NDArray[np.int64] = np.minimum(found, blocks - 1)
    return inside
