"""Slow modes of writes in measured tables, by Little's law: `python modes.py [DRIVE]`.

While all places of the threads that make the load are taken, they complete places / latency requests a second. If the
latency of the slow mode is p99 (or p99.9), that rate beside the rate that these threads are to send says if the drive
paces them at their own rate (1), or can do no more (below 1). Loads on which not all places are taken have a rate far
above 1.
"""

import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
# Six threads of depth 64; the measured thread sends 10,000 requests a second of its own.
PLACES, MEASURED_RATE, WRITE_SHARE = 384, 10_000, 0.99
US = 1e-6
# Times a fast write that a slow one takes at least.
SLOW = 10
# Share of the time with all places taken from which on a median is one of places that fill.
FASTEST = 0.1
# Ratios above it are not shown: not all places are taken.
MAX_RATIO = 2


@dataclass(frozen=True)
class Mode:
    """A load: writes a second, rate of the loading threads, that rate by p99 and by p99.9, share of slow writes."""

    writes: float
    sent: float
    by_p99: float
    by_p999: float
    slow_share: float
    parts: tuple[float, float, float] | None


def parts(p50_us: float, mean_us: float, full_us: float) -> tuple[float, float, float] | None:
    """Shares of writes while no place is taken, while places fill or empty evenly, and while all are taken.

    With all places taken a write takes `full_us`, while they fill any time up to that alike. Median and mean say both
    shares; None where the median is none of a time at which they fill.
    """
    at, mean = p50_us / full_us, mean_us / full_us
    if not FASTEST < at < 1 - FASTEST or abs(at - 1 / 2) < FASTEST:
        return None
    filling = (mean - 1 / 2) / (at - 1 / 2)
    fast = 1 / 2 - filling * at
    return fast, filling, 1 - fast - filling


def modes(drive: str) -> list[Mode]:
    """One row for each load of a drive of `measured.toml`, its saturated one last."""
    tables = tomllib.loads((HERE / "measured.toml").read_text(encoding="utf-8"))
    table = tables["latency_under_load"][drive]
    found = []
    for writes, reads, read_p50, _, _, _, write_p50, p99, p999, mean in [*table["points"], table["saturated"]]:
        by_p99, by_p999 = (PLACES / ((WRITE_SHARE * one + (1 - WRITE_SHARE) * read_p50) * US) for one in (p99, p999))
        fast = min(write_p50, table["points"][0][6])
        slow = (mean - fast) / (p99 - fast) if p99 > SLOW * fast else 0.0
        sent = writes + reads - MEASURED_RATE
        split = parts(write_p50, mean, PLACES / sent / US)
        found.append(Mode(writes, sent, by_p99, by_p999, slow, split))
    return found


def main(drive: str) -> None:
    """Prints the table."""
    print("| writes/s | sent by the loading threads | by p99 | by p99.9 | slow writes | fast, filling, full |")
    print("|---|---|---|---|---|---|")
    for one in modes(drive):
        ratios = [rate / one.sent for rate in (one.by_p99, one.by_p999)]
        cells = " | ".join(f"{ratio:.2f}" if ratio < MAX_RATIO else "-" for ratio in ratios)
        split = "-" if one.parts is None else ", ".join(f"{share:.0%}" for share in one.parts)
        print(f"| {one.writes:,.0f} | {one.sent:,.0f} | {cells} | {one.slow_share:.0%} | {split} |")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "7450-max")
