"""A demo service of its own and a headless Chromium that looks at it."""

from __future__ import annotations

import os
import re
import selectors
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from selenium import webdriver
from selenium.webdriver.chrome.webdriver import WebDriver

_FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--window-size=1100,900",
)


def _address(process: subprocess.Popen[bytes], seconds: float) -> str:
    """The address that the demo prints once it is ready to answer."""
    assert process.stdout is not None
    seen = b""
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        until = time.monotonic() + seconds
        while time.monotonic() < until and process.poll() is None:
            if selector.select(timeout=1.0):
                seen += os.read(process.stdout.fileno(), 65536)
                found = re.search(rb"http://127\.0\.0\.1:\d+", seen)
                if found:
                    return found.group().decode()
    raise AssertionError(f"the demo printed no address: {seen.decode(errors='replace')}")


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a running demo."""
    folder = tmp_path_factory.mktemp("demo")
    command = "import sys; from dragoman.cli.demo import run"
    command += "; from dragoman.engine.settings import Settings"
    command += "; run(Settings.load(data_dir=sys.argv[1], port=0))"
    process = subprocess.Popen(
        [sys.executable, "-u", "-c", command, str(folder)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    try:
        yield _address(process, 180)
    finally:
        process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@pytest.fixture(scope="session")
def api(service: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=service, timeout=60) as client:
        yield client


@pytest.fixture(scope="session")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WebDriver]:
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or "/usr/bin/chromium"
    for flag in (*_FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('chromium')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    service = webdriver.ChromeService(shutil.which("chromedriver") or "/usr/bin/chromedriver")
    browser = webdriver.Chrome(options=options, service=service)
    try:
        yield browser
    finally:
        browser.quit()


@pytest.fixture
def page(driver: WebDriver, service: str) -> Iterator[WebDriver]:
    """The page freshly loaded in a wide window; what its console says at the end has to be expected."""
    driver.set_window_size(1100, 900)
    driver.get_log("browser")
    driver.get(service + "/")
    yield driver
    faults = [
        entry["message"]
        for entry in driver.get_log("browser")
        if entry["level"] == "SEVERE" and "the server responded with a status of 4" not in entry["message"]
    ]
    assert faults == []


@pytest.fixture
def table_file(tmp_path: Path) -> Path:
    path = tmp_path / "words.tsv"
    path.write_text("clockmaker\tSchlosser\t0.9\nthis line has no translation\n", encoding="utf-8")
    return path
