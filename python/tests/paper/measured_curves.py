"""Committed curves of the experiments at the quick size: what checks and their wrong twins are tried on.

`python python/tests/paper/measured_curves.py DIR` writes them anew from the runs of
`flashweir reproduce --quick -o DIR`.
"""

import json
import sys
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from flashweir.reproduction import catalogue, character
from flashweir.reproduction.curves import Combination, Curve, Mean, Pick
from flashweir.reproduction.running import Measured
from flashweir.sweeps.frame import read

FOLDER = Path(__file__).parent / "curves"
_DIGITS = 6
# Of the lists of all channels over time every eighth bin is kept.
_STEP = 8


def path_of(paper: catalogue.Paper, experiment: catalogue.Experiment) -> Path:
    return FOLDER / paper.folder.name / f"{experiment.name}.json"


def picks(experiment: catalogue.Experiment) -> dict[str, Pick]:
    """Curves that a check or its twin needs, those that others are worked out of included."""
    return {
        name: one for name, one in experiment.curves.items() if isinstance(one, Pick) and name in needed(experiment)
    }


def needed(experiment: catalogue.Experiment) -> set[str]:
    """Curves of checks and twins, with those they are worked out of."""
    found: set[str] = set()
    for value in experiment.values:
        if value.judged or value.twin:
            found |= {value.of, *(value.twin.names() if value.twin else ())}
    for claim in experiment.claims:
        for part in claim.parts:
            found |= {part.of, *([part.than] if part.than else []), *(part.twin.names() if part.twin else ())}
    return _with_sources(experiment, found)


def _with_sources(experiment: catalogue.Experiment, names: Iterable[str]) -> set[str]:
    found = set(names)
    for name, one in reversed(experiment.curves.items()):
        if name in found:
            found |= set(one.expression.names()) if isinstance(one, Combination) else set()
            found |= {one.of} if isinstance(one, Mean) else set()
    return found


def of_runs(experiment: catalogue.Experiment, folder: Path) -> dict[str, list[Curve]]:
    """Curves of the runs in the folder of an experiment."""
    if experiment.characterized:
        rows = list(character.rows(experiment.characterized))
        return {name: pick.family(rows, lambda _: {}) for name, pick in picks(experiment).items()}
    measured = Measured.of_sweep(experiment, read(folder))
    families = {
        name: pick.family(measured.rows, measured.result_of, measured.axes) for name, pick in picks(experiment).items()
    }
    return {
        name: [replace(one, names=one.names[::_STEP], y=one.y[::_STEP]) for one in family]
        if "*" in picks(experiment)[name].points
        else family
        for name, family in families.items()
    }


def save(experiment: catalogue.Experiment, families: Mapping[str, list[Curve]], path: Path) -> None:
    by_runs = _with_sources(
        experiment, [value.of for value in experiment.values if value.quantiles is not None and value.judged]
    )
    lines = [
        f"{json.dumps(name)}: {json.dumps([_table(curve, runs=name in by_runs) for curve in family])}"
        for name, family in families.items()
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def _table(curve: Curve, *, runs: bool) -> dict[str, Any]:
    table = {"of": dict(curve.of), "names": list(curve.names), "y": [_rounded(value) for value in curve.y]}
    kept = {"runs": [[_rounded(value) for value in one.values()] for one in curve.runs]} if runs and curve.runs else {}
    return {**table, **kept, **({"missing": curve.missing} if curve.missing else {})}


def _rounded(value: float) -> float:
    return float(f"{value:.{_DIGITS}g}")


def load(path: Path) -> dict[str, list[Curve]]:
    tables = json.loads(path.read_text(encoding="utf-8"))
    return {name: [_curve(table) for table in family] for name, family in tables.items()}


def _curve(table: Mapping[str, Any]) -> Curve:
    runs = tuple({(str(at),): value for at, value in enumerate(values)} for values in table.get("runs", []))
    return Curve(table["of"], tuple(table["names"]), tuple(table["y"]), table.get("missing", 0), runs)


def main(directory: Path) -> None:
    for paper in catalogue.papers():
        for experiment in paper.experiments:
            folder = directory / paper.folder.name / f"{experiment.name}-quick"
            if folder.exists() or experiment.characterized:
                save(experiment, of_runs(experiment, folder), path_of(paper, experiment))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
