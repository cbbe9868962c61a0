#!/usr/bin/env python3
"""The tables and figures of experiments/06-together, from the runs of its sweep.

Usage: experiments/06-together/analyse.py DIR [--readme README.md] [--tables tables.md] [--figures FOLDER]

DIR is the directory of the sweep. Tables are printed, or put between the marks of the documents.
"""

import argparse
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from effects import Factorial, Floats, Interval, best, held_out, interval, over_loads

import flashweir
from flashweir.charts.matplotlib import write
from flashweir.charts.model import Axis, Chart, Heat, Plot, Series

PARTS = ("planner", "scheduler", "allocation", "buffer")
NUMBERS = {
    "read mean": "latency_us.read.mean",
    "read p99": "latency_us.read.p99",
    "write mean": "latency_us.write.mean",
    "write p99": "latency_us.write.p99",
}
# Shown beside them, and no goal.
COSTS = {"write amplification": "write_amplification"}
# A mix with fewer reads, or writes, says nothing of them.
FEWEST = 100
# Mixes with this name write parts of pages, and count in no mean.
APART = "part"
# Two parts add up if their product is within 5% of both together.
CLOSE = math.log(1.05)
MARKS = ("<!-- results: analyse.py -->", "<!-- end of results -->")
Run = Mapping[str, Any]


def factorials(runs: Sequence[Run]) -> tuple[dict[str, Factorial], list[str], list[str]]:
    """The runs as arrays by number, the loads, and the mixes. All combinations have to be there."""
    names = sorted({run["workload"] for run in runs}, key=lambda name: [len(name), name])
    mixes = list(dict.fromkeys(name.rpartition(", ")[0] for name in names))
    loads = sorted({name.rpartition(", ")[2] for name in names}, key=lambda load: float(load.rstrip("%")))
    parts = {part: list(dict.fromkeys(run[part] for run in runs)) for part in PARTS}
    shape = (len(loads), len(mixes), *map(len, parts.values()))
    found = {}
    for number, column in {**NUMBERS, **COSTS}.items():
        counted = f"{column.rpartition('.')[0]}.count" if number in NUMBERS else None
        values = np.full(shape, np.nan)
        for run in runs:
            mix, _, load = run["workload"].rpartition(", ")
            place = (loads.index(load), mixes.index(mix), *(parts[part].index(run[part]) for part in PARTS))
            values[place] = math.log(run[column]) if counted is None or run[counted] >= FEWEST else np.nan
        found[number] = Factorial(parts, values)
    missing = math.prod(shape) - len({(run["workload"], *(run[part] for part in PARTS)) for run in runs})
    if missing:
        raise SystemExit(f"{missing} runs missing: expected all {math.prod(shape)} combinations")
    return found, loads, mixes


def factor(found: Interval) -> str:
    """A factor with its interval."""
    low, high = (f"{math.exp(end):.3g}" for end in found[1:])
    return f"{math.exp(found.value):.3g}" + (f" ({low} to {high})" if not math.isnan(found.low) else "")


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """A table in Markdown."""
    yield "| " + " | ".join(head) + " |"
    yield "| --- |" + " ---: |" * (len(head) - 1)
    yield from ("| " + " | ".join(row) + " |" for row in rows)


def levels(numbers: Mapping[str, Factorial]) -> list[tuple[str, tuple[int, int]]]:
    """All parts that the plain drive does not have: their names, and their places."""
    parts = next(iter(numbers.values())).parts
    return [
        (f"1 MiB {part}" if part == "buffer" else name, (place, level))
        for place, (part, names) in enumerate(parts.items())
        for level, name in enumerate(names)
        if level
    ]


def pairs(numbers: Mapping[str, Factorial]) -> list[tuple[str, tuple[int, int], tuple[int, int]]]:
    """All pairs of them that can be in one drive."""
    both = itertools.combinations(levels(numbers), 2)
    return [(f"{a} with {b}", one, other) for (a, one), (b, other) in both if one[0] != other[0]]


def named(numbers: Mapping[str, Factorial], setting: Sequence[int]) -> str:
    """A drive by its parts."""
    found = [name for name, (part, level) in levels(numbers) if setting[part] == level]
    return ", ".join(found) or "plain"


def verdict(found: Interval) -> str:
    """Latency of two parts together against the product of both."""
    if found.low > 0:
        return "slower"
    if found.high < 0:
        return "faster"
    return "equal" if found.low >= -CLOSE and found.high <= CLOSE else "open"


def goals(numbers: Mapping[str, Factorial]) -> dict[str, Factorial]:
    """The numbers that a drive is chosen by."""
    return {name: number for name, number in numbers.items() if name in NUMBERS}


def of_parts(numbers: Mapping[str, Factorial]) -> Iterator[str]:
    """Parts alone, and on average over the other parts."""
    for title, effect in (("alone, on the plain drive", "alone"), ("on average over all other parts", "main")):
        rows = [
            [name, *(factor(over_loads(getattr(number, effect)(*part))) for number in numbers.values())]
            for name, part in levels(numbers)
        ]
        yield from table([title, *numbers], rows)
        yield ""


def of_conditions(numbers: Mapping[str, Factorial]) -> Iterator[str]:
    """Parts beside each level of the parts that they interact with most."""
    parts = next(iter(numbers.values())).parts
    rows = [
        [f"{name}, with {parts[PARTS[other]][beside]}" + " buffer" * (PARTS[other] == "buffer"),
         *(factor(over_loads(number.given(place, (other, beside)))) for number in numbers.values())]
        for of, other in ((0, 1), (0, 3), (1, 3), (2, 3))
        for name, place in levels(numbers) if place[0] == of
        for beside in range(len(parts[PARTS[other]]))
    ]  # fmt: skip
    yield from table(["on average over all other parts", *numbers], rows)
    yield ""


def of_pairs(numbers: Mapping[str, Factorial]) -> Iterator[str]:
    """Interactions of two parts, and how many are of a kind."""
    found = [
        (name, [over_loads(number.interaction(one, other)) for number in numbers.values()])
        for name, one, other in pairs(numbers)
    ]
    rows = [[name, *(f"{factor(each)} {verdict(each)}" for each in row)] for name, row in found]
    yield from table(["together / product", *numbers], rows)
    yield ""
    kinds = {"faster": "faster", "equal": "equal, within 5%", "slower": "slower", "open": "open"}
    counts = [[text, *(str(sum(verdict(row[i]) == kind for _, row in found)) for i in range(len(numbers)))]
              for kind, text in kinds.items()]  # fmt: skip
    yield from table(["pairs, against the product", *numbers], counts)
    yield ""


def of_shares(numbers: Mapping[str, Factorial]) -> Iterator[str]:
    """Shares of the sum of squares, means over loads and mixes."""
    shares = {name: number.shares() for name, number in numbers.items()}
    sets = list(next(iter(shares.values())))
    text = {name: {each: float(np.nanmean(values[each])) for each in sets} for name, values in shares.items()}
    rows = [[" x ".join(PARTS[part] for part in each), *(f"{text[name][each]:.1%}" for name in numbers)]
            for each in sets if len(each) <= 2]  # noqa: PLR2004  # fmt: skip
    more = [f"{sum(text[name][each] for each in sets if len(each) > 2):.1%}" for name in numbers]  # noqa: PLR2004
    yield from table(["share of the variance", *numbers], [*rows, ["three and four parts", *more]])
    yield ""


def promised(number: Factorial, setting: Sequence[int]) -> Floats:
    """A drive as the sum of its parts alone: load x mix."""
    total: Floats = np.sum([number.alone(part, level) for part, level in enumerate(setting)], axis=0)
    return total


def of_best(numbers: Mapping[str, Factorial], loads: Sequence[str], mixes: Sequence[str]) -> Iterator[str]:
    """The best drive against the plain one, at each load, and without each of its parts."""
    everywhere = (range(len(loads)), range(len(mixes)))
    chosen_by = goals(numbers)
    setting = best(chosen_by, *everywhere)
    yield f"Best drive: {named(numbers, setting)}."
    yield ""
    rows = [[load, *(factor(interval(number.at(setting)[at])) for number in numbers.values())]
            for at, load in enumerate(loads)]  # fmt: skip
    others = held_out(numbers, chosen_by, len(mixes))
    rows += [
        ["all loads", *(factor(over_loads(number.at(setting))) for number in numbers.values())],
        ["product of its parts alone", *(factor(over_loads(promised(number, setting))) for number in numbers.values())],
        ["best of the other mixes", *(factor(over_loads(values)) for values in others.values())],
    ]
    yield from table(["best drive / plain", *numbers], rows)
    yield ""
    rows = []
    for part, level in enumerate(setting):
        if level:
            less = [0 if place == part else own for place, own in enumerate(setting)]
            label = next(name for name, place in levels(numbers) if place == (part, level))
            rows.append([f"without {label}", *(factor(over_loads(number.at(less) - number.at(setting)))
                                              for number in numbers.values())])  # fmt: skip
    yield from table(["one part less / best drive", *numbers], rows)
    yield ""
    rows = []
    for name, number in chosen_by.items():
        alone = best({name: number}, *everywhere)
        rows.append(
            [f"{name}: {named(numbers, alone)}", *(factor(over_loads(each.at(alone))) for each in numbers.values())]
        )
    yield from table(["best for one number / plain", *numbers], rows)
    yield ""


def of_mixes(numbers: Mapping[str, Factorial], mixes: Sequence[str], setting: Sequence[int]) -> Iterator[str]:
    """A drive mix by mix, those apart among them: geometric means over loads."""
    found = [number.at(setting).mean(axis=0) for number in numbers.values()]
    rows = [[mix, *("" if math.isnan(each[at]) else f"{math.exp(each[at]):.3g}" for each in found)]
            for at, mix in enumerate(mixes)]  # fmt: skip
    yield from table(["best drive / plain, mix", *numbers], rows)
    yield ""


def figures(numbers: Mapping[str, Factorial], loads: Sequence[str], mixes: Sequence[str]) -> Iterator[Chart]:
    """Parts alone and the best drive over the load, and interactions as matrices."""
    numbers = goals(numbers)
    setting = best(numbers, range(len(loads)), range(len(mixes)))
    drives = {
        name: [level if place == part else 0 for place in range(len(PARTS))] for name, (part, level) in levels(numbers)
    }
    drives["best drive"] = list(setting)
    places = [float(load.rstrip("%")) for load in loads]
    for name, number in numbers.items():
        series = []
        for drive, own in drives.items():
            ratios = [math.exp(interval(number.at(own)[at]).value) for at in range(len(loads))]
            series.append(Series(drive, places, ratios))
        yield Plot(
            f"parts-{name.replace(' ', '-')}", f"Parts alone and the best drive: {name}",
            Axis("load (% of the plain drive's capacity)"), Axis("latency / plain drive's", "log"), series,
            note="Geometric means over mixes. Their intervals are in the tables.",
        )  # fmt: skip
        found = {(one, other): over_loads(number.interaction(one, other)).value for _, one, other in pairs(numbers)}
        labels = levels(numbers)
        doublings = {pair: round(logarithm / math.log(2), 2) + 0.0 for pair, logarithm in found.items()}
        cells = [[doublings.get((min(a, b), max(a, b))) for _, b in labels] for _, a in labels]
        titles = [label for label, _ in labels]
        yield Heat(
            f"pairs-{name.replace(' ', '-')}", f"Two parts together against the product of both: {name}",
            Axis("part"), Axis("part"), titles, titles, cells, "doublings", empty="never in one drive",
            note="1: twice the product. Above 0 parts cancel out in part, below 0 they reinforce each other.",
        )  # fmt: skip


def put(document: Path, text: str, marks: tuple[str, str] = MARKS) -> None:
    """Replaces what is between two marks of a document."""
    before, begin, rest = document.read_text(encoding="utf-8").partition(marks[0])
    if not begin or marks[1] not in rest:
        raise SystemExit(f"{document}: expected the marks {marks[0]} and {marks[1]}")
    document.write_text(f"{before}{begin}\n\n{text}\n\n{marks[1]}{rest.partition(marks[1])[2]}", encoding="utf-8")


def main() -> None:
    """Prints the tables, and draws the figures."""
    parser = argparse.ArgumentParser(description="Tables and figures of experiments/06-together.")
    parser.add_argument("runs", help="directory of the sweep")
    parser.add_argument("--readme", type=Path, help="document that takes the first tables, between its marks")
    parser.add_argument("--tables", type=Path, help="document that takes the others")
    parser.add_argument("--figures", type=Path, help="folder for the figures, as SVG")
    options = parser.parse_args()
    frame = flashweir.read_sweep(options.runs).sort("point")
    failed = frame["error"].drop_nulls()
    if len(failed):
        raise SystemExit(f"{options.runs}: {len(failed)} runs failed, the first: {failed[0]}")
    counts = {f"{column.rpartition('.')[0]}.count" for column in NUMBERS.values()}
    numbers, loads, mixes = factorials(
        frame.select("workload", *PARTS, *NUMBERS.values(), *COSTS.values(), *counts).to_dicts()
    )
    every = goals(numbers), mixes
    mixes = [mix for mix in mixes if not mix.startswith(APART)]
    numbers = {name: number.of([every[1].index(mix) for mix in mixes]) for name, number in numbers.items()}
    aims = goals(numbers)
    by_mix = of_mixes(*every, best(aims, range(len(loads)), range(len(mixes))))
    first = "\n".join([*of_best(numbers, loads, mixes), *of_parts(numbers)])
    second = "\n".join([*of_pairs(aims), *of_conditions(aims), *of_shares(aims), *by_mix])
    for document, text in ((options.readme, first), (options.tables, second)):
        if document:
            put(document, text.rstrip())
        else:
            print(text)
    if options.figures:
        options.figures.mkdir(parents=True, exist_ok=True)
        for chart in figures(numbers, loads, mixes):
            write(chart, options.figures / f"{chart.name}.svg")


if __name__ == "__main__":
    main()
