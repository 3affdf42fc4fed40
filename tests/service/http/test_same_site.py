"""An open service and the other tabs of a browser on its machine, and a service with a key, on real servers."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.engine.core.errors import Forbidden
from dragoman.service.http.same_site import check_same_site
from tests.support.access_client import make_key
from tests.support.errorbody import check_error
from tests.support.serving import Server, server

BODY = {"name": "c", "language": "sw"}
OURS = ["127.0.0.1", "localhost", "LOCALHOST", "app.localhost", "127.8.8.8", "[::1]"]
OTHERS = ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example", "0.0.0.0", "192.168.1.7", "[::2]", "["]


@pytest.fixture(scope="module")
def open_service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with server(tmp_path_factory.mktemp("open"), allowed_hosts="search.example, Proxy.example") as running:
        yield running


@pytest.mark.slow
def test_a_name_that_an_attacker_lets_resolve_to_loopback_reads_nothing(open_service: Server) -> None:
    for method, path in (("GET", "/v1/collections"), ("GET", "/metrics"), ("POST", "/v1/search"), ("DELETE", "/x")):
        answer = open_service.client.request(method, path, headers={"host": "evil.example:8080"})
        check_error(answer, 403, "Host: 'evil.example:8080' is no name of this machine")
    for host in ("search.example", "PROXY.example:443", "localhost:8080"):
        assert open_service.client.get("/v1/collections", headers={"host": host}).status_code == 200


@pytest.mark.slow
def test_another_site_changes_nothing(open_service: Server) -> None:
    client = open_service.client
    for origin in ("https://evil.example", "null", "http://127.0.0.1:1", "http://localhost.evil.example"):
        answer = client.post("/v1/collections", json=BODY, headers={"origin": origin})
        check_error(answer, 403, f"Origin: '{origin}' is another site")
        table = client.put(
            "/v1/tables/t?source=en&target=de&activate=true", content=b"a\tb", headers={"origin": origin}
        )
        check_error(table, 403, "another site")
    assert client.get("/v1/collections").json() == {"collections": []}
    assert client.get("/v1/collections", headers={"origin": "https://evil.example"}).status_code == 200
    made = client.post("/v1/collections", json=BODY, headers={"origin": open_service.url.rstrip("/")})
    assert made.status_code == 201, made.text
    behind = client.delete(
        "/v1/collections/c", headers={"host": "proxy.example", "origin": "https://proxy.example:8443"}
    )
    assert behind.status_code == 204


@pytest.mark.slow
def test_a_key_is_enough_under_any_name(tmp_path: Path) -> None:
    key = make_key(tmp_path, None, "admin")
    with server(tmp_path) as running:
        headers = {"authorization": f"Bearer {key}", "host": "search.example", "origin": "https://elsewhere.example"}
        assert running.client.post("/v1/collections", json=BODY, headers=headers).status_code == 201


def allowed(host: str, origin: str | None = None, method: str = "POST", names: Collection[str] = ()) -> bool:
    headers = [(b"host", host.encode("latin-1"))] + ([] if origin is None else [(b"origin", origin.encode("latin-1"))])
    try:
        check_same_site({"type": "http", "method": method, "headers": headers}, names)
    except Forbidden:
        return False
    return True


@pytest.mark.parametrize("port", ["", ":8080"])
def test_hosts(port: str) -> None:
    assert all(allowed(host + port) for host in OURS)
    assert not any(allowed(host + port) for host in OTHERS)


@given(st.text(st.characters(max_codepoint=255)), st.text(st.characters(max_codepoint=255)))
def test_any_header_is_allowed_or_refused_and_never_a_fault(host: str, origin: str) -> None:
    allowed(host, origin)
    assert not allowed("localhost:1", f"http://{host}") or host.lower() == "localhost:1"


@given(st.sampled_from(["GET", "HEAD"]), st.text(st.characters(max_codepoint=255)))
def test_what_changes_nothing_may_come_from_any_site(method: str, origin: str) -> None:
    assert allowed("localhost", origin, method)
