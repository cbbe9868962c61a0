"""What a report says about results of single runs, and about a sweep: sections of texts, tables and figures."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from flashweir import statistics
from flashweir.charts.model import Chart
from flashweir.charts.names import isolated
from flashweir.reports import cells
from flashweir.reports.cells import Json
from flashweir.reports.model import Block, Content, Details, Facts, Figure, Section, Table, Text
from flashweir.reports.tails import tail_sections
from flashweir.reports.tenants import tenant_tables
from flashweir.statistics.summary import QUANTILE
from flashweir.sweeps.rows import shown_metrics

if TYPE_CHECKING:
    import polars as pl

Results = Sequence[tuple[str, dict[str, Any]]]

# Key figures of a run: heading with unit, path in the result.
_KEY_FIGURES = (
    ("requests", "requests"),
    ("IOPS", "iops"),
    ("MiB/s", "bandwidth_mib_s"),
    ("mean read, us", "latency_us.read.mean"),
    ("p99 read, us", "latency_us.read.p99"),
    ("mean write, us", "latency_us.write.mean"),
    ("p99 write, us", "latency_us.write.p99"),
    ("write amplification", "write_amplification"),
    ("erases", "flash.erases"),
    ("simulated, s", "simulated_s"),
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
# A figure's section, by how its name begins.
_FIGURES = (
    ("Comparison of runs", ("compare-",)),
    ("Latency", ("latency-",)),
    ("Tenants", ("tenant-",)),
    ("What channels did", ("channel-", "dirty-")),
    ("Over time", ("over-time-", "collection-")),
    ("Curves", ("curve-", "points-")),
    ("Two axes at a time", ("heat-",)),
    ("Trade-offs", ("pareto-",)),
    ("More figures", ("",)),
)
_EXAMPLES = 3
# The part of the simulated time from which on a warm-up is worth a warning, and from which on it has more digits.
_MOST_WARM_UP, _NEARLY_ALL = 0.5, 0.99
_IN_SWEEP = "All of them are in the sweep's directory."


def charts_of_results(results: Results) -> list[Chart]:
    """The figures about single runs."""
    from flashweir.charts import from_result

    return from_result.figures(results)


def charts_of_sweep(frame: "pl.DataFrame") -> list[Chart]:
    """The figures about a sweep."""
    from flashweir.charts import from_sweep

    return from_sweep.figures(frame)


def report_of_results(results: Results, charts: Sequence[Chart] | None = None) -> list[Section]:
    """What was run, key figures, latencies, figures, and how the configurations differ.

    Args:
        results: name and result (docs/reference/result.md) of each run, in the order in which they are shown.
        charts: the figures, where the caller has made them already.
    """
    charts = charts_of_results(results) if charts is None else charts
    without = ", without warm-up" if any(_warm_up_share(result) for _, result in results) else ""
    keys = Table(
        f"Runs{without}",
        ["run", *(label for label, _ in _KEY_FIGURES)],
        [[name, *(cells.at(result, path) for _, path in _KEY_FIGURES)] for name, result in results],
    )
    return [
        Section("What was run", _what_was_run(results)),
        Section("Key figures", [keys, *_latencies(results, without), *tenant_tables(results, without)]),
        *tail_sections(results),
        *_figures(charts),
        Section("Configuration", _configurations(results)),
    ]


def report_of_sweep(frame: "pl.DataFrame", meta: Json, charts: Sequence[Chart] | None = None) -> list[Section]:
    """What was run, the comparison that was asked for, figures, a row a setting with intervals, and what failed.

    Args:
        frame: a row a run, with a column an axis and metric, `seed`, and `error` where a run failed.
        meta: the sweep's own description, sweep.json.
        charts: the figures, where the caller has made them already.
    """
    failed = frame.filter(frame["error"].is_not_null())
    metrics = shown_metrics(frame, meta)
    sections = [Section("What was run", _sweep_facts(frame, meta, len(failed)))]
    if len(failed) < len(frame):
        if meta.get("compare"):
            sections.append(Section("Comparison", _comparison(frame, meta, metrics)))
        sections += _figures(charts_of_sweep(frame) if charts is None else charts)
        sections.append(Section("All settings", _summary(frame, meta, metrics)))
    if len(failed):
        sections.append(Section("Failures", _failures(failed, meta)))
    return sections


def _what_was_run(results: Results) -> list[Block]:
    shares = [(name, share) for name, result in results if (share := _warm_up_share(result)) > _MOST_WARM_UP]
    alerts: list[Block] = [
        Text(f"{isolated(name)}: the warm-up took {_said(share)} of the simulated time, and is left out.", alert=True)
        for name, share in shares[:_EXAMPLES]
    ]
    if len(shares) > _EXAMPLES:
        alerts.append(Text(f"So it is with {len(shares) - _EXAMPLES:,} more runs.", alert=True))
    return [*alerts, *_runs(results)]


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
    return [Table("Runs", [columns[at] for at in kept], [[row[at] for at in kept] for row in rows])]


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
        ("version", f"flashweir {result.get('version', '')}"),
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
        return [operation, latency["count"], *(latency.get(key) for _, key in _LATENCIES)]

    def served(result: Json) -> Iterable[tuple[str, Json]]:
        return ((name, found) for name, found in result.get("latency_us", {}).items() if found and found.get("count"))

    rows = [[name, *row(operation, found)] for name, result in results for operation, found in served(result)]
    tables: list[Block] = [Table(f"Latency, us, from the host's issue to completion{without}", ["run", *columns], rows)]
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
        tables.append(Table(f"Latency by stream, us{without}", ["run", "stream", *columns], streams))
    return tables


def _configurations(results: Results) -> list[Block]:
    configs = [(name, result["config"]) for name, result in results]
    blocks: list[Block] = []
    if len(configs) > 1:
        flat = [cells.flat(config) for _, config in configs]
        keys = list(dict.fromkeys(key for values in flat for key in values))
        rows = [[key, *(values.get(key) for values in flat)] for key in keys if len({v.get(key) for v in flat}) > 1]
        if rows:
            blocks.append(Table("Keys that differ", ["key", *(name for name, _ in configs)], rows))
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


def _figures(charts: Sequence[Chart]) -> list[Section]:
    sections: dict[str, list[Block]] = {}
    for chart in charts:
        title = next(title for title, starts in _FIGURES if chart.name.startswith(starts))
        sections.setdefault(title, []).append(Figure(chart))
    return [Section(title, sections[title]) for title, _ in _FIGURES if title in sections]


def _sweep_facts(frame: "pl.DataFrame", meta: Json, failed: int) -> list[Block]:
    done, planned = len(frame), int(meta.get("runs", len(frame)))
    blocks: list[Block] = [Text(str(note)) for note in meta.get("notes") or ()]
    if failed:
        blocks.append(Text(f"{failed:,} of {done:,} runs failed: tables and figures are about the others.", alert=True))
    if done < planned:
        blocks.append(
            Text(f"The sweep is not complete: {planned - done:,} of {planned:,} runs are missing.", alert=True)
        )
    axes = [f"{axis['name']}: {', '.join(cells.plain(value) for value in axis['values'])}" for axis in meta["axes"]]
    build = [f"build {meta['build']}"] if meta.get("build") else []
    commit = [f"commit {meta['git_commit']}"] if meta.get("git_commit") else []
    version = ", ".join([f"flashweir {meta.get('version', '')}", *build, *commit])
    facts: list[tuple[str, str | Sequence[str]]] = [
        ("sweep", str(meta.get("name", ""))),
        ("runs", f"{done:,} of {meta.get('runs', 0):,}, {failed:,} failed; {meta.get('points', 0):,} settings"),
        ("axes", axes or ["none"]),
        ("seeds", ", ".join(cells.plain(seed) for seed in meta.get("seeds", ()))),
        ("version", version),
        (
            "machine",
            [f"{key}: {cells.plain(value)}" for key, value in (meta.get("machine") or {}).items()] or ["unknown"],
        ),
        ("created", str(meta.get("created", ""))),
    ]
    spec = json.dumps(meta.get("spec"), indent=2, ensure_ascii=False)
    blocks += [Facts(facts), Details("The sweep as it was specified", spec)]
    if refused := meta.get("refused"):
        rows = [[name, str(reason)] for name, reason in refused.items()]
        blocks.append(Table("Not run, as no drive has these settings", ["policy", "reason"], rows))
    return blocks


def _summary(frame: "pl.DataFrame", meta: Json, metrics: Sequence[str]) -> list[Block]:
    from flashweir.sweeps.frame import SweepFrame

    found = frame.summary(metrics) if isinstance(frame, SweepFrame) else statistics.summarize(frame, metrics)
    axes = meta["axes"]
    rows = [
        [
            *(cells.setting(axis, row[axis["name"]]) for axis in axes),
            row["runs"],
            row["failed"],
            *(cells.estimate(row[metric], row[f"{metric} low"], row[f"{metric} high"]) for metric in metrics),
        ]
        for row in found.iter_rows(named=True)
    ]
    columns = [*(axis["name"] for axis in axes), "runs", "failed", *metrics]
    quantiles = [name for name in metrics if QUANTILE.fullmatch(name)]
    if not quantiles:
        text = "Means over the seeds of a setting"
    elif isinstance(frame, SweepFrame) and frame.pooled:
        text = f"{', '.join(quantiles)}: of all requests of all seeds of a setting. Others are means over its seeds"
    else:
        text = "Means over the seeds of a setting, also of the runs' latency quantiles"
    text += "; after ±, or in brackets, the 95 % interval where there is more than one seed."
    return [Text(text), Table("Settings", columns, rows, rest=_IN_SWEEP)]


def _comparison(frame: "pl.DataFrame", meta: Json, metrics: Sequence[str]) -> list[Block]:
    from flashweir.sweeps.frame import SweepFrame

    if isinstance(frame, SweepFrame):
        found = frame.compare(metrics=metrics)
    else:
        found = statistics.compare(frame, meta["compare"], metrics, baseline=meta.get("baseline"))
    others = [axis for axis in meta["axes"] if axis["name"] != meta["compare"] and axis["name"] in found.columns]
    rows: list[list[Content]] = []
    significant = 0
    for row in found.iter_rows(named=True):
        significant += bool(row["significant"])
        rows.append(
            [
                *(cells.setting(axis, row[axis["name"]]) for axis in others),
                cells.plain(row["alternative"]),
                cells.plain(row["baseline"]),
                row["metric"],
                row["n"],
                row["mean_baseline"],
                row["mean"],
                cells.percent(row["relative"], row["relative_low"], row["relative_high"]),
                row["p_holm"],
                row["verdict"],
            ]
        )
    columns = [
        *(axis["name"] for axis in others),
        meta["compare"],
        *("baseline", "metric", "pairs", "mean of baseline", "mean", "difference", "p (Holm)", "verdict"),
    ]
    text = (
        f"{meta['compare']}: each value against the baseline, runs of the same seed and setting paired. "
        f"{significant:,} of {len(rows):,} differences are significant at 5 % after Holm's correction for their number."
    )
    if any(QUANTILE.fullmatch(name) for name in metrics):
        text += (
            " Latency quantiles are compared run by run: their means here are those of the runs' quantiles, and not the"
            " quantile of all requests."
        )
    return [Text(text), Table(f"Differences by {meta['compare']}", columns, rows, rest=_IN_SWEEP)]


def _failures(failed: "pl.DataFrame", meta: Json) -> list[Block]:
    """Each error, how often it came, and the first settings that it came with."""
    names = [axis["name"] for axis in meta["axes"]]
    groups: dict[str, list[str]] = {}
    for row in failed.iter_rows(named=True):
        setting = ", ".join(f"{name}={isolated(cells.plain(row[name]))}" for name in [*names, "seed"] if name in row)
        groups.setdefault(row["error"], []).append(setting)
    rows: list[list[Content]] = []
    for error, settings in sorted(groups.items(), key=lambda item: -len(item[1])):
        more = f"; and {len(settings) - _EXAMPLES:,} more" if len(settings) > _EXAMPLES else ""
        rows.append([error, len(settings), "; ".join(settings[:_EXAMPLES]) + more])
    return [Table("Errors", ["error", "runs", "settings"], rows, rest=_IN_SWEEP)]
