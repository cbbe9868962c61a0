"""Reports about results of single runs: sections of texts, tables and figures."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from flashweir.charts.model import Chart
from flashweir.charts.names import isolated
from flashweir.reports import cells, finding
from flashweir.reports.cells import Json
from flashweir.reports.figures import sections_of
from flashweir.reports.model import Block, Content, Details, Facts, Section, Table, Text
from flashweir.reports.tails import tail_sections
from flashweir.reports.tenants import tenant_tables

Results = Sequence[tuple[str, dict[str, Any]]]

# Key figures of a run: heading with unit, path in the result.
_KEY_FIGURES = (
    ("requests", "requests"),
    ("IOPS", "iops"),
    ("MiB/s", "bandwidth_mib_s"),
    ("mean read", "latency_us.read.mean"),
    ("p99 read", "latency_us.read.p99"),
    ("mean write", "latency_us.write.mean"),
    ("p99 write", "latency_us.write.p99"),
    ("write amplification", "write_amplification"),
    ("erases", "flash.erases"),
    ("simulated", "simulated_s"),
    ("pages drained", "drain.pages"),
)
_LATENCIES = (
    ("mean", "mean"),
    ("p50", "p50"),
    ("p95", "p95"),
    ("p99", "p99"),
    ("p99.9", "p999"),
    ("p99.99", "p9999"),
    ("max", "max"),
)
_EXAMPLES = 3
# The part of the simulated time from which on a warm-up is worth a warning, and from which on it has more digits.
_MAX_WARM_UP, _NEARLY_ALL = 0.5, 0.99


def charts_of_results(results: Results) -> list[Chart]:
    """The figures about single runs."""
    from flashweir.charts import from_result

    return from_result.figures(results)


def report_of_results(results: Results, charts: Sequence[Chart] | None = None) -> list[Section]:
    """Sections: the finding, key figures, latencies, figures, differences between the configurations, and the runs.

    Args:
        results: name and result (docs/reference/result.md) of each run, in the order in which they are shown.
        charts: the figures, where the caller has made them already.
    """
    charts = charts_of_results(results) if charts is None else charts
    without = ", without warm-up" if any(_warm_up_share(result) for _, result in results) else ""
    keys = Table(
        f"Runs{without}",
        ["run", *(_label(label, results) for label, _ in _KEY_FIGURES)],
        [[name, *(cells.shown(path, cells.at(result, path)) for _, path in _KEY_FIGURES)] for name, result in results],
        fits=True,
    )
    sentences, picture = finding.of_results(results, charts)
    return [
        finding.section(sentences, picture, _warnings(results)),
        Section("Key figures", [keys, *_latencies(results, without), *tenant_tables(results, without)]),
        *tail_sections(results),
        *sections_of(charts, picture),
        Section("Configuration", _configurations(results)),
        Section("Runs", _runs(results)),
    ]


def _label(label: str, results: Results) -> str:
    """The heading of a key figure; times of runs that were measured are not simulated."""
    return "duration" if label == "simulated" and any("measured" in result for _, result in results) else label


def _warnings(results: Results) -> list[Block]:
    shares = [(name, share) for name, result in results if (share := _warm_up_share(result)) > _MAX_WARM_UP]
    alerts: list[Block] = [
        Text(f"{isolated(name)}: the warm-up took {_said(share)} of the simulated time, and is left out.", alert=True)
        for name, share in shares[:_EXAMPLES]
    ]
    if len(shares) > _EXAMPLES:
        alerts.append(Text(f"The same holds for {len(shares) - _EXAMPLES:,} more runs.", alert=True))
    return alerts


def _runs(results: Results) -> list[Block]:
    if len(results) == 1:
        name, result = results[0]
        facts: list[tuple[str, str | Sequence[str]]] = [("run", name), ("workload", _workloads(result))]
        facts += [(term, text) for term, text in _circumstances(result) if text]
        return [Facts(facts)]
    terms = [term for term, _ in _circumstances(results[0][1])]
    rows = [
        [name, "; ".join(_workloads(result)), *(text for _, text in _circumstances(result))] for name, result in results
    ]
    kept = [0, 1, *(at + 2 for at in range(len(terms)) if any(row[at + 2] for row in rows))]
    columns = ["run", "workload", *terms]
    return [Table("Runs", [columns[at] for at in kept], [[row[at] for at in kept] for row in rows], fits=True)]


def _workloads(result: Json) -> list[str]:
    found = [workload for workload in result.get("workloads", ()) if isinstance(workload, Mapping)]
    named = len(found) > 1
    return [
        f"{isolated(work.get('name'))}: {isolated(work.get('workload'))}" if named else str(work.get("workload"))
        for work in found
    ]


def _circumstances(result: Json) -> list[tuple[str, str]]:
    """Terms and texts; a text is empty where the result does not have it."""
    warmup = result.get("warmup")
    removed = ""
    if warmup:
        removed = f"{warmup['requests']:,} of {warmup['of_requests']:,} requests left out ({warmup['method']})"
        share = _warm_up_share(result)
        removed += f", {_said(share)} of the simulated time" if share else ""
        removed = removed if warmup.get("found", True) else f"no end found ({warmup['method']}); {removed}"
    preconditioned = result.get("preconditioning_capacities")
    return [
        ("seed", str(result.get("seed", ""))),
        ("warm-up", removed),
        ("preconditioning", f"{preconditioned:,} capacities overwritten" if preconditioned else ""),
        ("time path", str(result.get("engine", ""))),
        ("reads checked", "yes" if result.get("verified") else ""),
        ("version", f"{'' if 'measured' in result else 'flashweir '}{result.get('version', '')}"),
        ("wall time", f"{result['wall_s']:,.3g} s" if result.get("wall_s") is not None else ""),
    ]


def _warm_up_share(result: Json) -> float:
    """The part of the simulated time that was left out; 0 where nothing was."""
    removed = (result.get("warmup") or {}).get("simulated_s") or 0.0
    whole = removed + (result.get("simulated_s") or 0.0)
    return removed / whole if whole > 0 else 0.0


def _said(share: float) -> str:
    return f"{100 * share:.2g} %" if share < _NEARLY_ALL else f"{100 * share:.4g} %"


def _latencies(results: Results, without: str) -> list[Block]:
    """A table of latencies by run and operation, and one by stream where a run has several."""
    columns = ["operation", "requests", *(label for label, _ in _LATENCIES)]

    def row(operation: str, latency: Json) -> list[Content]:
        return [operation, latency["count"], *(cells.shown("latency_us", latency.get(key)) for _, key in _LATENCIES)]

    def served(result: Json) -> Iterable[tuple[str, Json]]:
        return ((name, found) for name, found in result.get("latency_us", {}).items() if found and found.get("count"))

    rows = [[name, *row(operation, found)] for name, result in results for operation, found in served(result)]
    tables: list[Block] = [
        Table(f"Latency, from the host's issue to completion{without}", ["run", *columns], rows, fits=True)
    ]
    streams = [
        [name, stream, *row(operation, found)]
        for name, result in results
        if len(result.get("streams", {})) > 1
        for stream, part in result["streams"].items()
        for operation, found in served(part)
    ]
    slowest: dict[str, float] = {}
    for _, result in results:
        for operation, found in served(result):
            slowest[operation] = max(slowest.get(operation, 0.0), found.get("max") or 0.0)
    instant = [operation for operation, longest in slowest.items() if longest <= 0]
    if instant:
        tables.append(Text(f"Took no time at all, and have no latency figures: {', '.join(instant)}."))
    if streams:
        tables.append(Table(f"Latency by stream{without}", ["run", "stream", *columns], streams, fits=True))
    return tables


def _configurations(results: Results) -> list[Block]:
    configs = [(name, result["config"]) for name, result in results]
    blocks: list[Block] = []
    if len(configs) > 1:
        flat = [cells.flat(config) for _, config in configs]
        keys = list(dict.fromkeys(key for values in flat for key in values))
        rows = [[key, *(values.get(key) for values in flat)] for key in keys if len({v.get(key) for v in flat}) > 1]
        if rows:
            blocks.append(Table("Keys that differ", ["key", *(name for name, _ in configs)], rows, fits=True))
        else:
            blocks.append(Text("All runs have the same configuration."))
    distinct: dict[str, list[str]] = {}
    for name, config in configs:
        distinct.setdefault(json.dumps(config, indent=2, ensure_ascii=False), []).append(name)
    for text, names in distinct.items():
        called = ", ".join(isolated(name) for name in names)
        whose = "" if len(configs) == 1 else " of every run" if len(distinct) == 1 else f": {called}"
        blocks.append(Details(f"Complete configuration{whose}", text))
    return blocks
