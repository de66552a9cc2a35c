"""Headless Chromium, as Debian ships it, for pages that must work in a browser."""

import os
import shutil
from collections.abc import Iterator
from typing import Any

import pytest

REQUIRED = "LONGDOC_BROWSER"  # set where a missing browser is a fault, as in .ci/run
CHROMIUM = ("chromium", "chromium-browser", "google-chrome")


def _missing() -> str | None:
    if not any(map(shutil.which, CHROMIUM)) or not shutil.which("chromedriver"):
        return "needs Chromium and its driver: apt-get install chromium chromium-driver"
    try:
        import selenium  # noqa: F401
    except ImportError:
        return "needs selenium: pip install -e '.[dev]'"
    return None


def start() -> Iterator[Any]:
    """A driver, quit at the end; skips with the reason where there is no browser, and fails if one is required."""
    if reason := _missing():
        pytest.fail(reason) if os.environ.get(REQUIRED) else pytest.skip(reason)
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = next(filter(None, map(shutil.which, CHROMIUM)))
    # Chromium's own sandbox does not start for root, nor in most containers; the page is the project's own.
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--window-size=1280,900"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    yield driver
    driver.quit()
