"""Pages in a real browser: one of another site that calls the service, and the service's own under a prefix."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from selenium.webdriver.chrome.webdriver import WebDriver
from selenium.webdriver.common.by import By

from tests.browser.driving import collections, wait
from tests.support.serving import Server, server
from tests.support.typescript import build

PREFIX = "/tools/dragoman"
_ASK = """
const [address, key, done] = arguments;
const headers = {"Content-Type": "application/json", "X-API-Key": key};
const body = JSON.stringify({name: "from-a-page", language: "de"});
fetch(`${address}/v1/collections`, {method: "POST", headers, body})
  .then(async (answer) => done([answer.status, answer.headers.get("x-request-id") !== null, await answer.json()]))
  .catch((fault) => done([0, false, String(fault)]));
"""


_CLIENT = """
const [url, done] = arguments;
async function* documents() {
  for (let id = 0; id < 30; id++) yield {id, title: "🌋 Asche", text: `🐝 Satz ${id}: der 🌋 Vulkan`};
}
(async () => {
  const { Dragoman, markedSnippet } = await import("/client/src/index.js");
  const client = new Dragoman({url, key: "dragoman_key"});
  await client.collections.create({name: "by-client", language: "de"});
  const { accepted } = await client.documents.add("by-client", documents());
  const { hits: [hit] } = await client.search({query: "Vulkan", query_language: "de", collections: ["by-client"]});
  const marked = markedSnippet(hit).filter((part) => part.highlights.length).map((part) => part.text);
  let exported = 0;
  for await (const document of client.documents.export("by-client")) exported += document.title === "🌋 Asche";
  const fault = await client.collections.get("none").catch((fault) => [fault.status, fault.requestId !== ""]);
  return [accepted, marked, exported, fault];
})().then(done, (fault) => done(String(fault)));
"""


@contextmanager
def another_site(folder: Path) -> Iterator[str]:
    """The origin of a site with a page of nothing."""
    (folder / "index.html").write_text("<!doctype html><title>another site</title>", encoding="utf-8")
    handler = partial(SimpleHTTPRequestHandler, directory=folder)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as site:
        threading.Thread(target=site.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{site.server_port}"
        finally:
            site.shutdown()


@pytest.fixture(scope="module")
def sites(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, str, str]]:
    """An open service under a prefix, the site that it names, and one that it does not."""
    named_folder, unnamed_folder, data = (tmp_path_factory.mktemp(name) for name in ("named", "unnamed", "data"))
    build(named_folder / "client")
    with (
        another_site(named_folder) as named,
        another_site(unnamed_folder) as unnamed,
        server(data, root_path=PREFIX, cors_origin=named) as running,
    ):
        yield running, named, unnamed


def test_a_named_site_may_call_and_another_may_not(driver: WebDriver, sites: tuple[Server, str, str]) -> None:
    running, named, unnamed = sites
    address, key = running.url.rstrip("/") + PREFIX, "dragoman_key"
    driver.get(unnamed)
    status, _, fault = driver.execute_async_script(_ASK, address, key)
    assert (status, "Failed to fetch" in fault) == (0, True)
    assert running.client.get("/v1/collections").json()["collections"] == []
    driver.get(named)
    status, identified, answer = driver.execute_async_script(_ASK, address, key)
    assert (status, identified, answer.get("name")) == (201, True, "from-a-page"), answer


def test_the_typescript_client_runs_in_a_page_of_another_site(
    driver: WebDriver, sites: tuple[Server, str, str]
) -> None:
    running, named, _ = sites
    driver.get(named)
    answer = driver.execute_async_script(_CLIENT, running.url.rstrip("/") + PREFIX)
    assert answer == [30, ["Vulkan"], 30, [404, True]]


def test_the_page_is_whole_under_a_prefix(driver: WebDriver, sites: tuple[Server, str, str]) -> None:
    running, *_ = sites
    running.client.post("/v1/collections", json={"name": "shown", "language": "de"}).raise_for_status()
    address = running.url.rstrip("/") + PREFIX
    driver.get(address)
    assert "shown" in [box.get_attribute("value") for box in collections(driver)]
    assert driver.execute_script("return getComputedStyle(document.querySelector('.grow')).flexGrow") == "1"
    driver.get(f"{address}/docs")
    wait(driver).until(lambda browser: browser.find_elements(By.CSS_SELECTOR, "#operations-search-search"))
