"""Reports in a browser, for their tests: a page that holds them one after the other, and waits for figures.

These tests need Chromium, as `chromium`, `chromium-browser` or `google-chrome` on the path, and fail without it.
"""

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from patience import PATIENCE_S
from playwright.sync_api import BrowserContext, Page, sync_playwright
from report_samples import HOSTILE, banded, curves, hostile_sections, sections

from flashweir.reports import page as report
from flashweir.reports.model import Figure, Section

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
ALL_DRAWN = "[...document.querySelectorAll('.plot')].every((plot) => plot.querySelector('.main-svg'))"


@pytest.fixture(scope="module")
def context(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrowserContext]:
    """One browser for all tests, with a profile of its own."""
    found = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if found is None:
        pytest.fail(f"the report's tests need a browser: install one of {', '.join(BROWSERS)}")
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch_persistent_context(
            tmp_path_factory.mktemp("profile"),
            executable_path=found,
            args=["--no-sandbox", "--disable-gpu", "--disable-background-networking"],
            viewport={"width": 1280, "height": 900},
        )
        # With all cores busy a page takes long: what is waited for comes, or the test runs into its own end.
        opened.set_default_timeout(PATIENCE_S * 1000)
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("reports")
    written = {name: folder / f"{name}.html" for name in ("all", "hostile", "two")}
    report.write(written["all"], "Every kind of figure", sections())
    report.write(written["hostile"], HOSTILE[0], hostile_sections())
    report.write(written["two"], "Two", [Section("Figures", [Figure(curves()), Figure(banded())])])
    return written


@contextmanager
def watched(page: Page) -> Iterator[Page]:
    """A page that meanwhile may neither complain nor ask for anything but its own file."""
    complaints: list[str] = []
    requests: list[str] = []
    heard: dict[Any, Callable[[Any], None]] = {
        "console": lambda message: complaints.append(message.text),
        "pageerror": lambda error: complaints.append(str(error)),
        "request": lambda request: requests.append(request.url),
    }
    for event, hear in heard.items():
        page.on(event, hear)
    try:
        yield page
        page.evaluate("0")  # The answer comes behind all that the page has said before.
    finally:
        for event, hear in heard.items():
            page.remove_listener(event, hear)
    assert complaints == []
    # Blobs that the page makes itself, such as a picture to save, are no requests.
    asked = {request.partition("#")[0] for request in requests if not request.startswith(("blob:", "data:"))}
    assert asked <= {page.url.partition("#")[0]}


@pytest.fixture(scope="module")
def tab(context: BrowserContext) -> Page:
    """One page for all tests: a report is loaded in half the time where the browser has loaded one before."""
    return context.new_page()


@pytest.fixture
def page(tab: Page) -> Iterator[Page]:
    """The page, empty, as large and as light as a new one."""
    tab.goto("about:blank")
    tab.set_viewport_size({"width": 1280, "height": 900})
    tab.emulate_media(media="screen", color_scheme="light")
    tab.mouse.move(0, 0)
    with watched(tab):
        yield tab


def show(page: Page, file: Path, width: int = 1280, scheme: Any = "light") -> None:
    """Opens a report and scrolls through it, until every figure is drawn."""
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme=scheme)
    page.goto(file.as_uri())
    for plot in page.locator(".plot").all():
        plot.scroll_into_view_if_needed()
        plot.locator(".main-svg").first.wait_for(state="attached")
    assert page.evaluate(ALL_DRAWN)


def plot(name: str) -> str:
    return f"document.getElementById('{name}-plot')"


def axis_range(page: Page, name: str, axis: str = "xaxis") -> list[float]:
    found: list[float] = page.evaluate(f"{plot(name)}._fullLayout.{axis}.range")
    return found
