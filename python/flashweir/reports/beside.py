"""Results side by side: those of simulate and of fio, each metric with its ratio to the first run's."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from flashweir._native import ConfigError
from flashweir.reports.cells import at

if TYPE_CHECKING:
    from rich.console import Console

# Metrics: heading with unit, path in the result.
METRICS = (
    ("IOPS", "iops"),
    ("MiB/s", "bandwidth_mib_s"),
    ("read mean, us", "latency_us.read.mean"),
    ("read p50, us", "latency_us.read.p50"),
    ("read p99, us", "latency_us.read.p99"),
    ("read p99.9, us", "latency_us.read.p999"),
    ("write mean, us", "latency_us.write.mean"),
    ("write p50, us", "latency_us.write.p50"),
    ("write p99, us", "latency_us.write.p99"),
    ("write p99.9, us", "latency_us.write.p999"),
    ("write amplification", "write_amplification"),
)
Results = Sequence[tuple[str, dict[str, Any]]]


def table(results: Results, baseline: str | None) -> dict[str, Any]:
    """Metrics of the runs and their ratios to those of `baseline`, the first run if not given.

    Raises:
        ConfigError: there is no such run.
    """
    names = [name for name, _ in results]
    base = names[0] if baseline is None else baseline
    if base not in names:
        raise ConfigError(f"--baseline {base}: expected one of {', '.join(names)}")
    of_base = dict(results)[base]
    rows = []
    for _, path in METRICS:
        values = {name: at(result, path) for name, result in results}
        if any(value is not None for value in values.values()):
            ratios = {name: _ratio(value, at(of_base, path)) for name, value in values.items()}
            rows.append({"metric": path, "values": values, "ratios": ratios})
    return {"baseline": base, "runs": names, "metrics": rows}


def _ratio(value: object, base: object) -> float | None:
    if isinstance(value, int | float) and isinstance(base, int | float) and base:
        return value / base
    return None


def show(found: dict[str, Any], out: "Console") -> None:
    """Prints the table, a column a run."""
    from rich.table import Table

    from flashweir.charts.names import isolated

    drawn = Table(box=None, header_style="", pad_edge=False)
    drawn.add_column(f"ratio to {isolated(found['baseline'])}")
    for name in found["runs"]:
        drawn.add_column(isolated(name), justify="right")
    labels = {path: label for label, path in METRICS}
    for row in found["metrics"]:
        cells = [_cell(row["values"][name], row["ratios"][name], first=name == found["baseline"])
                 for name in found["runs"]]  # fmt: skip
        drawn.add_row(labels[row["metric"]], *cells)
    out.print(drawn)


def _cell(value: float | None, ratio: float | None, *, first: bool) -> str:
    if value is None:
        return "-"
    text = f"{value:,.1f}" if abs(value) >= 10 else f"{value:.3f}"  # noqa: PLR2004 - digits
    return text if first or ratio is None else f"{text} ({ratio:.2f}x)"
