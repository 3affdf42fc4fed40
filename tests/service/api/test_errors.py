from __future__ import annotations

import json
import socket

import httpx
import pytest

from tests.support.errorbody import check_error

pytestmark = pytest.mark.slow

JSON = {"content-type": "application/json"}


@pytest.mark.parametrize(
    ("method", "path", "status", "message"),
    [
        ("GET", "/nothing/here", 404, "nothing at /nothing/here"),
        ("GET", "/v1/nothing/", 404, "nothing at"),
        ("PUT", "/v1/collections", 405, "PUT is not possible here; allowed: "),
        ("POST", "/healthz", 405, "allowed: GET, HEAD"),
        ("GET", "/v1/collections/missing", 404, "no collection named 'missing'"),
        ("DELETE", "/v1/collections/missing", 404, "no collection named 'missing'"),
        ("GET", "/v1/collections/No%20such%2fname", 404, ""),
        ("GET", "/v1/collections/%00", 404, "no collection"),
        ("GET", "/v1/collections/%ff", 422, "the address's path is not UTF-8"),
        ("GET", "/v1/tables/x/terms/caf%E9?version=1", 422, "the address's path is not UTF-8"),
        ("GET", "/v1/tables/x/terms/a?version=%C3", 422, "the address's query is not UTF-8"),
        ("GET", "/v1/collections/missing/documents/x", 404, "no collection named 'missing'"),
        ("GET", "/v1/collections/" + "x" * 5000, 404, "no collection"),
    ],
)
def test_what_is_not_there(client: httpx.Client, method: str, path: str, status: int, message: str) -> None:
    check_error(client.request(method, path), status, message)


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("DELETE", "/v1/collections", "GET, HEAD, POST"),
        ("PUT", "/v1/collections/x", "DELETE, GET, HEAD, PATCH"),
        ("DELETE", "/v1/tables/x", "GET, HEAD, PATCH, PUT"),
        ("PUT", "/v1/collections/x/documents/a%2Fb", "DELETE, GET, HEAD, PATCH"),
        ("PUT", "/v1/collections/x/documents", "GET, HEAD, POST"),
        ("POST", "/v1/tables/x/terms/y", "GET, HEAD"),
        ("GET", "/v1/search", "POST"),
        ("POST", "/docs", "GET, HEAD"),
    ],
)
def test_a_405_names_all_methods_of_the_path(client: httpx.Client, method: str, path: str, allowed: str) -> None:
    response = client.request(method, path)
    check_error(response, 405, f"^{method} is not possible here; allowed: {allowed}$")
    assert response.headers.get_list("allow") == [allowed]


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        (b"", 422, "body: Field required"),
        (b"{", 400, "not valid JSON: .* line 1 column 1"),
        (b'{"name": "a",\n "language": }', 400, "line 2 column 14"),
        (b"{'name': 'a'}", 400, "line 1 column 2"),
        (b'{"name": NaN, "language": "de"}', 400, "expected value at line 1 column 10"),
        (b'{"name": "\xff"}', 400, "not UTF-8: byte 10"),
        ('{"name": "a"}'.encode("utf-16"), 400, "not UTF-8: byte 0"),
        (b"[" * 50_000, 400, "nested deeper than 20"),
        (b'{"name": "a", "language": "de", "description": ' + b"[" * 30 + b"]" * 30 + b"}", 400, "deeper than 20"),
        (b'{"name": "a", "language": ' + b"1" * 5000 + b"}", 400, "number out of range at line 1 column"),
        (b"[]", 422, "body: "),
        (b'"x"', 422, "body: "),
        (b"null", 422, "body: "),
        (b"{}", 422, "name: Field required; language: Field required"),
        (b'{"name": 5, "language": "de"}', 422, "name: .*string"),
        (b'{"name": "A B", "language": "de"}', 422, "name: must be 1 to 64 characters"),
        (b'{"name": "", "language": "de"}', 422, "name: must be 1 to 64 characters"),
        (b'{"name": "../x", "language": "de"}', 422, "name: must be"),
        (b'{"name": "a\\n", "language": "de"}', 422, "name: must be"),
        (b'{"name": "a", "language": "xx"}', 422, "language: unknown language code 'xx'"),
        (b'{"name": "a", "language": "de-DE"}', 422, "language: .* did you mean 'de'"),
        (b'{"name": "a", "language": ["de"]}', 422, "language: "),
        (b'{"name": "a", "language": "de", "description": "x\\u0000"}', 422, "description: holds a NUL"),
        (b'{"name": "a", "language": "de", "description": "\\ud800"}', 422, "description: holds a lone surr"),
        (b'{"name": "a", "language": "de", "description": {}}', 422, "description: "),
        (b'{"name": "a", "language": "de", "parts": 3}', 422, "parts: "),
        (b'{"name": "a", "language": "de", "' + b"k" * 90_000 + b'": 3}', 422, "kkk"),
    ],
)
def test_bodies_that_make_no_collection(client: httpx.Client, body: bytes, status: int, message: str) -> None:
    check_error(client.post("/v1/collections", content=body, headers=JSON), status, message)
    assert client.get("/v1/collections/a").status_code == 404


@pytest.mark.parametrize(
    ("headers", "message"),
    [
        ({}, "send JSON"),
        ({"content-type": "text/plain"}, "not as 'text/plain'"),
        ({"content-type": "application/x-www-form-urlencoded"}, "not as"),
        ({**JSON, "content-encoding": "br"}, "Content-Encoding 'br'"),
    ],
)
def test_a_json_body_has_to_be_sent_as_one(client: httpx.Client, headers: dict[str, str], message: str) -> None:
    body = b'{"name": "a", "language": "de"}'
    check_error(client.post("/v1/collections", content=body, headers=headers), 415, message)


@pytest.mark.parametrize("chunked", [False, True])
def test_too_large_a_body_is_refused_with_or_without_its_length(client: httpx.Client, chunked: bool) -> None:
    body = b'{"name": "' + b"a" * 150_000 + b'", "language": "de"}'
    content = (body[start : start + 9000] for start in range(0, len(body), 9000)) if chunked else body
    check_error(client.post("/v1/collections", content=content, headers=JSON), 413, "larger than 100000 bytes")


def test_a_body_that_never_ends_is_refused(client: httpx.Client) -> None:
    def forever():
        for _ in range(100_000):
            yield b" " * 10_000

    try:
        response = client.post("/v1/collections", content=forever(), headers=JSON)
    except httpx.WriteError:
        return  # the server closed the connection before the client had stopped sending
    check_error(response, 413, "larger than 100000 bytes")


def test_a_request_id_is_honoured_where_it_is_usable(client: httpx.Client) -> None:
    def sent(value: str) -> str:
        headers = [(b"X-Request-Id", value.encode())]
        return client.get("/healthz", headers=headers).headers["x-request-id"]

    assert sent("abc-123.x_Y:z") == "abc-123.x_Y:z"
    for bad in ("", "a b", "x" * 129, "ü", '"><script>'):
        assert sent(bad) != bad
        assert len(sent(bad)) == 32
    response = client.get("/v1/collections/missing", headers={"X-Request-Id": "mine"})
    assert response.json()["id"] == response.json()["request_id"] == "mine"


def test_a_message_with_what_cannot_be_sent_is_escaped(client: httpx.Client) -> None:
    body = json.dumps({"name": "a", "language": "\ud800\n"}).encode()
    check_error(client.post("/v1/collections", content=body, headers=JSON), 422, r"language: unknown .*\\ud800")


def test_a_client_that_goes_away_harms_nobody(client: httpx.Client) -> None:
    for sent in (b"", b"{"):
        with socket.create_connection((client.base_url.host, client.base_url.port)) as connection:
            connection.sendall(
                b"POST /v1/collections HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                b"Content-Length: 100\r\n\r\n" + sent
            )
    assert client.get("/healthz").status_code == 200


def test_a_field_of_several_kinds_is_named_as_the_caller_knows_it(client: httpx.Client) -> None:
    refused = client.post("/v1/search", json={"query": "x", "rerank": {"depth": 0}})
    check_error(refused, 422, "^rerank.depth: [^;]*$")
