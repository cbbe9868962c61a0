"""The experiments that ship: complete, runnable as sweeps by themselves, and about values that these sweeps have."""

from collections.abc import Iterator
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT

from flashweir.reproduction import catalogue, curves
from flashweir.reproduction.curves import Pick
from flashweir.sweeps.points import Planner, count_points, runs
from flashweir.sweeps.spec import SweepSpec, known_columns, load

PAPERS = catalogue.papers()
EXPERIMENTS = [experiment for paper in PAPERS for experiment in paper.experiments]
SWEPT = [experiment for experiment in EXPERIMENTS if not experiment.characterized]
BOTH = list(product(SWEPT, (False, True)))
LISTS: dict[str, Any] = {
    "collections": {"per_bin": 2, "max": [1, 2], "mean": [1.0, 2.0]},
    "activity": {
        "from_s": 0.0,
        "bin_s": 1.0,
        "channels": [{key: [1.0, 2.0] for key in ("dirty_pages", "gc", "waiting")}] * 2,
    },
    "allocation": {
        "levels": [
            {"level": level, "windows": 1, "write_channel_share": 0.5, "write_share": 0.5} for level in (1, 2, 20)
        ],
    },
}


def name_of(value: object) -> str:
    return value.name if isinstance(value, catalogue.Experiment) else "quick" if value is True else "full"


@cache
def spec_of(path: Path) -> SweepSpec:
    return load(path)


def rows_of(spec: SweepSpec) -> Iterator[dict[str, Any]]:
    """A row a run, with a number in every column that a result has."""
    columns = [*known_columns(), *spec.derived]
    for place, run in enumerate(runs(spec)):
        # Different numbers, so that differences are not zero.
        numbers = {name: 1.0 + (place + 1) * rank for rank, name in enumerate(columns, 1)}
        yield {"error": None, **numbers, "workload": run.workload, **run.axes}


def test_folders_are_numbered_and_complete() -> None:
    folders = [path for path in (ROOT / "experiments").iterdir() if path.is_dir()]
    # Files belong to an experiment.
    assert [path.name for path in (ROOT / "experiments").iterdir() if path.is_file()] == ["README.md"]
    ours = [folder for folder in folders if not (folder / "paper.toml").exists()]
    assert sorted(set(folders) - set(ours)) == [ROOT / "experiments" / paper.folder.name for paper in PAPERS]
    # An experiment of no paper has its results beside it.
    assert all(folder.name[:2].isdecimal() and (folder / "README.md").exists() for folder in ours)
    numbers = sorted(folder.name[:3] for folder in folders)
    assert len(set(numbers)) == len(numbers), numbers
    for paper in PAPERS:
        assert paper.folder.name[:2].isdecimal()
        assert (paper.folder / "README.md").exists()
        parts = {path.name for path in paper.folder.iterdir() if path.is_dir()}
        assert parts == {experiment.name for experiment in paper.experiments}


@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=name_of)
def test_an_experiment_says_what_it_is(experiment: catalogue.Experiment) -> None:
    text = (experiment.folder / "README.md").read_text(encoding="utf-8")
    assert text.startswith("# ")
    for heading in ("## Command", "## Results", "## Limits"):
        assert heading in text, heading
    assert experiment.figures
    assert experiment.values or experiment.claims
    assert experiment.plots or not experiment.claims


@pytest.mark.parametrize(("experiment", "quick"), BOTH, ids=name_of)
def test_every_run_makes_a_drive(experiment: catalogue.Experiment, quick: bool) -> None:
    if experiment.lacks:
        pytest.skip(experiment.lacks)
    planner = Planner()
    for run in runs(spec_of(experiment.sweep(quick=quick))):
        planner.plan(run)


@pytest.mark.parametrize(("experiment", "quick"), BOTH, ids=name_of)
def test_curves_and_values_are_of_runs_that_there_are(experiment: catalogue.Experiment, quick: bool) -> None:
    spec = spec_of(experiment.sweep(quick=quick))
    axes = {axis.name for axis in spec.axes}
    for name, one in experiment.curves.items():
        if not isinstance(one, Pick):
            continue
        assert one.axes <= axes, name
        assert not one.y or one.y in (*known_columns(), *spec.derived), f"{name}: {one.y}"
    families = curves.measured(experiment.curves, list(rows_of(spec)), lambda _: LISTS)
    for name, family in families.items():
        assert family, name
        assert all(curve.names and not curve.missing for curve in family), name
    for value in experiment.values:
        assert curves.point(families[value.of], value.at) is not None, value.name
    for claim in experiment.claims:
        for part in claim.parts:
            known = {axis for curve in families[part.of] for axis in curve.of}
            assert set(part.at) <= known, part.says
    for value in (value for value in experiment.values if value.quantiles is not None):
        assert len(spec.seeds) >= 20, value.name
    for plot in experiment.plots:
        known = {axis for name in plot.curves for curve in families[name] for axis in curve.of}
        assert set(plot.at) <= known, plot.name


def test_names_of_values_are_quantity_at_parameter() -> None:
    names = [value.name for experiment in EXPERIMENTS for value in experiment.values]
    assert len(set(names)) == len(names)
    assert all(name.count("@") == 1 for name in names)


def test_quick_is_far_smaller() -> None:
    """Fewer runs, and each on a drive of at most a sixteenth."""
    counts = {quick: sum(count_points(spec_of(e.sweep(quick=quick))) for e in SWEPT) for quick in (False, True)}
    assert counts[True] < counts[False]
