"""Waits for what a page in a browser does, for as long as a machine with all cores busy may take."""

import pytest
from playwright.sync_api import Page

PATIENCE_S = 240.0


def wait(page: Page, expression: str, seconds: float = PATIENCE_S) -> None:
    """Until the expression is true; the page's policy lets no one watch from within."""
    for _ in range(round(seconds * 20)):
        if page.evaluate(expression):
            return
        page.wait_for_timeout(50)
    pytest.fail(f"not within {seconds} s: {expression}")
