"""Axes of figures: intervals below a log axis, long names, marks."""

import math

import pytest
from report_samples import (
    banded,
    bars,
    curves,
)
from test_report import Page

from flashweir.charts.distributions import latency_figures
from flashweir.charts.lettering import plain
from flashweir.charts.model import Axis, Bars, Heat, Plot, Series
from flashweir.charts.names import apart, isolated
from flashweir.charts.plotly import figure
from flashweir.charts.plotly.texts import text
from flashweir.reports import page
from flashweir.reports.model import Figure, Section, Table, Text


def below_zero(style: str = "line", points: int = 30) -> Plot:
    """A curve over a log axis with intervals that reach below zero, and one that nearly does."""
    x, y = [float(at) for at in range(points)], [100.0 * 1.2**at for at in range(points)]
    low = [-50.0 if at in (3, 4, 9) else 1e-9 if at == 6 else value / 2 for at, value in enumerate(y)]
    series = Series("s", x, y, low, [2 * value for value in y], style="points" if style == "points" else "line")
    return Plot("below-zero", "p", Axis("x"), Axis("y", "log"), [series])


@pytest.mark.parametrize(("style", "points"), [("line", 30), ("line", 10), ("points", 30)])
def test_intervals_that_reach_below_a_log_axis_end_below_it(style: str, points: int) -> None:
    chart = below_zero(style, points)
    drawn = figure(chart)
    bottom, top = drawn["layout"]["yaxis"]["range"]
    assert 30 < 10**bottom < 50, "the smallest end that is not far below"
    assert 10**top > 2 * 100 * 1.2 ** (points - 1)
    first = drawn["data"][0]
    if "error_y" in first:
        ends = [value - gap for value, gap in zip(first["y"], first["error_y"]["arrayminus"], strict=True)]
    else:
        assert len(first["y"]) == 2 * points
        ends = first["y"][:points:-1]
    assert min(ends) > 0
    assert all(math.log10(end) < bottom for end in (ends[3], ends[4], ends[6]))
    assert "range" not in figure(banded())["layout"]["yaxis"], "where nothing is below, the axis fits the data"


def test_matrices_of_values_far_apart_are_coloured_by_logarithms() -> None:
    axis = Axis("x", "category")
    values = [[1.0, 10.0], [None, 1000.0]]
    drawn = figure(Heat("h", "h", axis, axis, ["a", "b"], ["c", "d"], values, "us"))["data"]
    assert drawn[0]["z"] == [[0, 1], [None, 3]]
    assert drawn[0]["customdata"][0] == [["a", "c", 1], ["b", "c", 10]]
    assert "%{customdata[2]" in drawn[0]["hovertemplate"]
    assert dict(zip(drawn[0]["colorbar"]["tickvals"], drawn[0]["colorbar"]["ticktext"], strict=True))[2] == "100"
    assert drawn[1]["text"] == ["1", "10", "1000"]
    near = figure(Heat("h", "h", axis, axis, ["a", "b"], ["c", "d"], [[1.0, 10.0], [None, 99.0]], "us"))["data"]
    assert near[0]["z"] == [[1, 10], [None, 99]]


LONG_NAMES = [
    f"workload=/data/traces/enterprise/{kind}/2026-01-01-to-2026-03-31.csv.zst, gc.victim=greedy, "
    f"allocation.mode={mode}, mapping.cache=4MiB-with-a-long-description"
    for kind in ("mail", "web")
    for mode in (0, 1, 2)
]


def test_names_that_differ_stay_different_when_they_are_shortened() -> None:
    short = apart(LONG_NAMES, 60)
    assert len(set(short)) == 6
    assert max(map(len, short)) <= 60
    assert all("gc.victim" not in name for name in short), "what all share says nothing"
    assert all(f"allocation.mode={mode}" in name for name, mode in zip(short, [0, 1, 2] * 2, strict=True))
    middles = [f"{'a' * 80}{at}{'b' * 80}" for at in range(12)]
    assert len(set(apart(middles, 24))) == 12
    assert all(str(at) in name for at, name in enumerate(apart(middles, 24)))
    nested = ["a" * 90, "a" * 80, "a" * 70, "a" * 90]
    assert len(set(apart(nested, 24))) == 3
    assert apart(["short", "names"], 24) == ["short", "names"]
    assert apart(["x" * 30], 10) == ["xxxxx…xxxx"]


def test_a_figure_of_long_names_says_them_apart_and_in_full() -> None:
    series = [Series(name, [1.0, 2.0], [at, at]) for at, name in enumerate(LONG_NAMES)]
    drawn = figure(Plot("p", "p", Axis("x"), Axis("y"), series))["data"]
    assert len({trace["name"] for trace in drawn}) == 6
    for trace, name in zip(drawn, LONG_NAMES, strict=True):
        bold = trace["hovertemplate"].partition("</b>")[0].removeprefix("<b>")
        assert bold.replace("<br>", "").replace(" ", "") == name.replace(" ", "")
        assert max(map(len, bold.split("<br>"))) <= 44
    rows = figure(bars(rows=tuple(LONG_NAMES)))
    assert len(set(rows["layout"]["yaxis"]["ticktext"])) == 6


def test_a_figure_has_the_name_of_its_file_in_the_page() -> None:
    chart = curves("curve-latency_us.read.p99")
    parsed = Page(
        page.render("t", [Section("Curve-iops", [Figure(chart)]), Section("s", [Figure(curves("curve-iops"))])])
    )
    assert [figure["id"] for figure in parsed.of("figure")] == ["curve-latency_us.read.p99", "curve-iops"]
    assert [section["id"] for section in parsed.of("section")] == ["curve-iops-2", "s"]


def test_an_axis_from_zero_begins_there() -> None:
    def mode(values: list[float], *, from_zero: bool = False) -> str | None:
        axis = Axis("y", from_zero=from_zero)
        drawn = figure(Plot("p", "p", Axis("x"), axis, [Series("s", [1.0, 2.0], values)]))
        found: str | None = drawn["layout"]["yaxis"].get("rangemode")
        return found

    assert mode([500.0, 510.0]) is None
    assert mode([500.0, 510.0], from_zero=True) == "tozero"
    assert mode([0.0, 0.0]) == "tozero"
    assert mode([-1.0, 1.0]) is None


def test_bars_of_one_part_have_their_values_and_no_legend() -> None:
    drawn = figure(Bars("compare-iops", "IOPS", Axis("requests/s"), ["a", "b"], [("IOPS", [1234.5, 43_400.0])]))
    assert drawn["data"][0]["text"] == ["1234", "43.4k"]
    assert drawn["layout"]["showlegend"] is False
    assert drawn["layout"]["xaxis"]["range"] == [0, 48608]
    stacked = figure(bars())
    assert stacked["layout"]["showlegend"] is True
    assert "text" not in stacked["data"][0]


def test_headings_of_metrics_break_behind_dots() -> None:
    source = page.render("t", [Section("s", [Table("t", ["latency_us.read.p99", "p99.9"], [[1.0, 2.0]])])])
    assert "latency_us.<wbr>read.<wbr>p99<" in source
    assert "p99.9<" in source


def test_names_turn_nothing_round_but_themselves() -> None:
    assert isolated("web") == "web"
    assert isolated("\u202eעולם\u2069") == "\u2068עולם\u2069"  # noqa: RUF001 - Hebrew
    assert text("a \u202eb\u2066c") == "a bc"
    source = page.render("t", [Section("s", [Text("a \u202eb"), Text(f"{isolated('שלום')}: 5")])])
    assert "\u202e" not in source
    assert "\u2068שלום\u2069: 5" in source  # noqa: RUF001
    histograms = {"read": [[0, 700], [1000, 200]]}
    note = latency_figures([("שלום", histograms)])[0].note
    assert "\u2068שלום\u2069 77.8%" in note  # noqa: RUF001
    assert plain(f"{isolated('שלום')}\u202e") == plain("שלום")


def test_a_log_axis_of_a_single_value_has_few_marks() -> None:
    def marks(low: list[float] | None, high: list[float] | None) -> list[float]:
        series = Series("s", [1.0], [7.0], low, high)
        axis = figure(Plot("p", "p", Axis("x"), Axis("y", "log"), [series]))["layout"]["yaxis"]
        return [mark for mark in axis["tickvals"] if 0.7 <= mark <= 70]

    assert marks(None, None) == [1, 2, 5, 10, 20, 50]
    assert len([mark for mark in marks([6.5], [7.5]) if 6.5 <= mark <= 7.5]) >= 3, "its interval has marks"
