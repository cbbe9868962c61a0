"""One backend for all experiments: runs of the next begin while the last of one go on, and none is run twice."""

from collections.abc import Sequence
from typing import Any

import pytest

from flashweir.reproduction.pool import Pool, longest_first
from flashweir.sweeps.backend import Outcome
from flashweir.sweeps.points import Planned, Run


def planned(key: str, pages: int | None = 1, point: int = 0) -> Planned:
    return Planned(Run(point, 1, "w", {}, {}), key, {"pages": pages}, {})


class Steps:
    """A backend of two threads: each call of `collect` ends the run that was submitted first."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self._running: list[Planned] = []
        self.closed = 0

    @property
    def room(self) -> int:
        return 2 - len(self._running)

    def submit(self, runs: Sequence[Planned]) -> None:
        assert len(runs) <= self.room
        self.begun += [one.key for one in runs]
        self._running += runs

    def collect(self, timeout_s: float) -> list[Outcome]:  # noqa: ARG002 - its steps take no time
        return [Outcome(self._running.pop(0), "{}", None)] if self._running else []

    def close(self) -> None:
        self.closed += 1


def drained(pool: Pool, runs: Sequence[Planned]) -> list[Outcome]:
    """Outcomes of a sweep that asks for these runs."""
    backend = pool.for_a_sweep()
    backend.submit(runs)
    found: list[Outcome] = []
    while len(found) < len(runs):
        found += backend.collect(0.1)
    backend.close()
    return found


def test_the_next_experiment_begins_while_the_last_run_of_one_goes_on() -> None:
    steps = Steps()
    first = [planned("a", 1), planned("b", 3), planned("c", 2)]
    second = [planned("d", 1), planned("e", 4)]
    pool = Pool(lambda: steps, [first, second])
    assert {one.planned.key for one in drained(pool, first)} == {"a", "b", "c"}
    # The longest first; the second experiment's longest runs beside the last of the first one.
    assert steps.begun == ["b", "c", "a", "e", "d"]
    assert steps.closed == 0
    assert {one.planned.key for one in drained(pool, second)} == {"d", "e"}
    assert steps.begun == ["b", "c", "a", "e", "d"]
    pool.close()
    assert steps.closed == 1


def test_a_run_of_two_places_is_run_once_and_each_gets_its_outcome() -> None:
    steps = Steps()
    runs = [planned("a", point=0), planned("a", point=1), planned("b", point=2)]
    found = drained(Pool(lambda: steps, [runs]), runs)
    assert steps.begun == ["a", "b"]
    assert sorted(one.planned.run.point for one in found) == [0, 1, 2]


def test_runs_that_are_there_are_not_begun_unless_asked_for() -> None:
    steps = Steps()
    runs = [planned("a"), planned("b")]
    pool = Pool(lambda: steps, [runs], ready={"a"})
    assert [one.planned.key for one in drained(pool, runs[1:])] == ["b"]
    assert steps.begun == ["b"]
    # A directory that turns out to be of another sweep, and a trace that has changed since.
    assert [one.planned.key for one in drained(pool, [planned("a"), planned("x")])] == ["x", "a"]


def test_without_runs_no_backend_is_made() -> None:
    def none() -> Any:
        pytest.fail("made a backend")

    pool = Pool(none, [[planned("a")]], ready={"a"})
    assert pool.for_a_sweep().collect(0) == []
    pool.close()


def test_runs_of_traces_keep_their_order() -> None:
    runs = [planned("t", None), planned("a", 1), planned("u", None), planned("b", 2)]
    assert [one.key for one in longest_first(runs)] == ["b", "a", "t", "u"]
