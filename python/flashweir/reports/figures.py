"""Sections of a report that hold its figures."""

from collections.abc import Sequence

from flashweir.charts.model import Chart
from flashweir.reports.model import Block, Figure, Section

# A figure's section, by how its name begins.
_FIGURES = (
    ("Comparison of runs", ("compare-",)),
    ("Latency", ("latency-",)),
    ("Tenants", ("tenant-",)),
    ("Channels over time", ("channel-", "dirty-")),
    ("Over time", ("over-time-", "collection-")),
    ("Curves", ("curve-", "points-")),
    ("Two axes at a time", ("heat-",)),
    ("Trade-offs", ("pareto-",)),
    ("More figures", ("",)),
)


def sections_of(charts: Sequence[Chart], without: Chart | None = None) -> list[Section]:
    """The figures by what they are about; `without` is one that the report has elsewhere."""
    sections: dict[str, list[Block]] = {}
    for chart in (one for one in charts if one is not without):
        title = next(title for title, starts in _FIGURES if chart.name.startswith(starts))
        sections.setdefault(title, []).append(Figure(chart))
    return [Section(title, sections[title]) for title, _ in _FIGURES if title in sections]
