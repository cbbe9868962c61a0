"""Figures of one run, or of several side by side, from their results (docs/reference/result.md)."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from flashweir.charts.colours import of_runs
from flashweir.charts.distributions import LATENCY, MAX_CURVES, latency_figures
from flashweir.charts.merges import collection_figures
from flashweir.charts.model import Axis, Bars, Chart, Plot, Scale, Series, Strips
from flashweir.charts.names import isolated
from flashweir.charts.palette import WARM_UP
from flashweir.charts.tenants import tenant_figures
from flashweir.charts.thin import rounded, thin
from flashweir.parts import LABELS, LatencyParts, occurring, parts_of
from flashweir.submission import OPERATIONS

Named = Sequence[tuple[str, Mapping[str, Any]]]

PURPOSES = ("host", "gc", "mapping", "idle")
STATES = ("host", "gc", "mapping", "waiting", "idle")
# Metrics that compare several runs: path in the result, name of the figure, title, unit.
_COMPARED = (
    ("iops", "iops", "IOPS", "requests a simulated second"),
    ("bandwidth_mib_s", "bandwidth", "Bandwidth", "MiB/s"),
    ("latency_us.read.mean", "latency-read-mean", "Mean read latency", LATENCY),
    ("latency_us.read.p99", "latency-read-p99", "Read latency, 99th percentile", LATENCY),
    ("latency_us.write.mean", "latency-write-mean", "Mean write latency", LATENCY),
    ("latency_us.write.p99", "latency-write-p99", "Write latency, 99th percentile", LATENCY),
    ("write_amplification", "write-amplification", "Write amplification", "bytes programmed / bytes written"),
)
_OVER_TIME = (
    (("iops",), "iops", "IOPS over time", "requests a second"),
    (("latency_us", "read"), "latency-read", "Read latency over time", f"mean {LATENCY}"),
    (("latency_us", "write"), "latency-write", "Write latency over time", f"mean {LATENCY}"),
    (("write_amplification",), "write-amplification", "Write amplification over time", "write amplification"),
)
_POINTS = 400
# Runs whose channels are drawn over time: each is as large as all other figures together.
_ACTIVITIES = 4
_WITH_WARM_UP = "With the warm-up."
# Values this far apart need a log axis.
WIDE = 100.0


def figures(results: Named) -> list[Chart]:
    """All figures that these runs have the data for, runs of the same figure overlaid.

    Args:
        results: each run's name and its result, a `Result` or the JSON object. Names should differ.
    """
    charts: list[Chart] = []
    charts += _comparisons(results)
    charts += latency_figures([(name, result.get("latency_histogram_ns") or {}) for name, result in results])
    charts += _by_stream(results)
    charts += tenant_figures(results)
    charts += parts_figures(results)
    charts += _channel_time(results)
    charts += activity_figures(results)
    charts += over_time_figures(results)
    charts += collection_figures(results)
    return of_runs(charts, [name for name, _ in results])


def value_at(result: Mapping[str, Any], path: str) -> float | None:
    """The number at a dotted path of a result; None where it has none."""
    value: Any = result
    for part in path.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _comparisons(results: Named) -> list[Chart]:
    charts: list[Chart] = []
    if len(results) < 2:  # noqa: PLR2004 - a comparison takes two
        return charts
    for path, name, title, unit in _COMPARED:
        found = [(run, value) for run, result in results if (value := value_at(result, path)) is not None]
        if found:
            without = len(results) - len(found)
            note = f"{without} of {len(results)} runs have no such requests." if without else ""
            part = (title, [float(f"{value:.6g}") for _, value in found])
            charts.append(Bars(f"compare-{name}", title, Axis(unit), [run for run, _ in found], [part], note=note))
    return charts


def _by_stream(results: Named) -> list[Chart]:
    """Distributions of each stream, where a run has several."""
    curves = []
    for run, result in results:
        streams = result.get("streams") or {}
        if len(streams) > 1:
            for stream, entry in streams.items():
                name = stream if len(results) == 1 else f"{isolated(run)}: {isolated(stream)}"
                curves.append((name, entry.get("latency_histogram_ns") or {}))
    return latency_figures(curves, "-by-stream", ", by stream") if curves else []


def parts_figures(results: Named) -> list[Chart]:
    """Latency breakdown of results with `latency_parts_us`: a bar an operation, or a bar a run of several."""
    kept = [(run, parts) for run, result in results if (parts := parts_of(result))]
    if len(results) == 1:
        return [_parts_bars("latency-parts", "Latency breakdown", parts) for _, parts in kept]
    operations = [operation for operation in OPERATIONS if any(operation in parts for _, parts in kept)]
    return [
        _parts_bars(
            f"latency-parts-{operation}",
            f"{operation.capitalize()} latency breakdown",
            {run: parts[operation] for run, parts in kept if operation in parts},
        )
        for operation in operations
    ]


def _parts_bars(name: str, title: str, rows: Mapping[str, LatencyParts]) -> Bars:
    """A bar a row: its parts in the order in which a request meets them."""
    # With one part alone there would be no legend to say which.
    shown = [part for part in LABELS if part in (*occurring(rows), "bus", "flash")]
    parts = [(LABELS[part], [float(f"{row.by_name()[part]:.6g}") for row in rows.values()]) for part in shown]
    note = "Waits for a die by what it did meanwhile. The parts add up to the mean."
    return Bars(name, title, Axis(f"mean {LATENCY}"), list(rows), parts, note=note)


def _channel_time(results: Named) -> list[Chart]:
    if len(results) == 1:
        channels = results[0][1].get("channels") or []
        rows = [(f"channel {number}", channel) for number, channel in enumerate(channels)]
        title = "Time of the dies of each channel"
    else:
        rows = [(run, result["time_share"]) for run, result in results if result.get("time_share")]
        title = "Time of the dies, all channels together"
    if not rows:
        return []
    note = "Without the warm-up." if any(_warm_up_end(result) for _, result in results) else ""
    return [time_bars(rows, title, note)]


def time_bars(rows: Sequence[tuple[str, Mapping[str, Any]]], title: str, note: str = "") -> Bars:
    """The split of die time in each row, as the figure `channel-time`."""
    parts = [(purpose, [float(f"{shares.get(purpose) or 0.0:.6g}") for _, shares in rows]) for purpose in PURPOSES]
    return Bars("channel-time", title, Axis("share of die time"), [name for name, _ in rows], parts, note=note)


def activity_figures(results: Named) -> list[Chart]:
    """State of channels over time, and dirty pages: of the results that have `activity`, warm-up included."""
    charts: list[Chart] = []
    totals: list[tuple[Series, float]] = []
    recorded = [(name, result) for name, result in results if (result.get("activity") or {}).get("dirty_pages")]
    for number, (run, result) in enumerate(recorded, start=1):
        activity = result["activity"]
        suffix = "" if len(recorded) == 1 else f"-{number}"
        of = "" if len(recorded) == 1 else f": {isolated(run)}"
        channels = activity["channels"]
        bins = len(activity["dirty_pages"])
        edges = [activity["from_s"] + position * activity["bin_s"] for position in range(bins + 1)]
        # The last bin ends with the run.
        edges = [float(f"{min(edge, max(activity['to_s'], activity['from_s'])):.9g}") for edge in edges]
        middles = [(left + right) / 2 for left, right in pairwise(edges)]
        end = _warm_up_end(result)
        end = end if end > edges[0] else 0.0
        totals.append((_curve(run, middles, activity["dirty_pages"]), min(end, edges[-1])))
        if number > _ACTIVITIES:
            continue
        rows = [f"channel {channel}" for channel in range(len(channels))]
        shares = [[[_share(value) for value in channel[state]] for channel in channels] for state in STATES]
        notes = ["waiting: the dies rest although a request waits for room in the write buffer."]
        notes += [f"With the warm-up, which ends at {end:.4g} s."] if end else []
        notes += [f"Shows the first {_ACTIVITIES} of {len(recorded)} runs."] if len(recorded) > _ACTIVITIES else []
        charts.append(
            Strips(
                f"channel-activity{suffix}",
                f"Main activity of each channel's dies over time{of}",
                Axis("simulated time, s"),
                rows,
                edges,
                STATES,
                shares,
                note=" ".join(notes),
            )
        )
        charts.append(_dirty_pages(activity, middles, min(end, edges[-1]), suffix, of))
    if totals:
        note = [f"Shows the first {MAX_CURVES} of {len(totals)}."] if len(totals) > MAX_CURVES else []
        axes = Axis("simulated time, s"), Axis("pages", from_zero=True)
        title = "Dirty pages in the write buffer, all channels"
        shown = totals[:MAX_CURVES]
        note += [_WITH_WARM_UP] if any(end for _, end in shown) else []
        series = [one for one, _ in shown] + [mark for one, end in shown if end for mark in _mark(one, end, len(shown))]
        charts.append(Plot("dirty-pages-total", title, *axes, series, note=" ".join(note)))
    return charts


def _mark(series: Series, end: float, runs: int) -> list[Series]:
    """A line from zero to a curve's largest value where its warm-up ends."""
    highest = max((value for value in series.y if value is not None), default=0.0)
    return (
        [Series(WARM_UP if runs == 1 else f"{series.name}: {WARM_UP}", [end, end], [0.0, highest])] if highest else []
    )


def _warm_up_end(result: Mapping[str, Any]) -> float:
    """When the warm-up that was removed ends, in s of simulated time; 0 if none was."""
    return float((result.get("warmup") or {}).get("simulated_s") or 0.0)


def _dirty_pages(
    activity: Mapping[str, Any], middles: Sequence[float], warm_up_end: float, suffix: str, of: str
) -> Plot:
    pages = [channel["dirty_pages"] for channel in activity["channels"]]
    note = ["Mean of each stretch of time."]
    if len(pages) <= MAX_CURVES:
        series = [_curve(f"channel {number}", middles, values) for number, values in enumerate(pages)]
    else:
        ranked = [sorted(values) for values in zip(*pages, strict=True)]
        picks = (("most", -1), ("median", len(pages) // 2), ("least", 0))
        series = [_curve(f"{name} of any channel", middles, [values[at] for values in ranked]) for name, at in picks]
        note.append(
            f"{len(pages)} channels are too many to tell apart: shows the fullest, median and emptiest at each time."
        )
    together = [sum(values) for values in zip(*pages, strict=True)]
    if any(total > some * (1 + 1e-6) + 1e-6 for total, some in zip(activity["dirty_pages"], together, strict=False)):
        note.append("Pages that have no channel before they are programmed are in the total alone.")
    if warm_up_end:
        note.append(_WITH_WARM_UP)
        series += _mark(max(series, key=lambda one: max(one.y, key=lambda y: y or 0.0) or 0.0), warm_up_end, 1)
    title = f"Dirty pages in the write buffer, by channel{of}"
    axes = Axis("simulated time, s"), Axis("pages", from_zero=True)
    return Plot(f"dirty-pages{suffix}", title, *axes, series, note=" ".join(note))


def over_time_figures(results: Named) -> list[Chart]:
    """IOPS, latency and write amplification over the run: of the results that have `series`."""
    charts: list[Chart] = []
    recorded = [(name, result) for name, result in results if result.get("series")]
    for path, name, title, label in _OVER_TIME:
        curves = []
        for run, result in recorded:
            values: Any = result["series"]
            for part in path:
                values = (values or {}).get(part)
            if values and any(value is not None for value in values):
                curves.append((_curve(run, result["series"]["end_s"], values), result.get("warmup")))
        if not curves:
            continue
        shown = curves[:MAX_CURVES]
        note = [f"Shows the first {MAX_CURVES} of {len(curves)}."] if len(curves) > MAX_CURVES else []
        numbers = [value for series, _ in shown for value in series.y if value is not None]
        marks = []
        for series, warmup in shown:
            if not warmup:
                continue
            if not warmup.get("found", True):
                note.append(f"{isolated(series.name)}: no end of the warm-up was found ({warmup.get('method')}).")
            elif warmup.get("simulated_s"):
                end = warmup["simulated_s"]
                who = WARM_UP if len(shown) == 1 else f"{series.name}: {WARM_UP}"
                marks.append(Series(who, [end, end], [min(numbers), max(numbers)]))
        axes = Axis("simulated time, s"), Axis(label, scale_for(numbers))
        charts.append(
            Plot(f"over-time-{name}", title, *axes, [series for series, _ in shown] + marks, note=" ".join(note))
        )
    return charts


def scale_for(numbers: Sequence[float]) -> Scale:
    """A log axis for positive values that lie far apart."""
    return "log" if numbers and min(numbers) > 0 and max(numbers) / min(numbers) >= WIDE else "linear"


def _curve(name: str, x: Sequence[float], y: Sequence[float | None]) -> Series:
    curve = thin(x, y, _POINTS)
    return Series(name, [float(f"{value:.9g}") for value in curve.x], [rounded(value) for value in curve.y])


def _share(value: float) -> float:
    return round(value, 3)
