"""A comparison as a sweep: policies are the named groups of its axis `policy`; those without a drive are put aside."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from flashweir import _native
from flashweir._native import ConfigError, FlashweirError, TraceError
from flashweir.arguments import SET
from flashweir.fio.resolving import draws as drawn
from flashweir.policies.grammar import Policies, completed
from flashweir.settings import flat
from flashweir.sweeps.axes import Axis
from flashweir.sweeps.life import LEFT_OUT
from flashweir.sweeps.points import runs
from flashweir.sweeps.spec import PROBE, SweepSpec, load

AXIS = "policy"
OPERATIONS = ("write", "read")
QUANTILES = ("p50", "p95", "p99", "p999", "p9999")
# A quantile of few seeds needs several of them; more cost their time.
SEEDS = 5
# Workloads that a note names.
_NAMED = 3


def metrics(operation: str) -> list[str]:
    """Metrics that compare policies."""
    return ["iops", *(f"latency_us.{operation}.{name}" for name in QUANTILES), "write_amplification"]


def objectives(operation: str) -> dict[str, Any]:
    """Objectives of the Pareto front."""
    return {"iops": "max", f"latency_us.{operation}.p999": "min", "write_amplification": "min"}


def life_of(metric: object, cycles: object, price: object, per_day: object) -> dict[str, Any]:
    """The key `life` of a spec, of options of a comparison; empty without any.

    Raises:
        ConfigError: options without `cycles`.
    """
    given = {"price": price, "per_day": per_day, "metrics": metric.split(",") if isinstance(metric, str) else metric}
    life = {name: value for name, value in given.items() if value is not None}
    if cycles is None:
        if life:
            option = next(iter(life)).replace("metrics", "metric")
            raise ConfigError(f"{option} {given.get(option, metric)}: needs cycles, the rated cycles of a block")
        return {}
    return {"life": {"cycles": cycles, **life}}


def spec_of(
    workloads: object,
    policies: Policies,
    common: Mapping[str, object],
    *,
    baseline: str | None = None,
    latency: str = "write",
    folder: Path | None = None,
    **more: Any,  # noqa: ANN401 - keys of a spec
) -> SweepSpec:
    """The sweep that runs `policies` on `workloads`, every combination that makes a drive.

    Args:
        workloads: as `workloads` of a sweep.
        policies: names and settings.
        common: settings of all; those of a policy hold against them.
        baseline: the policy that the others are compared with; the first one that makes a drive if not given.
        latency: the operation whose latencies are compared.
        folder: what paths are relative to.
        more: further keys of a spec (docs/reference/sweep.md).

    Returns:
        The spec; `about` has `refused`, the policies that make no drive with the reason, and `notes`.

    Raises:
        ConfigError: none of the policies makes a drive, or the spec is none.
    """
    if latency not in OPERATIONS:
        raise ConfigError(f"latency {latency}: expected {' or '.join(OPERATIONS)}")
    common = flat(common)
    groups = {name: completed(settings, common) for name, settings in policies.items()}
    table = {"workloads": workloads, "set": common, "metrics": metrics(latency), "compare": AXIS, **more}
    # Read once with all of them: a key that is unknown is an error, and not a policy that makes no drive.
    spec = load({**table, "axes": {AXIS: groups}}, folder)
    refused = _refused(spec)
    kept = {name: settings for name, settings in groups.items() if name not in refused}
    if baseline is not None and baseline in refused:
        raise ConfigError(f"baseline {baseline}: makes no drive: {refused[baseline]}")
    if not kept:
        name, reason = next(iter(refused.items()))
        others = f" ({len(refused) - 1} more make none either)" if len(refused) > 1 else ""
        raise ConfigError(f"policy {name}: {reason}{others}")
    once, notes = _seedless(replace(spec, groups=_kept(spec, kept)))
    notes += [LEFT_OUT] if "life" in more else []
    table |= {"axes": {AXIS: kept}, "baseline": next(iter(kept)) if baseline is None else baseline, "once": once}
    about = {"policies": {name: dict(settings) for name, settings in kept.items()}, "refused": refused, "notes": notes}
    return replace(load(table, folder), about=about)


def _refused(spec: SweepSpec) -> dict[str, str]:
    """The policies that make a drive of their own for none of the workloads, with the first reason."""
    reasons: dict[str, str] = {}
    drives: set[str] = set()
    for run in runs(replace(spec, seeds=spec.seeds[:1])):
        name = str(run.axes[AXIS])
        if name in drives:
            continue
        try:
            plan = json.loads(_native.plan(json.dumps({**run.spec, "workloads": [PROBE]})))
            if without_effect := plan["no_effect"]:
                # It equals another one.
                reasons.setdefault(name, "{keys}: {reason}".format(**without_effect[0]))
            else:
                drives.add(name)
        except FlashweirError as error:
            reasons.setdefault(name, " ".join(str(error).removeprefix(SET).split()))
    return {name: reason for name, reason in reasons.items() if name not in drives}


def check_workloads(spec: SweepSpec) -> None:
    """Refuses a workload that no policy can run: better now than in every run.

    Raises:
        ConfigError: a generator, a setting of one or an option of a workload that is none.
    """
    failed: dict[str, TraceError] = {}
    good: set[str] = set()
    for run in runs(replace(spec, seeds=spec.seeds[:1])):
        if run.workload in good:
            continue
        try:
            _native.plan(json.dumps(run.spec))
            good.add(run.workload)
        except TraceError as error:
            failed.setdefault(run.workload, error)
        except FlashweirError:
            # A workload that does not fit the drive is a run that fails.
            good.add(run.workload)
    for name, why in failed.items():
        if name not in good:
            raise ConfigError(f"workload {name}: {why}") from why


def _kept(spec: SweepSpec, kept: Mapping[str, object]) -> Sequence[Sequence[Axis]]:
    """The axis of the policies without those that were refused."""
    (axis,) = (axis for group in spec.groups for axis in group)
    places = [place for place, label in enumerate(axis.labels) if label in kept]
    labels = [axis.labels[place] for place in places]
    return [[replace(axis, labels=labels, settings=[axis.settings[place] for place in places])]]


def _seedless(spec: SweepSpec) -> tuple[list[str], list[str]]:
    """The workloads on which no policy draws anything: every seed would give the same run. And what to say of them."""
    if len(spec.seeds) == 1:
        return [], ["One seed: there are no intervals, and no difference is known to be more than chance."]
    drawing: set[str] = set()
    for run in runs(replace(spec, seeds=spec.seeds[:1])):
        if run.workload not in drawing:
            try:
                plan = json.loads(_native.plan(json.dumps(run.spec)))
                draws = plan["seeded"] or drawn(run.spec["workloads"])
            except FlashweirError:
                # It will be a run that fails.
                draws = True
            drawing |= {run.workload} if draws else set()
    once = [name for name in spec.workloads if name not in drawing]
    if not once:
        return [], []
    more = f" and {len(once) - _NAMED} more" if len(once) > _NAMED else ""
    note = (
        f"{', '.join(once[:_NAMED])}{more}: recorded, and no policy draws random numbers: every seed would give the "
        "same run, so each runs once and has no interval."
    )
    return once, [note]
