"""Points of a day in bounded memory: rings of several resolutions, filled side by side."""

from collections import deque
from typing import Any, NamedTuple

from flashweir.dashboard.samples import Sample, curves, point


class Resolution(NamedTuple):
    """Seconds of wall time between two points, and the points that are kept."""

    every_s: float
    points: int


# A second for 10 minutes, 10 s for 2 hours, a minute for 24 hours.
RESOLUTIONS = (Resolution(1, 600), Resolution(10, 720), Resolution(60, 1440))


class Ring:
    """Points of one resolution, the oldest dropped. Each has a number, counted from 0."""

    def __init__(self, resolution: Resolution) -> None:
        self._every_s = resolution.every_s
        self._points: deque[dict[str, Any]] = deque(maxlen=resolution.points)
        self._next = 0
        self._begin: tuple[float, dict[str, Any]] | None = None

    def add(self, wall_s: float, sample: dict[str, Any]) -> None:
        """Takes a sample that `curves` made. A span in which simulated time stood still has no point."""
        if self._begin is None or sample["time_s"] < self._begin[1]["time_s"]:
            self._begin = wall_s, sample
        if wall_s - self._begin[0] < self._every_s:
            return
        if sample["time_s"] > self._begin[1]["time_s"]:
            self._points.append({"number": self._next, **point(self._begin[1], sample)})
            self._next += 1
        self._begin = wall_s, sample

    def since(self, number: int) -> list[dict[str, Any]]:
        """Points from a number on."""
        first = self._next - len(self._points)
        return list(self._points)[max(0, number - first) :]

    def __len__(self) -> int:
        return len(self._points)


class History:
    """Points at all resolutions."""

    def __init__(self) -> None:
        self.rings = [Ring(resolution) for resolution in RESOLUTIONS]

    def add(self, wall_s: float, sample: Sample) -> None:
        """Takes a sample at a wall time, seconds; times must not go back."""
        kept = curves(sample)
        for ring in self.rings:
            ring.add(wall_s, kept)
