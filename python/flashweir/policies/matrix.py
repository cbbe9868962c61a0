"""Wins of a trial: the candidate against its best rival on each workload, seen and unseen ones apart."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from flashweir import statistics
from flashweir.policies import frozen
from flashweir.policies.outcome import percent
from flashweir.policies.setup import AXIS
from flashweir.policies.trial import PARTS, Trial, settings_in
from flashweir.statistics.columns import Group, groups
from flashweir.tables import with_interval

if TYPE_CHECKING:
    from rich.console import Console

    from flashweir.sweeps.frame import SweepFrame

OUTCOMES = ("win", "tie", "loss", "failed")
# Headings of a table of verdicts, after the workload.
HEADINGS = ("outcome", "candidate, IOPS", "best rival", "its IOPS", "difference", "p99.9", "write amplification")
_COLLECTED = "flash.gc.erases"
_STYLES = {"win": "better", "loss": "worse", "failed": "worse"}


@dataclass(frozen=True)
class Verdict:
    """The candidate against the best rival on one workload.

    The changes are shares of what the rival has, None where a side has no value; `low` and `high` are the ends of the
    95% interval of the change of IOPS, None with fewer than two seeds. `collected` says whether either of the two
    collected garbage: if not, the workload decides nothing.
    """

    workload: str
    seen: bool
    outcome: Literal["win", "tie", "loss", "failed"]
    rival: str | None = None
    iops: statistics.Estimate | None = None
    rival_iops: statistics.Estimate | None = None
    change: float | None = None
    low: float | None = None
    high: float | None = None
    p999: float | None = None
    write_amplification: float | None = None
    collected: bool = True

    def cells(self, console: "Console | None" = None) -> list[tuple[str, str]]:
        """Texts for a table, and whether each is `better` or `worse`."""
        if self.iops is None or self.rival_iops is None or self.rival is None:
            return [(self.outcome, _STYLES["failed"]), *[("-", "")] * 6]
        ends = {"relative_low": self.low, "relative_high": self.high}
        change = percent(self.change, ends)
        if self.low is not None and self.high is not None and self.low != self.high:
            change += f" ({percent(self.low, ends)} to {percent(self.high, ends)})"
        return [
            (self.outcome if self.collected else f"{self.outcome}, no collection", _STYLES.get(self.outcome, "")),
            (with_interval(*self.iops[:3], console), ""),
            (self.rival, ""),
            (with_interval(*self.rival_iops[:3], console), ""),
            (change, _STYLES.get(self.outcome, "")),
            ("-" if self.p999 is None else percent(self.p999), ""),
            ("-" if self.write_amplification is None else percent(self.write_amplification), ""),
        ]

    def as_json(self) -> dict[str, Any]:
        """The same as a JSON object."""
        estimates = {"iops": self.iops, "rival_iops": self.rival_iops}
        shown = {name: None if one is None else {"value": one.value, "low": one.low, "high": one.high, "n": one.n}
                 for name, one in estimates.items()}  # fmt: skip
        return {
            "workload": self.workload,
            "seen": self.seen,
            "outcome": self.outcome,
            "collected": self.collected,
            "rival": self.rival,
            **shown,
            "change": self.change,
            "change_low": self.low,
            "change_high": self.high,
            "p999_change": self.p999,
            "write_amplification_change": self.write_amplification,
        }


@dataclass(frozen=True)
class Matrix:
    """Wins, ties and losses. `frame` is the sweep with all runs."""

    trial: Trial
    verdicts: Sequence[Verdict]
    frozen: frozen.Frozen
    frame: "SweepFrame"

    @property
    def name(self) -> str:
        """Title of the trial."""
        return self.trial.spec.name

    @property
    def refused(self) -> Mapping[str, str]:
        """Rivals that make no drive, with the reason."""
        found: Mapping[str, str] = (self.frame.meta or {})["refused"]
        return found

    @property
    def notes(self) -> list[str]:
        """Sentence on the seeds."""
        return list((self.frame.meta or {})["notes"])

    @property
    def heading(self) -> str:
        """Sentence on the candidate, its rivals and the metric."""
        return (
            f"{self.trial.candidate} against the best of {', '.join(self.trial.rivals)} on each workload. A difference "
            f"of more than {100 * self.trial.limit:g} % in IOPS counts; the 95% interval of a win must not contain 0, "
            "that of a loss may."
        )

    @property
    def parts(self) -> list[tuple[str, list[Verdict]]]:
        """Verdicts on seen and on unseen workloads, each under its title."""
        return [(title, [one for one in self.verdicts if one.seen == (part == "seen")]) for part, title in PARTS]

    def totals(self) -> dict[str, dict[str, Any]]:
        """Of `seen` and `unseen` each: how many of which outcome, the mean change, and the worst one."""
        found = {}
        for (part, _), (_, verdicts) in zip(PARTS, self.parts, strict=True):
            changes = {one.workload: one.change for one in verdicts if one.change is not None}
            logs = [math.log1p(change) for change in changes.values() if change > -1]
            worst = min(changes, key=lambda name: changes[name], default=None)
            found[part] = {
                "workloads": len(verdicts),
                **{name: sum(one.outcome == name for one in verdicts) for name in OUTCOMES},
                "without_collection": sum(not one.collected for one in verdicts),
                "mean_change": math.expm1(math.fsum(logs) / len(logs)) if logs else None,
                "worst_change": None if worst is None else changes[worst],
                "worst": worst,
            }
        return found

    @property
    def totals_said(self) -> list[str]:
        """The totals, a sentence a part."""
        said = []
        for part, total in self.totals().items():
            count = total["workloads"]
            text = f"{part.capitalize()}: {count} workload{'' if count == 1 else 's'}: {total['win']} won, "
            text += f"{total['tie']} tied, "
            text += f"{total['loss']} lost" + (f", {total['failed']} failed" if total["failed"] else "")
            if idle := total["without_collection"]:
                text += f" ({idle} without a collection decide{'s' if idle == 1 else ''} nothing)"
            if total["worst"] is not None:
                text += f"; {percent(total['mean_change'])} in the geometric mean, {percent(total['worst_change'])} at "
                text += f"worst ({total['worst']})"
            said.append(f"{text}.")
        return said

    def as_json(self) -> dict[str, Any]:
        """All of it as a JSON object (docs/reference/compare.md)."""
        return {
            "name": self.name,
            "candidate": self.trial.candidate,
            "rivals": list(self.trial.rivals),
            "limit": self.trial.limit,
            "seeds": list(self.trial.spec.seeds),
            "rows": [one.as_json() for one in self.verdicts],
            "totals": self.totals(),
            "frozen": self.frozen.as_json(),
            "refused": dict(self.refused),
            "notes": self.notes,
            "version": (self.frame.meta or {})["version"],
        }


def judged(trial: Trial, frame: "SweepFrame") -> Matrix:
    """Winner on each workload, from the frame of the trial's sweep."""
    metrics = [name for name in (*(frame.meta or {})["metrics"], _COLLECTED) if name in frame.columns]
    found: dict[str, dict[str, Group]] = {}
    for (workload, policy), group in groups(frame, ["workload", AXIS], metrics).items():
        found.setdefault(workload, {})[policy] = group
    verdicts = [_verdict(trial, name, found.get(name, {})) for name in trial.spec.workloads]
    name = trial.candidate
    since = frozen.since(trial.file, name, trial.sources, lambda content: settings_in(content, name))
    return Matrix(trial, verdicts, since, frame)


def _verdict(trial: Trial, workload: str, found: Mapping[str, Group]) -> Verdict:
    seen = workload not in trial.unseen
    means = {
        name: statistics.mean_interval(group.by_seed("iops").values(), at_least=0.0) for name, group in found.items()
    }
    means = {name: mean for name, mean in means.items() if mean.n}
    rivals = [name for name in trial.rivals if name in means]
    if trial.candidate not in means or not rivals:
        return Verdict(workload, seen, "failed")
    best = max(rivals, key=lambda name: means[name].value)
    pair = found[best], found[trial.candidate]
    iops = _difference(pair, "iops")
    change = iops.relative if iops.relative is not None else 0.0
    sure = iops.relative_low is None or iops.relative_low > 0
    outcome: Literal["win", "tie", "loss"] = "tie"
    if change < -trial.limit:
        outcome = "loss"
    elif change > trial.limit and sure:
        outcome = "win"
    tail = next(name for name in trial.spec.metrics if name.endswith(".p999"))
    return Verdict(
        workload,
        seen,
        outcome,
        best,
        means[trial.candidate],
        means[best],
        iops.relative,
        iops.relative_low,
        iops.relative_high,
        _difference(pair, tail).relative,
        _difference(pair, "write_amplification").relative,
        any(erases > 0 for group in pair for erases in group.by_seed(_COLLECTED).values()),
    )


def _difference(pair: tuple[Group, Group], metric: str) -> statistics.Difference:
    first, second = (group.by_seed(metric) for group in pair)
    seeds = [seed for seed in first if seed in second]
    return statistics.difference([first[seed] for seed in seeds], [second[seed] for seed in seeds])
