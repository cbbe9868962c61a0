"""Report of a sweep: the finding, the comparison, figures, all settings, failures, and last of all runs and machine."""

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from flashweir import statistics
from flashweir.charts import labels
from flashweir.charts.model import Chart
from flashweir.charts.names import isolated
from flashweir.quantity import number_of
from flashweir.reports import about, cells, finding
from flashweir.reports.figures import sections_of
from flashweir.reports.model import Block, Cell, Content, Details, Facts, Section, Table, Text
from flashweir.statistics.summary import QUANTILE
from flashweir.sweeps.rows import shown_metrics

if TYPE_CHECKING:
    import polars as pl

Json = Mapping[str, Any]
_EXAMPLES = 3
_TWO = 2
_IN_SWEEP = "All of them are in the sweep's directory."


def charts_of_sweep(frame: "pl.DataFrame") -> list[Chart]:
    """The figures about a sweep."""
    from flashweir.charts import from_sweep

    return from_sweep.figures(frame)


def report_of_sweep(
    frame: "pl.DataFrame", meta: Json, charts: Sequence[Chart] | None = None, opening: Section | None = None
) -> list[Section]:
    """Sections: the finding, the requested comparison, figures, a row a setting with intervals, failures, and the runs.

    Args:
        frame: a row a run, with a column an axis and metric, `seed`, and `error` where a run failed.
        meta: the sweep's own description, sweep.json.
        charts: the figures, where the caller has made them already.
        opening: the first section, where the caller has a finding of its own; warnings are added to it.
    """
    failed = frame.filter(frame["error"].is_not_null())
    metrics = shown_metrics(frame, meta)
    alerts = _alerts(frame, meta, len(failed))
    after = [Section("Failures", _failures(failed, meta))] if len(failed) else []
    after.append(Section("Runs", _sweep_facts(frame, meta, len(failed))))
    if len(failed) == len(frame):
        sentences = [f"All {len(frame):,} runs failed." if len(frame) else "No run is complete."]
        return [opening or finding.section(sentences, None, alerts), *after]
    charts = charts_of_sweep(frame) if charts is None else charts
    summary = _summarized(frame, metrics)
    axes = [axis["name"] for axis in meta["axes"]]
    asked = bool(meta.get("compare"))
    # Not among what the runs were made of, which is shown as it was.
    judged = meta if asked else {**meta, **_policy(frame, meta)}
    compared = _compared(frame, judged, metrics) if judged.get("compare") else None
    picture: Chart | None
    if compared is not None and compared.height:
        others = [name for name in axes if name != judged["compare"] and name in compared.columns]
        sentences = finding.of_comparison(compared, metrics, others)
        if not asked:
            sentences += finding.of_settings(summary, axes, metrics)[:1]
        picture = finding.differences(compared, judged["compare"], _values(judged), metrics, others)
    else:
        sentences, picture = finding.of_settings(summary, axes, metrics), None
    made = picture
    picture = picture or finding.first(charts, ("curve-", "points-", "heat-", "latency-", ""))
    if opening is None:
        opening = finding.section(sentences, picture, alerts)
    else:
        opening, picture = Section(opening.title, [*opening.blocks, *alerts]), made
    sections = [opening]
    if compared is not None:
        sections.append(Section("Comparison", _comparison(compared, judged, metrics)))
    sections += sections_of(charts, picture)
    sections.append(Section("All settings", _summary(frame, summary, meta, metrics)))
    return [*sections, *after]


def _policy(frame: "pl.DataFrame", meta: Json) -> Json:
    """Values that are judged where the sweep compares nothing: the only axis of names, beside others that vary."""
    axes = [axis for axis in meta["axes"] if len(axis["values"]) > 1]
    named = [
        axis
        for axis in axes
        if axis["name"] != "workload" and axis["name"] in frame.columns
        and all(isinstance(value, str) and number_of(value) is None for value in axis["values"])
    ]  # fmt: skip
    if len(named) != 1 or len(axes) == 1:
        return {}
    return {"compare": named[0]["name"], "baseline": named[0]["values"][0]}


def _values(meta: Json) -> Sequence[object]:
    found: Sequence[object] = next((axis["values"] for axis in meta["axes"] if axis["name"] == meta["compare"]), ())
    return found


def _alerts(frame: "pl.DataFrame", meta: Json, failed: int) -> list[Block]:
    done, planned = len(frame), int(meta.get("runs", len(frame)))
    blocks: list[Block] = []
    if failed:
        blocks.append(Text(f"{failed:,} of {done:,} runs failed: tables and figures show the others.", alert=True))
    if done < planned:
        blocks.append(
            Text(f"The sweep is not complete: {planned - done:,} of {planned:,} runs are missing.", alert=True)
        )
    return blocks


def _sweep_facts(frame: "pl.DataFrame", meta: Json, failed: int) -> list[Block]:
    done = len(frame)
    blocks: list[Block] = [Text(str(note)) for note in meta.get("notes") or ()]
    axes = [f"{axis['name']}: {', '.join(cells.plain(value) for value in axis['values'])}" for axis in meta["axes"]]
    facts: list[tuple[str, str | Sequence[str]]] = [
        ("sweep", str(meta.get("name", ""))),
        ("runs", f"{done:,} of {meta.get('runs', 0):,}, {failed:,} failed; {meta.get('points', 0):,} settings"),
        ("axes", axes or ["none"]),
        ("seeds", ", ".join(cells.plain(seed) for seed in meta.get("seeds", ()))),
        ("version", about.version(meta.get("version", ""), meta.get("build"), meta.get("git_commit"))),
        ("machine", about.lines(meta.get("machine") or {})),
        ("created", str(meta.get("created", ""))),
    ]
    spec = json.dumps(meta.get("spec"), indent=2, ensure_ascii=False)
    blocks += [Facts(facts), Details("Specification of the sweep", spec)]
    if refused := meta.get("refused"):
        rows = [[name, str(reason)] for name, reason in refused.items()]
        blocks.append(Table("Combinations without a drive, not run", ["policy", "reason"], rows))
    return blocks


@runtime_checkable
class Pooling(Protocol):
    """A frame that estimates with the requests of all seeds, where its runs have them, as that of a sweep does."""

    @property
    def pooled(self) -> bool:
        """True if they have."""
        ...

    def summary(self, metrics: Sequence[str]) -> "pl.DataFrame":
        """As `statistics.summarize`."""
        ...

    def compare(self, axis: str, metrics: Sequence[str]) -> "pl.DataFrame":
        """As `statistics.compare`, of an axis against the sweep's baseline."""
        ...


def _summarized(frame: "pl.DataFrame", metrics: Sequence[str]) -> "pl.DataFrame":
    return frame.summary(metrics) if isinstance(frame, Pooling) else statistics.summarize(frame, metrics)


def _summary(frame: "pl.DataFrame", found: "pl.DataFrame", meta: Json, metrics: Sequence[str]) -> list[Block]:
    axes = meta["axes"]
    rows = [
        [
            *(cells.setting(axis, row[axis["name"]]) for axis in axes),
            *(cells.estimate(metric, row[metric], row[f"{metric} low"], row[f"{metric} high"]) for metric in metrics),
            row["runs"],
            row["failed"],
        ]
        for row in found.iter_rows(named=True)
    ]
    columns = [*(axis["name"] for axis in axes), *map(labels.title, metrics), "runs", "failed"]
    quantiles = [labels.title(name) for name in metrics if QUANTILE.fullmatch(name)]
    if not quantiles:
        text = "Means over the seeds of a setting"
    elif isinstance(frame, Pooling) and frame.pooled:
        text = f"{', '.join(quantiles)}: of all requests of all seeds of a setting. Others are means over its seeds"
    else:
        text = "Means over the seeds of a setting, also of the runs' latency quantiles"
    text += "; after ±, or in brackets, the 95 % interval where there is more than one seed."
    if len(meta.get("seeds", ())) == _TWO:
        text += " Two seeds say little of the spread: an interval is 12.7 standard errors on each side, with three 4.3."
    return [Text(text), Table("Settings", columns, rows, rest=_IN_SWEEP, fits=True)]


def _compared(frame: "pl.DataFrame", meta: Json, metrics: Sequence[str]) -> "pl.DataFrame":
    if isinstance(frame, Pooling):
        return frame.compare(meta["compare"], metrics)
    return statistics.compare(frame, meta["compare"], metrics, baseline=meta.get("baseline"))


def _comparison(found: "pl.DataFrame", meta: Json, metrics: Sequence[str]) -> list[Block]:
    """A row a difference, with what decides first: by how much, and how sure."""
    if found.is_empty():
        return [Text(f"{meta['compare']}: no two values have runs of the same seed and setting; nothing is compared.")]
    others = [axis for axis in meta["axes"] if axis["name"] != meta["compare"] and axis["name"] in found.columns]
    rows: list[list[Content]] = []
    significant = 0
    for row in found.iter_rows(named=True):
        significant += bool(row["significant"])
        rows.append(
            [
                *(cells.setting(axis, row[axis["name"]]) for axis in others),
                cells.plain(row["alternative"]),
                labels.title(row["metric"]),
                cells.percent(row["relative"], row["relative_low"], row["relative_high"]),
                row["verdict"],
                None if row["p_holm"] is None else Cell(f"{row['p_holm']:.2g}", row["p_holm"]),
                row["n"],
                cells.shown(row["metric"], row["mean_baseline"]),
                cells.shown(row["metric"], row["mean"]),
            ]
        )
    columns = [
        *(axis["name"] for axis in others),
        meta["compare"],
        *("metric", "difference", "verdict", "p (Holm)", "pairs", "mean of baseline", "mean"),
    ]
    text = (
        f"{meta['compare']}: each value against {_baselines(found)}, runs of the same seed and setting paired. "
        f"{significant:,} of {len(rows):,} differences are significant at 5 % after Holm's correction for their number."
    )
    if any(QUANTILE.fullmatch(name) for name in metrics):
        text += (
            " Latency quantiles are compared run by run: their means here are those of the runs' quantiles, and not the"
            " quantile of all requests."
        )
    return [Text(text), Table(f"Differences by {meta['compare']}", columns, rows, rest=_IN_SWEEP, fits=True)]


def _baselines(found: "pl.DataFrame") -> str:
    names = list(dict.fromkeys(cells.plain(value) for value in found["baseline"].to_list()))
    return f"the baseline, {names[0]}" if len(names) == 1 else "the baseline"


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
