"""Drives that a page shows: one that is served, and a run that was recorded."""

import json
import threading
import time
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

from flashweir._native import ConfigError, FlashweirError
from flashweir.dashboard.history import RESOLUTIONS, History
from flashweir.dashboard.samples import Carried, Sample, frame, point

# Between two samples of a live drive, seconds.
SAMPLE_S = 0.5
# Commands that the page may send.
COMMANDS = ("pause", "resume", "power-cut", "fork")

Control = Callable[[str, Mapping[str, object]], dict[str, Any]]


class Source(Protocol):
    """A drive that a page shows."""

    title: str

    def about(self) -> dict[str, Any]:
        """Facts that do not change."""

    def state(self, query: Mapping[str, int]) -> dict[str, Any]:
        """The picture, and points of curves, that the page asks for."""

    def command(self, name: str, arguments: Mapping[str, object]) -> dict[str, Any]:
        """Executes a command."""

    def close(self) -> None:
        """Ends what the source has begun. Idempotent."""


class Live:
    """A drive that is served: sampled by a thread of its own until it is closed."""

    def __init__(self, title: str, control: Control) -> None:
        self.title = title
        self._control = control
        self._history = History()
        self._carried = Carried()
        self._last: Sample | None = None
        self._frame: dict[str, Any] | None = None
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="dashboard samples", daemon=True)
        self._thread.start()

    def about(self) -> dict[str, Any]:
        """Facts that do not change."""
        return {
            "kind": "live",
            "title": self.title,
            "sample_s": SAMPLE_S,
            "resolutions": [resolution._asdict() for resolution in RESOLUTIONS],
        }

    def state(self, query: Mapping[str, int]) -> dict[str, Any]:
        """The latest picture, and the points of ring `ring` from number `since` on."""
        with self._lock:
            rings = self._history.rings
            ring = rings[min(max(query.get("ring", 0), 0), len(rings) - 1)]
            return {"frame": self._frame, "points": ring.since(query.get("since", 0))}

    def command(self, name: str, arguments: Mapping[str, object]) -> dict[str, Any]:
        """Executes a command of the control socket, of those in `COMMANDS`.

        Raises:
            ConfigError: another command, or an argument that is none.
            FlashweirError: the drive refuses it.
        """
        if name not in COMMANDS:
            raise ConfigError(f"{name}: expected one of {', '.join(COMMANDS)}")
        return self._control(name, arguments)

    def close(self) -> None:
        """Ends the samples. Idempotent."""
        self._ended.set()
        self._thread.join()

    def take(self, wall_s: float, sample: Sample) -> None:
        """Takes a sample at a wall time, seconds."""
        with self._lock:
            self._history.add(wall_s, sample)
            if self._last is not None and sample["time_s"] > self._last["time_s"]:
                self._frame = frame(self._last, sample, self._carried)
                self._last = sample
            elif self._last is None or sample["time_s"] < self._last["time_s"]:
                self._last = sample
            if self._frame is not None:
                self._frame["served"] = sample.get("served")

    def _run(self) -> None:
        while not self._ended.wait(SAMPLE_S):
            try:
                self.take(time.monotonic(), self._control("sample", {}))
            except (FlashweirError, OSError):
                # The drive is ending: the page keeps its last picture.
                continue


class Recording:
    """Samples of a run that was recorded, a line of JSON each."""

    def __init__(self, title: str, path: Path, speed: float | None) -> None:
        """`speed`: simulated time over wall time; `None` plays the run in a minute."""
        self.title = title
        self._speed = speed
        self._frames: list[bytes] = []
        self._points: list[dict[str, Any]] = []
        previous: Sample | None = None
        carried = Carried()
        with path.open(encoding="utf-8") as lines:
            for line in lines:
                sample = json.loads(line)
                if previous is not None and sample["time_s"] > previous["time_s"]:
                    picture = frame(previous, sample, carried)
                    self._frames.append(zlib.compress(json.dumps(picture).encode()))
                    self._points.append({"number": len(self._points), **point(previous, sample)})
                if previous is None or sample["time_s"] > previous["time_s"]:
                    previous = sample
        if not self._frames:
            raise FlashweirError(f"{title}: no simulated time passes in it; expected a longer run")

    def about(self) -> dict[str, Any]:
        """Facts that do not change, and the points of all curves."""
        times = [one["time_s"] for one in self._points]
        return {
            "kind": "recorded",
            "title": self.title,
            "times_s": times,
            "speed": self._speed or max(times[-1] - times[0], 1e-9) / 60,
            "points": self._points,
        }

    def state(self, query: Mapping[str, int]) -> dict[str, Any]:
        """The picture number `at`."""
        at = min(max(query.get("at", 0), 0), len(self._frames) - 1)
        return {"frame": json.loads(zlib.decompress(self._frames[at])), "at": at}

    def command(self, name: str, arguments: Mapping[str, object]) -> dict[str, Any]:  # noqa: ARG002 - of the protocol
        """Refuses every command.

        Raises:
            ConfigError: always.
        """
        raise ConfigError(f"{name}: the run is over; expected a drive that is served")

    def close(self) -> None:
        """Does nothing: there is no thread."""
