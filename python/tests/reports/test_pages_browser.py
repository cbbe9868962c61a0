"""Pages of workloads, benchmarks and diagnoses in a browser: drawn without complaint, narrow enough, whole on paper.

These tests need Chromium, as those of the reports do.
"""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest
from accessible import offences
from conftest import SHIPPED_TRACE, flashweir
from playwright.sync_api import Page, sync_playwright

# With all cores busy a page takes long.
PATIENCE_S = 240.0
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
WIDTHS = "[document.documentElement.scrollWidth, innerWidth]"
DRIVE = "sim:slc-2006,capacity=200MB"
# Each page's figures, and how its first paragraph begins.
FIGURES = {
    "character": {"where-writes", "seek-writes", "life-writes", "miss-ratio", "working-set", "sizes"},
    "bench": {"scores", "course-copy-mp3"},
    "compared": {"scores", "course-copy-mp3"},
    "diagnosis": {"pbr", "pbr-above"},
}
FIRST = {
    "character": "Suite ",
    "bench": "sim:slc-2006",
    "compared": "good has the best score",
    "diagnosis": "Write buffer is bad",
}


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    files = {name: folder / f"{name}.html" for name in FIGURES}
    flashweir("trace", "characterize", str(SHIPPED_TRACE), "--html", str(files["character"]))
    results = [folder / f"{name}.json" for name in ("good", "worse")]
    options = ("--scale", "0.01", "--suite", "transfer", "--suite", "gc")
    flashweir("bench", DRIVE, *options, "-o", str(results[0]), "--html", str(files["bench"]))
    flashweir("bench", f"{DRIVE},ftl.kind=log-block,op_ratio=0.03", *options, "-o", str(results[1]))
    flashweir("bench", "--compare", *map(str, results), "--html", str(files["compared"]))
    log = folder / "log.parquet"
    workload = "random:span=16MiB,size=4KiB,count=8000"
    flashweir("simulate", workload, "--set", "capacity=64MiB", "--set", "op_ratio=0.07", "--requests", str(log))
    flashweir("diagnose", str(log), "--html", str(files["diagnosis"]))
    return files


@pytest.fixture(scope="module")
def page() -> Iterator[Page]:
    """A page that may neither complain nor ask for anything but its own file."""
    found = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if found is None:
        pytest.fail(f"these tests need a browser: install one of {', '.join(BROWSERS)}")
    complaints: list[str] = []
    with sync_playwright() as playwright:
        # Three dimensions are drawn by WebGL, here in software.
        arguments = ["--no-sandbox", "--disable-gpu", "--enable-unsafe-swiftshader"]
        browser = playwright.chromium.launch(executable_path=found, args=arguments)
        opened = browser.new_page()
        opened.set_default_timeout(PATIENCE_S * 1000)
        opened.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
        opened.on("pageerror", lambda error: complaints.append(str(error)))
        opened.on(
            "request",
            lambda request: (
                None if request.url.startswith(("file:", "data:", "blob:")) else complaints.append(request.url)
            ),
        )
        yield opened
        browser.close()
    assert complaints == []


@pytest.fixture(scope="module", params=FIGURES)
def name(request: pytest.FixtureRequest) -> str:
    """Name of a page. Tests are run page by page: loading one takes most of their time."""
    return str(request.param)


def at(page: Page, file: Path) -> None:
    """Opens a file, unless it is the one that is open."""
    if page.url != file.as_uri():
        page.goto(file.as_uri())


@pytest.mark.parametrize("width", [1280, 390])
def test_every_figure_is_drawn_and_fits(page: Page, written: dict[str, Path], width: int, name: str) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(written[name].as_uri())
    for plot in page.locator(".plot").all():
        plot.scroll_into_view_if_needed()
        plot.locator(".main-svg").first.wait_for(state="attached")
    whole, inner = page.evaluate(WIDTHS)
    assert whole <= inner
    names = page.evaluate("[...document.querySelectorAll('figure')].map((figure) => figure.id)")
    assert set(names) >= FIGURES[name]


def test_the_verdict_comes_first(page: Page, written: dict[str, Path], name: str) -> None:
    at(page, written[name])
    assert (page.locator("main p").first.text_content() or "").startswith(FIRST[name])


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_everybody_can_read_it(
    page: Page, written: dict[str, Path], scheme: Literal["light", "dark"], name: str
) -> None:
    page.emulate_media(color_scheme=scheme)
    # Figures take the colours that hold when they are drawn.
    if scheme == "dark":
        page.goto(written[name].as_uri())
    else:
        at(page, written[name])
    assert offences(page) == {}
    page.emulate_media(color_scheme="light")


def test_it_can_be_printed(page: Page, written: dict[str, Path], name: str) -> None:
    page.set_viewport_size({"width": 1280, "height": 900})
    at(page, written[name])
    page.emulate_media(media="print")
    whole, inner = page.evaluate(WIDTHS)
    assert whole <= inner
    assert page.pdf().startswith(b"%PDF")
    page.emulate_media(media="screen")


def test_the_cloud_of_points_is_there(page: Page, written: dict[str, Path]) -> None:
    page.set_viewport_size({"width": 1280, "height": 900})
    at(page, written["diagnosis"])
    cloud = page.locator("#pbr")
    cloud.scroll_into_view_if_needed()
    cloud.locator("canvas").first.wait_for(state="attached")
    assert page.evaluate("document.querySelector('#pbr .js-plotly-plot, #pbr .plot').data[0].x.length") > 1000
