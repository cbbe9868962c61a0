"""Results side by side: those of simulate and of fio, each metric with its ratio to the first run's."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

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


class Run(NamedTuple):
    """A result by its name: that of the file, and of the job where the file has several."""

    name: str
    file: str
    job: str
    result: dict[str, Any]


def table(results: Sequence[Run], baseline: str | None) -> dict[str, Any]:
    """Metrics of the runs and their ratios to those of `baseline`, the first run if not given.

    Jobs of several files are paired by their names: `baseline` is then the name of a file, the first if not given. A
    run by name is the baseline of all.

    Raises:
        ConfigError: there is no such run or file.
    """
    files = list(dict.fromkeys(one.file for one in results))
    names = [one.name for one in results]
    base = (files[0] if _paired(results, files) else names[0]) if baseline is None else baseline
    if base not in (*names, *files):
        known = dict.fromkeys((*files, *names) if len(files) > 1 else names)
        raise ConfigError(f"--baseline {base}: expected one of {', '.join(known)}")
    partners = _partners(results, base)
    rows = []
    for _, path in METRICS:
        values = {one.name: at(one.result, path) for one in results}
        if any(value is not None for value in values.values()):
            ratios = {name: _ratio(value, at(partner.result, path) if (partner := partners[name]) else None)
                      for name, value in values.items()}  # fmt: skip
            rows.append({"metric": path, "values": values, "ratios": ratios})
    compared = {name: partner.name if partner else None for name, partner in partners.items()}
    return {"baseline": base, "runs": names, "compared_with": compared, "metrics": rows}


def unpaired(found: Mapping[str, Any]) -> list[str]:
    """Runs that have no job of their name to be compared with, and jobs of the baseline that no other run has."""
    partners = found["compared_with"]
    used = {partner for name, partner in partners.items() if partner not in (None, name)}
    alone = [name for name, partner in partners.items() if partner == name and name not in used]
    bases = [name for name, partner in partners.items() if partner == name]
    without = [name for name, partner in partners.items() if partner is None]
    return without + (alone if len(bases) > 1 and len(bases) < len(partners) else [])


def _paired(results: Sequence[Run], files: Sequence[str]) -> bool:
    """True if there are several files of which one has several jobs."""
    return len(files) > 1 and len(results) > len(files)


def _partners(results: Sequence[Run], base: str) -> dict[str, Run | None]:
    """The run that each is compared with."""
    named = next((one for one in results if one.name == base), None)
    if named is not None:
        return {one.name: named for one in results}
    of_base = [one for one in results if one.file == base]
    by_job = {one.job: one for one in of_base}
    # A simulation, or a file of one job, is the baseline of every job.
    alone = of_base[0] if len(of_base) == 1 else None
    return {one.name: alone or by_job.get(one.job) for one in results}


def _ratio(value: object, base: object) -> float | None:
    if isinstance(value, int | float) and isinstance(base, int | float) and base:
        return value / base
    return None


def show(found: dict[str, Any], out: "Console") -> None:
    """Prints the table, a column a run; runs that don't fit beside each other go into further tables."""
    from rich.text import Text

    from flashweir.charts.names import isolated
    from flashweir.tables import print_columns

    labels = {path: label for label, path in METRICS}
    heads = {f"ratio to {isolated(found['baseline'])}": [labels[row["metric"]] for row in found["metrics"]]}
    groups = [
        {isolated(name): [Text(_cell(row["values"][name], row["ratios"][name],
                                     first=found["compared_with"][name] == name)) for row in found["metrics"]]}
        for name in found["runs"]
    ]  # fmt: skip
    print_columns(heads, None, groups, out)


def _cell(value: float | None, ratio: float | None, *, first: bool) -> str:
    if value is None:
        return "-"
    text = f"{value:,.1f}" if abs(value) >= 10 else f"{value:.3f}"  # noqa: PLR2004 - digits
    return text if first or ratio is None else f"{text} ({ratio:.2f}x)"
