"""Figures: what they show (`model`), how they come from results, and how they are drawn.

Every figure is data first. A report draws it with plotly, a file with matplotlib: same data, same name.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from flashweir.charts.model import Chart

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Chart", "figures"]


def figures(
    source: "pl.DataFrame | Mapping[str, Any] | Sequence[tuple[str, Mapping[str, Any]]]",
) -> list[Chart]:
    """All figures that there is the data for (docs/reference/figures.md); `matplotlib.write` makes files of them.

    Args:
        source: the frame of a sweep; one result; or several, as a mapping of names or as pairs of name and result.
    """
    from flashweir.charts import from_result, from_sweep

    if isinstance(source, Mapping):
        named = [("run", source)] if "latency_us" in source else list(source.items())
        return from_result.figures(named)
    if isinstance(source, Sequence):
        return from_result.figures(source)
    return from_sweep.figures(source)


def _svg(chart: Chart) -> str:
    """A figure in a notebook."""
    from flashweir.charts.matplotlib import svg

    return svg(chart)


# Set here, so that the data of figures knows nothing of how they are drawn.
Chart._repr_svg_ = _svg  # type: ignore[attr-defined]
