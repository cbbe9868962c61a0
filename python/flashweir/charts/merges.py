"""Data blocks merged by each garbage collection, one collection after the other."""

from collections.abc import Mapping, Sequence
from typing import Any

from flashweir.charts.distributions import MAX_CURVES
from flashweir.charts.model import Axis, Chart, Plot, Series
from flashweir.charts.thin import rounded, thin

_POINTS = 400
# Curves of several runs have fewer points, or they cover each other.
_SHARED = 100


def collection_figures(results: Sequence[tuple[str, Mapping[str, Any]]]) -> list[Chart]:
    """The figure `collection-merges`, of the runs in which garbage collections merged data blocks.

    Of one run it shows the most merges of a collection and the mean, of several runs the most. A point is of the
    collections from the point before it up to its own number.

    Args:
        results: each run's name and its result, or the part of it that has `collections`.
    """
    recorded = [
        (name, found) for name, result in results if (found := result.get("collections")) and found["max_merged"]
    ]
    if not recorded:
        return []
    shown = recorded[:MAX_CURVES]
    note = [f"Shows the first {MAX_CURVES} of {len(recorded)}."] if len(recorded) > MAX_CURVES else []
    joined = [1 if len(shown) == 1 else -(-len(found["max"]) // _SHARED) for _, found in shown]
    widths = sorted({found["per_bin"] * by for (_, found), by in zip(shown, joined, strict=True)})
    if widths[-1] > 1:
        said = f"{widths[0]:,}" if len(widths) == 1 else f"{widths[0]:,} to {widths[-1]:,}"
        note.append(f"Each point is {'of' if len(shown) == 1 else 'the most of'} {said} collections.")
    if len(shown) > 1:
        series = [_curve(name, found, "max", by) for (name, found), by in zip(shown, joined, strict=True)]
    elif widths[-1] > 1:
        series = [_curve("most", shown[0][1], "max"), _curve("mean", shown[0][1], "mean")]
    else:
        series = [_curve("merges", shown[0][1], "max")]
    title = "Data blocks merged by a garbage collection, as the run goes on"
    axes = Axis("garbage collections so far"), Axis("data blocks merged", from_zero=True)
    return [Plot("collection-merges", title, *axes, series, note=" ".join(note))]


def _curve(name: str, found: Mapping[str, Any], part: str, by: int = 1) -> Series:
    """A point for the largest of `by` bins, at the number of the last collection in them."""
    count, width = found["count"], found["per_bin"] * by
    values = [max(found[part][start : start + by]) for start in range(0, len(found[part]), by)]
    ends = [float(min((place + 1) * width, count)) for place in range(len(values))]
    curve = thin(ends, values, _POINTS)
    return Series(name, curve.x, [rounded(value) for value in curve.y])
