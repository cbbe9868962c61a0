"""First section of a report: the finding in a sentence or two, and one picture of it."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from flashweir.charts import labels
from flashweir.charts.model import Axis, Chart, Plot, Series
from flashweir.charts.names import isolated
from flashweir.charts.settings import short
from flashweir.charts.units import duration
from flashweir.plain import setting
from flashweir.reports.cells import at
from flashweir.reports.model import Block, Figure, Section, Text
from flashweir.reports.page import said
from flashweir.statistics.verdict import BETTER, judgement

if TYPE_CHECKING:
    import polars as pl

Json = Mapping[str, Any]
Results = Sequence[tuple[str, Json]]
Row = Mapping[str, Any]

TITLE = "In short"
# Metrics by which several runs are ranked, the first that differs before the others.
_RANKED = ("iops", "latency_us.read.p99", "latency_us.write.p99", "write_amplification")
# Pictures of one run, the first that there is.
_OF_ONE = ("latency-parts", "latency-percentiles-", "latency-cdf-", "channel-time")
# More settings than a picture has room for.
_MAX_PLACES = 24
_EXAMPLES = 2
_NEAR, _TWICE = 1e-9, 2.0


def section(sentences: Sequence[str], picture: Chart | None, alerts: Sequence[Block] = ()) -> Section:
    """The first section: sentences, warnings, picture."""
    lead: list[Block] = [Text(" ".join(sentences), lead=True)] if sentences else []
    return Section(TITLE, [*lead, *alerts, *([Figure(picture)] if picture is not None else [])])


def first(charts: Sequence[Chart], starts: Sequence[str]) -> Chart | None:
    """The chart whose name begins with the first of these that any does."""
    return next((chart for start in starts for chart in charts if chart.name.startswith(start)), None)


def value(metric: str, number: float) -> str:
    """A metric's value with its unit."""
    if metric.startswith("latency_us.") or metric.endswith("_us"):
        return duration(number)
    unit = " MiB/s" if metric == "bandwidth_mib_s" else " USD" if metric.endswith("_usd") else ""
    return f"{said(float(number))}{unit}"


def of_results(results: Results, charts: Sequence[Chart]) -> tuple[list[str], Chart | None]:
    """The finding of one run, or of several, and its picture among the charts."""
    if len(results) == 1:
        return _of_one(*results[0]), first(charts, _OF_ONE)
    found = [(metric, _values(results, metric)) for metric in _RANKED]
    differing = [(metric, values) for metric, values in found if len(values) > 1 and len(set(values.values())) > 1]
    if not differing:
        return [f"The {len(results)} runs do not differ in IOPS, p99 latencies and write amplification."], first(
            charts, ("compare-",)
        )
    metric, values = differing[0]
    ranked = _ranked(metric, values)
    best, second, last = ranked[0], ranked[1], ranked[-1]
    sentence = f"{isolated(best)} has the best {labels.title(metric)}, {value(metric, values[best])}: "
    sentence += _ratio(metric, values[best], values[second]) + f" than {isolated(second)}"
    sentence += f", {_ratio(metric, values[best], values[last])} than {isolated(last)}" if last != second else ""
    sentences = [f"{sentence}."]
    others = [(other, _ranked(other, known)[0]) for other, known in differing[1:]]
    where_not = [f"{labels.title(other)} ({isolated(winner)})" for other, winner in others if winner != best]
    if where_not:
        sentences.append(f"Other runs are better in {' and '.join(where_not)}.")
    sentences.append("One run each: no intervals, so small differences may be chance.")
    name = {"iops": "compare-iops", "write_amplification": "compare-write-amplification"}.get(metric)
    return sentences, first(charts, (name or f"compare-latency-{metric.split('.')[1]}-p99", "compare-"))


def _of_one(name: str, result: Json) -> list[str]:
    parts = []
    for operation in ("read", "write"):
        p99, median = (at(result, f"latency_us.{operation}.{key}") for key in ("p99", "p50"))
        if isinstance(p99, float | int) and isinstance(median, float | int):
            parts.append(f"{operation}s {duration(median)} in the median, {duration(p99)} at p99")
    iops, seconds, wa = (at(result, key) for key in ("iops", "simulated_s", "write_amplification"))
    speed = f"{said(float(iops))} IOPS" if isinstance(iops, float | int) else "no IOPS"
    span = f" in {duration(1e6 * seconds)}" if isinstance(seconds, float | int) else ""
    sentences = [f"{isolated(name)}: {result['requests']:,} requests{span}, {speed}."]
    if parts:
        text = "; ".join(parts)
        sentences.append(f"{text[:1].upper()}{text[1:]}.")
    if isinstance(wa, float | int):
        sentences.append(f"Write amplification {said(float(wa))}.")
    return [*sentences, "One run: no intervals."]


def _values(results: Results, metric: str) -> dict[str, float]:
    known = {name: at(result, metric) for name, result in results}
    return {name: float(found) for name, found in known.items() if isinstance(found, float | int)}


def _ranked(metric: str, values: Mapping[str, float]) -> list[str]:
    return sorted(values, key=values.__getitem__, reverse=BETTER.get(metric) == "higher")


def _ratio(metric: str, one: float, other: float) -> str:
    """Difference in words that stand before `than`."""
    if abs(one - other) <= _NEAR * abs(other):
        return "no other"
    words = ("longer", "shorter") if metric.startswith("latency_us.") else ("more", "less")
    if not other or not one:
        return words[0] if one > other else words[1]
    times = max(one / other, other / one)
    way = words[0] if one > other else words[1]
    if times >= _TWICE and one > other:
        return f"{times:.3g} times as much"
    return f"{100 * abs(one / other - 1):.3g} % {way}"


def of_settings(summary: "pl.DataFrame", axes: Sequence[str], metrics: Sequence[str]) -> list[str]:
    """Best and worst setting of a sweep that compares nothing, and whether their intervals are apart."""
    rows = summary.to_dicts()
    metric = next((name for name in metrics if any(row.get(name) is not None for row in rows)), None)
    if metric is None:
        return []
    known = [row for row in rows if row[metric] is not None]
    if len(known) == 1:
        return [f"{labels.heading(metric)}: {_estimate(metric, known[0])}. One setting."]
    order = sorted(known, key=lambda row: row[metric], reverse=BETTER.get(metric, "higher") == "higher")
    best, worst = order[0], order[-1]
    if best[metric] == worst[metric]:
        return [f"{labels.heading(metric)} is the same in all {len(known)} settings, {value(metric, best[metric])}."]
    words = ("best", "worst") if metric in BETTER else ("highest", "lowest")
    text = f"{labels.heading(metric)} is {words[0]} at {_setting(best, axes)}: {_estimate(metric, best)}; "
    sentences = [f"{text}{words[1]} at {_setting(worst, axes)}: {_estimate(metric, worst)}."]
    if best["runs"] - best["failed"] > 1 and worst["runs"] - worst["failed"] > 1:
        lows, highs = ([row[f"{metric} {end}"] for row in (best, worst)] for end in ("low", "high"))
        if None not in (*lows, *highs):
            apart = max(lows) > min(highs)
            sentences.append(f"Their 95 % intervals are {'apart' if apart else 'not apart'}.")
    else:
        sentences.append("One seed: no intervals.")
    for other in (name for name in metrics if name != metric and name in BETTER):
        there = [row for row in rows if row.get(other) is not None]
        if there and len({row[other] for row in there}) > 1:
            winner = (max if BETTER[other] == "higher" else min)(there, key=lambda row: row[other])
            if winner[other] != best.get(other):
                sentences.append(f"Not for {labels.title(other)}, which is best at {_setting(winner, axes)}.")
                break
    return sentences


def _estimate(metric: str, row: Row) -> str:
    low, high = row.get(f"{metric} low"), row.get(f"{metric} high")
    text = value(metric, row[metric])
    return (
        text
        if low is None or high is None or low == high
        else (f"{text} (95 % interval {value(metric, low)} to {value(metric, high)})")
    )


def _setting(row: Row, axes: Sequence[str]) -> str:
    named = [f"{name}={short(_plain(row[name]))}" for name in axes if row.get(name) is not None]
    return ", ".join(isolated(text) for text in named) or "the one setting"


def _plain(found: object) -> str:
    return f"{found:.6g}" if isinstance(found, float) else setting(found)


def of_comparison(compared: "pl.DataFrame", metrics: Sequence[str], others: Sequence[str]) -> list[str]:
    """The best value of the compared axis: by how much, in how many settings, how sure, and where it is not."""
    every = compared.to_dicts()
    there = {row["metric"] for row in every if row["relative"] is not None}
    metric = _decisive(every, metrics)
    if metric is None:
        return []
    if not _differs(every, metric):
        return [_same(every, [name for name in metrics if name in there])]
    rows = [row for row in every if row["metric"] == metric and row["relative"] is not None]
    sign = -1.0 if BETTER.get(metric) == "lower" else 1.0
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(_plain(row["alternative"]), []).append(row)
    means = {name: sum(row["relative"] for row in group) / len(group) for name, group in groups.items()}
    best = max(means, key=lambda name: sign * means[name])
    group, baseline = groups[best], isolated(_plain(rows[0]["baseline"]))
    ranked = sorted(group, key=lambda row: sign * row["relative"])
    change = f"{100 * means[best]:+.3g} %"
    if len(group) > 1:
        change += f" on average, {100 * ranked[0]['relative']:+.3g} % to {100 * ranked[-1]['relative']:+.3g} %"
        change += f" over {len(group)} settings"
    best_is = sign * means[best] > 0
    if _undecided(rows):
        where = f" in any of {len(rows)} comparisons" if len(rows) > 1 else ""
        lead = f"No significant difference in {labels.title(metric)}{where} (5 %, Holm)."
        sentences = [f"{lead} {'Best' if best_is else 'Nearest'} mean against {baseline}: {isolated(best)}, {change}."]
    elif best_is:
        lead = f"{isolated(best)} has the best {labels.title(metric)}. Against {baseline}: {change}"
        sentences = [f"{lead}; {_sure(metric, group)}."]
    else:
        lead = f"{baseline} has the best {labels.title(metric)}. The nearest to it is {isolated(best)}: {change}"
        sentences = [f"{lead}; {_sure(metric, group)}."]
    if same := [labels.title(name) for name in metrics if name in there and not _differs(every, name)]:
        sentences.append(f"No difference in {', '.join(same)}.")
    if not best_is:
        return sentences
    return [*sentences, *_losses(every, ranked, metric, best, metrics, others)]


def _undecided(rows: Sequence[Row]) -> bool:
    """True where intervals are known and no difference is significant: no value is called the best then."""
    return all(row["low"] is not None for row in rows) and not any(row["significant"] for row in rows)


def _losses(
    every: Sequence[Row],
    ranked: Sequence[Row],
    metric: str,
    best: str,
    metrics: Sequence[str],
    others: Sequence[str],
) -> list[str]:
    """Where the best value is not: settings in which it is worse, and metrics."""
    sentences = []
    losses = [row for row in ranked if judgement(metric, row["difference"], row["significant"]) == "worse"]
    if losses and others:
        where = "; ".join(_setting(row, others) for row in losses[:_EXAMPLES])
        more = f" and {len(losses) - _EXAMPLES} more" if len(losses) > _EXAMPLES else ""
        sentences.append(f"Worse at {where}{more}.")
    worse = []
    for other in (name for name in metrics if name != metric):
        found = [row for row in every if row["metric"] == other and _plain(row["alternative"]) == best]
        count = sum(judgement(other, row["difference"], row["significant"]) == "worse" for row in found)
        if count:
            worse.append(f"{labels.title(other)} ({count} of {len(found)})")
    if worse:
        sentences.append(f"It is significantly worse in {', '.join(worse)}.")
    return sentences


def _decisive(every: Sequence[Row], metrics: Sequence[str]) -> str | None:
    """The first metric in which a compared value differs from the baseline; the first that is known if none does."""
    known = [name for name in metrics if any(row["metric"] == name and row["relative"] is not None for row in every)]
    return next((name for name in known if _differs(every, name)), next(iter(known), None))


def _differs(every: Sequence[Row], metric: str) -> bool:
    return any(row["metric"] == metric and abs(row["relative"] or 0.0) > _NEAR for row in every)


def _same(every: Sequence[Row], metrics: Sequence[str]) -> str:
    """The sentence where nothing differs."""
    names = [isolated(name) for name in dict.fromkeys(_plain(row["alternative"]) for row in every)]
    more = f" and {len(names) - _EXAMPLES} more" if len(names) > _EXAMPLES else ""
    who = f"{', '.join(names[:_EXAMPLES])}{more}"
    verb = "does" if len(names) == 1 else "do"
    what = ", ".join(labels.title(name) for name in metrics)
    return f"No difference: {who} {verb} not differ from {isolated(_plain(every[0]['baseline']))} in {what}."


def _sure(metric: str, group: Sequence[Row]) -> str:
    if all(row["low"] is None for row in group):
        return "one run each, so without intervals"
    judged = [judgement(metric, row["difference"], row["significant"]) for row in group]
    count = f"of {len(group)}"
    if metric not in BETTER:
        return f"significant in {sum(bool(row['significant']) for row in group)} {count} at 5 % (Holm)"
    if len(group) == 1:
        return f"{'a' if group[0]['significant'] else 'no'} significant difference (5 %, Holm)"
    better, worse = judged.count("better"), judged.count("worse")
    rest = len(group) - better - worse
    parts = [f"better in {better} {count}", f"worse in {worse}"]
    return f"{', '.join(parts)}, no significant difference in {rest} (5 %, Holm)"


def differences(
    compared: "pl.DataFrame", axis: str, values: Sequence[object], metrics: Sequence[str], others: Sequence[str]
) -> Chart | None:
    """The picture of a comparison: the change of the first metric, by setting, a colour a value of the axis."""
    every = compared.to_dicts()
    metric = _decisive(every, metrics)
    rows = [row for row in every if row["metric"] == metric and row["relative"] is not None]
    varied = [name for name in others if len({_plain(row[name]) for row in rows}) > 1]
    places = list(dict.fromkeys(_setting(row, varied) for row in rows))
    if metric is None or len(places) > _MAX_PLACES or not _differs(every, metric):
        return None
    names = [_plain(known) for known in values]
    series = []
    for name in names:
        group = [row for row in rows if _plain(row["alternative"]) == name]
        if group:
            ends = [[_percent(row[f"relative_{end}"]) for row in group] for end in ("low", "high")]
            has = any(end is not None for end in ends[0])
            x = [_setting(row, varied) for row in group] if varied else [short(name)] * len(group)
            y = [_percent(row["relative"]) for row in group]
            low, high = ends if has else (None, None)
            series.append(Series(short(name), x, y, low, high, style="points", turn=names.index(name)))
    baseline = short(_plain(rows[0]["baseline"]))
    title = f"{labels.heading(metric)} against {baseline}, by {axis}"
    label = Axis(", ".join(varied) or axis, "category")
    if varied:
        series = [_renamed(one, varied) for one in series]
    better = {"higher": "Up is better. ", "lower": "Down is better. "}.get(BETTER.get(metric, ""), "")
    bars = "; bars are 95 % intervals over seeds" if any(one.low is not None for one in series) else ""
    note = f"{better}0 is {baseline}{bars}."
    y_axis = Axis(f"change of {labels.title(metric)}, %", from_zero=True)
    return Plot(f"finding-{labels.safe(metric)}", title, label, y_axis, series, note=note)


def _renamed(one: Series, varied: Sequence[str]) -> Series:
    """Places without the names of their axes, which the axis of the picture has."""
    from dataclasses import replace

    bare = [str(place).replace("\u2068", "").replace("\u2069", "") for place in one.x]
    for name in varied:
        bare = [place.replace(f"{name}=", "", 1) for place in bare]
    return replace(one, x=bare)


def _percent(share: float | None) -> float | None:
    return None if share is None else float(f"{100 * share:.6g}")
