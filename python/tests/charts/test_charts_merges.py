"""The figure of how many data blocks each collection merged."""

from typing import Any

from conftest import SMALL_DRIVE

import flashweir
from flashweir.charts import figures
from flashweir.charts.merges import collection_figures
from flashweir.charts.model import Plot


def merged(most: list[int], width: int = 1, count: int | None = None) -> dict[str, Any]:
    """A result whose collections merged so many data blocks."""
    count = len(most) * width if count is None else count
    mean = [value / 2 for value in most] if width > 1 else [float(value) for value in most]
    return {"collections": {"count": count, "merged": sum(most), "max_merged": max(most, default=0), "per_bin": width,
                            "max": most, "mean": mean}}  # fmt: skip


def test_merges_of_a_collection_over_time() -> None:
    (chart,) = collection_figures([("run", merged([4, 9, 2]))])
    assert isinstance(chart, Plot)
    assert chart.name == "collection-merges"
    assert [(one.name, list(one.x), list(one.y)) for one in chart.series] == [("merges", [1.0, 2.0, 3.0], [4, 9, 2])]
    assert chart.note == ""
    # The last bin is not full: it ends with the last collection.
    (chart,) = collection_figures([("run", merged([4, 9, 2], width=4, count=10))])
    assert isinstance(chart, Plot)
    most, mean = chart.series
    assert (most.name, list(most.x)) == ("most", [4.0, 8.0, 10.0])
    assert (mean.name, list(mean.y)) == ("mean", [2.0, 4.5, 1.0])
    assert chart.note == "Each point is of 4 collections."
    many = [(f"run {at}", merged([at, 1], width=1 + at % 2)) for at in range(20)]
    (chart,) = collection_figures(many)
    assert isinstance(chart, Plot)
    assert len(chart.series) == 12
    assert chart.note == "Shows the first 12 of 20. Each point is the most of 1 to 2 collections."
    # Curves that share a figure are coarser, and keep their peaks.
    peaks = [100 if at == 777 else at % 7 for at in range(2000)]
    (chart,) = collection_figures([("a", merged(peaks)), ("b", merged(peaks[:50]))])
    assert isinstance(chart, Plot)
    a, b = chart.series
    assert (len(a.x), a.x[-1], len(b.x)) == (100, 2000.0, 50)
    assert dict(zip(a.x, a.y, strict=True))[780.0] == 100
    assert max(y for x, y in zip(a.x, a.y, strict=True) if x != 780 and y is not None) == 6


def test_no_data_blocks_no_figure() -> None:
    result = flashweir.simulate("random:span=32MiB,count=400", set=SMALL_DRIVE).to_dict()
    assert "collection-merges" not in [chart.name for chart in figures(result)]
    assert not collection_figures([("page", {"collections": None}), ("idle", merged([])), ("pages", merged([0, 0]))])
    assert "collection-merges" in [chart.name for chart in figures({**result, **merged([3, 1])})]
