"""Steady-state tests as tables and figures, in the form of the specification's report."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from flashweir.charts.model import Axis, Chart, Plot, Series
from flashweir.reports.model import Block, Facts, Figure, Section, Table, Text

if TYPE_CHECKING:
    from rich.console import Console

_UNITS = {"iops": "IOPS", "throughput": "MiB/s", "latency": "mean latency, us"}
_HUNDRED = 100
_LATENCIES = ("mean", "p99999", "max")


def tables(test: Mapping[str, Any]) -> list[Table]:
    """Tables of a test."""
    name = test["test"]
    if name == "read-under-writes":
        rows: list[list[Any]] = [
            [f"{_HUNDRED * row['share']:.0f}%", round(row["offered_write_iops"]), round(row["write_iops"]),
             *(round(row["read_us"][key], 1) for key in ("p50", "p99", "p999", "max"))] for row in test["rows"]
        ]  # fmt: skip
        columns = ["load", "writes/s offered", "writes/s done", "read p50, us", "p99", "p99.9", "max"]
        return [Table("Read latency under writes", columns, rows, fits=True)]
    if name == "write-saturation":
        rows = [[round(row["capacities"], 2), round(row["at_s"], 3), round(row["iops"]), round(row["mib_s"], 1)]
                for row in test["rows"]]  # fmt: skip
        return [Table("Write saturation", ["capacities written", "s", "IOPS", "MiB/s"], rows, fits=True)]
    if name == "patterns":
        rows = []
        for row in test["rows"]:
            times = (round(row["latency_us"][key], 1) for key in ("mean", "p99", "max"))
            rows.append([row["pattern"], round(row["iops"]), round(row["ratio"], 2), *times])
        columns = ["pattern", "IOPS", "over random", "mean, us", "p99, us", "max, us"]
        return [Table("Patterns of writes", columns, rows, fits=True)]
    if name == "latency":
        rows = [[_size(row["size"]), _mix(row), *(round(row["latency_us"][key], 1) for key in _LATENCIES)]
                for row in test["rows"]]  # fmt: skip
        return [Table("Latency", ["size", "reads/writes", "mean, us", "p99.999, us", "max, us"], rows, fits=True)]
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
                f" {window['last_round']}, mean {window['mean']:,.1f}, range {_HUNDRED * window['range']:.1f}%"
                f" (at most 20%), slope {_HUNDRED * window['slope']:.1f}% (at most 10%)")  # fmt: skip
        found.append(("steady state", text))
    if test["test"] == "read-under-writes":
        knee = test["knee"]
        text = "none: slow at the lightest load" if knee is None else (
            f"{_HUNDRED * knee['share']:.0f}% of {test['max_write_iops']:,.0f} writes/s, read p99 there"
            f" {knee['read_p99_us']:,.1f} us")  # fmt: skip
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
        return []
    course = test["tracked"]["by_round"]
    window = test["window"]
    x = list(range(1, len(course) + 1))
    inside = [number for number in x if window["first_round"] <= number <= window["last_round"]]
    mean = Series("mean of the window", inside, [window["mean"]] * len(inside))
    line = Series(f"{_size(test['tracked']['size'])} {_mix(test['tracked'])}", x, course)
    return [
        Plot(f"steady-{name}", f"Convergence: {name}", Axis("round"), Axis(_UNITS[name], from_zero=True), [line, mean])
    ]


def sections(result: Mapping[str, Any]) -> list[Section]:
    """The page: the finding, then a section for each test."""
    found = [Section("In short", _finding(result))]
    for test in result["tests"]:
        blocks: list[Block] = [Facts(facts(test)), *(Figure(chart) for chart in _charts(test)), *tables(test)]
        found.append(Section(test["test"], blocks))
    about = [
        ("target", str(result["target"])),
        ("size", f"{result['size_bytes']:,} bytes"),
        ("minute", f"{60 * result['scale']:.3g} s"),
        ("seed", str(result["seed"])),
        ("written", f"{result['written_bytes']:,} bytes"),
        ("version", f"flashweir {result['version']}"),
    ]
    return [*found, Section("Test", [Facts(about)])]


def _finding(result: Mapping[str, Any]) -> list[Block]:
    said = []
    for test in result["tests"]:
        if test["test"] == "read-under-writes":
            said.append(f"Knee of reads under writes: {dict(facts(test))['knee']}.")
        elif test["test"] == "patterns":
            best = max(test["rows"], key=lambda row: float(row["ratio"]))
            said.append(f"Patterns: {best['pattern']} has {best['ratio']:.2f} times the rate of random writes.")
        elif window := test.get("window"):
            state = "steady" if window["steady"] else "not steady"
            unit = _UNITS.get(test["test"], "IOPS")
            said.append(f"{test['test']}: {window['mean']:,.0f} ({unit}), {state}.")
    return [Text(" ".join(said), lead=True)]


def print_result(result: Mapping[str, Any], out: "Console") -> None:
    """Prints facts and tables of all tests."""
    from rich.table import Table as Drawn

    for test in result["tests"]:
        for table in tables(test):
            drawn = Drawn(*table.columns, box=None, pad_edge=False, header_style="")
            for column in drawn.columns[1:]:
                column.justify = "right"
            for row in table.rows:
                drawn.add_row(*("-" if cell is None else f"{cell:,}" if not isinstance(cell, str) else cell
                                for cell in row))  # fmt: skip
            out.print(table.caption, highlight=False, markup=False)
            out.print(drawn, highlight=False, markup=False)
        for label, text in facts(test):
            out.print(f"{label:<14}  {text}", highlight=False, markup=False, soft_wrap=True)
        out.print()


def _size(size: int) -> str:
    return f"{size / 1024:g} KiB" if size < 1 << 20 else f"{size >> 20} MiB"


def _mix(row: Mapping[str, Any]) -> str:
    reads = round(_HUNDRED * row["read_share"])
    return f"{reads}/{_HUNDRED - reads}"


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value) if value >= _HUNDRED else round(value, 1)
