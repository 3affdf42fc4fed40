"""Keys, scopes and limits on real servers, one of them reachable from other machines."""

from __future__ import annotations

import json
import socket
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Event, Thread

import httpx
import psycopg
import pytest
from fastapi import APIRouter
from hypothesis import given
from hypothesis import strategies as st

from dragoman.engine.core.errors import Unauthorized
from dragoman.service.access.keys import recognise_key
from dragoman.service.http.authentication import check_routes
from tests.support import postgresql
from tests.support.access_client import ask, authorization, identifier, keys_command, make_key
from tests.support.errorbody import check_error
from tests.support.postgresql import DATABASES
from tests.support.serving import COMMAND, Server, environment, server, wait_for

pytestmark = pytest.mark.slow

NDJSON = {"content-type": "application/x-ndjson"}
SEARCH = {"query": "neno", "query_language": "sw"}


@dataclass(frozen=True)
class Closed:
    """A server that other machines can reach, and its keys."""

    running: Server
    database_url: str | None
    admin: str
    search: str
    jobs: str


@pytest.fixture(scope="module", params=DATABASES)
def closed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Closed]:
    folder = tmp_path_factory.mktemp("closed") / "data"
    with ExitStack() as stack:
        url = None
        if request.param == "postgresql":
            url = stack.enter_context(postgresql.database(request.getfixturevalue("postgresql_server")))
        admin = make_key(folder, url, "admin", name="ada")
        given = {} if url is None else {"database_url": url}
        running = stack.enter_context(server(folder, host="0.0.0.0", **given))
        search, jobs = (
            ask(running, admin, "POST", "/v1/keys", json={"scopes": [scope]}).json()["key"]
            for scope in ("search", "jobs")
        )
        yield Closed(running, url, admin, search, jobs)


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/v1/collections"),
        ("POST", "/v1/collections"),
        ("POST", "/v1/search"),
        ("POST", "/v2/rerank"),
        ("POST", "/rerank"),
        ("GET", "/v1/keys"),
        ("GET", "/metrics"),
        ("GET", "/nothing/here"),
        ("GET", "//v1/collections"),
        ("GET", "/v1/collections/%ff"),
        ("PUT", "/v1/search"),
        ("OPTIONS", "/v1/search"),
    ],
)
def test_nothing_is_answered_without_a_key(closed: Closed, method: str, path: str) -> None:
    response = closed.running.client.request(method, path)
    check_error(response, 401, "send an API key: Authorization: Bearer KEY")
    assert response.headers["www-authenticate"] == "Bearer"
    assert response.json()["error_type"] == "unauthorized"


@pytest.mark.parametrize(
    "path",
    [
        "/healthz",
        "/readyz",
        "/",
        "/web/page.js",
        "/web/search.js",
        "/web/style.css",
        "/docs",
        "/docs/assets/swagger-ui.css",
        "/openapi.json",
    ],
)
def test_what_holds_no_data_is_open(closed: Closed, path: str) -> None:
    assert closed.running.client.get(path).status_code == 200


@pytest.mark.parametrize(
    ("authorization", "message"),
    [
        ("Bearer", "not an API key"),
        ("Bearer any", "not an API key"),
        ("Bearer \u00e9", "not an API key"),
        ("Basic YTpi", "not an API key"),
        ("{key}", "not an API key"),
        ("Bearer {key}x", "not an API key"),
        ("Bearer {key}, Bearer {key}", "not an API key"),
        ("Bearer dragoman_{id}_" + 43 * "A", "is not known"),
        ("Bearer dragoman_000000000000_" + 43 * "A", "is not known"),
    ],
)
def test_what_is_no_key_is_refused(closed: Closed, authorization: str, message: str) -> None:
    sent = authorization.format(key=closed.search, id=identifier(closed.search))
    response = closed.running.client.get("/v1/collections", headers=[(b"authorization", sent.encode("latin-1"))])
    check_error(response, 401, message)
    assert response.headers["www-authenticate"] == "Bearer"


def test_two_keys_at_once_are_refused(closed: Closed) -> None:
    twice = [("Authorization", f"Bearer {closed.search}"), ("Authorization", f"Bearer {closed.admin}")]
    check_error(closed.running.client.get("/v1/collections", headers=twice), 401, "not an API key")


@pytest.mark.parametrize("header", ["X-Forwarded-For", "X-Forwarded-Host", "X-Real-IP", "Forwarded", "X-Remote-User"])
def test_what_a_proxy_says_opens_nothing(closed: Closed, header: str) -> None:
    response = closed.running.client.get("/v1/collections", headers={header: "127.0.0.1", "Host": "localhost"})
    check_error(response, 401, "send an API key")


@pytest.mark.parametrize(
    ("method", "path", "body", "scopes"),
    [
        ("POST", "/v1/search", SEARCH, "search"),
        ("POST", "/v1/rerank", {}, "search"),
        ("POST", "/v2/rerank", {}, "search"),
        ("POST", "/rerank", {}, "search"),
        ("POST", "/v1/translate", {}, "search"),
        ("GET", "/v1/collections", None, "search admin"),
        ("HEAD", "/v1/collections", None, "search admin"),
        ("GET", "/v1/collections/c/documents/1", None, "search admin"),
        ("GET", "/v1/tables", None, "search admin"),
        ("GET", "/v1/tables/t/terms/x", None, "search admin"),
        ("POST", "/v1/collections", {}, "admin"),
        ("DELETE", "/v1/collections/c", None, "admin"),
        ("POST", "/v1/collections/c/documents", {}, "admin"),
        ("DELETE", "/v1/collections/c/documents/1", None, "admin"),
        ("PATCH", "/v1/collections/c/documents/1", {}, "admin"),
        ("GET", "/v1/aliases", None, "search admin"),
        ("PUT", "/v1/aliases/a", {}, "admin"),
        ("PUT", "/v1/tables/t", {}, "admin"),
        ("POST", "/v1/tables/t/versions/1/activate", None, "admin"),
        ("POST", "/v1/tables/t/deactivate", None, "admin"),
        ("DELETE", "/v1/tables/t/versions/1", None, "admin"),
        ("GET", "/v1/keys", None, "admin"),
        ("POST", "/v1/keys", {}, "admin"),
        ("DELETE", "/v1/keys/000000000000", None, "admin"),
        ("GET", "/v1/audit", None, "admin"),
        ("GET", "/v1/jobs/x", None, "jobs admin"),
        ("GET", "/metrics", None, "search jobs admin"),
        ("GET", "/nothing/here", None, "search jobs admin"),
    ],
)
def test_a_key_does_what_its_scope_says(
    closed: Closed, method: str, path: str, body: dict[str, str] | None, scopes: str
) -> None:
    for scope in ("search", "jobs", "admin"):
        response = ask(closed.running, getattr(closed, scope), method, path, json=body)
        if scope in scopes.split():
            assert response.status_code not in (401, 403), scope
        elif method == "HEAD":
            assert response.status_code == 403
        else:
            check_error(response, 403, f"needs the scope {' or '.join(scopes.split())} for this")
            assert response.json()["error_type"] == "forbidden"


def test_a_key_is_asked_for_before_a_body_is_read(closed: Closed) -> None:
    for key, status in ((None, b"401"), (closed.search, b"403")):
        sent = "" if key is None else f"Authorization: Bearer {key}\r\n"
        with socket.create_connection((closed.running.client.base_url.host, closed.running.client.base_url.port)) as to:
            to.settimeout(30)
            to.sendall(
                b"POST /v1/collections/c/documents HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-ndjson\r\n"
                b"Content-Length: 1000000000\r\nExpect: 100-continue\r\n" + sent.encode() + b"\r\n"
            )
            assert to.recv(65536).startswith(b"HTTP/1.1 " + status)


def test_who_sends_a_long_body_without_a_key_sees_why_it_is_refused(closed: Closed) -> None:
    response = closed.running.client.post("/v1/collections/c/documents", content=b" " * 20_000_000, headers=NDJSON)
    check_error(response, 401, "send an API key")


def test_a_key_made_by_the_api_works_at_once_and_until_it_is_revoked(closed: Closed) -> None:
    for number in range(5):
        made = ask(closed.running, closed.admin, "POST", "/v1/keys", json={"scopes": ["search"], "name": f"n{number}"})
        assert made.status_code == 201
        assert made.headers["cache-control"] == "no-store"
        body = made.json()
        assert body["id"] == identifier(body["key"])
        assert ask(closed.running, body["key"], "POST", "/v1/search", json=SEARCH).status_code == 200
        assert ask(closed.running, closed.admin, "DELETE", f"/v1/keys/{body['id']}").status_code == 204
        check_error(ask(closed.running, body["key"], "POST", "/v1/search", json=SEARCH), 401, "was revoked")
        assert ask(closed.running, closed.admin, "DELETE", f"/v1/keys/{body['id']}").status_code == 204


def test_a_key_made_by_the_command_line_works_at_once_and_until_it_is_revoked(closed: Closed) -> None:
    data_dir = closed.running.data_dir
    key = make_key(data_dir, closed.database_url, "search", "jobs", name="by hand", expires_in_days=2)
    assert ask(closed.running, key, "POST", "/v1/search", json=SEARCH).status_code == 200
    listed = keys_command(data_dir, closed.database_url, "list")
    assert "by hand" in listed
    assert "search, jobs" in listed
    assert key not in listed
    keys_command(data_dir, closed.database_url, "revoke", identifier(key))
    wait_for(lambda: ask(closed.running, key, "POST", "/v1/search", json=SEARCH).status_code == 401)
    assert "revoked" in keys_command(data_dir, closed.database_url, "list")


def test_a_key_ends_when_it_says(closed: Closed) -> None:
    until = datetime.now(UTC) + timedelta(seconds=3)
    sent = {"scopes": ["search"], "expires_at": until.isoformat()}
    key = ask(closed.running, closed.admin, "POST", "/v1/keys", json=sent).json()["key"]
    assert ask(closed.running, key, "POST", "/v1/search", json=SEARCH).status_code == 200
    wait_for(lambda: datetime.now(UTC) > until)
    check_error(ask(closed.running, key, "POST", "/v1/search", json=SEARCH), 401, "has expired")
    (found,) = [one for one in _keys(closed) if one["id"] == identifier(key)]
    assert found["state"] == "expired"


def test_the_last_use_of_a_key_is_known_and_the_key_itself_is_not(closed: Closed) -> None:
    made = ask(closed.running, closed.admin, "POST", "/v1/keys", json={"scopes": ["search"]}).json()

    def last_used() -> object:
        return next(one["last_used_at"] for one in _keys(closed) if one["id"] == made["id"])

    assert last_used() is None
    before = datetime.now(UTC)
    ask(closed.running, made["key"], "POST", "/v1/search", json=SEARCH)
    wait_for(lambda: last_used() is not None)
    first = last_used()
    assert before <= datetime.fromisoformat(str(first)) <= datetime.now(UTC)
    for _ in range(5):
        ask(closed.running, made["key"], "POST", "/v1/search", json=SEARCH)
    assert last_used() == first  # once a minute is enough
    secret = made["key"].split("_", 2)[2]
    assert secret not in json.dumps(_keys(closed))
    if closed.database_url is None:
        files = [path.read_bytes() for path in closed.running.data_dir.glob("dragoman.db*")]
        assert any(made["id"].encode() in content for content in files)
        assert not any(secret.encode() in content for content in files)
    assert not any(secret in line for line in closed.running.log)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({}, "scopes: Field required"),
        ({"scopes": []}, "scopes: "),
        ({"scopes": ["root"]}, r"scopes\[0\]: .*'search', 'jobs' or 'admin'"),
        ({"scopes": "admin"}, "scopes: "),
        ({"scopes": ["admin"], "name": "a\nb"}, "name: must be at most 64 printable"),
        ({"scopes": ["admin"], "name": "\ud800"}, "name: "),
        ({"scopes": ["admin"], "name": "a" * 65}, "name: "),
        ({"scopes": ["admin"], "expires_at": "2020-01-01T00:00:00Z"}, "expires_at: is in the past"),
        ({"scopes": ["admin"], "expires_at": "2099-01-01T00:00:00"}, "expires_at: .*timezone"),
        ({"scopes": ["admin"], "expires_at": "9999-12-31T23:59:59-23:59"}, "expires_at: "),
        ({"scopes": ["admin"], "requests_per_second": -1}, "requests_per_second"),
        ({"scopes": ["admin"], "requests_per_second": True}, "requests_per_second"),
        ({"scopes": ["admin"], "burst": 0}, "burst"),
        ({"scopes": ["admin"], "concurrent_requests": 1.5}, "concurrent_requests"),
        ({"scopes": ["admin"], "key": "mine"}, "key: "),
    ],
)
def test_keys_that_cannot_be_made(closed: Closed, body: dict[str, object], message: str) -> None:
    before = len(_keys(closed))
    sent = json.dumps(body)
    headers = {"content-type": "application/json", **authorization(closed.admin)}
    check_error(closed.running.client.post("/v1/keys", content=sent, headers=headers), 422, message)
    assert len(_keys(closed)) == before


@pytest.mark.parametrize("id", ["000000000000", "x", "%00", "%F0%9F%98%80", "a" * 3000])
def test_a_key_that_is_not_there_cannot_be_revoked(closed: Closed, id: str) -> None:
    check_error(ask(closed.running, closed.admin, "DELETE", f"/v1/keys/{id}"), 404, "no key with id")


def test_a_key_asks_no_faster_than_it_may(closed: Closed) -> None:
    sent = {"scopes": ["search"], "requests_per_second": 0.001, "burst": 3}
    key = ask(closed.running, closed.admin, "POST", "/v1/keys", json=sent).json()["key"]
    answers = [ask(closed.running, key, "POST", "/v1/search", json=SEARCH) for _ in range(5)]
    assert [answer.status_code for answer in answers] == [200, 200, 200, 429, 429]
    check_error(answers[4], 429, "Retry-After")
    assert 900 < int(answers[4].headers["retry-after"]) <= 1000
    assert ask(closed.running, closed.search, "POST", "/v1/search", json=SEARCH).status_code == 200


def test_a_key_has_no_more_requests_under_way_than_it_may(closed: Closed) -> None:
    sent = {"scopes": ["admin"], "concurrent_requests": 1}
    key = ask(closed.running, closed.admin, "POST", "/v1/keys", json=sent).json()["key"]
    ask(closed.running, closed.admin, "POST", "/v1/collections", json={"name": "slow", "language": "sw"})
    finish = Event()
    statuses: list[int] = []
    seen: list[httpx.Response] = []

    def body() -> Iterator[bytes]:
        yield b'{"id": "1", "text": "neno"}\n'
        finish.wait(1)  # one that is refused, as a look was in its way, is told so only after its body

    def upload() -> None:
        headers = NDJSON | authorization(key)
        address = f"{closed.running.url}v1/collections/slow/documents"
        while not finish.is_set():
            answer = httpx.post(address, content=body(), headers=headers, timeout=60, trust_env=False)
            statuses.append(answer.status_code)

    def look() -> bool:
        seen.append(ask(closed.running, key, "GET", "/v1/keys"))
        return seen[-1].status_code == 429

    thread = Thread(target=upload)
    thread.start()
    try:
        wait_for(look)
        check_error(seen[-1], 429, "Retry-After")
        assert seen[-1].headers["retry-after"] == "1"
    finally:
        finish.set()
        thread.join()
    assert statuses[-1] == 200
    assert ask(closed.running, key, "GET", "/v1/keys").status_code == 200


def test_the_openapi_document_says_which_key_is_needed(closed: Closed) -> None:
    document = closed.running.client.get("/openapi.json").json()
    assert document["components"]["securitySchemes"]["ApiKey"]["scheme"] == "bearer"
    paths = document["paths"]
    assert paths["/v1/search"]["post"]["security"] == [{"ApiKey": ["search"]}, {"ApiKeyHeader": ["search"]}]
    either = [{scheme: [scope]} for scheme in ("ApiKey", "ApiKeyHeader") for scope in ("search", "admin")]
    assert paths["/v1/collections"]["get"]["security"] == either
    assert paths["/v1/collections"]["post"]["security"] == [{"ApiKey": ["admin"]}, {"ApiKeyHeader": ["admin"]}]
    assert paths["/healthz"]["get"]["security"] == []
    assert {"401", "403", "429"} <= set(paths["/v1/search"]["post"]["responses"])


def test_a_server_that_lost_its_last_key_stays_closed_to_other_machines(tmp_path: Path) -> None:
    key = make_key(tmp_path, None, "admin")
    with server(tmp_path, host="0.0.0.0") as running:
        assert ask(running, key, "DELETE", f"/v1/keys/{identifier(key)}").status_code == 204
        check_error(ask(running, key, "GET", "/v1/keys"), 401, "was revoked")
        check_error(ask(running, None, "GET", "/v1/keys"), 401, "send an API key")
        _check_refused(tmp_path, "0.0.0.0")
        keys_command(tmp_path, None, "forget")
        wait_for(lambda: "not known" in ask(running, key, "GET", "/v1/keys").text)
        check_error(ask(running, None, "GET", "/v1/keys"), 401, "send an API key")


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_a_server_without_keys_does_not_listen_to_other_machines(tmp_path: Path, host: str) -> None:
    _check_refused(tmp_path / "data", host)
    assert not (tmp_path / "data").exists()


def test_a_server_on_loopback_is_open_until_it_has_a_key(tmp_path: Path) -> None:
    with server(tmp_path) as running:
        assert ask(running, None, "POST", "/v1/search", json=SEARCH).status_code == 200
        for sent in ("Bearer any", "Basic YTpi", f"Bearer dragoman_000000000000_{43 * 'A'}"):
            headers = {"Authorization": sent}
            assert running.client.get("/v1/keys", headers=headers).status_code == 200
        assert running.client.get("/metrics").status_code == 200
        made = running.client.post("/v1/keys", json={"scopes": ["admin"]}).json()
        check_error(ask(running, None, "GET", "/v1/keys"), 401, "send an API key")
        check_error(running.client.get("/metrics"), 401, "send an API key")
        assert ask(running, made["key"], "GET", "/v1/keys").status_code == 200
        assert ask(running, made["key"], "DELETE", f"/v1/keys/{made['id']}").status_code == 204
        check_error(ask(running, None, "GET", "/v1/keys"), 401, "send an API key")  # a proxy may listen before it
        keys_command(tmp_path, None, "forget")
        wait_for(lambda: ask(running, None, "GET", "/v1/keys").status_code == 200)
        key = make_key(tmp_path, None, "search")
        wait_for(lambda: ask(running, None, "POST", "/v1/search", json=SEARCH).status_code == 401)
        assert ask(running, key, "POST", "/v1/search", json=SEARCH).status_code == 200


def test_an_open_server_can_have_limits_and_open_metrics(tmp_path: Path) -> None:
    limits = {"anonymous_requests_per_second": 0.001, "anonymous_burst": 2, "metrics_open": True}
    with server(tmp_path, **limits) as running:
        answers = [ask(running, None, "POST", "/v1/search", json=SEARCH).status_code for _ in range(3)]
        assert answers == [200, 200, 429]
        make_key(tmp_path, None, "search")
        wait_for(lambda: ask(running, None, "POST", "/v1/search", json=SEARCH).status_code == 401)
        assert running.client.get("/metrics").status_code == 200


@pytest.mark.skipif("postgresql" not in DATABASES, reason="PostgreSQL is not installed")
def test_a_server_that_cannot_read_its_keys_lets_nobody_in(tmp_path: Path, postgresql_server: str) -> None:
    with ExitStack() as stack:
        with postgresql.database(postgresql_server) as url:
            running = stack.enter_context(server(tmp_path, database_url=url))
            assert ask(running, None, "GET", "/v1/collections").status_code == 200
            with psycopg.connect(url) as connection:
                connection.execute("LOCK TABLE api_keys")
                wait_for(lambda: ask(running, None, "GET", "/nothing/here").status_code != 404)
                check_error(ask(running, None, "GET", "/nothing/here"), 503, "the database does not respond")
            wait_for(lambda: ask(running, None, "GET", "/nothing/here").status_code == 404)
        wait_for(lambda: ask(running, None, "GET", "/nothing/here").status_code != 404)
        check_error(ask(running, None, "GET", "/nothing/here"), 503, "database")
        assert running.client.get("/healthz").status_code == 200


def test_a_path_that_nobody_thought_of_cannot_be_served() -> None:
    router = APIRouter(prefix="/v1/new")
    router.add_api_route("/{name}", lambda: None)
    with pytest.raises(LookupError, match=r"no scopes are declared for /v1/new/\{name\}"):
        check_routes([router])


@given(st.text() | st.from_regex(r"dragoman_[0-9a-f]{12}_[A-Za-z0-9_-]{43}"))
def test_no_text_is_a_key_by_accident(text: str) -> None:
    with suppress(Unauthorized):
        assert recognise_key({}, text) is None


def _keys(closed: Closed) -> list[dict[str, object]]:
    found: list[dict[str, object]] = ask(closed.running, closed.admin, "GET", "/v1/keys").json()["keys"]
    return found


def _check_refused(data_dir: Path, host: str) -> None:
    command = [*COMMAND, "serve", "--data-dir", str(data_dir), "--port", "0", "--host", host]
    ended = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=120)
    assert ended.returncode == 2
    assert f"refusing to listen on {host}" in ended.stderr
    assert "dragoman keys create" in ended.stderr
