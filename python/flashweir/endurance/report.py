"""A drive's life as a report with curves."""

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from flashweir.assumptions import of_report, of_workloads
from flashweir.charts.model import Axis, Plot, Series
from flashweir.charts.units import duration
from flashweir.endurance.summary import amount, finding, lines, span
from flashweir.reports import about, page
from flashweir.reports.finding import section
from flashweir.reports.model import Block, Cell, Content, Facts, Figure, Section, Table, Text

Json = Mapping[str, Any]
_BYTES = ((1e15, "PB"), (1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1.0, "B"))

# Rows of the table of points: titles, and values with units.
_ROWS: dict[str, tuple[str, Callable[[float], str]]] = {
    "years": ("time", lambda years: span(years) if years else "0"),
    "host_bytes": ("written by the host", amount),
    "write_amplification": ("write amplification", "{:.4g}".format),
    "wear_mean": ("mean erases of a block", "{:,.0f}".format),
    "wear_max": ("erases of the most erased block", "{:,.0f}".format),
    "spare_share": ("spare blocks left", "{:.1%}".format),
    "read_us": ("mean read latency", duration),
    "read_p99_us": ("99th percentile of reads", duration),
    "read_p999_us": ("99.9th percentile of reads", duration),
    "write_us": ("mean write latency", duration),
    "write_p99_us": ("99th percentile of writes", duration),
    "write_p999_us": ("99.9th percentile of writes", duration),
}


def write(found: Json, path: str | os.PathLike[str]) -> None:
    """Writes the report as one HTML file that needs no network."""
    page.write(path, f"Lifetime of {found['device']}", sections(found))


def sections(found: Json) -> list[Section]:
    """Contents of the report."""
    wear = _plot(found, "wear", "Erases of a block", "erases", {"wear_mean": "mean", "wear_max": "most erased block"})
    limit = Series("rated", [wear.series[0].x[0], wear.series[0].x[-1]], [found["rated_cycles"]] * 2)
    wear = Plot(wear.name, wear.title, wear.x, wear.y, [*wear.series, limit], note="The line is the rated cycles.")
    more: list[Block] = [
        Figure(_plot(found, "write-amplification", "Write amplification over life", "write amplification",
                     {"write_amplification": "write amplification"})),
    ]  # fmt: skip
    if found["spare_blocks"] > 0:
        title = "Spare blocks left"
        more.append(Figure(_plot(found, "spare", title, "share of the spare blocks", {"spare_share": "spare"})))
    names = {"us": "mean", "p99_us": "p99", "p999_us": "p99.9"}
    for kind, of_kind in (("read", "reads"), ("write", "writes")):
        if found["curve"][0][f"{kind}_us"] is not None:
            there = {f"{kind}_{name}": said for name, said in names.items()}
            more.append(
                Figure(_plot(found, f"{kind}-latency", f"Latency of {of_kind} over life", "latency (us)", there))
            )
    rows: list[list[Content]] = [
        [title, *(Cell(text(point[name]), point[name]) for point in found["curve"][::10])]
        for name, (title, text) in _ROWS.items()
        if found["curve"][0][name] is not None
    ]
    table = Table("Points of the curve", ["at a share of the life", *(f"{place / 5:.0%}" for place in range(6))], rows)
    read = [f"{name}: {text}." for name, trace in of_workloads(found) if trace is not None for text in of_report(trace)]
    assumed: list[Block] = [Text(text) for text in (*found["assumptions"], *read)]
    return [
        section(finding(found), wear),
        Section("Ends and endurance", [Facts(lines(found))]),
        Section("Over life", [*more, table]),
        Section("Assumptions", assumed),
        Section("Workload", [Facts([("workload", found["workload"]), ("drive", found["device"])])]),
        about.section(),
    ]


def _plot(found: Json, name: str, title: str, label: str, curves: Mapping[str, str]) -> Plot:
    """Curves over the bytes written."""
    points: Sequence[Json] = found["curve"]
    size, unit = next((size, unit) for size, unit in _BYTES if points[-1]["host_bytes"] >= size or unit == "B")
    x = [float(f"{point['host_bytes'] / size:.6g}") for point in points]
    series = [Series(said, x, [_rounded(point[key]) for point in points]) for key, said in curves.items()]
    return Plot(f"lifetime-{name}", title, Axis(f"written by the host ({unit})"), Axis(label, from_zero=True), series)


def _rounded(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.6g}")
