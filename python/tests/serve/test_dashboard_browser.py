"""The dashboard in a browser: it moves, its buttons work, it asks for nothing beyond its address, all can read it.

These tests need Chromium, as those of the reports do.
"""

import random
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import pytest
from accessible import offences
from nbd_client import WRITE, Client
from patience import PATIENCE_S, wait
from playwright.sync_api import Browser, Page, sync_playwright

import flashweir
from flashweir.dashboard.server import Dashboard
from flashweir.dashboard.sources import Recording
from flashweir.serving import LiveDrive

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
DRIVE: dict[str, object] = {"channels": 2, "capacity": "8MiB", "pages_per_block": 8, "buffer.bytes": "64KiB"}
PAGE = 4096
PICTURE = "document.getElementById('dies').toDataURL()"
WIDTHS = "[document.documentElement.scrollWidth, innerWidth]"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    found = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if found is None:
        pytest.fail(f"these tests need a browser: install one of {', '.join(BROWSERS)}")
    with sync_playwright() as playwright:
        yield playwright.chromium.launch(executable_path=found, args=["--no-sandbox", "--disable-gpu"])


class Writer:
    """A client that overwrites pages until it is stopped, and connects again after a power cut."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        draw = random.Random(1)  # noqa: S311 - nothing to hide
        while not self._ended.is_set():
            try:
                with Client(self._path) as client:
                    while not self._ended.is_set():
                        client.ask(WRITE, draw.randrange(1500) * PAGE, bytes(PAGE))
                        self._ended.wait(0.002)
            except (OSError, AssertionError):
                self._ended.wait(0.05)

    def stop(self) -> None:
        self._ended.set()
        self._thread.join()


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveDrive]:
    """A drive that is written to, with its page."""
    path = tmp_path_factory.mktemp("live") / "sock"
    with flashweir.serve(
        nbd=f"unix:{path}", clock="virtual", power_cuts=True, dashboard="127.0.0.1:0", set=DRIVE
    ) as drive:
        writer = Writer(path)
        yield drive
        drive.control("resume")
        writer.stop()


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The page of a recorded run of about 20 s of wall time."""
    path = tmp_path_factory.mktemp("recorded") / "run.jsonl"
    settings = {**DRIVE, "precondition": "full"}
    flashweir.simulate("random:span=8MiB,count=6000,write=0.8", set=settings, samples=path)
    page = Dashboard("127.0.0.1:0")
    page.start(Recording("a recorded run", path, None))
    yield page.url
    page.close()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page that may neither complain nor ask for anything beyond its own address."""
    opened = browser.new_page(viewport={"width": 1400, "height": 900})
    opened.set_default_timeout(PATIENCE_S * 1000)
    complaints: list[str] = []
    requests: list[str] = []
    opened.on("console", lambda message: complaints.append(message.text))
    opened.on("pageerror", lambda error: complaints.append(str(error)))
    opened.on("request", lambda request: requests.append(request.url))
    yield opened
    origin = opened.url
    opened.close()
    # A refused command is the browser's error, too.
    assert [text for text in complaints if "409" not in text] == []
    assert all(request.startswith((origin, "data:")) for request in requests)
    assert len(requests) > 5


def show(page: Page, url: str | None, width: int = 1400, scheme: Literal["light", "dark"] = "light") -> None:
    """Opens a page and waits for its first picture."""
    assert url is not None
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme=scheme)
    page.goto(url)
    wait(page, "document.getElementById('dies-words').textContent.startsWith('All dies')")


def text(page: Page, name: str) -> str:
    return page.locator(f"#{name}").text_content() or ""


def moves(page: Page) -> bool:
    """True if the picture changes within 3 s."""
    before = page.evaluate(PICTURE)
    for _ in range(30):
        page.wait_for_timeout(100)
        if page.evaluate(PICTURE) != before:
            return True
    return False


def test_a_live_drive_moves_pauses_and_goes_on(page: Page, live: LiveDrive) -> None:
    show(page, live.dashboard)
    assert moves(page)
    wait(page, "document.querySelectorAll('#tenants tbody tr').length === 1")
    button = page.locator("#pause")
    assert button.text_content() == "Pause"
    button.focus()
    page.keyboard.press("Enter")
    wait(page, "document.getElementById('pause').textContent === 'Resume'")
    page.wait_for_timeout(1500)
    assert live.control("status")["paused"]
    assert "paused" in text(page, "facts")
    assert not moves(page)
    page.keyboard.press("Enter")
    wait(page, "document.getElementById('pause').textContent === 'Pause'")
    assert moves(page)
    assert live.control("status")["paused"] is False


def test_the_power_is_cut_and_a_setting_compared(page: Page, live: LiveDrive) -> None:
    show(page, live.dashboard)
    cuts = len(live.control("status")["power_cuts"])
    page.locator("#cut").click()
    wait(page, "document.getElementById('message').textContent.startsWith('Power cut at')")
    assert len(live.control("status")["power_cuts"]) == cuts + 1
    page.locator("#count").fill("50")
    page.locator("#whatif button").click()
    wait(page, "document.getElementById('message').textContent === 'Compared.'")
    heads = page.locator("#compared th[scope=col]").all_text_contents()
    assert heads == ["what if", "this drive", "gc.victim=fifo"]
    assert "write: requests" in page.locator("#compared th[scope=row]").all_text_contents()
    page.locator("#setting").fill("channels=4")
    page.locator("#whatif button").click()
    wait(page, "document.getElementById('message').textContent.includes('the drive is built by it')")


def test_curves_and_tables_follow_the_drive(page: Page, live: LiveDrive) -> None:
    show(page, live.dashboard)
    wait(page, "page.points.length > 2")
    titles = page.locator("#curves h3:visible").all_text_contents()
    assert "Write amplification" in titles
    assert "Read latency, us" not in titles
    page.locator("#dies-table").locator("xpath=..").locator("summary").click()
    wait(page, "document.querySelectorAll('#dies-table tbody tr').length === 2")
    page.locator("#range").select_option("1")
    wait(page, "page.ring === 1")
    name = page.locator("#curves canvas:visible").first.get_attribute("aria-label") or ""
    assert name.startswith("Throughput")


@pytest.mark.parametrize("kind", ["live", "recorded"])
@pytest.mark.parametrize("width", [1400, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_everybody_can_read_it(
    page: Page, live: LiveDrive, recorded: str, scheme: Literal["light", "dark"], width: int, kind: str
) -> None:
    show(page, live.dashboard if kind == "live" else recorded, width, scheme)
    page.wait_for_timeout(1200)
    page.locator("summary").evaluate_all("(all) => all.forEach((one) => one.parentElement.open = true)")
    page.wait_for_timeout(700)
    assert offences(page) == {}
    whole, inner = page.evaluate(WIDTHS)
    assert whole <= inner


def test_a_recorded_run_plays_pauses_and_seeks(page: Page, recorded: str) -> None:
    show(page, recorded)
    assert text(page, "title") == "a recorded run"
    assert page.locator("#cut:visible").count() == 0
    assert moves(page)
    page.locator("#pause").click()
    assert text(page, "pause") == "Play"
    assert not moves(page)
    seek = page.locator("#seek")
    seek.focus()
    page.keyboard.press("End")
    last: Any = page.evaluate("page.about.times_s.at(-1)")
    wait(page, "page.frame.time_s === page.about.times_s.at(-1)")
    assert last > 0
    page.locator("#speed").select_option("16")
    page.locator("#pause").click()
    wait(page, "page.at > 3 && page.at < page.about.times_s.length - 1")
    wait(page, "!page.running")


def test_a_drive_that_has_gone_is_said_to_have(browser: Browser, tmp_path: Path) -> None:
    with flashweir.serve(nbd=f"unix:{tmp_path / 'sock'}", dashboard="127.0.0.1:0", set=DRIVE) as drive:
        page = browser.new_page()
        show(page, drive.dashboard)
    wait(page, "document.getElementById('message').textContent.startsWith('The drive does not answer')")
    page.close()
