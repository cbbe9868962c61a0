"""Where runs are run: the one interface that the local threads and a cluster share."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from flashweir.sweeps.points import Planned


class Outcome(NamedTuple):
    """A run that ended: its result as JSON text, or why there is none."""

    planned: Planned
    result: str | None
    error: str | None


class Backend(Protocol):
    """Takes runs and gives outcomes, in any order, each exactly once. Called from one thread."""

    @property
    def room(self) -> int:
        """Number of further runs that it can take now, so that it is never idle and never holds the whole grid."""

    def submit(self, runs: Sequence[Planned]) -> None:
        """Takes runs; does not wait for them."""

    def collect(self, timeout_s: float) -> list[Outcome]:
        """Runs that ended since the last call; waits for the first of them, but not beyond `timeout_s`."""

    def close(self) -> None:
        """Stops what still runs, without outcomes, and lets go of everything."""
