"""Quality of the detectors: precision and recall of each symptom over drives with known faults."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from research.diagnosis.bench import Case
from research.diagnosis.drives import SYMPTOMS

_Z = 1.959963984540054
"""Of 95 %."""


@dataclass(frozen=True)
class Share:
    """So many of so many, with the ends of Wilson's 95% interval (Wilson 1927)."""

    part: int
    whole: int

    @property
    def value(self) -> float:
        """The share; NaN of none."""
        return self.part / self.whole if self.whole else math.nan

    @property
    def interval(self) -> tuple[float, float]:
        """The ends, 0 and 1 of none."""
        if not self.whole:
            return 0.0, 1.0
        share, square = self.part / self.whole, _Z * _Z / self.whole
        middle = (share + square / 2) / (1 + square)
        half = _Z * math.sqrt(share * (1 - share) / self.whole + square / (4 * self.whole)) / (1 + square)
        return max(0.0, middle - half), min(1.0, middle + half)

    def __str__(self) -> str:
        low, high = self.interval
        return f"{self.value:.3f} [{low:.3f}, {high:.3f}] ({self.part} of {self.whole})"


@dataclass(frozen=True)
class Score:
    """Of those said to be ill how many are (precision), and of the ill how many are said to be (recall)."""

    name: str
    precision: Share
    recall: Share


def scores(cases: Iterable[Case], alone: bool = False) -> list[Score]:
    """The three symptoms, then health: no symptom shown, and none there. `alone`: what is said without a capacity."""
    pairs = [
        (
            case.ill,
            frozenset(
                finding["symptom"] for finding in (case.alone if alone else case.said)["symptoms"] if finding["shown"]
            ),
        )
        for case in cases
    ]
    found = [_score(name, [(name in ill, name in shown) for ill, shown in pairs]) for name in SYMPTOMS]
    return [*found, _score("healthy", [(not ill, not shown) for ill, shown in pairs])]


def _score(name: str, pairs: Sequence[tuple[bool, bool]]) -> Score:
    right = sum(there and said for there, said in pairs)
    return Score(name, Share(right, sum(said for _, said in pairs)), Share(right, sum(there for there, _ in pairs)))
