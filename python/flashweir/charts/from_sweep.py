"""Figures of a sweep, from its frame: which ones follows from its axes and from the metrics that differ."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from flashweir.charts import labels
from flashweir.charts.choices import Shown, chosen, in_colour, longest, policies, ranges
from flashweir.charts.colours import of_runs
from flashweir.charts.compared import Results, compared
from flashweir.charts.facets import in_facets
from flashweir.charts.from_result import PURPOSES, scale_for
from flashweir.charts.model import Axis, Chart, Heat, Plot, Series
from flashweir.charts.order import log_spaced
from flashweir.charts.palette import DOMINATED, FRONT
from flashweir.charts.settings import NONE, AxisValues, Cut, Setting, Sweep, collect, cut, evenly, short
from flashweir.charts.thin import rounded, spread
from flashweir.quantity import unit_of
from flashweir.sweeps.rows import shown_metrics

if TYPE_CHECKING:
    import polars as pl

    from flashweir.statistics import Estimate

# The tail that a front is of: the longer one where the sweep names it.
_TAILS = {operation: (f"latency_us.{operation}.p999", f"latency_us.{operation}.p99") for operation in ("read", "write")}
_POINTS, _CELLS = 2000, 60
# Up to so many values, each has its tick.
_TICKS = 12
# The part of a heat map's cells that have been run.
_MOST = 0.5


def figures(
    frame: "pl.DataFrame", meta: Mapping[str, Any] | None = None, results: Results | None = None
) -> list[Chart]:
    """All figures that a sweep has the data for. Notes say what part of the sweep a figure shows.

    Args:
        frame: a row a run, as `flashweir.sweep` returns it.
        meta: what the sweep was made of (`sweep.json`); that of the frame if it is not given.
        results: rows with their results, for latency distributions; those of the frame if they are not given. Read
            once, up to the last run that is wanted.
    """
    meta = meta if meta is not None else getattr(frame, "meta", {})
    shares = [f"time_share.{purpose}" for purpose in PURPOSES if f"time_share.{purpose}" in frame.columns]
    metrics = shown_metrics(frame, meta)
    tails = [longer if longer in metrics else usual for longer, usual in _TAILS.values()]
    pareto = [name for name in ("iops", "write_amplification", *tails) if name in frame.columns]
    # The report's table asks for the summary of the same metrics.
    rest = [name for name in pareto if name not in metrics]
    sweep = collect(frame, meta, list(dict.fromkeys([*metrics, *pareto, *shares])), [metrics, rest])
    if not sweep.metrics:
        return []
    shown = chosen(sweep, meta)
    coloured = policies(sweep, meta)
    charts: list[Chart] = []
    for metric in metrics:
        if shown is not None:
            drawn = [shown[0].name, *shown[1]]
            charts += in_facets(sweep, drawn, partial(_curves, metric=metric, shown=shown, coloured=coloured))
        charts += in_facets(sweep, longest(sweep), partial(_heat, metric=metric, over=longest(sweep)))
    charts += _pareto(sweep, tails)
    charts += compared(sweep, meta, results if results is not None else _results_of(frame))
    names = [f"{coloured.name}={short(value)}" for value in coloured.values] if coloured else []
    return of_runs(charts, names)


def _curves(
    sweep: Sweep,
    metric: str,
    shown: Shown,
    coloured: AxisValues | None,
) -> list[Chart]:
    along, names, limits = shown
    part = cut(sweep, [along.name, *names], limits)
    order = [axis.values for name in names for axis in sweep.axes if axis.name == name]
    combinations = sorted(
        {key[1:] for key in part.settings},
        key=lambda key: [
            -1 if value == NONE else values.index(value) for values, value in zip(order, key, strict=True)
        ],
    )
    places = ranges(along, part)
    series = []
    for combination in combinations:
        points = []
        for x, group in places:
            estimate = _estimate(sweep, part, [(value, *combination) for value in group], metric)
            if estimate is not None:
                points.append((x, estimate))
        if points:
            said = [(axis, value) for axis, value in zip(names, combination, strict=True) if value != NONE]
            name = ", ".join(f"{axis}={short(value)}" for axis, value in said)
            curve = _with_interval(name, points, points_only=along.numbers is None or part.averaged)
            series.append(in_colour(curve, combination, combinations, names, coloured))
    if not series:
        return []
    values = [value for one in series for value in one.y if value is not None]
    kind = "curve" if along.numbers else "points"
    cut_up = (
        f"{along.name} is cut into {len(places)} ranges." if len(places) < len(along.values) and part.averaged else ""
    )
    note = sweep.noted([_intervals(sweep, metric, series, part), part.note, cut_up])
    axes = axis_of(along), Axis(labels.label(metric), scale_for(values))
    title = f"{labels.heading(metric)} over {along.name}"
    return [Plot(f"{kind}-{labels.safe(metric)}", title, *axes, series, note=note)]


def _heat(sweep: Sweep, metric: str, over: Sequence[str]) -> list[Chart]:
    if len(sweep.axes) < 2:  # noqa: PLR2004 - a matrix has two axes
        return []
    axes_shown = [sweep.axes[sweep.position(name)] for name in over]
    if sweep.sparse((axis.name for axis in axes_shown), below=_MOST):
        return []
    x, y = axes_shown
    limits = {axis.name: evenly(axis.values, _CELLS) for axis in axes_shown if len(axis.values) > _CELLS}
    part = cut(sweep, [x.name, y.name], limits)
    columns, rows = limits.get(x.name, list(x.values)), limits.get(y.name, list(y.values))
    values = [[_mean(sweep, part, (column, row), metric) for column in columns] for row in rows]
    if not any(value is not None for row in values for value in row):
        return []
    note = sweep.noted([f"{_kind(sweep, metric, part)}.", part.note])
    axes = Axis(x.name, "category"), Axis(y.name, "category")
    title = f"{labels.heading(metric)} over {x.name} and {y.name}"
    return [Heat(f"heat-{labels.safe(metric)}", title, *axes, columns, rows, values, labels.label(metric), note=note)]


def _pareto(sweep: Sweep, tails: Sequence[str]) -> list[Chart]:
    """Settings that no other setting beats in everything: more IOPS, a shorter tail, less write amplification."""
    charts: list[Chart] = []
    single = Cut({setting: [setting] for setting in sweep.metrics}, "", averaged=False)
    means = {
        setting: {metric: one.value for metric in found if (one := sweep.estimate([setting], metric)) is not None}
        for setting, found in sweep.metrics.items()
    }
    for latency in (*tails, "write_amplification"):
        wanted = [name for name in dict.fromkeys(("iops", latency, "write_amplification")) if _differs(means, name)]
        if wanted[:2] != ["iops", latency]:
            continue
        settings = [setting for setting, found in means.items() if all(name in found for name in wanted)]
        # Fewer is better in every column.
        costs = [[-means[setting]["iops"], *(means[setting][name] for name in wanted[1:])] for setting in settings]
        front = _front(sweep, settings, costs)
        rest = [at for at in range(len(settings)) if at not in front]
        kept = spread([costs[at][0] for at in rest], [costs[at][1] for at in rest], _POINTS)
        other = "other setting of the same workload" if _by_workload(sweep) is not None else "other setting"
        notes = [f"On the front: no {other} is as good in {labels.named(wanted)} and better in one of them."]
        pooled = [metric for metric in wanted if _kind(sweep, metric, single).startswith("Quantile")]
        notes.append(f"Means over seeds{', of the tail that of all their requests' if pooled else ''}.")
        if len(kept) < len(rest):
            notes.append(f"Draws {len(kept):,} of the {len(rest):,} settings behind the front, spread over the plane.")
        series = [
            _cloud(DOMINATED, sweep, [settings[rest[at]] for at in kept], means, wanted),
            _cloud(
                FRONT, sweep, sorted((settings[at] for at in front), key=lambda one: means[one]["iops"]), means, wanted
            ),
        ]
        series = [one for one in series if one.x]
        xs = [float(x) for one in series for x in one.x]
        ys = [y for one in series for y in one.y if y is not None]
        axes = Axis(labels.label("iops"), scale_for(xs)), Axis(labels.label(latency), scale_for(ys))
        title = f"IOPS against {labels.title(latency)}: the settings worth choosing from"
        charts.append(Plot(f"pareto-iops-{labels.safe(latency)}", title, *axes, series, note=sweep.noted(notes)))
    return charts


def _by_workload(sweep: Sweep) -> int | None:
    """Where the workload stands in a setting; None where there is one workload."""
    return next((place for place, axis in enumerate(sweep.axes) if "workload" in axis.columns), None)


def _front(sweep: Sweep, settings: Sequence[Setting], costs: Sequence[Sequence[float]]) -> set[int]:
    """The settings that no other one of the same workload dominates: nobody chooses between workloads."""
    import numpy as np

    from flashweir.statistics.pareto import undominated

    at = _by_workload(sweep)
    groups: dict[str, list[int]] = {}
    for place, setting in enumerate(settings):
        groups.setdefault("" if at is None else setting[at], []).append(place)
    found: set[int] = set()
    for places in groups.values():
        kept = np.flatnonzero(undominated(np.asarray([costs[place] for place in places])))
        found.update(places[int(rank)] for rank in kept)
    return found


def _cloud(
    name: str,
    sweep: Sweep,
    settings: Sequence[Setting],
    means: Mapping[Setting, Mapping[str, float]],
    wanted: Sequence[str],
) -> Series:
    said = []
    for setting in settings:
        more = [f"{labels.title(metric)} {means[setting][metric]:.4g}" for metric in wanted[2:]]
        said.append("; ".join([sweep.label(setting), *more]))
    x = [float(f"{means[setting]['iops']:.6g}") for setting in settings]
    y = [rounded(means[setting][wanted[1]]) for setting in settings]
    return Series(name, x, y, labels=said, style="points")


def _results_of(frame: "pl.DataFrame") -> Results | None:
    stream = getattr(frame, "results", None)
    return stream() if callable(stream) else None


def _estimate(sweep: Sweep, part: Cut, keys: Sequence[Setting], metric: str) -> "Estimate | None":
    return sweep.estimate([setting for key in keys for setting in part.settings.get(key, ())], metric)


def _mean(sweep: Sweep, part: Cut, key: Setting, metric: str) -> float | None:
    found = _estimate(sweep, part, [key], metric)
    return rounded(found.value) if found else None


def _kind(sweep: Sweep, metric: str, part: Cut) -> str:
    """Value of a figure."""
    from flashweir.statistics.summary import QUANTILE

    if not QUANTILE.fullmatch(metric):
        return "Means over seeds"
    if sweep.pooled and all(len(settings) == 1 for settings in part.settings.values()) and not part.averaged:
        return "Quantiles of all requests of all seeds"
    return "Means over seeds of the runs' quantiles"


def _with_interval(name: str, points: Sequence[tuple[float | str, "Estimate"]], *, points_only: bool) -> Series:
    estimates = [estimate for _, estimate in points]
    known = any(estimate.low is not None for estimate in estimates)
    return Series(
        name,
        [x for x, _ in points],
        [rounded(estimate.value) for estimate in estimates],
        [rounded(estimate.low) for estimate in estimates] if known else None,
        [rounded(estimate.high) for estimate in estimates] if known else None,
        style="points" if points_only else "line",
    )


def _intervals(sweep: Sweep, metric: str, series: Sequence[Series], part: Cut) -> str:
    if not any(one.low for one in series):
        return "" if part.averaged else "One run a setting."
    kind = _kind(sweep, metric, part)
    return f"{kind}{' and settings' if part.averaged else ''}, with 95% confidence intervals."


def axis_of(along: AxisValues) -> Axis:
    """The axis to draw along; values that carry a unit, or are few, get a tick each."""
    if along.numbers is None:
        return Axis(along.name, "category")
    scale = log_spaced(along.numbers)
    named = len(along.columns) > 1 or any(unit_of(value) for value in along.values)
    ticks: list[tuple[float, str]] = []
    if named or len(along.values) <= _TICKS:
        every = list(zip(along.numbers, along.values, strict=True))
        step = -(-len(every) // _TICKS)
        ticks = every[::step]
    return Axis(along.name, "log" if scale else "linear", ticks)


def _differs(means: Mapping[Setting, Mapping[str, float]], metric: str) -> bool:
    return len({found[metric] for found in means.values() if metric in found}) > 1
