"""Measured values with intervals, and ratios of two of them on the same drive."""

import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

Verdict = Literal["good", "bad", "uncertain", "unknown"]
# Half width of an interval: standard errors, and the least relative error of any measurement.
_ERRORS, _FLOOR = 2.0, 0.01


@dataclass(frozen=True)
class Span:
    """A value and its 95% interval."""

    value: float
    low: float
    high: float

    def times(self, factor: float) -> "Span":
        """The same in other units."""
        return Span(self.value * factor, self.low * factor, self.high * factor)


@dataclass(frozen=True)
class Test:
    """One test as the JSON has it: with a band it is bad up to one ratio, and good from another on."""

    name: str
    ratio: float
    low: float
    high: float
    verdict: Verdict
    bad_to: float | None = None
    good_from: float | None = None

    def to_dict(self) -> dict[str, object]:
        """The fields, rounded to what they are worth."""
        return {key: rounded(value) if isinstance(value, float) else value for key, value in asdict(self).items()}


def span_of(samples: "NDArray[np.float64]") -> Span:
    """Mean of samples with its interval, the tenth at each end left out: hiccups of the host are not the drive's."""
    ordered = np.sort(np.asarray(samples, dtype=float))
    cut = len(ordered) // 10
    kept = ordered[cut : len(ordered) - cut]
    mean = float(kept.mean())
    error = float(np.clip(ordered, kept[0], kept[-1]).std(ddof=1)) / math.sqrt(len(kept)) if len(kept) > 1 else mean / 4
    half = _ERRORS * error + _FLOOR * mean
    return Span(mean, max(mean - half, mean / 10), mean + half)


def mean_of(samples: "NDArray[np.float64]") -> Span:
    """Mean of all samples: of phases in which the drive's own stalls count."""
    values = np.asarray(samples, dtype=float)
    mean = float(values.mean())
    error = float(values.std(ddof=1)) / math.sqrt(len(values)) if len(values) > 1 else mean / 4
    half = _ERRORS * error + _FLOOR * mean
    return Span(mean, max(mean - half, mean / 10), mean + half)


def ratio(over: Span, under: Span) -> Span:
    """Ratio of two values that were measured independently."""
    value = over.value / under.value
    wide = math.hypot(*(math.log(one.high / max(one.low, 1e-12)) / 2 for one in (over, under)))
    return Span(value, value * math.exp(-wide), value * math.exp(wide))


def judged(name: str, found: Span, bad: float, good: float) -> Test:
    """A test of which large ratios are good: bad if the interval is below `bad`, good if it is above `good`."""
    verdict: Verdict = "uncertain"
    if found.low >= good or (found.value >= good and found.low >= bad):
        verdict = "good"
    elif found.high <= bad or (found.value <= bad and found.high <= good):
        verdict = "bad"
    return Test(name, found.value, found.low, found.high, verdict, bad, good)


def measured(name: str, found: Span) -> Test:
    """A test without a verdict of its own."""
    return Test(name, found.value, found.low, found.high, "unknown")


def rounded(value: float) -> float:
    """Four significant digits."""
    return float(f"{value:.4g}")
