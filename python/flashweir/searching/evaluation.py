"""Evaluation of designs: what their keys say, and what their runs and lives give."""

import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, NoReturn

from flashweir._native import ConfigError, FlashweirError
from flashweir.arguments import SET
from flashweir.quantity import number_of
from flashweir.searching.costs import costs
from flashweir.searching.lives import Lives
from flashweir.searching.runs import Row, Runs
from flashweir.searching.sampler import Known, Ranks, Seen
from flashweir.searching.spec import LIFE, SearchSpec
from flashweir.settings import flat
from flashweir.sweeps.axes import Label
from flashweir.sweeps.numbers import STREAMS, number_of_stream
from flashweir.sweeps.points import Planned, point_of, runs_at

_NO_VALUE = "has no value"


@dataclass(frozen=True)
class Design:
    """A design that ran.

    Attributes:
        order: the first is 1.
        ranks: its place in the grid.
        labels: the setting of each axis.
        goals: their values by name; none if it failed.
        values: numbers that goals and constraints take, and further metrics, means over workloads.
        missed: constraints that do not hold.
        error: why it failed.
        config: the whole drive, for its device file.
    """

    order: int
    ranks: Ranks
    labels: Mapping[str, Label]
    goals: Mapping[str, float]
    values: Mapping[str, float | None]
    misses: tuple[float, ...]
    missed: Sequence[str]
    error: str | None
    config: Mapping[str, Any] = field(repr=False)

    @property
    def feasible(self) -> bool:
        """True if it ran and all constraints hold."""
        return self.error is None and not self.missed


class Evaluator:
    """Evaluates designs of a spec by runs in a directory."""

    def __init__(self, spec: SearchSpec, runs: Runs, lives: Lives) -> None:
        """An evaluator that has evaluated nothing."""
        self.spec, self._runs, self._lives = spec, runs, lives
        self.refused: Counter[str] = Counter()
        self.excluded = 0
        self._known: dict[Ranks, Known] = {}
        names = [name for goal in spec.goals for name in goal.expression.names()]
        names += [name for one in spec.constraints for name in one.names()]
        self._used = list(dict.fromkeys(names))
        self.shown = list(dict.fromkeys([*self._used, *spec.sweep.derived, *spec.sweep.metrics,
                                         *(["cost.total_usd"] if spec.prices else [])]))  # fmt: skip
        self._before = [one for one in spec.constraints if spec.is_known(one.names())]
        self._simulated = [one for one in spec.constraints if not spec.is_known(one.names())]

    @property
    def workloads(self) -> list[dict[str, Any]]:
        """Workloads of the runs with the reports of their reading."""
        return [one for group in self._runs.traces.values() for one in group]

    def known(self, ranks: Ranks) -> Known:
        """The verdict of the keys: refused drives, and those that miss a constraint over keys, may not run."""
        if ranks not in self._known:
            self._known[ranks] = self._find(ranks)
        return self._known[ranks]

    def _find(self, ranks: Ranks) -> Known:
        spec = self.spec
        nothing = tuple(None for _ in spec.goals)
        by_workload = []
        # Workloads have the same drive, but for settings of their own.
        for name in list(spec.sweep.workloads)[: None if spec.sweep.set_for else 1]:
            run = next(runs_at(spec.sweep, point_of(spec.sweep, name, ranks)))
            try:
                by_workload.append(self._of_keys(self._runs.planner.plan(run), spec.labels(ranks)))
            except FlashweirError as error:
                self.refused[" ".join(str(error).removeprefix(SET).split())] += 1
                return Known(may_run=False, goals=nothing)
        for one in self._before:
            misses = [one.miss(columns) for columns in by_workload]
            if any(miss is None or miss > 0 for miss in misses):
                self.excluded += 1
                return Known(may_run=False, goals=nothing)
        goals: list[float | None] = []
        for goal in spec.goals:
            values = [goal.expression.value(columns) if spec.is_known(goal.expression.names()) else None
                      for columns in by_workload]  # fmt: skip
            there = [value for value in values if value is not None]
            goals.append(goal.of(there) if len(there) == len(values) else None)
        return Known(may_run=True, goals=tuple(goals))

    def _of_keys(self, planned: Planned, labels: Mapping[str, Label]) -> dict[str, float | None]:
        """Numbers by the names of keys, axes and costs."""
        config = flat(planned.plan["config"])
        keys = {name: number_of(config[name]) for name in self.shown if name in config}
        axes = {name: number_of(label) for name, label in labels.items()}
        found = costs(planned.plan, planned.run.spec, self.spec.prices)
        return {**keys, **axes, **found}

    def seen(self, design: Design) -> Seen:
        """A design as the sampler sees it."""
        goals = tuple(design.goals[goal.name] for goal in self.spec.goals) if design.error is None else None
        return Seen(design.ranks, goals, design.misses, design.feasible)

    def evaluate(self, designs: Sequence[Ranks], first: int, progress: Callable[[int, int], None]) -> list[Design]:
        """Runs designs, with all workloads and seeds; the first of them has the order `first`."""
        spec = self.spec.sweep
        runs = [[list(runs_at(spec, point_of(spec, name, ranks))) for name in spec.workloads] for ranks in designs]
        done = iter(self._runs.rows([run for one in runs for seeds in one for run in seeds], progress))
        rows = [[[next(done) for _ in seeds] for seeds in one] for one in runs]
        lives = self._lives_of(rows)
        return [
            self._design(first + at, ranks, rows[at], lives[at] if lives else None) for at, ranks in enumerate(designs)
        ]

    def _lives_of(self, rows: "Sequence[Designs]") -> list[list[dict[str, float] | str]]:
        """The life of each design under each workload, with its first seed; a text says why there is none."""
        if not self.spec.needs_life:
            return []
        stop = threading.Event()
        with ThreadPoolExecutor(self._lives.threads) as pool:
            pending = [[pool.submit(self._life, one[0], stop) for one in design] for design in rows]
            try:
                return [[life.result() for life in design] for design in pending]
            except BaseException:
                stop.set()
                pool.shutdown(cancel_futures=True)
                raise

    def _life(self, one: tuple[Row, Planned | None], stop: threading.Event) -> dict[str, float] | str:
        row, planned = one
        if row["error"] is not None or planned is None:
            return str(row["error"])
        found = costs(planned.plan, planned.run.spec, self.spec.prices)
        return self._lives.life(planned, found.get("cost.total_usd"), stop)

    def _design(self, order: int, ranks: Ranks, rows: "Designs", lives: list[dict[str, float] | str] | None) -> Design:
        labels = self.spec.labels(ranks)
        planned = next((plan for seeds in rows for _, plan in seeds if plan is not None), None)
        config = planned.plan["config"] if planned is not None else {}
        error = next((row["error"] for seeds in rows for row, _ in seeds if row["error"] is not None), None)
        error = error or next((f"life: {life}" for life in lives or [] if isinstance(life, str)), None)
        none = Design(order, ranks, labels, {}, {}, (), (), error, config)
        if error is not None:
            return none
        columns = [
            self._columns(seeds, labels, life if isinstance(life, dict) else {})
            for seeds, life in zip(rows, lives or [{}] * len(rows), strict=True)
        ]
        goals: dict[str, float] = {}
        misses: dict[str, float] = {}
        for goal in self.spec.goals:
            values = [goal.expression.value(one) for one in columns]
            there = [value for value in values if value is not None]
            if len(there) < len(values):
                return Design(order, ranks, labels, {}, {}, (), (), f"{goal.name} {_NO_VALUE}", config)
            goals[goal.name] = goal.of(there)
        for one in self.spec.constraints:
            missed = [one.miss(column) for column in columns]
            known = [miss for miss in missed if miss is not None]
            if len(known) < len(missed):
                return Design(order, ranks, labels, {}, {}, (), (), f"{one.text}: {_NO_VALUE}", config)
            misses[one.text] = max(known)
        return Design(
            order,
            ranks,
            labels,
            goals,
            {name: _mean([column.get(name) for column in columns]) for name in self.shown},
            tuple(misses[one.text] for one in self._simulated),
            [text for text, miss in misses.items() if miss > 0],
            None,
            config,
        )

    def _columns(
        self, seeds: "Sequence[tuple[Row, Planned | None]]", labels: Mapping[str, Label], life: Mapping[str, float]
    ) -> dict[str, float | None]:
        """Numbers of one workload by name, means over its seeds."""
        found: dict[str, float | None] = {}
        planned = seeds[0][1]
        if planned is not None:
            found |= self._of_keys(planned, labels)
        for name in self.shown:
            if name in LIFE:
                found[name] = life.get(name)
            elif name not in self.spec.known:
                found[name] = _mean([_metric(row, name) for row, _ in seeds])
        return found


Designs = Sequence[Sequence[tuple[Row, Planned | None]]]


def _metric(row: Row, name: str) -> float | None:
    """A number of a row; of a stream, of its result."""
    if name in row:
        value = row[name]
        return float(value) if isinstance(value, int | float) else None
    if name.startswith(STREAMS):
        import json

        return number_of_stream(json.loads(row["result"]), name)
    return None


def _mean(values: Sequence[float | None]) -> float | None:
    there = [value for value in values if value is not None]
    return sum(there) / len(there) if len(there) == len(values) and there else None


def refuse_all(evaluator: Evaluator) -> NoReturn:
    """Says why no design may run.

    Raises:
        ConfigError: always.
    """
    reasons = [f"{count:,} are refused: {reason}" for reason, count in evaluator.refused.most_common(1)]
    if evaluator.excluded:
        reasons.append(f"{evaluator.excluded:,} miss a constraint over keys or costs")
    raise ConfigError(f"axes: no design may run: of those tried, {' and '.join(reasons) or 'none is there'}")
