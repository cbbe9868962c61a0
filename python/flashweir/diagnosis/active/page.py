"""An active diagnosis as a page: the verdict, the tests' ratios with intervals and bands, and all values."""

import os
from collections.abc import Mapping, Sequence
from typing import Any

from flashweir.charts.model import Axis, Chart, Plot, Series
from flashweir.diagnosis.active.showing import advice, values, verdict
from flashweir.diagnosis.report import NAMES
from flashweir.reports import about, page
from flashweir.reports.finding import section
from flashweir.reports.model import Block, Facts, Figure, Section, Table, Text

Json = Mapping[str, Any]
# A log axis has no zero: smaller ratios are drawn here.
_LOWEST = 0.01


def write(found: Json, path: str | os.PathLike[str]) -> None:
    """Writes the page as one HTML file that needs no network."""
    page.write(path, f"Diagnosis of {found['target']}", sections(found))


def charts(found: Json) -> list[Chart]:
    """Ratios of the tests that have bands, and of the others."""
    judged = [test for test in found["tests"] if test["good_from"] is not None]
    others = [test for test in found["tests"] if test["good_from"] is None]
    note = f"Bars are intervals of 95 %. A ratio below {_LOWEST} is drawn there."
    drawn: list[Chart] = []
    if judged:
        names = [test["name"] for test in judged]
        bands = [
            Series("good from", names, [_shown(test["good_from"]) for test in judged], style="points"),
            Series("bad up to", names, [_shown(test["bad_to"]) for test in judged], style="points"),
        ]
        words = [word for word in ("good", "bad", "uncertain") if any(test["verdict"] == word for test in judged)]
        said = "A test is good if its interval is above the upper mark of its band, and bad if it is below the lower."
        drawn.append(_plot("ratios", "Tests against their bands", [*(_points(judged, word) for word in words), *bands],
                           f"{said} {note}"))  # fmt: skip
    if others:
        series = Series("ratio", *_columns(others), style="points")
        drawn.append(_plot("other-ratios", "Tests without bands of their own", [series], note))
    return drawn


def sections(found: Json) -> list[Section]:
    """Contents of the page."""
    drawn = charts(found)
    alerts: list[Block] = [Text("A part of the drive is bad.", alert=True)] if found["verdict"] == "ill" else []
    said = [f"{NAMES[name]}: {one['verdict']}: {one['reason']}." for name, one in found["symptoms"].items()]
    columns = ["test", "ratio", "low", "high", "bad up to", "good from", "verdict"]
    fields = ["name", "ratio", "low", "high", "bad_to", "good_from", "verdict"]
    rows = [[test[field] for field in fields] for test in found["tests"]]
    tests: list[Block] = [Figure(chart) for chart in drawn[1:]]
    tests.append(Table("Ratios of the tests on this drive", columns, rows, fits=True))
    facts = [
        ("target", str(found["target"])),
        ("size", f"{found['size_bytes']:,} bytes"),
        ("idle read", f"{found['read_us']:.3g} us"),
        ("written", f"{found['written_bytes']:,} bytes"),
        ("duration", f"{found['elapsed_s']:.4g} s of the drive's time"),
    ]
    run = Section("The run", [Facts(facts)])
    if not found["admissible"]:
        # Nothing of a target without flash is measured but its reads.
        return [
            section(list(verdict(found)), None, alerts),
            Section("Tests", [Figure(one) for one in drawn]),
            run,
            about.section(),
        ]
    return [
        section([*verdict(found), *said], drawn[0] if drawn else None, alerts),
        Section("The drive", [Facts(list(values(found).items()))]),
        Section("Advice", [Text(text) for text in advice(found)]),
        Section("Tests", tests),
        run,
        about.section(),
    ]


def _points(tests: Sequence[Json], word: str) -> Series:
    """The tests with a verdict, at their places among all."""
    names, *ends = _columns(tests)
    there = [test["verdict"] == word for test in tests]
    y, low, high = ([value if one else None for value, one in zip(end, there, strict=True)] for end in ends)
    return Series(f"ratio, {word}", names, y, low, high, style="points")


def _columns(tests: Sequence[Json]) -> tuple[list[str], list[float | None], list[float | None], list[float | None]]:
    names = [test["name"] for test in tests]
    y, low, high = ([_shown(test[field]) for test in tests] for field in ("ratio", "low", "high"))
    return names, y, low, high


def _plot(name: str, title: str, series: Sequence[Series], note: str) -> Plot:
    return Plot(name, title, Axis("test", "category"), Axis("ratio", "log"), series, note=note)


def _shown(value: float) -> float | None:
    return max(value, _LOWEST)
