"""Reports in a browser: figures are drawn and can be worked with, on large and small screens, light, dark, on paper."""

import base64
import zlib
from pathlib import Path
from typing import Any

import pytest
from opened_reports import ALL_DRAWN, axis_range, context, files, page, plot, show, tab
from patience import wait
from playwright.sync_api import BrowserContext, Page, expect
from report_samples import HOSTILE, every_kind, hostile_charts

from flashweir.charts.names import undirected

# Fixtures.
__all__ = ["context", "files", "page", "tab"]

DRAWN = "document.querySelectorAll('.plot .main-svg').length > 0"
RECOLOURED = (
    "getComputedStyle(document.querySelector('#curve-iops .xtick text')).fill === getComputedStyle(document.body).color"
)
FITTED = "[...document.querySelectorAll('.plot')].every((plot) => plot._fullLayout.width === plot.clientWidth)"
WIDTHS = "[document.documentElement.scrollWidth, innerWidth]"


# Each byte twice as often as the one before it: Huffman codes of 1 to 14 bits, more than are looked up at once.
SKEWED = b"".join(bytes([ord("a") + rank]) * 2**rank for rank in range(14))
TEXTS = {
    "dynamic": (b"a page of many words, " * 40, zlib.Z_DEFAULT_STRATEGY),
    "fixed": (b"a page of many words, " * 40, zlib.Z_FIXED),
    "short codes": (b"ab" * 300, zlib.Z_HUFFMAN_ONLY),
    "long codes": (SKEWED, zlib.Z_HUFFMAN_ONLY),
}


def trace_visibility(page: Page, name: str) -> list[Any]:
    found: list[Any] = page.evaluate(f"{plot(name)}.data.map((trace) => trace.visible ?? true)")
    return found


def test_every_kind_of_figure_is_drawn(page: Page, files: dict[str, Path]) -> None:
    show(page, files["all"])
    assert page.locator("figure").count() == len(every_kind())
    assert page.locator("#heat-iops .hm image").count() == 1
    assert page.locator("#channel-activity .hm image").count() == 1
    assert page.locator("#curve-iops .scatterlayer .trace").count() == 2
    assert page.locator("#channel-time .bars").count() == 4
    legend = page.locator("#channel-activity .legendtext").all_text_contents()
    assert legend == ["host", "gc", "mapping", "waiting", "idle"]


@pytest.mark.parametrize("text", TEXTS)
def test_every_kind_of_block_is_unpacked(page: Page, files: dict[str, Path], text: str) -> None:
    """A flush adds a stored block: it begins at a whole byte, behind codes that end anywhere."""
    given, strategy = TEXTS[text]
    packer = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS, 9, strategy)
    packed = b""
    for at in range(8):
        packed += packer.compress(given[at:]) + packer.flush(zlib.Z_SYNC_FLUSH)
    plain = zlib.compressobj(0, zlib.DEFLATED, -zlib.MAX_WBITS)
    show(page, files["two"])
    for whole in (packed + packer.flush(), packed + plain.compress(given) + plain.flush()):
        held = {"textContent": base64.b64encode(whole).decode(), "dataset": {"size": len(zlib.decompress(whole, -15))}}
        assert page.evaluate("(held) => flashweir.unpacked(held)", held).encode() == zlib.decompress(whole, -15)


def test_figures_are_drawn_when_they_come_near(page: Page, files: dict[str, Path]) -> None:
    page.set_viewport_size({"width": 390, "height": 500})
    page.goto(files["all"].as_uri())
    wait(page, DRAWN)
    assert not page.evaluate(ALL_DRAWN)


def test_hostile_names_are_shown_as_they_stand(page: Page, files: dict[str, Path]) -> None:
    show(page, files["hostile"])
    assert page.evaluate("window.pwned === undefined")
    assert page.title() == HOSTILE[0]
    for name in ("hostile-plot", "hostile-bars", "hostile-strips"):
        shown = page.locator(f"#{name} .legendtext").all_text_contents()
        assert shown == [undirected(name) for name in HOSTILE], name
    assert page.locator(".plot a[href], .plot b, .plot foreignObject, main img").count() == 0
    ticks = page.locator("#hostile-bars .ytick text").all_text_contents()
    assert "<b>bold</b><br>&lt;" in ticks
    assert page.locator("#hostile-plot .xtitle").text_content() == HOSTILE[0]
    assert page.locator("#hostile-plot .ytitle").text_content() == HOSTILE[4]
    assert page.locator("figure").count() == len(hostile_charts())


def test_hover_texts_are_shown_as_they_stand(page: Page, files: dict[str, Path]) -> None:
    show(page, files["hostile"])
    page.evaluate(
        "Plotly.Fx.hover(document.getElementById('hostile-plot-plot'), [{ curveNumber: 1, pointNumber: 0 }], 'xy')"
    )
    shown = page.locator("#hostile-plot .hoverlayer").text_content() or ""
    assert HOSTILE[0] in shown
    assert HOSTILE[1] in shown
    assert page.evaluate("window.pwned === undefined")


def test_the_policy_stops_scripts_that_are_not_the_page_s(context: BrowserContext, files: dict[str, Path]) -> None:
    opened = context.new_page()
    opened.goto(files["two"].as_uri())
    opened.evaluate(
        "const script = document.createElement('script'); script.textContent = 'window.pwned = 1';"
        "document.body.append(script);"
        "document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=window.pwned=1>')"
    )
    opened.wait_for_timeout(200)
    assert opened.evaluate("window.pwned === undefined")
    opened.close()


@pytest.mark.parametrize(("name", "hidden"), [("curve-iops", [0]), ("over-time-iops", [0, 1])])
def test_the_legend_hides_a_curve_and_its_band(
    page: Page, files: dict[str, Path], name: str, hidden: list[int]
) -> None:
    show(page, files["two"])
    before = trace_visibility(page, name)
    assert before == [True] * len(before)
    page.locator(f"#{name} .legendtoggle").first.click()
    wait(page, f"{plot(name)}.data[0].visible === 'legendonly'")
    expected = ["legendonly" if at in hidden else True for at in range(len(before))]
    assert trace_visibility(page, name) == expected
    page.emulate_media(color_scheme="dark")
    wait(page, RECOLOURED)
    assert trace_visibility(page, name) == expected, "other colours keep what is hidden"


def test_dragging_zooms_and_a_double_click_resets(page: Page, files: dict[str, Path]) -> None:
    show(page, files["two"])
    name = "over-time-iops"
    before = axis_range(page, name)
    marks = page.evaluate(f"{plot(name)}.layout.yaxis.tickmode")
    page.locator(f"#{name}").scroll_into_view_if_needed()
    box = page.locator(f"#{name} .nsewdrag").bounding_box()
    assert box is not None
    left, right, y = box["x"] + box["width"] * 0.3, box["x"] + box["width"] * 0.6, box["y"] + box["height"] / 2
    page.mouse.move(left, y - 60)
    page.mouse.down()
    page.mouse.move(right, y + 60, steps=5)
    page.mouse.up()
    wait(page, f"{plot(name)}._fullLayout.xaxis.range[0] > {before[0]} + 10")
    after = axis_range(page, name)
    assert before[0] < after[0] < after[1] < before[1]
    zoomed = page.evaluate(f"{plot(name)}.layout.yaxis.tickmode")
    assert (marks, zoomed) == ("array", "auto"), "marks for the whole of a log axis do not suit a part"
    for _ in range(20):
        # With all cores busy its clicks may lie too far apart to be a double one.
        page.mouse.dblclick(left, y)
        page.wait_for_timeout(1000)
        if axis_range(page, name) == before:
            break
    assert axis_range(page, name) == before
    wait(page, f"{plot(name)}.layout.yaxis.tickmode === 'array'")


@pytest.mark.parametrize("name", ["all", "hostile"])
def test_no_page_scrolls_sideways_and_texts_are_large_enough(page: Page, files: dict[str, Path], name: str) -> None:
    show(page, files[name], 320)
    for width in (320, 390, 768, 1100, 1600):
        page.set_viewport_size({"width": width, "height": 900})
        wait(page, FITTED)
        scroll, inner = page.evaluate(WIDTHS)
        assert scroll <= inner, width
        sizes = page.evaluate(
            "[...document.querySelectorAll('main, main *')].filter((element) => element.textContent.trim() && "
            "!element.children.length && element.getClientRects().length)"
            ".map((element) => parseFloat(getComputedStyle(element).fontSize))"
        )
        assert min(sizes) >= 12, width


def test_two_figures_a_row_where_there_is_room(page: Page, files: dict[str, Path]) -> None:
    def tops() -> list[float]:
        found: list[float] = page.evaluate(
            "[...document.querySelectorAll('figure')].map((figure) => figure.getBoundingClientRect().top)"
        )
        return found

    show(page, files["two"], 1600)
    assert len(set(tops())) == 1
    page.set_viewport_size({"width": 390, "height": 900})
    wait(page, "document.getElementById('curve-iops-plot')._fullLayout.width < 390")
    assert len(set(tops())) == 2
    legend, plot = (page.locator(f"#curve-iops {part}").bounding_box() for part in (".legend", ".nsewdrag"))
    assert legend is not None
    assert plot is not None
    assert legend["y"] > plot["y"] + plot["height"]


def test_figures_and_page_follow_light_and_dark(page: Page, files: dict[str, Path]) -> None:
    show(page, files["all"])

    def colours() -> list[str]:
        found: list[str] = page.evaluate(
            "[getComputedStyle(document.body).backgroundColor, getComputedStyle(document.body).color,"
            " document.querySelector('#curve-iops .main-svg').style.background,"
            " getComputedStyle(document.querySelector('#curve-iops .xtick text')).fill,"
            " getComputedStyle(document.querySelector('#curve-iops .legendtext')).fill,"
            " getComputedStyle(document.querySelector('#channel-time .trace:last-child .point path')).fill]"
        )
        return found

    light = colours()
    assert light[0] == light[2] == "rgb(255, 255, 255)"
    page.emulate_media(color_scheme="dark")
    wait(
        page,
        RECOLOURED,
    )
    dark = colours()
    assert all(before != after for before, after in zip(light, dark, strict=True))
    assert dark[0] == dark[2]
    page.emulate_media(color_scheme="light")
    wait(
        page,
        RECOLOURED,
    )
    assert colours() == light


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_texts_stand_out(page: Page, files: dict[str, Path], scheme: str) -> None:
    show(page, files["all"], scheme=scheme)
    contrasts = page.evaluate(
        """() => {
          const light = (colour) => colour.match(/[\\d.]+/g).slice(0, 3).map((value) => value / 255)
            .map((value) => value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4)
            .reduce((sum, value, at) => sum + value * [0.2126, 0.7152, 0.0722][at], 0.05);
          const behind = (element) => {
            for (let at = element; at; at = at.parentElement) {
              const colour = getComputedStyle(at).backgroundColor;
              if (colour !== "rgba(0, 0, 0, 0)") return colour;
            }
            return "rgb(255, 255, 255)";
          };
          const contrast = (front, back) => Math.max(light(front), light(back)) / Math.min(light(front), light(back));
          const page = getComputedStyle(document.body).backgroundColor;
          const texts = [...document.querySelectorAll("h1, h2, h3, p, dt, dd, th button, td, a, summary, .more")]
            .map((element) => [contrast(getComputedStyle(element).color, behind(element)), element.outerHTML]);
          const plots = [...document.querySelectorAll(".xtick text, .ytick text, .legendtext, .xtitle, .ytitle")]
            .map((element) => [contrast(getComputedStyle(element).fill, page), element.outerHTML]);
          return [...texts, ...plots].filter(([value]) => value < 4.5);
        }"""
    )
    assert contrasts == []


def test_print_has_every_figure_in_light_colours(page: Page, files: dict[str, Path]) -> None:
    page.emulate_media(color_scheme="dark")
    page.set_viewport_size({"width": 1280, "height": 500})
    page.goto(files["all"].as_uri())
    wait(page, DRAWN)
    page.emulate_media(media="print", color_scheme="dark")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.evaluate(ALL_DRAWN)
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    backgrounds = page.evaluate(
        "[...document.querySelectorAll('.plot > div .main-svg:first-child')].map((svg) => svg.style.background)"
    )
    assert set(backgrounds) == {"rgb(255, 255, 255)"}
    assert max(page.evaluate("[...document.querySelectorAll('.plot')].map((plot) => plot._fullLayout.width)")) <= 700
    for hidden in ("nav", "button.more", ".modebar"):
        assert not page.locator(hidden).first.is_visible(), hidden
    assert page.evaluate("getComputedStyle(document.querySelector('figure')).breakInside") == "avoid"
    page.emulate_media(media="screen", color_scheme="dark")
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != "rgb(255, 255, 255)"
    assert page.evaluate("document.getElementById('curve-iops-plot')._fullLayout.width") < 1280


def test_a_pdf_can_be_made(page: Page, files: dict[str, Path]) -> None:
    page.goto(files["two"].as_uri())
    wait(page, DRAWN)
    assert page.pdf(format="A4").startswith(b"%PDF")


def test_tables_are_sorted_by_their_headings(page: Page, files: dict[str, Path]) -> None:
    page.goto(files["all"].as_uri())
    wait(page, DRAWN)

    def column(at: int, body: int = 0) -> list[str]:
        return page.locator(f"tbody >> nth={body}").locator(f"tr > :nth-child({at})").all_text_contents()

    # By keys first: plots that are drawn on the way to the table may move it from under a pointer.
    mean = page.locator("th", has_text="with interval")
    mean.get_by_role("button").press("Enter")
    expect(mean).to_have_attribute("aria-sort", "ascending")
    assert column(4)[:2] == ["0 ± 1", "1 ± 1"]
    mean.get_by_role("button").click()
    expect(mean).to_have_attribute("aria-sort", "descending")
    assert column(4)[:2] == ["449 ± 1", "448 ± 1"]
    assert len(column(4)) == 200
    assert len(column(4, body=1)) == 250
    page.locator("th", has_text="buffer").get_by_role("button").click()
    assert column(1)[0] == "0KiB"
    assert mean.get_attribute("aria-sort") == "none"


def test_all_rows_are_shown_on_demand(page: Page, files: dict[str, Path]) -> None:
    page.goto(files["all"].as_uri())
    more = page.get_by_role("button", name="Show all 450 rows")
    rows = page.locator("tbody tr:visible")
    assert rows.count() == 200
    more.click()
    assert rows.count() == 450
    page.get_by_role("button", name="Show the first 200 rows").click()
    assert rows.count() == 200


def test_a_finger_on_a_plot_scrolls_the_page(files: dict[str, Path], context: BrowserContext) -> None:
    browser = context.browser
    assert browser is not None
    touch = browser.new_context(viewport={"width": 390, "height": 800}, has_touch=True, is_mobile=True)
    page = touch.new_page()
    page.goto(files["two"].as_uri())
    wait(page, DRAWN)
    page.locator("#curve-iops").scroll_into_view_if_needed()
    before = page.evaluate("scrollY")
    box = page.locator("#curve-iops .nsewdrag").bounding_box()
    assert box is not None
    session = touch.new_cdp_session(page)
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    for step in range(12):
        kind = "touchMove" if step else "touchStart"
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [{"x": x, "y": y - 15 * step}]})
        page.wait_for_timeout(16)
    session.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    wait(page, f"scrollY > {before} + 100")
    assert page.evaluate("document.getElementById('curve-iops-plot')._fullLayout.dragmode") is False
    touch.close()
