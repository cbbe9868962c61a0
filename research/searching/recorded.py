"""Searches of the best combination of policies for each of some recorded traces."""

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import flashweir
from flashweir.searching.evaluation import Design
from flashweir.searching.outcome import Search

HERE = Path(__file__).parent
# A combination that nobody chose for a workload: the first value of each axis.
HEADER = (
    "| trace | IOPS | against the plain one | write amplification | against it | victim | batch | scheduler | buffer "
    "| classifier | placement |\n|---|---|---|---|---|---|---|---|---|---|---|"
)


def searches(budget: int) -> Iterator[tuple[str, Search, Design]]:
    """Name, search, and the plain combination of each trace, which has the first value of each axis."""
    given = tomllib.loads((HERE / "recorded.toml").read_text(encoding="utf-8"))
    spec: dict[str, Any] = given["spec"]
    folder = (HERE / spec.pop("traces")).resolve()
    for name in given["files"]:
        workload = {"workload": str(folder / f"{name}.zst"), "limit": given["requests"]}
        one = {**spec, "workloads": {name: {"requests": workload}}}
        plain = {**one, "axes": {axis: _first(values) for axis, values in spec["axes"].items()}}
        yield (
            name,
            flashweir.search(one, budget=budget, threads=1),
            flashweir.search(plain, budget=1, threads=1).found[0],
        )


def _first(values: Any) -> Any:  # noqa: ANN401 - an axis of a spec
    """The axis, or each axis of a table, with its first value alone."""
    if isinstance(values, list):
        return values[:1]
    if all(isinstance(value, list) for value in values.values()):
        return {key: value[:1] for key, value in values.items()}
    key = next(iter(values))
    return {key: values[key]}


def row(name: str, found: Search, plain: Design) -> str:
    """The combination with the most IOPS, as a row of a table."""
    best = found.best[0]
    cells = [name]
    for goal, digits in (("iops", ",.0f"), ("write_amplification", ".2f")):
        cells += [f"{best.goals[goal]:{digits}}", f"{best.goals[goal] / plain.goals[goal] - 1:+.0%}"]
    cells += [str(label) for label in best.labels.values()]
    return f"| {' | '.join(cells)} |"
