"""A difference in words: how much higher or lower, how sure, and where known whether that is better."""

import math
from typing import Literal

from flashweir.statistics.intervals import Difference
from flashweir.submission import OPERATIONS

_LATENCIES = ("mean", "p50", "p95", "p99", "p999", "p9999", "max")

# Desired direction of each metric; metrics that are not listed are neither good nor bad.
BETTER: dict[str, Literal["higher", "lower"]] = {
    "iops": "higher",
    "bandwidth_mib_s": "higher",
    "write_amplification": "lower",
    "flash.erases": "lower",
    "flash.gc.reads": "lower",
    "flash.gc.programs": "lower",
    "flash.gc.erases": "lower",
    "time_share.gc": "lower",
    "tbw": "higher",
    "years": "higher",
    "life_years": "higher",
    "cost_per_tbw": "lower",
    "wear.mean": "lower",
    "wear.max": "lower",
    "wear.stddev": "lower",
    **{f"latency_us.{operation}.{name}": "lower" for operation in OPERATIONS for name in _LATENCIES},
}

_MAX_DECIMALS = 9


def verdict(found: Difference, significant: bool, seeds: int, *, once: bool = False) -> str:
    """Verdict of the comparison `found`.

    Args:
        found: the difference.
        significant: whether it is, after the correction for several comparisons.
        seeds: how many were tried on either side.
        once: whether the one pair is the same under every seed that was tried.
    """
    unpaired = f"; {seeds - found.n} of {seeds} seeds unpaired" if seeds > found.n else ""
    if once and found.n == 1:
        return "the same run under every seed: no interval"
    return _finding(found, significant) + unpaired


def judgement(metric: str, change: float | None, significant: bool | None) -> Literal["better", "worse"] | None:
    """True if a significant change is for the better; None if its direction is not known, or nothing changed."""
    wanted = BETTER.get(metric)
    if wanted is None or not significant or not change:
        return None
    return "better" if (change > 0) == (wanted == "higher") else "worse"


def decimals(width: float) -> int:
    """Number of decimals that show one digit of `width`, or two of one that begins with a 1."""
    if not width or not math.isfinite(width):
        return 0
    exponent = math.floor(math.log10(abs(width)))
    more = 1 if abs(width) < 2 * 10.0**exponent else 0
    return min(max(more - exponent, 0), _MAX_DECIMALS)


def _finding(found: Difference, significant: bool) -> str:
    if found.n == 0:
        return "no seed with a value on both sides"
    if found.n == 1 or found.low is None or found.high is None or found.p is None:
        return "one seed: no interval"
    if found.value == found.low == found.high == 0:
        return f"no difference in any of {found.n} seeds"
    percent = found.relative_low is not None and found.relative_high is not None and found.relative is not None
    if percent:
        scale, unit = 100.0, "%"
        value, low, high = found.relative or 0.0, found.relative_low or 0.0, found.relative_high or 0.0
    else:
        scale, unit = 1.0, ""
        value, low, high = found.value, found.low, found.high
    value, low, high = value * scale, low * scale, high * scale
    constant = found.low == found.high
    near, far = sorted((abs(low), abs(high)))
    places = decimals(abs(value) / 10 if constant else (high - low) / 2)
    if low > 0 or high < 0:
        # An end that isn't 0 should not read as 0.
        places = min(max(places, decimals(near)), places + 2)
    if not significant:
        # An interval without 0 that stops being significant by the correction would look like a mistake.
        why = " after Holm's correction" if found.low > 0 or found.high < 0 else ""
        return f"no significant difference{why} ({low:,.{places}f}{unit} to {high:,.{places}f}{unit})"
    direction = "higher" if value > 0 else "lower"
    reach = f"the same in all {found.n} seeds" if constant else f"{near:,.{places}f} to {far:,.{places}f}{unit}"
    return f"{abs(value):,.{places}f}{unit} {direction} ({reach}), significant"
