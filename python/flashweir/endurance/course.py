"""Course of a drive's wear: stretches that were simulated, and extrapolation beyond the last one.

Beyond the last stretch, programs, erases, reads and time grow with the bytes that the host writes as in that stretch.
The variance of erases over blocks grows as a + b m + c m^2 in their mean m: a is what levelling leaves, b what chance
adds, c what blocks have that are erased at rates of their own. Its coefficients are fitted to the last stretches. The
distribution keeps its form: that of the stretch before, stretched about its mean.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

# Stretches that the variance is fitted to.
_FITTED = 3
# Relative error of sums of shares.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Snapshot:
    """Totals when the host has written `host` bytes: `mean` to `variance` are erases of a block.

    `counts` are numbers of erases, in order, with the share of the blocks that have them.
    """

    host: float = 0.0
    programmed: float = 0.0
    mean: float = 0.0
    least: float = 0.0
    most: float = 0.0
    variance: float = 0.0
    seconds: float = 0.0
    flash_reads: float = 0.0
    reads: float = 0.0
    read_us: float = 0.0
    writes: float = 0.0
    write_us: float = 0.0
    counts: tuple[tuple[float, float], ...] = ()


@dataclass(frozen=True)
class Course:
    """Wear as a function of the bytes written. `points` begin with the new drive."""

    points: Sequence[Snapshot]
    growth: tuple[float, float, float] = field(default=(0.0, 0.0, 0.0))

    @property
    def last(self) -> Snapshot:
        """State at the end of what was simulated."""
        return self.points[-1]

    def at(self, name: str, host: float) -> float:
        """A total of `Snapshot` when `host` bytes are written."""
        left, right = self._around(host)
        one, other = getattr(left, name), getattr(right, name)
        return float(one + (other - one) * (host - left.host) / (right.host - left.host))

    def slope(self, name: str, host: float) -> float:
        """Change of a total for each byte written, there."""
        left, right = self._around(host)
        return float((getattr(right, name) - getattr(left, name)) / (right.host - left.host))

    def latency_us(self, kind: str, host: float) -> float | None:
        """Mean latency of reads or writes there; None where there are none."""
        count = self.slope(f"{kind}s", host)
        return self.slope(f"{kind}_us", host) / count if count > 0 else None

    def spread(self, host: float) -> tuple[float, float, float]:
        """Erases of the least erased block, of the most erased one, and the standard deviation."""
        mean, last = self.at("mean", host), self.last
        if host <= last.host:
            return self.at("least", host), self.at("most", host), math.sqrt(max(self.at("variance", host), 0.0))
        fixed, chance, rates = self.growth
        deviation = math.sqrt(max(fixed + chance * mean + rates * mean * mean, 0.0))
        known = math.sqrt(last.variance)
        if known == 0.0:
            return mean, mean, deviation
        times = deviation / known
        return max(0.0, mean + (last.least - last.mean) * times), mean + (last.most - last.mean) * times, deviation

    def share_beyond(self, host: float, cycles: float) -> float:
        """Share of the blocks with at least so many erases."""
        return sum(share for erases, share in self.distribution(host) if erases >= cycles * (1 - _ROUNDING))

    def quantiles(self, host: float, shares: Sequence[float]) -> list[float]:
        """Erases below which these shares of the blocks lie. Shares are in order."""
        found: list[float] = []
        blocks = self.distribution(host)
        place, below = 0, blocks[0][1]
        for share in shares:
            while below < share and place + 1 < len(blocks):
                place += 1
                below += blocks[place][1]
            found.append(blocks[place][0])
        return found

    def distribution(self, host: float) -> list[tuple[float, float]]:
        """Numbers of erases, in order, with the share of the blocks that have them."""
        _, right = self._around(host)
        mean, (least, most, deviation) = self.at("mean", host), self.spread(host)
        known = math.sqrt(right.variance)
        if not right.counts or known == 0.0:
            return [(mean, 1.0)]
        times = deviation / known
        return [(min(max(mean + (erases - right.mean) * times, least), most), share) for erases, share in right.counts]

    def host_at(self, name: str, value: float) -> float:
        """Bytes written when a total reaches a value; infinite if it never does."""
        for left, right in zip(self.points, self.points[1:], strict=False):
            one, other = getattr(left, name), getattr(right, name)
            if one < value <= other:
                return float(left.host + (right.host - left.host) * (value - one) / (other - one))
        slope = self.slope(name, math.inf)
        return self.last.host + (value - getattr(self.last, name)) / slope if slope > 0 else math.inf

    def _around(self, host: float) -> tuple[Snapshot, Snapshot]:
        for left, right in zip(self.points, self.points[1:], strict=False):
            if host <= right.host:
                return left, right
        return self.points[-2], self.points[-1]


def fitted(points: Sequence[Snapshot]) -> Course:
    """The course through these points, with the growth of the variance."""
    from scipy.optimize import nnls  # type: ignore[import-untyped]

    some = [point for point in points if point.mean > 0][-_FITTED:]
    if not some or some[-1].variance <= 0:
        return Course(points)
    # Rows are weighed by their variance: its error is a share of it.
    rows = [[part / max(one.variance, 1e-9) for part in (1.0, one.mean, one.mean * one.mean)] for one in some]
    last = some[-1]
    scale = [1.0, last.mean, last.mean * last.mean]
    found, _ = nnls([[part / size for part, size in zip(row, scale, strict=True)] for row in rows],
                    [1.0 if one.variance > 0 else 0.0 for one in some])  # fmt: skip
    growth = [float(part) / size for part, size in zip(found, scale, strict=True)]
    # The last stretch is the nearest: the curve goes through it.
    through = sum(part * size for part, size in zip(growth, scale, strict=True))
    times = last.variance / through if through > 0 else 0.0
    return Course(points, (growth[0] * times, growth[1] * times, growth[2] * times))


def counted(first: int, width: int, blocks: Sequence[int], most: int) -> tuple[tuple[float, float], ...]:
    """Shares of blocks by erases, of a histogram: a bin of several numbers stands for its middle, `most` at most."""
    total = sum(blocks)
    middles = (first + place * width + (width - 1) / 2 for place in range(len(blocks)))
    pairs = zip(middles, blocks, strict=True)
    return tuple((min(middle, float(most)), count / total) for middle, count in pairs if count)
