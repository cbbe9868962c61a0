"""One backend for the sweeps of all experiments, which are run one after the other.

The longest runs of an experiment start first, and while its last ones still run, those of the next begin: no core waits
for the end of an experiment.
"""

from collections import deque
from collections.abc import Collection, Iterable, Sequence

from flashweir.sweeps.backend import Backend, Outcome
from flashweir.sweeps.points import Planned
from flashweir.sweeps.runner import MakeBackend

# Sweeps hand over all their runs: this class decides when each starts.
_ROOM = 1_000_000


class Pool:
    """A backend whose runs are known in advance: it goes on with those that no sweep has asked for yet."""

    def __init__(
        self, make: MakeBackend, experiments: Iterable[Sequence[Planned]], ready: Collection[str] = ()
    ) -> None:
        """Starts nothing yet.

        Args:
            make: makes what runs the runs, when the first is asked for.
            experiments: runs of each, in the order in which they will be asked for.
            ready: keys of runs that have results and won't be asked for.
        """
        self._make = make
        self._backend: Backend | None = None
        self._queue: deque[Planned] = deque()
        # By key: runs that are queued or run, results that no sweep has asked for yet, and runs that sweeps wait for.
        self._known: set[str] = set(ready)
        self._early: dict[str, Outcome] = {}
        self._wanted: dict[str, list[Planned]] = {}
        self._given: list[Outcome] = []
        for runs in experiments:
            for planned in longest_first(runs):
                if planned.key not in self._known:
                    self._known.add(planned.key)
                    self._queue.append(planned)
        self._known -= set(ready)

    def for_a_sweep(self) -> Backend:
        """The pool as the backend of the next sweep, which may close it: that stops nothing."""
        return _OfSweep(self)

    def submit(self, runs: Sequence[Planned]) -> None:
        """Takes what a sweep asks for: with its result already, running, in the queue, or new."""
        for planned in runs:
            early = self._early.pop(planned.key, None)
            if early is not None:
                self._known.discard(planned.key)
                self._given.append(early._replace(planned=planned))
                continue
            self._wanted.setdefault(planned.key, []).append(planned)
            if planned.key not in self._known:
                self._known.add(planned.key)
                self._queue.appendleft(planned)

    def collect(self, timeout_s: float) -> list[Outcome]:
        """Outcomes of what was asked for; waits for at most `timeout_s`."""
        self._start()
        if self._backend is not None:
            for outcome in self._backend.collect(0 if self._given else timeout_s):
                self._take(outcome)
            self._start()
        given, self._given = self._given, []
        return given

    def close(self) -> None:
        """Stops what runs."""
        if self._backend is not None:
            self._backend.close()

    def _start(self) -> None:
        if self._backend is None and self._queue:
            self._backend = self._make()
        if self._backend is None:
            return
        room = min(self._backend.room, len(self._queue))
        if room > 0:
            self._backend.submit([self._queue.popleft() for _ in range(room)])

    def _take(self, outcome: Outcome) -> None:
        key = outcome.planned.key
        if key in self._wanted:
            self._known.discard(key)
            self._given += [outcome._replace(planned=planned) for planned in self._wanted.pop(key)]
        else:
            self._early[key] = outcome


class _OfSweep:
    """The pool, with room for a whole sweep, and not closed with it."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self.room = _ROOM
        self.submit, self.collect = pool.submit, pool.collect

    def close(self) -> None:
        """Does nothing: what the next sweep will ask for goes on."""


def longest_first(runs: Iterable[Planned]) -> list[Planned]:
    """Runs by the pages that their workloads write and read, most first; those of traces keep their order."""
    return sorted(runs, key=lambda planned: -(planned.plan["pages"] or 0))
