"""Reports without a browser: what is escaped, how large pages are, that they hold all they need, what they say."""

import json
import re
from html.parser import HTMLParser
from importlib import resources
from pathlib import Path
from typing import Any

import plotly.graph_objects
import pytest
from report_samples import (
    HOSTILE,
    banded,
    bars,
    curves,
    every_kind,
    heat,
    hostile_charts,
    hostile_sections,
    sections,
    strips,
)

from flashweir.charts.model import Axis, Chart, Cloud, Plot, Series
from flashweir.charts.names import undirected
from flashweir.charts.palette import SERIES, STATES
from flashweir.charts.plotly import figure
from flashweir.charts.plotly.texts import number, short, text
from flashweir.reports import drawing, page
from flashweir.reports.model import Cell, Figure, Section, Table, Text

MEGABYTE = 1_000_000


class Page(HTMLParser):
    """The elements of a page and the text in each."""

    def __init__(self, source: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[tuple[str, str]] = []
        self._open = [""]
        self.feed(source)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in {"meta", "link", "br", "wbr", "img"}:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if data.strip():
            self.texts.append((self._open[-1], data))

    def of(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]

    def in_(self, tag: str) -> list[str]:
        return [data for name, data in self.texts if name == tag]

    def figures(self) -> list[Any]:
        return [json.loads(data) for name, data in self.texts if name == "script" and data.startswith("{")]


@pytest.fixture(scope="module")
def hostile() -> Page:
    return Page(page.render(HOSTILE[0], hostile_sections()))


def test_hostile_text_makes_no_elements(hostile: Page) -> None:
    assert len(hostile.of("script")) == 4 + len(hostile_charts())
    assert [image["class"] for image in hostile.of("img")] == ["still"]
    for tag in ("b", "br", "iframe", "object", "base", "form"):
        assert hostile.of(tag) == []
    for tag, attributes in hostile.elements:
        assert not [name for name in attributes if name.startswith("on")], tag
        for name in ("src", "href", "action", "data", "srcset", "poster"):
            assert name not in attributes or re.fullmatch(
                r"#[a-z0-9.-]+|data:,|data:image/(svg\+xml|png);base64,[A-Za-z0-9+/=]+", str(attributes[name])
            ), attributes


def test_hostile_text_is_shown_as_it_stands(hostile: Page) -> None:
    assert hostile.in_("title") == [HOSTILE[0]]
    for tag in ("p", "td", "dt", "dd"):
        shown = "".join(hostile.in_(tag) + hostile.in_("th") + hostile.in_("bdi"))
        assert all(undirected(name) in shown for name in HOSTILE), tag
    assert undirected("\n\n".join(HOSTILE)) in hostile.in_("pre")


def test_figures_in_a_page_have_no_markup() -> None:
    source = page.render("x", [Section("s", [Figure(chart) for chart in hostile_charts()])])
    found = re.findall(r'<script type="application/json"[^>]*>(.*?)</script>', source, re.DOTALL)
    assert len(found) == len(hostile_charts())
    for data in found:
        assert data.isascii()
        assert not re.search(r"[<>&]", data)


def strings(value: object) -> list[str]:
    if isinstance(value, dict):
        return [found for item in value.values() for found in strings(item)]
    if isinstance(value, list):
        return [found for item in value for found in strings(item)]
    return [value] if isinstance(value, str) else []


@pytest.mark.parametrize("chart", hostile_charts(), ids=lambda chart: type(chart).__name__)
def test_plotly_gets_no_markup_of_others(chart: Chart) -> None:
    for shown in strings(figure(chart)):
        own = re.sub(r"</?(b|extra)>|<br>|%\{(x|y|z|text|customdata(\[\d\])?)(:,\.6~r)?\}", "", shown)
        assert not re.search(r"[<>$%]", own), shown
        assert not re.search(r"&(?!(amp|lt|gt|#36|#37);)", own), shown


@pytest.mark.parametrize("chart", [*every_kind(), *hostile_charts()], ids=lambda chart: type(chart).__name__)
def test_plotly_takes_every_figure(chart: Chart) -> None:
    drawn = figure(chart)
    plotly.graph_objects.Figure(drawn)
    json.dumps(drawn, allow_nan=False)
    assert drawn["layout"]["title"] == {"text": text(chart.title)}


def test_text_of_any_kind() -> None:
    assert text("a\x00\n\tb") == "a b"
    assert text("file \udcff") == "file ?"
    assert text("0123456789", 7) == "0123…89"
    assert text("<" * 9, 5) == "&lt;&lt;&lt;…&lt;"


def test_numbers_have_six_digits_and_are_finite() -> None:
    assert [number(value) for value in (1 / 3, 123456.789, 2.0, float("nan"), float("inf"), None)] == [
        0.333333,
        123457,
        2,
        None,
        None,
        None,
    ]
    assert [short(value) for value in (0.12345, 12.345, 1234.5, 43_400.0, 2.5e6, None)] == [
        "0.123",
        "12.3",
        "1234",
        "43.4k",
        "2.5M",
        "",
    ]


def test_a_curve_of_few_points_has_bars_and_one_of_many_a_band_of_its_group() -> None:
    few = figure(curves())["data"]
    assert [trace["name"] for trace in few] == ["greedy", "fifo"]
    assert all(len(trace["error_y"]["array"]) == 6 for trace in few)
    many = figure(banded())["data"]
    assert [trace.get("fill") for trace in many] == ["toself", None, "toself", None]
    assert [trace["legendgroup"] for trace in many] == ["g0", "g0", "g1", "g1"]
    assert many[0]["y"].count(None) == 1, "the gap in the curve is a gap in the band"


def test_a_band_of_steps_has_their_corners() -> None:
    x = [float(at) for at in range(30)]
    y = [float(at) for at in range(30)]
    series = Series("s", x, y, y, [value + 1 for value in y], style="steps")
    band = figure(Plot("p", "p", Axis("x"), Axis("y"), [series]))["data"][0]
    corners = list(zip(band["x"], band["y"], strict=True))
    assert corners[:4] == [(0, 1), (1, 1), (1, 2), (2, 2)]
    assert corners[-1] == (0, 0)


@pytest.mark.parametrize(
    ("values", "marks"),
    [
        ((1.0, 9.0), {1, 2, 5}),
        ((30.0, 900.0), {50, 100, 200}),
        ((40_000.0, 44_000.0), {41_000, 42_000}),
        ((7.0, 7.0), {5, 10}),
    ],
)
def test_a_log_axis_has_marks_within_its_values(values: tuple[float, float], marks: set[float]) -> None:
    plot = Plot("p", "p", Axis("x"), Axis("y", "log"), [Series("s", [1.0, 2.0], values)])
    axis = figure(plot)["layout"]["yaxis"]
    assert marks <= set(axis["tickvals"])
    assert len(axis["tickvals"]) == len(axis["ticktext"]) <= 60


def test_charts_without_values_are_figures_too() -> None:
    empty: list[Chart] = [
        Plot("a", "a", Axis("x", "log"), Axis("y", "log"), []),
        Plot("b", "b", Axis("x"), Axis("y", "log"), [Series("s", [], []), Series("t", [1.0], [None], [None], [None])]),
        heat("c", 0, 0),
        bars("d", ()),
        strips("e", 0, 0),
        strips("f", 2, 0),
    ]
    for chart in empty:
        plotly.graph_objects.Figure(figure(chart))
    page.render("empty", [Section("s", [Figure(chart) for chart in empty])])


def test_states_have_their_colours_everywhere() -> None:
    assert [trace["marker"]["color"] for trace in figure(bars())["data"]] == [
        STATES[state] for state in ("host", "gc", "mapping", "idle")
    ]
    strip = figure(strips())["data"][0]
    assert {colour for _, colour in strip["colorscale"]} == set(STATES.values())
    assert len(set(SERIES)) == 8


def test_strips_show_the_largest_share_and_say_all() -> None:
    strip = figure(strips(rows=2, bins=20))["data"][0]
    assert strip["z"][0] == [0.5] * 10 + [1.5] * 10
    assert strip["z"][1] == [1.5] * 10 + [2.5] * 10
    assert strip["customdata"][0][0] == [60, 10, 10, 10, 10]


def test_many_bins_are_merged_by_width() -> None:
    strip = figure(strips(rows=64, bins=1000))["data"][0]
    bins = len(strip["z"][0])
    assert bins * 64 <= 8000
    assert len(strip["x"]) == bins + 1
    assert (strip["x"][0], strip["x"][-1]) == (0, 10)
    assert sum(strip["customdata"][0][0]) == pytest.approx(100, abs=0.3)


def test_the_page_needs_nothing_else() -> None:
    source = page.render("title", sections())
    parsed = Page(source)
    policy = next(meta["content"] for meta in parsed.of("meta") if meta.get("http-equiv") == "Content-Security-Policy")
    assert policy is not None
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe-inline'" not in policy.split(";")[1]
    assert [link["href"] for link in parsed.of("link")] == ["data:,"]
    own = "".join(page._own(name) for name in ("inflate.js", "values.js", "page.js", "page.css"))
    assert "http" not in own
    assert "url(" not in own
    assert "@import" not in own
    assert parsed.of("html") == [{"lang": "en"}]


def test_the_same_report_is_the_same_bytes(tmp_path: Path) -> None:
    page.write(tmp_path / "one.html", "title", sections())
    page.write(tmp_path / "two.html", "title", sections())
    assert (tmp_path / "one.html").read_bytes() == (tmp_path / "two.html").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one.html", "two.html"]


def test_a_page_is_small_and_a_figure_of_many_points_is_packed() -> None:
    assert len(page.render("two", [Section("s", [Figure(curves()), Figure(banded())])])) < 1.5 * MEGABYTE
    points = [(float(at), at / 7, at / 11 + 1) for at in range(12_000)]
    axes = Axis("request number"), Axis("address"), Axis("PBR (ns/byte)", "log")
    cloud = Cloud("pbr", "Points", *axes, points, [1] * len(points), "writes")
    assert len(page.render("cloud", [Section("s", [Figure(cloud)])])) < 1.5 * MEGABYTE


def test_the_library_is_the_one_whose_parts_are_known() -> None:
    """Another version of plotly is held whole: scripts/plotly-cuts.js finds the parts that it does not need."""
    library = resources.files("plotly").joinpath("package_data", "plotly.min.js").read_bytes()
    assert len(drawing.needed(library)) < len(library) / 2
    assert drawing.needed(library + b" ") == (library + b" ").decode()
    assert len(drawing.packed().text) < 0.8 * MEGABYTE


def test_a_report_of_a_large_sweep_has_less_than_six_megabytes() -> None:
    charts: list[Chart] = [banded(f"over-time-{at}", 2000) for at in range(8)]
    charts += [strips(f"channel-activity-{at}", 32, 1000) for at in range(4)]
    charts += [heat(f"heat-{at}", 40, 40) for at in range(8)]
    rows = [[f"value {at}", at, at / 7, at / 11, at * 1.5, at, at] for at in range(20_000)]
    table = Table("Settings", [f"column {at}" for at in range(7)], rows)
    source = page.render("large", [Section("s", [*(Figure(chart) for chart in charts), table])])
    assert MEGABYTE < len(source.encode()) < 6 * MEGABYTE


def test_figures_alone_bring_the_library() -> None:
    assert len(page.render("no figures", [Section("s", [Text("a text")])])) < MEGABYTE / 10


def test_headings_are_in_order_and_names_are_unique() -> None:
    charts = [curves(), curves()]
    parsed = Page(page.render("t", [Section("A b", [Figure(chart) for chart in charts]), Section("A b", [])]))
    levels = [int(tag[1]) for tag, _ in parsed.elements if re.fullmatch(r"h\d", tag)]
    assert levels == [1, 2, 3, 3, 2]
    anchors = [attributes["id"] for _, attributes in parsed.elements if "id" in attributes]
    assert len(anchors) == len(set(anchors))
    links = {str(link["href"]).removeprefix("#") for link in parsed.of("a")}
    assert links <= set(anchors)
    assert {"a-b", "a-b-2", "curve-iops", "curve-iops-2"} <= links


def test_figures_say_what_they_show() -> None:
    parsed = Page(page.render("t", [Section("s", [Figure(chart) for chart in every_kind()])]))
    plots = [attributes for attributes in parsed.of("div") if attributes.get("role") == "group"]
    assert len(plots) == len(every_kind())
    said = [str(plot["aria-label"]) for plot in plots]
    assert said[1] == "IOPS by queue depth: IOPS over queue depth; 2 curves: greedy, fifo."
    assert "from 0 to 3,014" in said[6]
    assert "4 rows: channel 0, channel 1" in said[7]


def rendered(table: Table) -> Page:
    return Page(page.render("t", [Section("s", [table])]))


def test_tables_align_numbers_and_name_their_columns() -> None:
    rows = [["a", 1234567, 0.5, Cell("12 ± 1", 12.0), True, None], ["b", None, 12.25, Cell("9 ± 2", 9.0), False, None]]
    parsed = rendered(Table("Caption", ["name", "count", "share", "mean", "yes", "nothing"], rows))
    assert [head["scope"] for head in parsed.of("th")] == [*["col"] * 6, "row", "row"]
    assert [cell.get("class") for cell in parsed.of("td")][:5] == ["n", "n", "n", None, None]
    assert parsed.in_("td") == ["1,234,567", "0.500", "yes", "-", "-", "12.250", "no", "-"]
    assert parsed.of("td")[2]["data-v"] == "12"
    assert [table.get("aria-labelledby") for table in parsed.of("table")] == ["table-caption"]


def test_long_tables_show_the_first_rows() -> None:
    parsed = rendered(Table("t", ["n"], [[at] for at in range(450)]))
    assert [body.get("hidden", "shown") for body in parsed.of("tbody")] == ["shown", None]
    assert len(parsed.of("tr")) == 451
    assert "Show all 450 rows" in parsed.in_("button")


def test_tables_too_large_for_a_page_say_where_the_rest_is() -> None:
    parsed = rendered(Table("t", ["n"], [[at] for at in range(40_000)], rest="All are elsewhere."))
    assert len(parsed.of("tr")) == 201
    assert "The first 200 of 40,000 rows. All are elsewhere." in parsed.in_("p")


def test_digits_of_a_column_are_alike_unless_that_hides_small_numbers() -> None:
    assert rendered(Table("t", ["n"], [[810.4321], [5.0], [0.0]])).in_("th") == ["810.43", "5.00", "0"]
    assert rendered(Table("t", ["n"], [[81000.4], [0.00321]])).in_("th") == ["81,000", "0.00321"]
    assert rendered(Table("t", ["n"], [[float("nan")], [1.0]])).in_("th") == ["-", "1.0000"]
