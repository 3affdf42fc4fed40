"""The files of the web page; tests/browser has what a browser makes of them."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from importlib.resources import files

import httpx
import pytest

from tests.support.errorbody import check_error

pytestmark = pytest.mark.slow

NAMES = {file.name for file in files("dragoman.service").joinpath("web").iterdir()}
SCRIPTS = sorted(f"/web/{name}" for name in NAMES if name.endswith(".js"))
TYPES = {"/": "text/html", "/web/style.css": "text/css"} | dict.fromkeys(SCRIPTS, "text/javascript")


class _Elements(HTMLParser):
    """Every element of a page with its attributes, and the text that stands in scripts and styles."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.code = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        if self.cdata_elem is not None:
            self.code += data


def _policy(response: httpx.Response) -> dict[str, str]:
    directives = response.headers["content-security-policy"].split(";")
    return dict(directive.strip().split(" ", 1) for directive in directives)


@pytest.mark.parametrize(("path", "media_type"), TYPES.items())
def test_a_file_comes_with_its_media_type_and_the_policy(client: httpx.Client, path: str, media_type: str) -> None:
    response = client.get(path)
    assert response.status_code == 200
    assert response.headers["content-type"] == f"{media_type}; charset=utf-8"
    assert response.headers["x-content-type-options"] == "nosniff"
    policy = _policy(response)
    assert policy["default-src"] == "'none'"
    assert {policy[kind] for kind in ("script-src", "style-src", "connect-src")} == {"'self'"}
    assert "unsafe" not in response.headers["content-security-policy"]


@pytest.mark.parametrize("path", TYPES)
def test_a_file_is_sent_again_only_where_it_has_changed(client: httpx.Client, path: str) -> None:
    first = client.get(path)
    assert first.headers["cache-control"] == "no-cache"
    etag = first.headers["etag"]
    for known in (etag, f"W/{etag}", f'"other", {etag}'):
        again = client.get(path, headers={"If-None-Match": known})
        assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", etag)
    assert client.get(path, headers={"If-None-Match": '"other"'}).content == first.content


def test_the_page_has_no_inline_script_or_style(client: httpx.Client) -> None:
    elements = _Elements(client.get("/").text)
    assert elements.found
    assert elements.code.strip() == ""
    assert "style" not in {tag for tag, _ in elements.found}
    names = {name for _, attributes in elements.found for name in attributes}
    assert "style" not in names
    assert not [name for name in names if name.startswith("on")]


def test_the_page_names_no_file_but_its_own(client: httpx.Client) -> None:
    elements = _Elements(client.get("/").text)
    addresses = {str(values[name]) for _, values in elements.found for name in ("src", "href") if name in values}
    assert {address for address in addresses if not address.startswith("data:")} == {"web/page.js", "web/style.css"}


def test_the_scripts_import_one_another_and_nothing_else(client: httpx.Client) -> None:
    imported = {"/web/page.js"}
    for path in SCRIPTS:
        script = client.get(path).text
        names = re.findall(r'^(?:import|export)\b[^"]*? from "\./([a-z]+\.js)";$', script, re.M)
        assert len(names) == len(re.findall(r"\bimport\b", script))
        imported |= {f"/web/{name}" for name in names}
    assert imported == set(SCRIPTS)


def test_every_file_of_the_folder_is_served() -> None:
    assert {"index.html"} | {path.removeprefix("/web/") for path in TYPES if path != "/"} == NAMES


@pytest.mark.parametrize(
    "path",
    [
        "/web",
        "/web/",
        "/web/index.html",
        "/web/nothing.js",
        "/web/../app.py",
        "/web/%2e%2e%2fapp.py",
        "/web/..%5capp.py",
    ],
)
def test_nothing_else_is_served(client: httpx.Client, path: str) -> None:
    check_error(client.get(path), 404, "there is nothing at /")
