"""Behind proxies and from browsers: a prefix, other sites, the other header of a key, and gzip bodies."""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any
from urllib.parse import urljoin

import httpx
import pytest
from fastapi.testclient import TestClient
from starlette.applications import Starlette
from starlette.routing import Mount

from dragoman.engine.core.errors import Forbidden, InvalidRequest
from dragoman.engine.observability.metrics import Metrics
from dragoman.engine.settings import Settings
from dragoman.service.app import create_app
from dragoman.service.http.same_site import check_same_site
from tests.support.errorbody import check_error

pytestmark = pytest.mark.slow

SITE = "https://app.example.org"
PREFIX = "/tools/dragoman"
NEW = {"name": "packed", "language": "de"}


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    settings = Settings.load(
        data_dir=tmp_path_factory.mktemp("proxied"), root_path=PREFIX, cors_origin=SITE, body_bytes=50_000
    )
    with TestClient(create_app(settings), base_url="http://localhost") as client:
        yield client


@pytest.fixture(scope="module")
def mounted(client: Any) -> Iterator[Any]:
    """A client of another application, which has this one under a prefix of its own."""
    outer = Starlette(routes=[Mount("/outer", app=client.app)])
    with TestClient(outer, base_url="http://localhost") as outside:
        yield outside


@pytest.mark.parametrize("stripped", [True, False])
@pytest.mark.parametrize("page", ["/", "/docs", "/docs/"])
def test_a_page_loads_its_files_under_a_prefix(client: httpx.Client, stripped: bool, page: str) -> None:
    """A browser resolves what a page names at the address that it sees, with the prefix."""

    def fetch(path: str) -> str:
        assert path.startswith(PREFIX)
        response = client.get(path.removeprefix(PREFIX) if stripped else path)
        assert response.status_code == 200, path
        return response.text

    seen = PREFIX + page
    names = re.findall(r'(?:src|href)="((?!data:)[^"]+)"', fetch(seen))
    assert len(names) >= 2
    scripts = "".join(fetch(urljoin(seen, name)) for name in names if name.endswith(("start.js", "search.js")))
    if page == "/":
        assert not re.search(r'fetchJson\(["`]/', scripts)
        assert json.loads(fetch(urljoin(seen, "v1/collections"))) == {"collections": []}
    else:
        (document,) = re.findall(r'new URL\("([^"]+)", document\.currentScript\.src\)', scripts)
        start = next(urljoin(seen, name) for name in names if name.endswith("start.js"))
        assert json.loads(fetch(urljoin(start, document)))["servers"] == [{"url": PREFIX}]


def test_a_prefix_without_a_slash_leads_to_the_page(client: httpx.Client) -> None:
    response = client.get(PREFIX, follow_redirects=False)
    assert (response.status_code, response.headers["location"]) == (307, f"{PREFIX}/")


def test_another_application_may_mount_it(mounted: httpx.Client) -> None:
    assert mounted.get("/outer/v1/collections").json() == {"collections": []}
    assert mounted.get(f"/outer{PREFIX}/v1/collections/").status_code == 200
    assert mounted.get("/outer/openapi.json").json()["servers"] == [{"url": f"/outer{PREFIX}"}]
    assert mounted.get("/outer/web/page.js").status_code == 200


@pytest.mark.parametrize("path", ["no", "/v1", "/docs/x", "/a//b", "/a b", "/../x", "/a?b"])
def test_a_prefix_that_cannot_be_told_apart_is_refused(path: str) -> None:
    with pytest.raises(InvalidRequest, match="root_path"):
        Settings.load(root_path=path)


@pytest.mark.parametrize("origin", ["app.example.org", "https://a.org/x", f"*,{SITE}", "null"])
def test_what_is_no_origin_is_refused(origin: str) -> None:
    with pytest.raises(InvalidRequest, match="cors_origin"):
        Settings.load(cors_origin=origin)


def test_pages_of_named_sites_may_call(client: httpx.Client) -> None:
    asked = {"Access-Control-Request-Method": "DELETE", "Access-Control-Request-Headers": "authorization,x-api-key"}
    preflight = client.options("/v1/collections/x", headers={"Origin": SITE, **asked})
    assert preflight.status_code == 200
    assert preflight.headers["access-control-allow-origin"] == SITE
    assert "DELETE" in preflight.headers["access-control-allow-methods"]
    assert preflight.headers["access-control-allow-headers"] == asked["Access-Control-Request-Headers"]
    fault = client.post("/v1/collections", json={}, headers={"Origin": SITE})
    assert fault.status_code == 422  # the service is open, and a named site may change it
    assert fault.headers["access-control-allow-origin"] == SITE
    assert "X-Request-Id" in fault.headers["access-control-expose-headers"]
    other = client.options("/v1/search", headers={"Origin": "https://evil.example", **asked})
    assert other.status_code == 400
    assert "access-control-allow-origin" not in other.headers
    check_error(client.post("/v1/collections", json=NEW, headers={"Origin": "https://evil.example"}), 403, "Origin")


def test_any_site_may_call_only_with_a_key_and_without_credentials() -> None:
    app = create_app(Settings.from_defaults(cors_origin="*"))
    asked = {"Origin": "https://any.example", "Access-Control-Request-Method": "POST"}
    preflight = TestClient(app).options("/v1/search", headers=asked)
    assert preflight.headers["access-control-allow-origin"] == "*"
    assert "access-control-allow-credentials" not in preflight.headers
    unset = create_app(Settings.from_defaults())
    unset.state.metrics = Metrics()
    silent = TestClient(unset).options("/docs", headers=asked)
    assert not [name for name in silent.headers if name.startswith("access-control")]


def test_without_keys_pages_of_any_site_may_not_even_read() -> None:
    headers = [(b"host", b"localhost"), (b"origin", b"https://any.example")]
    scope = {"type": "http", "method": "GET", "headers": headers}
    check_same_site(scope, ())  # browsers keep the answer from the page
    check_same_site(scope, (), ("https://any.example",))
    with pytest.raises(Forbidden, match="Origin"):
        check_same_site(scope, (), ("*",))
    check_same_site(scope | {"headers": headers[:1]}, (), ("*",))


def test_json_bodies_may_be_gzip(client: httpx.Client) -> None:
    headers = {"Content-Type": "application/json", "Content-Encoding": "gzip"}

    def send(content: bytes) -> httpx.Response:
        return client.post("/v1/collections", content=content, headers=headers)

    assert send(gzip.compress(json.dumps(NEW).encode())).status_code == 201
    client.delete("/v1/collections/packed").raise_for_status()
    bomb = gzip.compress(json.dumps(NEW | {"description": "x" * 200_000}).encode())
    check_error(send(bomb), 413, "50000 bytes when unpacked")
    check_error(send(gzip.compress(json.dumps(NEW).encode())[:-9]), 400, "gzip stream")
    check_error(send(b"{}"), 400, "not gzip")


def test_operations_have_short_names_of_their_own(client: httpx.Client) -> None:
    paths = client.get("/openapi.json").json()["paths"]
    operations = [operation for methods in paths.values() for operation in methods.values()]
    names = Counter(operation["operationId"] for operation in operations)
    assert {"search", "list_collections", "answer_question", "rerank", "suggest"} <= set(names)
    assert set(names.values()) == {1}
    assert not [name for name in names if not re.fullmatch("[a-z][a-z0-9_]{2,39}", name)]
    assert not [operation["operationId"] for operation in operations if len(operation.get("description", "")) < 10]


def test_a_head_is_answered_wherever_a_get_is(client: httpx.Client) -> None:
    for path, methods in client.get("/openapi.json").json()["paths"].items():
        if "get" in methods and "{" not in path and path != "/v1/backup":
            whole, head = client.get(path), client.head(path)
            assert (head.status_code, head.content) == (whole.status_code, b""), path


def test_the_key_may_come_in_another_header(client: httpx.Client) -> None:
    """The last test: from its first key on, the service is not open."""
    key, other = (client.post("/v1/keys", json={"scopes": ["admin"]}).json().get("key") for _ in range(2))
    assert key
    assert other is None
    for headers in (
        {"X-API-Key": key},
        {"X-API-Key": key, "Authorization": f"Bearer {key}"},
        {"X-API-Key": key, "Authorization": "Basic cHJveHk6cGFzcw=="},
    ):
        assert client.get("/v1/keys", headers=headers).status_code == 200
    two = {"X-API-Key": key[:-1] + ("a" if key[-1] != "a" else "b"), "Authorization": f"Bearer {key}"}
    check_error(client.get("/v1/keys", headers=two), 401, "different API keys")
    check_error(client.get("/v1/keys"), 401, "X-API-Key")
    check_error(client.get("/v1/keys", headers={"X-API-Key": ""}), 401, "not an API key")
