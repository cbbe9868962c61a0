"""Values of one axis against a baseline, under the same other settings and the same seeds.

Runs of one seed draw the same requests (common random numbers), so what they share cancels in their difference, and the
interval of the differences is narrower than those of the two means would suggest (Law 2015, sections 10.2 and 11.2).
"""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from flashweir._native import ConfigError
from flashweir.statistics.bootstrap import bucket_width
from flashweir.statistics.columns import (
    Group,
    axis_names,
    check_column,
    check_metrics,
    groups,
    hint,
    ordered,
    sweep_meta,
)
from flashweir.statistics.intervals import Difference, check_confidence, difference, holm, is_number
from flashweir.statistics.summary import QUANTILE, US_NS
from flashweir.statistics.verdict import verdict

if TYPE_CHECKING:
    import polars as pl

# Columns of a comparison after the other axes, the alternative and the baseline.
_NUMBERS = (
    "mean_baseline", "mean", "difference", "low", "high", "relative", "relative_low", "relative_high", "p", "p_holm",
)  # fmt: skip


def compare(
    frame: "pl.DataFrame",
    axis: str,
    metrics: Sequence[str] | str,
    baseline: object = None,
    confidence: float = 0.95,
    *,
    by: Sequence[str] | str | None = None,
) -> "pl.DataFrame":
    """A row a setting of the other axes, alternative on `axis`, and metric: how it differs from the baseline.

    Runs are paired by seed, and only seeds that finished on both sides count; `n` says how many. The interval is that
    of `difference`, for latency quantiles too: the mean over seeds of what changes in the quantile of a run. `low` to
    `high` are of the difference, `relative_low` to `relative_high` of the same as a share of the baseline's mean; they
    stand for themselves and are not widened for several comparisons. `p_holm` is adjusted for these, by Holm's method
    over all alternatives of a metric within a setting, and `significant` is p_holm < 1 - confidence. Seeds under which
    both sides are the same runs count once (rows of one `key`). Latency quantiles come from histograms: differences
    within a bucket are none, and no standard error is less than its width.

    Args:
        frame: a row a run, as `sweep` gives it.
        axis: whose values are compared.
        metrics: columns with numbers.
        baseline: the value to compare with; None is that of the sweep, or else the first one.
        confidence: of the intervals.
        by: all axes, where the frame does not know them; `axis` may be among them.

    Raises:
        ConfigError: no such axis, baseline or metric, or the frame does not know its axes and `by` is None.
    """
    import polars as pl

    check_confidence(confidence)
    names = check_metrics(frame, metrics)
    others = _others(frame, axis, by)
    base = _baseline(frame, axis, baseline)
    rows = []
    settings: dict[tuple[Any, ...], dict[Any, Group]] = {}
    for (*setting, value), group in groups(frame, [*others, axis], names).items():
        settings.setdefault(tuple(setting), {})[value] = group
    for others_are, found in settings.items():
        against = found.pop(base, None) or Group()
        by_metric = {name: _family(against, found, name, confidence) for name in names}
        for alternative in found:
            rows += [(*others_are, alternative, base, name, *by_metric[name][alternative]) for name in names]
    kind = frame.schema.get(axis, pl.String())
    types: dict[str, Any] = {name: frame.schema.get(name, pl.String()) for name in others}
    types |= {"alternative": kind, "baseline": kind, "metric": pl.String(), "n": pl.Int64()}
    types |= dict.fromkeys(_NUMBERS, pl.Float64()) | {"significant": pl.Boolean(), "verdict": pl.String()}
    return pl.DataFrame(rows, schema=types, orient="row")


def _family(
    against: Group, alternatives: dict[Any, Group], metric: str, confidence: float
) -> dict[Any, tuple[int | float | str | None, ...]]:
    """The columns from `n` on for each alternative of a metric within a setting."""
    base = against.by_every_seed(metric)
    found: dict[Any, Difference] = {}
    for alternative, group in alternatives.items():
        values = group.by_every_seed(metric)
        seeds = _distinct(against, group, [seed for seed in base if seed in values])
        first, second = [base[seed] for seed in seeds], [values[seed] for seed in seeds]
        found[alternative] = difference(first, second, confidence, resolution=_resolution(metric, [*first, *second]))
    adjusted = holm([one.p for one in found.values()])
    rows: dict[Any, tuple[int | float | str | None, ...]] = {}
    for (alternative, one), p_holm in zip(found.items(), adjusted, strict=True):
        significant = p_holm is not None and p_holm < 1 - confidence
        tried = len(against.seeds | alternatives[alternative].seeds) - _repeated(against, alternatives[alternative])
        means = [None if math.isnan(mean) else mean for mean in (one.mean_a, one.mean_b, one.value)]
        relative = (one.relative, one.relative_low, one.relative_high)
        once = one.n == 1 and len(against.seeds | alternatives[alternative].seeds) > tried
        text = verdict(one, significant, tried, once=once)
        rows[alternative] = (one.n, *means, one.low, one.high, *relative, one.p, p_holm, significant, text)
    return rows


def _distinct(one: Group, other: Group, seeds: Sequence[Any]) -> list[Any]:
    """Of seeds under which both settings have the same runs as before, the first only."""
    known: dict[Any, Any] = {}
    for seed in seeds:
        keys = one.keys(seed), other.keys(seed)
        known.setdefault(seed if None in keys else keys, seed)
    return list(known.values())


def _repeated(one: Group, other: Group) -> int:
    """Number of pairs that repeat other pairs, among runs that finished on both sides."""
    both = [seed for seed in one.rows if seed in other.rows]
    return len(both) - len(_distinct(one, other, both))


def _resolution(metric: str, values: Sequence[float]) -> float:
    """The width of a histogram's bucket at a latency quantile, in its unit; 0 of any other metric."""
    largest = max((value for value in values if is_number(value)), default=0.0)
    return bucket_width(largest * US_NS) / US_NS if QUANTILE.fullmatch(metric) else 0.0


def _others(frame: "pl.DataFrame", axis: str, by: Sequence[str] | str | None) -> list[str]:
    """The axes but for `axis`, which has to be one."""
    axes = axis_names(frame, by)
    meta = sweep_meta(frame)
    known = [*(named["name"] for named in meta.get("axes", [])), "workload"] if meta is not None else None
    if axis == "seed" or (known is not None and by is None and axis not in known):
        raise ConfigError(f"axis `{axis}`: no axis of this sweep{hint(axis, known or [])}")
    check_column(frame, axis, "axis")
    return [name for name in axes if name != axis]


def _baseline(frame: "pl.DataFrame", axis: str, baseline: object) -> object:
    """The axis' value that is meant; a number or truth value may be given as text, as a command line has it."""
    values = ordered(frame, axis)
    if not values:
        return None
    meta = sweep_meta(frame) or {}
    if baseline is None and meta.get("compare") == axis:
        baseline = meta.get("baseline")
    if baseline is None:
        return values[0]
    for same in (lambda value: value, str, _as_number):
        for value in values:
            if same(value) == same(baseline):
                return value
    texts = [_text(value) for value in values]
    raise ConfigError(f"baseline `{_text(baseline)}`: {axis} has {', '.join(texts)}{hint(_text(baseline), texts)}")


def _as_number(value: object) -> object:
    """The number that a text is, or else the text itself in small letters."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return str(value).lower()
    try:
        return float(value)
    except ValueError:
        return value.lower() if isinstance(value, str) else value


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
