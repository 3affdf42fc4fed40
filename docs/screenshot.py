"""Make ``docs/search.png``, the picture in the README: a search of the demo in a headless Chromium.

    python docs/screenshot.py

It serves the demo on a free port from a temporary folder, searches, and rests the pointer on a highlighted word, so
that its evidence shows. Chromium, chromedriver and the packages of the ``dev`` extra have to be there.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx
from PIL import Image
from selenium import webdriver
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.ui import WebDriverWait

ROOT = Path(__file__).resolve().parents[1]
QUERY = "volcano eruption and ash"
START_SECONDS = 300
LARGEST_BYTES = 100_000
_FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    "--no-first-run",
)


@contextmanager
def demo(folder: Path) -> Iterator[str]:
    """The address of a demo of its own that has loaded its models."""
    command = [
        sys.executable,
        "-u",
        "-m",
        "dragoman.cli.main",
        "demo",
        "--port",
        "0",
        "--data-dir",
        folder / "data",
    ]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "DRAGOMAN_RERANK_SECONDS": "120"}
    log = folder / "log"
    with log.open("w") as written:
        process = subprocess.Popen(command, stdout=written, stderr=subprocess.STDOUT, env=environment)
    try:
        yield _address(process, log)
    finally:
        process.terminate()
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _address(process: subprocess.Popen[bytes], log: Path) -> str:
    """What the demo prints once it answers; the first search then waits for the reranker."""
    until = time.monotonic() + START_SECONDS
    while time.monotonic() < until and process.poll() is None:
        if found := re.search(r"http://127\.0\.0\.1:\d+", log.read_text()):
            httpx.post(f"{found[0]}/v1/search", json={"query": QUERY}, timeout=180).raise_for_status()
            return found[0]
        time.sleep(0.2)
    raise SystemExit(f"the demo did not start:\n{log.read_text()}")


def picture(address: str, folder: Path, size: tuple[int, int]) -> bytes:
    """The page after the search, with the evidence of one word, as PNG."""
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or "/usr/bin/chromium"
    for flag in (*_FLAGS, f"--window-size={size[0]},{size[1]}", f"--user-data-dir={folder / 'chromium'}"):
        options.add_argument(flag)
    service = webdriver.ChromeService(shutil.which("chromedriver") or "/usr/bin/chromedriver")
    browser = webdriver.Chrome(options=options, service=service)
    try:
        browser.get(address + "/")
        field = browser.find_element(By.CSS_SELECTOR, "input[type=search]")
        field.send_keys(QUERY, Keys.ENTER)
        WebDriverWait(browser, 60).until(lambda seen: seen.find_elements(By.TAG_NAME, "mark"))
        ActionChains(browser).move_to_element(_shown(browser, size[1])).perform()
        time.sleep(0.5)
        return browser.get_screenshot_as_png()
    finally:
        browser.quit()


def _shown(browser: webdriver.Chrome, height: int) -> WebElement:
    """A highlighted word with room below it for its evidence: the last one in the first half of the window."""
    marks = browser.find_elements(By.TAG_NAME, "mark")
    high = [mark for mark in marks if 0 < mark.location["y"] < height * 0.62]
    return (high or marks[:1])[-1]


def small(png: bytes) -> bytes:
    """The picture with 64 colours, and smaller until it is small enough."""
    image = Image.open(BytesIO(png)).convert("RGB")
    while True:
        out = BytesIO()
        image.quantize(64, dither=Image.Dither.NONE).save(out, "PNG", optimize=True)
        if out.tell() < LARGEST_BYTES:
            return out.getvalue()
        image = image.resize((image.width * 9 // 10, image.height * 9 // 10), Image.Resampling.LANCZOS)


def main() -> None:
    parser = argparse.ArgumentParser(description="Make docs/search.png")
    parser.add_argument("--output", type=Path, default=ROOT / "docs" / "search.png")
    parser.add_argument("--width", type=int, default=1000)
    parser.add_argument("--height", type=int, default=1000)
    chosen = parser.parse_args()
    with TemporaryDirectory() as folder, demo(Path(folder)) as address:
        made = small(picture(address, Path(folder), (chosen.width, chosen.height)))
    chosen.output.write_bytes(made)
    sys.stdout.write(f"{chosen.output}: {len(made):,} bytes\n")


if __name__ == "__main__":
    main()
