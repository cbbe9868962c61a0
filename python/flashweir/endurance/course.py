"""Course of a drive's wear: stretches that were simulated, and extrapolation beyond the last one.

Beyond the last stretch, programs, erases, reads and time grow with the bytes that the host writes as in that stretch.
The variance of erases over blocks grows as a + b m + c m^2 in their mean m: a is what levelling leaves, b what chance
adds, c what blocks have that are erased at rates of their own. Its coefficients are fitted to the last stretches. The
distribution keeps its form: a beta distribution with the least, mean and most erased block and the variance.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

# Stretches that the variance is fitted to.
_FITTED = 3
_STEPS = 200


@dataclass(frozen=True)
class Snapshot:
    """Totals when the host has written `host` bytes: `mean` to `variance` are erases of a block."""

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
        least, most, deviation = self.spread(host)
        return beyond(least, self.at("mean", host), most, deviation, cycles)

    def quantiles(self, host: float, shares: Sequence[float]) -> list[float]:
        """Erases below which these shares of the blocks lie."""
        from scipy import special  # type: ignore[import-untyped]

        least, most, deviation = self.spread(host)
        mean = self.at("mean", host)
        shape = _shape(least, mean, most, deviation)
        if shape is None:
            return [mean if most <= least else (most if share > _low_share(least, mean, most) else least)
                    for share in shares] if deviation > 0 else [mean] * len(shares)  # fmt: skip
        return [least + (most - least) * float(special.betaincinv(*shape, share)) for share in shares]

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


def beyond(least: float, mean: float, most: float, deviation: float, cycles: float) -> float:
    """Share of a beta distribution from `least` to `most` that lies at `cycles` or above."""
    from scipy import special

    if cycles > most or cycles <= least:
        return float(cycles <= least)
    shape = _shape(least, mean, most, deviation)
    if shape is None:
        return 1.0 - _low_share(least, mean, most) if deviation > 0 else float(mean >= cycles)
    return 1.0 - float(special.betainc(*shape, (cycles - least) / (most - least)))


def _low_share(least: float, mean: float, most: float) -> float:
    """Share of the lower of two values with this mean."""
    return (most - mean) / (most - least)


def _shape(least: float, mean: float, most: float, deviation: float) -> tuple[float, float] | None:
    """Both exponents of the beta distribution with these moments; None if there is one value, or two alone."""
    width = most - least
    if width <= 0 or deviation <= 0 or not least < mean < most:
        return None
    middle, variance = (mean - least) / width, (deviation / width) ** 2
    weight = middle * (1 - middle) / variance - 1
    return (middle * weight, (1 - middle) * weight) if weight > 1e-3 else None  # noqa: PLR2004 - two values
