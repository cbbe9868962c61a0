"""Reproductions: published values and claims beside measured ones.

`catalogue` reads what papers say and which runs show it, `running` runs them with the one runner of sweeps on one
backend (`pool`), `curves` picks what was measured, `shapes` and `shapes_over_time` are the checks, `verdicts` the
rows, `showing` the tables. `twins` are wrong measurements that checks have to reject, `coverage` lists figures and
claims with their checks.
"""

import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flashweir.arguments import in_python
from flashweir.options import many, pages
from flashweir.options.option import checked, declared
from flashweir.reproduction import catalogue, shipped
from flashweir.sweeps.recorded import TracesMissingError

if TYPE_CHECKING:
    from flashweir.charts.model import Chart
    from flashweir.reproduction import coverage
    from flashweir.reproduction.running import Measured
    from flashweir.sweeps.runner import Progress

AnyPath = str | os.PathLike[str]


@dataclass
class Reproduction:
    """Outcome for a paper: a row a published value, a row a claim, and the figures of each experiment."""

    paper: catalogue.Paper
    quick: bool
    rows: list[dict[str, Any]] = field(default_factory=list)
    shapes: list[dict[str, Any]] = field(default_factory=list)
    figures: "list[tuple[catalogue.Experiment, list[Chart]]]" = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    traces: list[tuple[str, Mapping[str, Any] | None]] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """The result as JSON has it (docs/reference/cli.md)."""
        note = {"note": self.paper.note} if self.paper.note else {}
        skipped = {"skipped": self.skipped} if self.skipped else {}
        found = {"paper": self.paper.name, "quick": self.quick, **note, **skipped}
        return {**found, "rows": self.rows, "shapes": self.shapes}

    def add(self, measured: "Measured") -> None:
        """Holds the runs of an experiment against what the paper says of it."""
        from flashweir.reproduction import curves, showing, verdicts

        experiment = measured.experiment
        families = curves.measured(experiment.curves, measured.rows, measured.result_of, measured.axes)
        runs = len(measured.rows)
        failed = f"{len(measured.failed)} of {runs} runs failed: {measured.failed[0]}" if measured.failed else ""
        self.rows += [verdicts.row(one, families, quick=self.quick, failed=failed) for one in experiment.values]
        self.shapes += [verdicts.shape(one, families, quick=self.quick, failed=failed) for one in experiment.claims]
        self.figures.append((experiment, showing.charts(experiment, families)))
        self.traces += measured.traces
        self.failed += [f"{experiment.name}: {error}" for error in measured.failed]


@declared
@in_python
def reproduce(
    paper: str | None = None,
    *,
    figure: pages.Figure = None,
    quick: pages.Quick = False,
    directory: pages.Runs = None,
    experiments: pages.Experiments = None,
    traces: pages.RecordedTraces = None,
    threads: many.Threads = None,
    progress: "Progress | None" = None,
) -> list[Reproduction]:
    """Runs the experiments of a paper, or of all, and holds the results against what is published.

    Args:
        paper: its name; all papers if not given.
        progress: is called with a `State` as results come in; returning False stops.

    Returns:
        One reproduction a paper. An experiment whose traces are not there is `skipped`, and the others are run.

    Raises:
        ConfigError: there is no such paper or figure, or an experiment is not what it should be.
        FlashweirError: `progress` stopped it.
        TracesMissingError: no experiment has the traces that it needs.
    """
    from flashweir._native import ConfigError

    checked(reproduce, locals())
    if not isinstance(paper, str | None):
        raise ConfigError(f"paper: {paper!r}: expected the name of a paper, as a text")
    with ExitStack() as stack:
        if traces is not None:
            if experiments is not None:
                raise ConfigError("--traces: expected the experiments that ship: those of --experiments name their own")
            experiments = stack.enter_context(shipped.with_traces(Path(traces)))
        return _reproduced(choose(paper, figure, experiments), quick, directory, threads, progress)


def covered(paper: str | None = None, *, experiments: AnyPath | None = None) -> "list[coverage.Row]":
    """Figures, tables and claims of a paper, or of all, each with its check or the reason why it has none.

    Runs nothing.

    Args:
        paper: its name; all papers if not given.
        experiments: a folder of experiments; those that ship if not given.

    Raises:
        ConfigError: there is no such paper, or it has no list of figures, tables and claims.
    """
    from flashweir.reproduction import coverage

    return coverage.of([one for one, _ in choose(paper, None, experiments)])


def _reproduced(
    chosen: Sequence[tuple[catalogue.Paper, Sequence[catalogue.Experiment]]],
    quick: bool,
    directory: AnyPath | None,
    threads: int | None,
    progress: "Progress | None",
) -> list[Reproduction]:
    from flashweir.reproduction import running
    from flashweir.sweeps import backend_for

    wanted = [experiment for _, parts in chosen for experiment in parts]
    if wanted and all(one.lacks for one in wanted):
        raise TracesMissingError(wanted[0].lacks)
    folder = Path(tempfile.mkdtemp(prefix="flashweir-reproduce-")) if directory is None else Path(directory)
    found = {
        one.name: Reproduction(one, quick, skipped=[part.lacks for part in parts if part.lacks])
        for one, parts in chosen
    }
    whose = {experiment.folder: one.name for one, parts in chosen for experiment in parts}

    def add(measured: "Measured") -> None:
        found[whose[measured.experiment.folder]].add(measured)

    try:
        running.run(
            [experiment for experiment in wanted if not experiment.lacks],
            folder,
            backend_for("local", threads=threads),
            quick=quick,
            progress=progress,
            done=add,
        )
    finally:
        if directory is None:
            shutil.rmtree(folder, ignore_errors=True)
    return list(found.values())


def choose(
    paper: str | None, figure: str | int | None, experiments: AnyPath | None = None
) -> list[tuple[catalogue.Paper, Sequence[catalogue.Experiment]]]:
    """The papers and, of each, the experiments that are meant.

    Raises:
        ConfigError: there is no such paper or figure, or a figure is given without a paper.
    """
    from flashweir._native import ConfigError

    known = catalogue.papers(None if experiments is None else Path(experiments))
    if figure is not None and paper is None:
        raise ConfigError(
            f"--figure {figure}: expected the paper that it is in: {', '.join(one.name for one in known)}"
        )
    wanted = known if paper is None else [catalogue.named(paper, known)]
    return [(one, one.experiments if figure is None else one.of_figure(str(figure))) for one in wanted]
