"""True labels of a drive, found by running it beside variants of it that lack one illness.

`python -m research.models.processes.truth key=value ...` prints the labels of one drive.
"""

import json
import sys
from dataclasses import dataclass, replace

import numpy as np

from research.models.processes.drive import WRITE, ProcessDrive
from research.models.processes.settings import Settings

SYMPTOMS = ("mapping", "collection", "buffer")
MIN_SAVING = 0.2  # of the time of a write or of p99, from which on a part is bad
MIN_ABSORBED = 128 << 10  # bytes that a good buffer takes in
REQUEST_BYTES = 4096
WARM_UP = 3000  # writes after those that fill the buffer and the fast region
MEASURED = 8000
FULL_CYCLES = 2  # of a buffer that is emptied when full
SEED = 71


@dataclass(frozen=True)
class Truth:
    """Labels, and the shares that the better variants save; a saving of 0 was not run, as the part is the good one."""

    labels: dict[str, bool]
    savings: dict[str, float]

    def margin(self) -> float:
        """Distance of the closest saving from its limit."""
        return min(abs(value - MIN_SAVING) for value in self.savings.values())


def calm(settings: Settings) -> Settings:
    """The same drive without noise and stalls, used by random overwrites."""
    return replace(settings, noise=0.0, jitter=0.0, hiccup_s=0.0, state="used")


def with_page_map(settings: Settings) -> Settings:
    """The drive with a page map in RAM, of units not above a page."""
    return replace(settings, mapping="page", unit=min(settings.unit or settings.page, settings.page))


def write_randomly(settings: Settings, count: int, depth: int) -> np.ndarray:
    """Times of issue and completion (ns, two rows) of random writes over the whole drive, without those to warm it."""
    drive = ProcessDrive(**settings.texts())
    drive.depth = depth
    warm = WARM_UP + (settings.buffer + settings.slc) // REQUEST_BYTES
    offsets = np.random.default_rng(SEED).integers(0, settings.capacity // REQUEST_BYTES, warm + count)
    done = drive.submit(
        {
            "due_ns": np.full(len(offsets), -1, np.int64),
            "op": np.full(len(offsets), WRITE, np.uint8),
            "offset": offsets.astype(np.uint64) * REQUEST_BYTES,
            "length": np.full(len(offsets), REQUEST_BYTES, np.uint64),
        }
    )
    return np.stack([done["issue_ns"], done["complete_ns"]])[:, warm:]


def _savings(settings: Settings, variants: dict[str, Settings], depth: int) -> dict[str, float]:
    """Share of the time of a write, or of the p99 of latency if that is more, that each variant saves."""
    # A buffer that is emptied when full swings with its size; whole cycles are compared.
    count = max(MEASURED, FULL_CYCLES * settings.buffer // REQUEST_BYTES)
    worse = write_randomly(calm(settings), count, depth)
    found = {}
    for name, variant in variants.items():
        better = write_randomly(calm(variant), count, depth)
        found[name] = round(max(1 - measure(better) / max(1.0, measure(worse)) for measure in (_time, _p99)), 3)
    return found


def _time(times: np.ndarray) -> float:
    return float(times[1].max() - times[0].min())


def _p99(times: np.ndarray) -> float:
    return float(np.quantile(times[1] - times[0], 0.99))


def absorbs(settings: Settings) -> bool:
    """True if an idle drive takes 128 KiB of random writes in without a wait for flash."""
    drive = ProcessDrive(**replace(calm(settings), state="new").texts())
    drive.depth = count = MIN_ABSORBED // REQUEST_BYTES
    blocks = settings.capacity // REQUEST_BYTES
    offsets = np.random.default_rng(SEED).choice(blocks, count, replace=False)
    drive.submit(
        {
            "due_ns": np.zeros(count, np.int64),
            "op": np.full(count, WRITE, np.uint8),
            "offset": offsets.astype(np.uint64) * REQUEST_BYTES,
            "length": np.full(count, REQUEST_BYTES, np.uint64),
        }
    )
    return drive.buffer.waits == 0


def truth(settings: Settings, depth: int = 1) -> Truth:
    """Labels of a drive; True is bad. `depth` is the number of outstanding writes under which variants are compared."""
    variants = {}
    if with_page_map(settings).unit_bytes != settings.unit_bytes or settings.mapping != "page":
        variants["mapping"] = with_page_map(settings)
    if settings.victims != "greedy":
        variants["collection"] = replace(settings, victims="greedy")
    savings = {"mapping": 0.0, "collection": 0.0}
    if variants:
        savings |= _savings(settings, variants, depth)
    labels = {name: share >= MIN_SAVING for name, share in savings.items()}
    return Truth({**labels, "buffer": not absorbs(settings)}, savings)


def main(arguments: list[str]) -> int:
    """Prints labels and savings of one drive."""
    try:
        settings = Settings.parse(dict(argument.split("=", 1) for argument in arguments))
    except ValueError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    found = truth(settings)
    print(json.dumps({"labels": found.labels, "savings": found.savings}))
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
