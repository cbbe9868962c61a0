"""Outcome of a comparison for each workload: values with intervals, changes against the baseline, the Pareto front."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from flashweir import statistics
from flashweir.policies.setup import AXIS, OPERATIONS, QUANTILES, metrics, objectives
from flashweir.statistics.verdict import decimals, judgement
from flashweir.sweeps.life import NAMES as LIFE
from flashweir.sweeps.rows import shown_metrics

if TYPE_CHECKING:
    from flashweir.sweeps.frame import SweepFrame

# From here on a change in per cent has no decimals.
_LARGE = 100
QUANTILES_SAID = "Latency quantiles are of all requests of all seeds, their changes of the seeds' quantiles."
# Headings of metrics whose names are none.
_LABELS = {"iops": "IOPS", "tbw": "TBW, TB", "years": "life, years", "cost_per_tbw": "cost of a TB written"}
# Fields of a comparison's row in the JSON.
_KEPT = ("n", "difference", "low", "high", "relative", "relative_low", "relative_high", "p_holm", "significant",
         "verdict")  # fmt: skip


@dataclass(frozen=True)
class Entry:
    """A policy on a workload.

    `values` has mean or quantile with `low` and `high` by metric, None where there is none; `changes` the row of
    `flashweir.statistics.compare` against the baseline by metric, none for the baseline itself.
    """

    policy: str
    runs: int
    failed: int
    values: Mapping[str, tuple[float | None, float | None, float | None]]
    changes: Mapping[str, Mapping[str, Any]]
    on_front: bool


@dataclass(frozen=True)
class Outcome:
    """All policies on one workload; `operation` is the one whose latencies are compared."""

    workload: str
    operation: str
    baseline: str
    entries: Sequence[Entry]
    life: Sequence[str] = ()

    @property
    def metrics(self) -> list[str]:
        """Those that have a value."""
        wanted = [*metrics(self.operation), *self.life]
        return [name for name in wanted if any(entry.values[name][0] is not None for entry in self.entries)]

    @property
    def front(self) -> list[str]:
        """The policies that no other one is as good as in everything, and better in something."""
        return [entry.policy for entry in self.entries if entry.on_front]


def outcomes(frame: "SweepFrame") -> list[Outcome]:
    """Outcome of a comparison's sweep, one workload after the other in their order."""
    meta = frame.meta or {}
    several = len(meta["workloads"]) > 1
    operations = {workload: _operation(frame, workload) for workload in meta["workloads"]}
    wanted = list(dict.fromkeys([*shown_metrics(frame, meta), *_there(frame, operations.values())]))
    summary = frame.summary(wanted)
    compared = frame.compare(AXIS, wanted).to_dicts() if summary.height else []
    life = [name for name in LIFE if name in (meta.get("derived") or ())]
    found = []
    for workload, operation in operations.items():
        rows = summary.filter(summary["workload"] == workload) if several else summary
        changes: dict[str, dict[str, Mapping[str, Any]]] = {}
        for row in compared:
            if not several or row["workload"] == workload:
                changes.setdefault(row["alternative"], {})[row["metric"]] = row
        # A metric that no policy has, such as a latency of writes without writes, is no objective.
        there = [name for name in objectives(operation) if name in rows.columns and rows[name].drop_nulls().len()]
        aims = {name: way for name, way in objectives(operation).items() if name in there}
        front = statistics.pareto(rows, aims)[AXIS].to_list() if aims else []
        names = [*metrics(operation), *life]
        entries = [_entry(row, names, changes.get(row[AXIS], {}), front) for row in rows.iter_rows(named=True)]
        found.append(Outcome(str(workload), operation, str(meta["baseline"]), entries, life))
    return found


def _operation(frame: "SweepFrame", workload: str) -> str:
    """The operation whose latencies are compared: the other one where the workload has none of those asked for."""
    meta = frame.meta or {}
    asked = next(name for name in OPERATIONS if f"latency_us.{name}.p999" in meta["metrics"])
    rows = frame.filter(frame["workload"] == workload)
    has = [name for name in OPERATIONS if f"latency_us.{name}.p50" in rows.columns
           and rows[f"latency_us.{name}.p50"].drop_nulls().len()]  # fmt: skip
    return asked if asked in has or not has else has[0]


def _there(frame: "SweepFrame", operations: Iterable[str]) -> Iterator[str]:
    """Metrics of these operations that have a value."""
    for operation in operations:
        yield from (name for name in metrics(operation) if name in frame.columns and frame[name].drop_nulls().len())


def _entry(row: Mapping[str, Any], names: Sequence[str], changes: Mapping[str, Any], front: Sequence[str]) -> Entry:
    values = {name: (row.get(name), row.get(f"{name} low"), row.get(f"{name} high")) for name in names}
    return Entry(row[AXIS], row["runs"], row["failed"], values, changes, row[AXIS] in front)


def change(row: Mapping[str, Any] | None) -> tuple[str, str]:
    """A change against the baseline in few words, and whether it is `better` or `worse`; empty where that is not known.

    `+12.3 % better` and `-3.1 % worse` are significant, after Holm's correction; `-0.2 % (n.s.)` is not; a bare
    `+12.3 %` is of one seed and has no interval; `same` is no difference under any seed.
    """
    if row is None:
        return "baseline", ""
    if row["difference"] is None:
        return "-", ""
    if row["low"] is None:
        return percent(row["relative"]) if row["difference"] else "same", ""
    if row["low"] == row["high"] == 0:
        return "same", ""
    judged = judgement(row["metric"], row["difference"], row["significant"]) or ""
    return f"{percent(row['relative'], row)} {judged or '(n.s.)'}", judged


def percent(relative: float | None, row: Mapping[str, Any] | None = None) -> str:
    """A change as a share of the baseline, to the digits that its interval leaves it."""
    if relative is None:
        return "?"
    value = 100 * relative
    ends = (row or {}).get("relative_low"), (row or {}).get("relative_high")
    if ends[0] is None or ends[1] is None or ends[0] == ends[1]:
        places = min(decimals(value / 10), 2)
    else:
        places = min(decimals(50 * (ends[1] - ends[0])), 2)
    return f"{value:+,.{0 if abs(value) >= _LARGE else places}f} %"


def label(metric: str) -> str:
    """A metric's heading, with its unit."""
    if metric in _LABELS:
        return _LABELS[metric]
    head, _, name = metric.rpartition(".")
    if name not in QUANTILES:
        return metric.replace("_", " ")
    return f"{head.rpartition('.')[2]} p{name[1:3]}{'.' + name[3:] if name[3:] else ''}, us"


def as_json(frame: "SweepFrame") -> dict[str, Any]:
    """The comparison as a JSON object (docs/reference/compare.md)."""
    meta = frame.meta or {}
    found = outcomes(frame)
    return {
        "name": meta["name"],
        "baseline": meta["baseline"],
        "seeds": meta["seeds"],
        "policies": meta["policies"],
        "refused": meta["refused"],
        "notes": meta["notes"],
        "rows": [_row(one, entry) for one in found for entry in one.entries],
        "pareto": {one.workload: one.front for one in found},
        "version": meta["version"],
    }


def _row(one: Outcome, entry: Entry) -> dict[str, Any]:
    return {
        "workload": one.workload,
        "policy": entry.policy,
        "runs": entry.runs,
        "failed": entry.failed,
        "metrics": {
            name: {"value": value, "low": low, "high": high} for name, (value, low, high) in entry.values.items()
        },
        "against_baseline": {name: {key: row[key] for key in _KEPT} for name, row in entry.changes.items()},
        "pareto": entry.on_front,
    }
