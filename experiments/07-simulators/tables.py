"""Tables of `results.json`, which `python tables.py` writes into the README, with intervals of 95% over seeds."""

import json
import math
import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent
SPEC: dict[str, Any] = tomllib.loads((HERE / "cases.toml").read_text(encoding="utf-8"))
NAMES = {"mqsim": "MQSim", "ssdsim": "SSDsim"}
# SSDsim answers a write when its data are at the chip: the program is not in its times.
PROGRAM_US = {"mqsim": 0.0, "ssdsim": 200.0}
# Half a microsecond that MQSim cuts from a mean, on average.
CUT_US = 0.5
MARKS = ("<!-- tables of tables.py -->", "<!-- end of tables -->")


def interval(values: Sequence[float]) -> tuple[float, float]:
    """Mean, and half of Student's interval."""
    if len(values) == 1:
        return float(values[0]), math.inf
    spread = float(np.std(values, ddof=1)) / float(np.sqrt(len(values)))
    return float(np.mean(values)), float(SPEC["t"][str(len(values))]) * spread


def difference(rows: Iterable[Mapping[str, Any]], op: str, key: str) -> tuple[float, float] | None:
    """Difference of flashweir from the other one, in percent, and half of its interval: of a mean, or a count."""
    found = []
    for row in rows:
        theirs, ours = row["theirs"].get(key), row["ours"].get(key)
        if theirs is None or ours is None or (not theirs and not ours):
            return None
        if key == op:
            theirs += CUT_US if row["theirs"].get("cut") else 0.0
            ours -= PROGRAM_US[row["of"]] if op == "write" else 0.0
        found.append(100 * (ours / theirs - 1))
    return interval(found)


def shown(value: tuple[float, float] | None) -> str:
    """A difference as text."""
    return "" if value is None else f"{value[0]:+.2f} ± {value[1]:.2f}"


def groups(rows: Iterable[Mapping[str, Any]], keys: Sequence[str]) -> dict[tuple[Any, ...], list[Mapping[str, Any]]]:
    """Rows with the same values of these keys, in their order."""
    found: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for row in rows:
        found.setdefault(tuple(row[key] for key in keys), []).append(row)
    return found


def of_times(rows: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Differences of mean response times by case and load."""
    yield "| case | requests | load, % | theirs, us | reads, % | writes, % |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for (group, size, load), same in groups(rows, ("group", "size", "load")).items():
        means = [interval([row["theirs"][op] for row in same])[0] for op in ("read", "write") if same[0]["theirs"][op]]
        theirs = ", ".join(f"{mean:.1f}" for mean in means)
        cells = [shown(difference(same, op, op)) for op in ("read", "write")]
        yield f"| {group} | {size} | {load} | {theirs} | {cells[0]} | {cells[1]} |"


def of_steady(rows: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Differences of flash operations in steady state by victim policy."""
    yield "| victim | blocks a plane | theirs: erases | erases, % | programs, % | mean response, % |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for (victim, blocks), same in groups(rows, ("victim", "blocks")).items():
        erases = interval([row["theirs"]["erases"] for row in same])[0]
        cells = [shown(difference(same, "write", key)) for key in ("erases", "programs", "write")]
        yield f"| {victim} | {blocks} | {erases:,.0f} | {cells[0]} | {cells[1]} | {cells[2]} |"


def of_micros(rows: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Response times of single requests."""
    yield "| requests | theirs, us | flashweir, us |"
    yield "| --- | --- | --- |"
    for row in rows:
        ours = ", ".join(f"{time / 1000:g}" for time in row["ours_ns"])
        if "theirs_ns" in row:
            theirs = ", ".join(f"{time / 1000:g}" for time in row["theirs_ns"])
        else:
            theirs = f"{row['theirs_min_us']} to {row['theirs_max_us']}"
        yield f"| {row['name']} | {theirs} | {ours} |"


def tables(results: Path) -> str:
    """All tables."""
    rows = json.loads(results.read_text(encoding="utf-8"))
    parts = []
    for name in dict.fromkeys(row["of"] for row in rows):
        own = [row for row in rows if row["of"] == name]
        timed = [row for row in own if row["group"] not in ("steady", "micro")]
        micros = [row for row in own if row["group"] == "micro"]
        steady = [row for row in own if row["group"] == "steady"]
        parts += [f"### {NAMES[name]}: response times", "\n".join(of_times(timed))]
        if steady:
            parts += [f"### {NAMES[name]}: steady state", "\n".join(of_steady(steady))]
        if micros:
            parts += [f"### {NAMES[name]}: micro tests", "\n".join(of_micros(micros))]
    return "\n\n".join(parts)


def main() -> int:
    """Replaces the tables in the README."""
    readme = HERE / "README.md"
    text = readme.read_text(encoding="utf-8")
    head, rest = text.split(MARKS[0])
    tail = rest.split(MARKS[1])[1]
    new = f"{head}{MARKS[0]}\n\n{tables(HERE / 'results.json')}\n\n{MARKS[1]}{tail}"
    readme.write_text(new, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
