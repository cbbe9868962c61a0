"""Reports in a browser: the finding comes first, nothing is clipped, and everyone reaches everything."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Literal

import pytest
from accessible import offences
from opened_reports import context, page, plot, tab, watched
from patience import wait
from playwright.sync_api import BrowserContext, Page
from report_samples import curves, heat

from flashweir.charts.model import Axis, Chart, Cloud
from flashweir.reports import page as report
from flashweir.reports.finding import section
from flashweir.reports.model import Cell, Figure, Section, Table

# Fixtures.
__all__ = ["context", "page", "tab"]

# Words of cells, without those that stand on their own in a very long text, that lie on more than one line.
BROKEN = """() => [...document.querySelectorAll("td:not(.any), tbody th:not(.any)")].flatMap((cell) => {
    const broken = [];
    const walker = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
        for (const word of node.textContent.matchAll(/\\w+/g)) {
            const range = document.createRange();
            range.setStart(node, word.index);
            range.setEnd(node, word.index + word[0].length);
            if (new Set([...range.getClientRects()].map((one) => Math.round(one.top))).size > 1) broken.push(word[0]);
        }
    }
    return broken;
})"""
CLIPPED = "[...document.querySelectorAll('.scroll')].filter((one) => one.scrollWidth > one.clientWidth + 1).length"
NO_WEBGL = """
    const get = HTMLCanvasElement.prototype.getContext;
    HTMLCanvasElement.prototype.getContext = function (kind) {
        return kind.startsWith("webgl") ? null : get.apply(this, arguments);
    };
"""


def cloud() -> Cloud:
    points = [(float(at), at % 97.0, 1.0 + at % 13) for at in range(500)]
    axes = Axis("request number"), Axis("address (MiB)"), Axis("PBR (ns/byte)", "log")
    return Cloud("pbr", "Response times", *axes, points, [1] * len(points), "writes")


def differences() -> Table:
    columns = ["workload", "policy", "metric", "difference", "verdict", "p (Holm)", "pairs", "mean of baseline", "mean"]
    row = ["random:span=48MiB,size=4KiB,count=6000,write=0.7", "cost-benefit", "write amplification",
           Cell("+36.28\u00a0% [+25.30\u00a0to\u00a0+48.87]", 0.36), "36% higher (25 to 49%), significant",
           Cell("0.026", 0.026), 2, 3.1, 4.45]  # fmt: skip
    return Table("Differences by policy", columns, [row] * 30, fits=True)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    facets: list[Chart] = [
        replace(heat(f"heat-iops{'' if at == 0 else f'-{at + 1}'}"), group="heat-iops", facet=f"depth={2**at}")
        for at in range(3)
    ]
    file = tmp_path_factory.mktemp("reach") / "report.html"
    parts = [
        section(["greedy has the best IOPS."], curves()),
        Section("Comparison", [differences()]),
        Section("Two axes at a time", [Figure(chart) for chart in facets]),
    ]
    report.write(file, "Reach", parts)
    return file


@pytest.fixture(scope="module")
def opened(context: BrowserContext, written: Path) -> Iterator[Page]:
    """The report, loaded once for tests that change nothing in it."""
    with watched(context.new_page()) as page:
        page.set_viewport_size({"width": 1400, "height": 900})
        page.goto(written.as_uri())
        page.locator("#curve-iops .main-svg").first.wait_for(state="attached")
        yield page


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_everybody_can_read_it(page: Page, written: Path, width: int, scheme: Literal["light", "dark"]) -> None:
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(written.as_uri())
    page.locator("#curve-iops .main-svg").first.wait_for(state="attached")
    assert offences(page) == {}
    page.emulate_media(color_scheme="light")


def test_poor_contrast_and_missing_names_are_found(page: Page, written: Path) -> None:
    page.goto(written.as_uri())
    page.locator("#curve-iops .main-svg").first.wait_for(state="attached")
    page.evaluate("""() => {
        document.querySelector("main p").style.color = "#999";
        document.querySelector("main").insertAdjacentHTML("beforeend", "<button></button><img src='data:,'><h4>x</h4>");
    }""")
    found = offences(page)
    assert len(found["contrast"]) == 1
    assert "greedy has the best IOPS." in found["contrast"][0]
    assert {line.partition(":")[0] for line in found["names"]} == {"button", "image"}
    assert [line.partition(":")[0] for line in found["structure"]] == ["picture without text"]


def test_the_finding_and_its_picture_come_first(opened: Page) -> None:
    assert opened.viewport_size == {"width": 1400, "height": 900}
    assert opened.locator("main p").first.text_content() == "greedy has the best IOPS."
    box = opened.locator("#curve-iops").bounding_box()
    assert box is not None
    assert box["y"] + box["height"] < 900, "both are in the first screen"


def test_words_in_cells_are_whole(opened: Page) -> None:
    assert opened.viewport_size == {"width": 1400, "height": 900}
    assert opened.evaluate(BROKEN) == []
    assert opened.evaluate(CLIPPED) == 0


@pytest.mark.parametrize("width", [1400, 390])
def test_no_column_is_clipped(opened: Page, width: int) -> None:
    opened.set_viewport_size({"width": width, "height": 900})
    assert opened.evaluate(CLIPPED) == 0
    cell = opened.locator("tbody tr").first.locator("> :nth-child(4)")
    box = cell.bounding_box()
    assert box is not None
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= width
    assert "+36.28" in (cell.text_content() or "")
    roles = opened.evaluate("[...document.querySelectorAll('tbody tr')].map((row) => row.getAttribute('role'))")
    assert set(roles) == ({"row"} if width == 390 else {None}), "rows drawn as blocks are rows still"


def test_no_column_is_clipped_on_paper(page: Page, written: Path) -> None:
    page.set_viewport_size({"width": 690, "height": 980})
    page.goto(written.as_uri())
    page.emulate_media(media="print")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    shown = page.evaluate("[...document.querySelectorAll('figure')].every((one) => one.offsetHeight > 0)")
    assert shown, "paper has the figures of all settings"
    page.emulate_media(media="screen")


def test_short_headings_are_whole_on_paper(page: Page, tmp_path: Path) -> None:
    columns = ["workload", "policy", "IOPS", *(f"write latency ({name})" for name in ("p50", "p95", "p99", "p99.9")),
               "runs", "failed", "seeds", "state"]  # fmt: skip
    row = ["zipf:span=48MiB,size=4KiB,count=3000,write=0.7", "fast+none", "1,460 ± 29", *["902.7 ± 2.2 us"] * 4,
           3, 0, 2, "feasible"]  # fmt: skip
    report.write(
        tmp_path / "paper.html", "Paper", [Section("Settings", [Table("Settings", columns, [row], fits=True)])]
    )
    page.set_viewport_size({"width": 690, "height": 980})
    page.goto((tmp_path / "paper.html").as_uri())
    page.emulate_media(media="print")
    assert page.evaluate(BROKEN.replace("td:not(.any), tbody th:not(.any)", "thead th")) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.emulate_media(media="screen")


def test_labels_of_cards_are_broken_behind_dots(page: Page, tmp_path: Path) -> None:
    columns, row = ["design", "iops", "cost", "latency_us.write.p99"], [1, 2, 3, 4.5]
    report.write(tmp_path / "cards.html", "Cards", [Section("Front", [Table("Front", columns, [row])])])
    page.set_viewport_size({"width": 390, "height": 900})
    page.goto((tmp_path / "cards.html").as_uri())
    label = "getComputedStyle(document.querySelector('tbody tr > :nth-child(4)'), '::before').content"
    assert page.evaluate(label) == '"latency_us.\u200bwrite.\u200bp99"'


def test_a_list_chooses_the_setting_that_is_shown(page: Page, written: Path) -> None:
    page.goto(written.as_uri())
    shown = "[...document.querySelectorAll('figure[data-group]')].filter((one) => !one.hidden).map((one) => one.id)"
    assert page.evaluate(shown) == ["heat-iops"]
    page.locator("#heat-iops select").select_option("depth=4")
    assert page.evaluate(shown) == ["heat-iops-3"]
    wait(page, f"!!{plot('heat-iops-3')}.querySelector('.main-svg')")
    assert page.evaluate("document.activeElement.closest('figure').id") == "heat-iops-3"


def test_the_numbers_of_a_figure_are_a_table(page: Page, written: Path) -> None:
    page.goto(written.as_uri())
    page.locator("#curve-iops .main-svg").first.wait_for(state="attached")
    page.locator("#curve-iops .values summary").press("Enter")
    table = page.locator("#curve-iops .values table")
    table.wait_for()
    assert "2 curves: greedy, fifo" in (table.locator("caption").text_content() or "")
    assert table.locator("tr").count() == 1 + 2 * 6


def test_keys_reach_the_legend_and_the_buttons(page: Page, written: Path) -> None:
    page.goto(written.as_uri())
    page.locator("#curve-iops .main-svg").first.wait_for(state="attached")
    assert page.locator("#curve-iops [role=button][aria-label='Show or hide fifo']").get_attribute("tabindex") == "0"
    assert page.locator("#curve-iops [role=button][aria-label='Save as SVG']").get_attribute("tabindex") == "0"
    page.locator("#curve-iops [role=button][aria-label='Show or hide fifo']").press("Enter")
    wait(page, f"{plot('curve-iops')}.data[1].visible === 'legendonly'")


def test_without_webgl_there_is_a_picture(context: BrowserContext, tmp_path: Path) -> None:
    report.write(tmp_path / "points.html", "Points", [Section("Points", [Figure(cloud())])])
    with watched(context.new_page()) as page:
        page.add_init_script(NO_WEBGL)
        page.goto((tmp_path / "points.html").as_uri())
        page.locator("#pbr").scroll_into_view_if_needed()
        page.locator("#pbr .unable").wait_for()
        assert page.evaluate("document.querySelector('#pbr img.still').naturalWidth") > 100
        assert "500 points" in (page.locator("#pbr img.still").get_attribute("alt") or "")
    page.close()


def test_without_scripts_the_first_figure_is_a_picture(context: BrowserContext, written: Path) -> None:
    without = written.with_name("without.html")
    source = written.read_text(encoding="utf-8")
    without.write_text(source.replace("script-src ", "script-src 'none'; x-src ", 1), encoding="utf-8")
    opened = context.new_page()
    opened.goto(without.as_uri())
    assert opened.evaluate("document.querySelector('#curve-iops img.still').naturalWidth") > 100
    assert opened.locator("#curve-iops .main-svg").count() == 0
    opened.close()
