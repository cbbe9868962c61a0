"""Steady-state tests as tables and figures, in the form of the specification's report."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from flashweir.charts.model import Axis, Bars, Chart, Plot, Series
from flashweir.charts.units import duration
from flashweir.reports import about, finding
from flashweir.reports.model import Block, Cell, Content, Facts, Figure, Section, Table

if TYPE_CHECKING:
    from rich.console import Console

_UNITS = {"iops": "IOPS", "throughput": "MiB/s", "latency": "mean latency, us"}
_HUNDRED = 100
# Microseconds of a second.
_S = 1e6
_LATENCIES = ("mean", "p99999", "max")


def tables(test: Mapping[str, Any]) -> list[Table]:
    """Tables of a test; times are in the unit that suits each."""
    name = test["test"]
    if name == "read-under-writes":
        rows: list[list[Content]] = [
            [f"{_HUNDRED * row['share']:.0f}%", round(row["offered_write_iops"]), round(row["write_iops"]),
             *(_time(row["read_us"][key]) for key in ("p50", "p99", "p999", "max"))] for row in test["rows"]
        ]  # fmt: skip
        columns = ["load", "writes/s offered", "writes/s done", "read p50", "read p99", "read p99.9", "read max"]
        return [Table("Read latency under writes", columns, rows, fits=True)]
    if name == "write-saturation":
        rows = [[round(row["capacities"], 2), _time(row["at_s"] * _S), round(row["iops"]), round(row["mib_s"], 1)]
                for row in test["rows"]]  # fmt: skip
        return [Table("Write saturation", ["capacities written", "at", "IOPS", "MiB/s"], rows, fits=True)]
    if name == "patterns":
        rows = []
        for row in test["rows"]:
            times = (_time(row["latency_us"][key]) for key in ("mean", "p99", "max"))
            rows.append([row["pattern"], round(row["iops"]), round(row["ratio"], 2), *times])
        return [Table("Patterns of writes", ["pattern", "IOPS", "over random", "mean", "p99", "max"], rows, fits=True)]
    if name == "latency":
        rows = [[_size(row["size"]), _mix(row), *(_time(row["latency_us"][key]) for key in _LATENCIES)]
                for row in test["rows"]]  # fmt: skip
        return [Table("Latency", ["size", "reads/writes", "mean", "p99.999", "max"], rows, fits=True)]
    metric = "iops" if name == "iops" else "mib_s"
    mixes = list(dict.fromkeys(row["read_share"] for row in test["rows"]))
    sizes = list(dict.fromkeys(row["size"] for row in test["rows"]))
    found = {(row["size"], row["read_share"]): row[metric] for row in test["rows"]}
    rows = [[_size(size), *(_rounded(found.get((size, mix))) for mix in mixes)] for size in sizes]
    return [Table(f"{name} ({_UNITS[name]})", ["size", *(_mix({"read_share": mix}) for mix in mixes)], rows, fits=True)]


def facts(test: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Purge, steady state, knee."""
    found = [("purge", test["purge"])]
    if window := test.get("window"):
        reached = "steady" if window["steady"] else "not steady"
        text = (f"{reached}: {'samples' if test['test'] == 'write-saturation' else 'rounds'} {window['first_round']} to"
                f" {window['last_round']}, mean {_level(test, window['mean'])}, range {_HUNDRED * window['range']:.1f}%"
                f" (at most 20%), slope {_HUNDRED * window['slope']:.1f}% (at most 10%)")  # fmt: skip
        found.append(("steady state", text))
    if test["test"] == "read-under-writes":
        knee = test["knee"]
        text = "none: slow at the lightest load" if knee is None else (
            f"{_HUNDRED * knee['share']:.0f}% of {test['max_write_iops']:,.0f} writes/s, read p99 there"
            f" {duration(knee['read_p99_us'])}")  # fmt: skip
        found.append(("knee", text))
    return found


def charts(result: Mapping[str, Any]) -> list[Chart]:
    """Figures of all tests."""
    return [chart for test in result["tests"] for chart in _charts(test)]


def _charts(test: Mapping[str, Any]) -> list[Chart]:
    name = test["test"]
    if name == "read-under-writes":
        x = [_HUNDRED * row["share"] for row in test["rows"]]
        lines = [Series(label, x, [row["read_us"][key] for row in test["rows"]])
                 for key, label in (("p50", "p50"), ("p99", "p99"), ("p999", "p99.9"))]  # fmt: skip
        note = f"Load is a share of {test['max_write_iops']:,.0f} random writes a second; the reader asks by the clock."
        return [Plot("read-under-writes", "Read latency over write load", Axis("offered writes, %"),
                     Axis("read latency, us", "log"), lines, note=note)]  # fmt: skip
    if name == "write-saturation":
        line = Series("IOPS", [row["capacities"] for row in test["rows"]], [row["iops"] for row in test["rows"]])
        return [
            Plot(
                "write-saturation", "Write saturation", Axis("capacities written"), Axis("IOPS", from_zero=True), [line]
            )
        ]
    if name == "patterns":
        return _of_patterns(test["rows"])
    course = test["tracked"]["by_round"]
    window = test["window"]
    x = list(range(1, len(course) + 1))
    inside = [number for number in x if window["first_round"] <= number <= window["last_round"]]
    mean = Series("mean of the window", inside, [window["mean"]] * len(inside))
    line = Series(f"{_size(test['tracked']['size'])} {_mix(test['tracked'])}", x, course)
    return [
        Plot(f"steady-{name}", f"Convergence: {name}", Axis("round"), Axis(_UNITS[name], from_zero=True), [line, mean])
    ]


def _of_patterns(rows: Sequence[Mapping[str, Any]]) -> list[Chart]:
    names = [row["pattern"] for row in rows]
    rates: list[tuple[str, Sequence[float]]] = [("IOPS", [row["iops"] for row in rows])]
    note = "; ".join(f"{row['pattern']} {row['ratio']:.2f}" for row in rows[1:])
    lines = [Series(label, names, [row["latency_us"][key] for row in rows], style="points")
             for key, label in (("mean", "mean"), ("p99", "p99"), ("max", "max"))]  # fmt: skip
    return [
        Bars("patterns-rate", "Write rate by pattern", Axis("IOPS"), names, rates, note=f"Over random writes: {note}."),
        Plot("patterns-latency", "Write latency by pattern", Axis("pattern", "category"),
             Axis("write latency, us", "log"), lines),
    ]  # fmt: skip


def sections(result: Mapping[str, Any]) -> list[Section]:
    """The page: the finding with the first figure, then a section for each test."""
    drawn = charts(result)
    lead = drawn[0] if drawn else None
    found = [finding.section(_finding(result), lead)]
    for test in result["tests"]:
        figures = [Figure(chart) for chart in _charts(test) if lead is None or chart.name != lead.name]
        blocks: list[Block] = [Facts(facts(test)), *figures, *tables(test)]
        found.append(Section(test["test"], blocks))
    facts_of_run = [
        *([("name", str(result["name"]))] if "name" in result else []),
        ("target", str(result["target"])),
        ("size", f"{result['size_bytes']:,} bytes"),
        ("minute", f"{60 * result['scale']:.3g} s"),
        ("seed", str(result["seed"])),
        ("written", f"{result['written_bytes']:,} bytes"),
        ("version", f"flashweir {result['version']}"),
    ]
    return [*found, Section("Test", [Facts(facts_of_run)]), about.section()]


def _finding(result: Mapping[str, Any]) -> list[str]:
    said = []
    for test in result["tests"]:
        if test["test"] == "read-under-writes":
            said.append(f"Knee of reads under writes: {dict(facts(test))['knee']}.")
        elif test["test"] == "patterns":
            best = max(test["rows"], key=lambda row: float(row["ratio"]))
            said.append(f"Patterns: {best['pattern']} has {best['ratio']:.2f} times the rate of random writes.")
        elif window := test.get("window"):
            state = "steady" if window["steady"] else "not steady"
            said.append(f"{test['test']}: mean {_level(test, window['mean'])}, {state}.")
    return said


def print_result(result: Mapping[str, Any], out: "Console") -> None:
    """Prints facts and tables of all tests: columns that don't fit beside each other go into further tables."""
    from rich.text import Text as Drawn

    from flashweir.tables import print_columns

    for test in result["tests"]:
        for table in tables(test):
            out.print(table.caption, highlight=False, markup=False)
            named = 2 if test["test"] == "latency" else 1
            cells = [[_shown(row[place]) for row in table.rows] for place in range(len(table.columns))]
            settings = dict(zip(table.columns[:named], cells[:named], strict=True))
            groups = [{name: [Drawn(cell) for cell in column]}
                      for name, column in zip(table.columns[named:], cells[named:], strict=True)]  # fmt: skip
            print_columns(settings, None, groups, out)
        for label, text in facts(test):
            out.print(f"{label:<14}  {text}", highlight=False, markup=False, soft_wrap=True)
        out.print()


def _shown(cell: Content) -> str:
    if isinstance(cell, Cell):
        return cell.text
    return "-" if cell is None else cell if isinstance(cell, str) else f"{cell:,}"


def _time(us: float) -> Cell:
    return Cell(duration(us), us)


def _level(test: Mapping[str, Any], mean: float) -> str:
    """The mean of a window with its unit: the test tracks rates, or latencies."""
    name = test["test"]
    if name == "latency":
        return duration(mean)
    return f"{mean:,.1f} {_UNITS.get(name, 'IOPS')}"


def _size(size: int) -> str:
    return f"{size / 1024:g} KiB" if size < 1 << 20 else f"{size >> 20} MiB"


def _mix(row: Mapping[str, Any]) -> str:
    reads = round(_HUNDRED * row["read_share"])
    return f"{reads}/{_HUNDRED - reads}"


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value) if value >= _HUNDRED else round(value, 1)
