"""Ends of a drive's life, each in bytes that the host has written by then.

- `cycles`: the mean of erases over blocks reaches the rated cycles.
- `first_block`: the most erased block reaches them.
- `spare`: more blocks have been retired than the drive has spare. A block is retired at its own limit of cycles; where
  the drive retires its blocks itself, `retiring.py` finds when it is read-only.
- `uncorrectable`: the expected number of codewords that were read and can't be corrected reaches 1. Retired blocks hold
  no data.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from flashweir.endurance.aged import Aged
from flashweir.endurance.cells import Rating
from flashweir.endurance.course import Course
from flashweir.endurance.errors import Code, Stress, rate
from flashweir.endurance.retiring import Spare

NAMES = ("cycles", "spare", "uncorrectable")
FIRST_BLOCK = "first_block"
_BISECTIONS, _EXACT = 60, 1e-9
# Places of the integral over life, and quantiles of the distribution of wear.
_PLACES, _QUANTILES = 400, 33
# Life is followed until the mean block has this many times the cycles at which a block is retired.
_FAR = 1.5
# Uncorrectable codewords that are expected at that end.
_EXPECTED = 1.0


@dataclass(frozen=True)
class Limits:
    """A drive's limits: blocks, spare blocks, cycles, code, and the conditions of data that is read.

    `code` is None where errors are not known, with the reason in `why`. `aged` are the cells of a drive whose
    blocks age: its own errors and code. `no_spare` is the reason why `spare_blocks` is 0.
    """

    rating: Rating
    block_cycles: float
    blocks: int
    spare_blocks: int
    page: int
    pages_per_block: int
    stress: Stress
    code: Code | None
    why: str
    aged: Aged | None = None
    no_spare: str = "the drive has no spare blocks but those that it keeps erased"

    @property
    def used(self) -> float:
        """Cycles of each block at the beginning."""
        return self.aged.used if self.aged is not None else 0.0


@dataclass(frozen=True)
class Ends:
    """Bytes written at each end by name, or the reason why there is none."""

    host: dict[str, float]
    reasons: dict[str, str]

    @property
    def first(self) -> tuple[str, float]:
        """The end that comes first, and the bytes written."""
        name = min((name for name in NAMES if name in self.host), key=self.host.__getitem__)
        return name, self.host[name]


def found(course: Course, limits: Limits, spare: Spare | None = None) -> Ends:
    """Every end of a course; `spare` is that of a drive which retires its blocks itself."""
    far = course.host_at("mean", _FAR * limits.block_cycles - limits.used)
    host = by_wear(course, limits, spare)
    reasons: dict[str, str] = {}
    if "spare" not in host:
        reasons["spare"] = limits.no_spare if spare is None else spare.why
    if limits.aged is not None:
        errors = _first_of_aged(course, limits, limits.aged, far)
    else:
        errors = _first_uncorrectable(course, limits, far)
    if isinstance(errors, str):
        reasons["uncorrectable"] = errors
    else:
        host["uncorrectable"] = errors
    return Ends(host, reasons)


def by_wear(course: Course, limits: Limits, spare: Spare | None = None) -> dict[str, float]:
    """Bytes written at each end that erases alone decide. The first block is at its cycles when the mean is."""
    rated = limits.rating.cycles - limits.used
    host = {"cycles": course.host_at("mean", rated)}
    host[FIRST_BLOCK] = _when(lambda at: course.most(at) >= rated, host["cycles"])
    if spare is not None:
        if spare.end is not None:
            host["spare"] = spare.end
    elif limits.spare_blocks > 0:
        far = course.host_at("mean", _FAR * limits.block_cycles - limits.used)
        host["spare"] = _when(lambda at: retired(course, limits, at) > limits.spare_blocks, far)
    return host


def first(course: Course, limits: Limits, spare: Spare | None = None) -> float:
    """Bytes written at the end that comes first."""
    rated = limits.rating.cycles - limits.used
    far = course.host_at("mean", _FAR * limits.block_cycles - limits.used)
    at = course.host_at("mean", rated)
    if spare is not None:
        at = min(at, spare.end or math.inf)
    elif limits.spare_blocks > 0:
        at = min(at, _when(lambda host: retired(course, limits, host) > limits.spare_blocks, far))
    if limits.aged is not None:
        errors = _first_of_aged(course, limits, limits.aged, far)
    elif limits.code is None or _reads(course, limits) * _failure(course, limits, at) * at < _EXPECTED:
        # Failures grow with wear: by then they are fewer than one.
        return at
    else:
        errors = _first_uncorrectable(course, limits, far)
    return at if isinstance(errors, str) else min(at, errors)


def retired(course: Course, limits: Limits, host: float) -> float:
    """Expected blocks that are retired when `host` bytes are written."""
    return limits.blocks * course.share_beyond(host, limits.block_cycles - limits.used)


def spare_share(course: Course, limits: Limits, host: float, spare: Spare | None = None) -> float | None:
    """Share of the spare blocks that are left; None if the drive has none."""
    if spare is not None:
        return spare.share(host)
    if limits.spare_blocks <= 0:
        return None
    return max(0.0, 1.0 - retired(course, limits, host) / limits.spare_blocks)


def _when(reached: Callable[[float], bool], far: float) -> float:
    """The least number of bytes at which something is reached that stays so; `far` at most."""
    low, high = 0.0, far
    for _ in range(_BISECTIONS):
        if high - low <= _EXACT * high:
            break
        middle = (low + high) / 2
        if reached(middle):
            high = middle
        else:
            low = middle
    return high


def _first_uncorrectable(course: Course, limits: Limits, far: float) -> float | str:
    """Bytes written at the first uncorrectable read, or why it is not known."""
    if limits.code is None:
        return limits.why
    per_byte = _reads(course, limits)
    if per_byte <= 0:
        return "nothing is read from flash"
    cycles = _FAR * limits.block_cycles
    none = f"fewer than one is expected until the mean block has {cycles:,.0f} cycles"
    # No block in use has more cycles than one that is retired.
    if per_byte * far * _worst(course, limits, far) < _EXPECTED:
        return none
    total, before = 0.0, (0.0, 0.0)
    for place in range(1, _PLACES + 1):
        host = far * place / _PLACES
        expected = per_byte * _failure(course, limits, host)
        step = host - before[0]
        more = step * (expected + before[1]) / 2
        if total + more >= _EXPECTED:
            return before[0] + step * (_EXPECTED - total) / more
        total, before = total + more, (host, expected)
    return none


def _worst(course: Course, limits: Limits, far: float) -> float:
    """Probability that a codeword of a block which is about to be retired can't be corrected, at most."""
    errors, code = limits.rating.cell.errors, limits.code
    assert errors is not None  # noqa: S101 - there is a code only where there are errors
    assert code is not None  # noqa: S101
    share = limits.block_cycles / limits.rating.cycles
    return max(code.failure(rate(errors, share, _stress(course, limits, at))) for at in (0.0, far))


def _reads(course: Course, limits: Limits) -> float:
    """Codewords that are read for each byte that the host writes."""
    assert limits.code is not None  # noqa: S101
    return course.slope("flash_reads", math.inf) * -(-limits.page // limits.code.size)


def _first_of_aged(course: Course, limits: Limits, aged: Aged, far: float) -> float | str:
    """Bytes written when the most erased block or the weakest one can't be read, or why there is no such time."""
    if course.slope("flash_reads", math.inf) <= 0:
        return "nothing is read from flash"

    def fails(host: float) -> bool:
        stress = _stress(course, limits, host)
        blocks = ((1.0, course.most(host)), (aged.weakest, course.at("mean", host)))
        return any(
            factor * rate(aged.errors, (aged.used + cycles) / limits.rating.cycles, stress) > aged.limit
            for factor, cycles in blocks
        )

    found = _when(fails, far)
    cycles = _FAR * limits.block_cycles
    return found if found < far else f"every page can be read until the mean block has {cycles:,.0f} cycles"


def _stress(course: Course, limits: Limits, host: float) -> Stress:
    """Conditions of the data that is read there, with the reads of a block between two erases."""
    slope = course.slope("mean", host) * limits.blocks
    reads = course.slope("flash_reads", host) / slope if slope > 0 else 0.0
    return replace(limits.stress, block_reads=reads, page_reads=reads / limits.pages_per_block)


def _failure(course: Course, limits: Limits, host: float) -> float:
    """Probability that a codeword which is read can't be corrected, over blocks that are not retired."""
    errors, code = limits.rating.cell.errors, limits.code
    assert errors is not None  # noqa: S101 - there is a code only where there are errors
    assert code is not None  # noqa: S101
    stress = _stress(course, limits, host)
    shares = [(place + 0.5) / _QUANTILES for place in range(_QUANTILES)]
    # The most erased block stands for itself alone.
    wear = np.append(course.quantiles(host, shares), course.most(host))
    weights = np.append(np.full(_QUANTILES, 1 / _QUANTILES), 1 / limits.blocks)
    kept = wear < limits.block_cycles
    if not kept.any():
        return 0.0
    wear, weights = wear[kept], weights[kept]
    rates = [rate(errors, float(one), stress) for one in wear / limits.rating.cycles]
    return float(weights @ code.failures(np.array(rates)) / weights.sum())
