"""The page of a workload in a browser: drawn without complaint, no wider than a phone, and whole on paper.

These tests need Chromium, as those of the reports do.
"""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import SHIPPED_TRACE, flashweir
from playwright.sync_api import Page, sync_playwright

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
WIDTHS = "[document.documentElement.scrollWidth, innerWidth]"


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("pages") / "character.html"
    flashweir("trace", "characterize", str(SHIPPED_TRACE), "--html", str(file))
    return file


@pytest.fixture(scope="module")
def page() -> Iterator[Page]:
    """A page that may neither complain nor ask for anything but its own file."""
    found = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if found is None:
        pytest.fail(f"these tests need a browser: install one of {', '.join(BROWSERS)}")
    complaints: list[str] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox", "--disable-gpu"])
        opened = browser.new_page()
        opened.on("console", lambda message: complaints.append(message.text))
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


@pytest.mark.parametrize("width", [1280, 390])
def test_every_figure_is_drawn_and_fits(page: Page, written: Path, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(written.as_uri())
    for plot in page.locator(".plot").all():
        plot.scroll_into_view_if_needed()
        plot.locator(".main-svg").first.wait_for(state="attached")
    whole, inner = page.evaluate(WIDTHS)
    assert whole <= inner
    names = page.evaluate("[...document.querySelectorAll('figure')].map((figure) => figure.id)")
    assert {"where-writes", "seek-writes", "life-writes", "miss-ratio", "working-set", "sizes"} <= set(names)


def test_the_verdict_comes_first(page: Page, written: Path) -> None:
    page.goto(written.as_uri())
    assert (page.locator("main p").first.text_content() or "").startswith("Suite ")


def test_it_can_be_printed(page: Page, written: Path) -> None:
    page.set_viewport_size({"width": 1280, "height": 900})
    page.goto(written.as_uri())
    page.emulate_media(media="print")
    whole, inner = page.evaluate(WIDTHS)
    assert whole <= inner
    assert page.pdf().startswith(b"%PDF")
    page.emulate_media(media="screen")
