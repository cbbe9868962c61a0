"""Reports in a browser: saving figures, and layouts that fit the window."""

import itertools
import re
from pathlib import Path

import pytest
from opened_reports import ALL_DRAWN, axis_range, context, files, page, plot, show, tab
from patience import wait
from playwright.sync_api import BrowserContext, Page
from report_samples import curves

from flashweir.charts.model import Axis, Bars, Chart, Heat, Plot, Series
from flashweir.reports import page as report
from flashweir.reports.model import Figure, Section

# Fixtures.
__all__ = ["context", "files", "page", "tab"]


@pytest.mark.parametrize(("format", "start"), [("svg", b"<svg"), ("png", b"\x89PNG")])
def test_figures_can_be_saved(page: Page, files: dict[str, Path], format: str, start: bytes) -> None:
    show(page, files["two"])
    page.locator("#curve-iops").hover()
    with page.expect_download() as download:
        page.locator(f"#curve-iops [data-title='Save as {format.upper()}']").click()
    assert download.value.suggested_filename == f"curve-iops.{format}"
    saved = Path(download.value.path()).read_bytes()
    assert saved.startswith(start)
    if format == "svg":
        assert b"IOPS by queue depth" in saved, "a file of its own has a title"


def test_a_figure_that_fails_keeps_no_other_from_being_drawn(
    context: BrowserContext, files: dict[str, Path], tmp_path: Path
) -> None:
    broken = tmp_path / "broken.html"
    source = files["two"].read_text(encoding="utf-8")
    broken.write_text(
        source.replace('id="curve-iops-plot-data">', 'id="curve-iops-plot-data">no JSON', 1), encoding="utf-8"
    )
    opened = context.new_page()
    opened.goto(broken.as_uri())
    wait(opened, f"!!{plot('over-time-iops')}.querySelector('.main-svg')")
    assert "could not be drawn" in (opened.locator("#curve-iops-plot").text_content() or "")
    opened.close()


def report_of(tmp_path: Path, *charts: Chart) -> Path:
    file = tmp_path / "report.html"
    report.write(file, "Some figures", [Section("Figures", [Figure(chart) for chart in charts])])
    return file


def test_a_band_that_reaches_below_a_log_axis_has_its_shape(page: Page, tmp_path: Path) -> None:
    x = [float(at) for at in range(30)]
    low = [-50.0 if at in (3, 9) else 60.0 for at in range(30)]
    series = Series("s", x, [100.0] * 30, low, [200.0] * 30)
    show(page, report_of(tmp_path, Plot("band", "Band", Axis("x"), Axis("y", "log"), [series])))
    path = page.locator("#band .fills path").first.get_attribute("d") or ""
    heights = [float(y) for y in re.findall(r",([\d.]+)", path)]
    below = [y for y in heights if y > page.evaluate(f"{plot('band')}._fullLayout._size.h")]
    assert len(below) == 2, "two ends lie below the axis"
    assert len(set(heights) - set(below)) == 2, "all others lie on two lines"
    bottom, top = axis_range(page, "band", "yaxis")
    assert 50 < 10**bottom < 60
    assert 200 < 10**top < 300
    assert page.evaluate(f"{plot('band')}.layout.yaxis.tickmode") == "array"
    page.evaluate(f"Plotly.relayout({plot('band')}, {{'yaxis.range': [2, 2.1]}})")
    wait(page, f"{plot('band')}.layout.yaxis.tickmode === 'auto'")


@pytest.mark.parametrize("width", [390, 1280])
def test_drawing_a_figure_moves_nothing(page: Page, files: dict[str, Path], width: int) -> None:
    tops = "[...document.querySelectorAll('h2, h3, .caption, th, .more')].map((one) => one.getBoundingClientRect().top)"
    page.set_viewport_size({"width": width, "height": 300})
    page.goto(files["all"].as_uri())
    before = page.evaluate(f"[scrollTo(0, 0), {tops}][1]")
    assert not page.evaluate(ALL_DRAWN), "figures far below are not drawn yet"
    show(page, files["all"], width)
    assert page.evaluate(f"[scrollTo(0, 0), {tops}][1]") == pytest.approx(before, abs=1)


@pytest.mark.parametrize("width", [320, 390, 1280])
def test_the_bar_of_colours_is_in_the_window(page: Page, tmp_path: Path, width: int) -> None:
    axis = Axis("an axis", "category")
    names = [f"{at}KiB" for at in range(8)]
    values = [[10.0 ** (x / 2) + y for x in range(8)] for y in range(8)]
    show(page, report_of(tmp_path, Heat("heat", "Heat", axis, axis, names, names, values, "us")), width)
    for part in (".cbfills", ".cbaxis"):
        box = page.locator(f"#heat {part}").bounding_box()
        assert box is not None
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width, part
    marks = page.locator("#heat .cbaxis text").all_text_contents()
    assert {"10", "100", "1,000"} <= {mark.replace("1k", "1,000") for mark in marks}


@pytest.mark.parametrize("width", [320, 390, 1280])
def test_names_in_a_legend_differ_and_are_in_the_window(page: Page, tmp_path: Path, width: int) -> None:
    names = tuple(
        f"gc.victim=greedy, allocation.mode={mode}, mapping.cache={size}MiB" for mode in (0, 1) for size in (4, 8)
    )
    show(page, report_of(tmp_path, curves(names=names)), width)
    shown = [" ".join(text.split()) for text in page.locator("#curve-iops .legendtext").all_text_contents()]
    assert len(set(shown)) == 4
    for entry in page.locator("#curve-iops .legendtext").all():
        box = entry.bounding_box()
        assert box is not None
        assert box["x"] + box["width"] <= width
    boxes = [entry.bounding_box() for entry in page.locator("#curve-iops .legendtext").all()]
    tops = sorted((box["x"], box["y"], box["y"] + box["height"]) for box in boxes if box)
    assert all(one[0] != two[0] or one[2] <= two[1] + 1 for one, two in itertools.pairwise(tops))


@pytest.mark.parametrize("width", [320, 390])
def test_a_long_title_of_an_axis_is_whole(page: Page, tmp_path: Path, width: int) -> None:
    title = "a long title of an axis that says what is on it, how it was measured and in which unit, us"
    series = [Series("s", [1.0, 2.0], [1.0, 2.0])]
    compared = Bars("compare-iops", "IOPS", Axis("requests/s"), ["a", "b"], [("IOPS", [1234.5, 43_400.0])])
    show(page, report_of(tmp_path, Plot("plot", "p", Axis(title), Axis(title), series), compared), width)
    for part in (".xtitle", ".ytitle"):
        found = page.locator(f"#plot {part}")
        assert "".join((found.text_content() or "").split()) == title.replace(" ", "")
        box, svg = found.bounding_box(), page.locator("#plot .main-svg").first.bounding_box()
        assert box is not None
        assert svg is not None
        assert svg["x"] - 1 <= box["x"]
        assert box["x"] + box["width"] <= svg["x"] + svg["width"] + 1
        assert svg["y"] - 1 <= box["y"]
        assert box["y"] + box["height"] <= svg["y"] + svg["height"] + 1
    assert page.locator("#compare-iops .legendtext").count() == 0
    assert page.locator("#compare-iops .bartext").all_text_contents() == ["1234", "43.4k"]
    for value in page.locator("#compare-iops .bartext").all():
        box = value.bounding_box()
        assert box is not None
        assert box["x"] + box["width"] <= width
