"""How many data blocks each garbage collection merged, one collection after the other."""

from collections.abc import Mapping, Sequence
from typing import Any

from flashweir.charts.distributions import MAX_CURVES
from flashweir.charts.model import Axis, Chart, Plot, Series
from flashweir.charts.thin import rounded, thin

_POINTS = 400


def collection_figures(results: Sequence[tuple[str, Mapping[str, Any]]]) -> list[Chart]:
    """The figure `collection-merges`, of the runs whose result has `collections`; none where there are no data blocks.

    Of one run it shows the most merges of a collection and the mean, of several runs the most. Where collections were
    taken together, each point is of those up to its number.
    """
    recorded = [(name, found) for name, result in results if (found := result.get("collections")) and found.get("max")]
    if not recorded:
        return []
    shown = recorded[:MAX_CURVES]
    note = [f"Shows the first {MAX_CURVES} of {len(recorded)}."] if len(recorded) > MAX_CURVES else []
    widths = sorted({found["per_bin"] for _, found in shown})
    if widths[-1] > 1:
        said = f"{widths[0]:,}" if len(widths) == 1 else f"{widths[0]:,} to {widths[-1]:,}"
        note.append(f"Each point is of {said} collections.")
    if len(shown) == 1:
        ((_, found),) = shown
        series = [_curve("most", found, "max"), _curve("mean", found, "mean")] if widths[-1] > 1 else []
        series = series or [_curve("merges", found, "max")]
    else:
        series = [_curve(name, found, "max") for name, found in shown]
    title = "Data blocks merged by a garbage collection, as the run goes on"
    axes = Axis("garbage collections so far"), Axis("data blocks merged", from_zero=True)
    return [Plot("collection-merges", title, *axes, series, note=" ".join(note))]


def _curve(name: str, found: Mapping[str, Any], part: str) -> Series:
    """A point a bin, at the number of its last collection."""
    count, width = found["count"], found["per_bin"]
    ends = [float(min((place + 1) * width, count)) for place in range(len(found[part]))]
    curve = thin(ends, found[part], _POINTS)
    return Series(name, curve.x, [rounded(value) for value in curve.y])
