"""Course of a drive's wear: stretches that were simulated, and extrapolation beyond the last one.

Beyond the last stretch, programs, erases, reads and time grow with the bytes that the host writes as in that stretch,
and the differences between blocks as `spread` has them. Bounds of both: `Course.bound`.
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from flashweir.endurance import spread
from flashweir.endurance.latency import Latencies
from flashweir.endurance.spread import Array, Spread

# Relative error of sums of shares.
_ROUNDING = 1e-9
# The wear of a byte goes on to change by so many times what it changed in the last piece.
_DRIFT, _MAX_DRIFT = 2.0, 0.5


@dataclass(frozen=True)
class Snapshot:
    """Totals when the host has written `host` bytes: `mean` and `most` are erases of a block.

    `counts` are numbers of erases, in order, with the share of the blocks that have them; `blocks` are those that are
    erased each for itself, superblocks as one. `width` is how many numbers of erases one of `counts` stands for.
    """

    host: float = 0.0
    programmed: float = 0.0
    mean: float = 0.0
    most: float = 0.0
    seconds: float = 0.0
    flash_reads: float = 0.0
    latencies: Mapping[str, Latencies] = field(default_factory=dict)
    counts: tuple[tuple[float, float], ...] = ()
    blocks: float = 1000.0
    width: float = 1.0


@dataclass(frozen=True)
class Course:
    """Wear as a function of the bytes written. `points` begin with the new drive.

    `side` is 1 or -1 for a bound of the differences between blocks, `drift` the relative change of programs and erases
    for each byte beyond the last stretch. `more` are stretches between the points, in order: what comes after the last
    one is not extrapolated from them.
    """

    points: Sequence[Snapshot]
    blocks: Spread | None = None
    more: Sequence[Snapshot] = ()
    side: int = 0
    drift: float = 0.0

    @property
    def last(self) -> Snapshot:
        """State at the end of what was simulated."""
        return self.points[-1]

    @property
    def bounds(self) -> "list[Course]":
        """Courses with more and less wear for each byte, and with greater and smaller differences between blocks."""
        changes = self._changes()
        # A small change may be one by chance: that of the piece before says so.
        drift = min(max([_DRIFT * one for one in changes[-1:]] + changes[-2:-1], default=_MAX_DRIFT), _MAX_DRIFT)
        return [
            *(replace(self, drift=sign * drift) for sign in (1.0, -1.0)),
            *(replace(self, side=side) for side in (1, -1)),
        ]

    def at(self, name: str, host: float) -> float:
        """A total of `Snapshot` when `host` bytes are written."""
        left, right = self._around(host)
        one, other = getattr(left, name), getattr(right, name)
        if host > right.host:
            return float(other + self.slope(name, host) * (host - right.host))
        return float(one + (other - one) * (host - left.host) / (right.host - left.host))

    def slope(self, name: str, host: float) -> float:
        """Change of a total for each byte written, there."""
        left, right = self._around(host)
        found = float((getattr(right, name) - getattr(left, name)) / (right.host - left.host))
        return found * (1 + self.drift) if host > right.host and name in ("mean", "programmed") else found

    def latencies(self, kind: str, host: float) -> Latencies:
        """Latencies of the reads or writes of the piece there."""
        left, right = self._around(host)
        none = Latencies()
        return right.latencies.get(kind, none) - left.latencies.get(kind, none)

    def most(self, host: float) -> float:
        """Erases of the most erased block."""
        if host <= self.last.host:
            return self.at("most", host)
        mean = self.at("mean", host)
        return mean if self.blocks is None else self.blocks.most(mean, self.side)

    def share_beyond(self, host: float, cycles: float) -> float:
        """Share of the blocks with at least so many erases."""
        if host > self.last.host and self.blocks is not None:
            return self.blocks.beyond(self.at("mean", host), cycles, self.side)
        values, weights = self.distribution(host)
        return float(weights[values >= cycles * (1 - _ROUNDING)].sum())

    def quantiles(self, host: float, shares: Sequence[float]) -> Array:
        """Erases below which these shares of the blocks lie. Shares are in order."""
        values, weights = self.distribution(host)
        places = np.searchsorted(np.cumsum(weights), np.array(shares) - _ROUNDING)
        return values[np.minimum(places, len(values) - 1)]

    def distribution(self, host: float) -> tuple[Array, Array]:
        """Numbers of erases, in order, with the shares of the blocks that have them.

        Between the ends of two stretches each share of the blocks goes on evenly.
        """
        if host > self.last.host and self.blocks is not None:
            return self.blocks.distribution(self.at("mean", host), self.side)
        left, right = self._around(host)
        if not right.counts:
            return np.array([self.at("mean", host)]), np.array([1.0])
        part = (host - left.host) / (right.host - left.host)
        before, after = (
            (np.array(values), np.cumsum(shares))
            for values, shares in (zip(*(one.counts or ((one.mean, 1.0),)), strict=True) for one in (left, right))
        )
        upper = np.unique(np.round(np.concatenate([before[1], after[1]]), 12))
        old, new = (
            values[np.minimum(np.searchsorted(below, upper - _ROUNDING), len(values) - 1)]
            for values, below in (before, after)
        )
        return old + (new - old) * part, np.diff(upper, prepend=0.0)

    def host_at(self, name: str, value: float) -> float:
        """Bytes written when a total reaches a value; infinite if it never does."""
        for left, right in itertools.pairwise(self._all):
            one, other = getattr(left, name), getattr(right, name)
            if one < value <= other:
                return float(left.host + (right.host - left.host) * (value - one) / (other - one))
        slope = self.slope(name, math.inf)
        return self.last.host + (value - getattr(self.last, name)) / slope if slope > 0 else math.inf

    def host_of_most(self, value: float) -> float:
        """Bytes written when the most erased block has so many erases, within what was simulated; else infinite."""
        for left, right in itertools.pairwise(self._all):
            if left.most < value <= right.most:
                return left.host + (right.host - left.host) * (value - left.most) / (right.most - left.most)
        return math.inf

    def _changes(self) -> list[float]:
        """Relative changes of the wear of a byte from one piece to the next, in order."""
        wear = [(new.mean - old.mean) / (new.host - old.host) for old, new in itertools.pairwise(self.points[-4:])]
        return [abs(new / old - 1) for old, new in itertools.pairwise(wear) if old > 0]

    def _around(self, host: float) -> tuple[Snapshot, Snapshot]:
        if host > self.last.host:
            return self.points[-2], self.points[-1]
        return next((left, right) for left, right in itertools.pairwise(self._all) if host <= right.host)

    @property
    def _all(self) -> Sequence[Snapshot]:
        return sorted([*self.points, *self.more], key=lambda one: one.host) if self.more else self.points


def fitted(points: Sequence[Snapshot], more: Sequence[Snapshot] = ()) -> Course:
    """The course through these points, with the growth of the differences between blocks."""
    return Course(points, spread.fitted(points, points[-1].blocks), more)


def counted(first: int, width: int, blocks: Sequence[int], most: int) -> tuple[tuple[float, float], ...]:
    """Shares of blocks by erases, of a histogram: a bin of several numbers stands for its middle, `most` at most."""
    total = sum(blocks)
    middles = (first + place * width + (width - 1) / 2 for place in range(len(blocks)))
    pairs = zip(middles, blocks, strict=True)
    return tuple((min(middle, float(most)), count / total) for middle, count in pairs if count)
