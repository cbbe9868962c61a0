"""Values of one axis against a baseline, under the same other settings and the same seeds.

Runs of one seed draw the same requests (common random numbers), so what they share cancels in their difference, and the
interval of the differences is narrower than those of the two means would suggest (Law 2015, sections 10.2 and 11.2).
"""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from flashweir._native import ConfigError
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
from flashweir.statistics.intervals import Difference, check_confidence, difference, holm
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
    over all alternatives of a metric within a setting, and `significant` is p_holm < 1 - confidence.

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
    base = against.by_seed(metric)
    found: dict[Any, Difference] = {}
    for alternative, group in alternatives.items():
        values = group.by_seed(metric)
        seeds = [seed for seed in base if seed in values]
        found[alternative] = difference([base[seed] for seed in seeds], [values[seed] for seed in seeds], confidence)
    adjusted = holm([one.p for one in found.values()])
    rows: dict[Any, tuple[int | float | str | None, ...]] = {}
    for (alternative, one), p_holm in zip(found.items(), adjusted, strict=True):
        significant = p_holm is not None and p_holm < 1 - confidence
        tried = len(against.seeds | alternatives[alternative].seeds)
        means = [None if math.isnan(mean) else mean for mean in (one.mean_a, one.mean_b, one.value)]
        relative = (one.relative, one.relative_low, one.relative_high)
        text = verdict(one, significant, tried)
        rows[alternative] = (one.n, *means, one.low, one.high, *relative, one.p, p_holm, significant, text)
    return rows


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
