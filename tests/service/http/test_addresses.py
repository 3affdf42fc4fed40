from __future__ import annotations

import pytest
from fastapi import APIRouter, FastAPI
from fastapi.responses import StreamingResponse
from fastapi.testclient import TestClient
from hypothesis import given
from hypothesis import strategies as st

import dragoman.service.http.bodies  # noqa: F401  registers the convertor `whole`
from dragoman.service.http import errors
from dragoman.service.http.addresses import HeadAsGet, TrailingSlash

router = APIRouter()


@router.get("/things")
async def things() -> dict[str, str]:
    return {"things": "all"}


@router.post("/things")
async def add(body: dict[str, str]) -> dict[str, str]:
    return body


@router.get("/things/{id:whole}")
async def thing(id: str) -> dict[str, str]:
    return {"id": id}


@router.post("/asked")
async def asked() -> dict[str, str]:
    return {}


@router.get("/stream")
async def stream() -> StreamingResponse:
    return StreamingResponse(iter([b"a", b"b"]), media_type="text/plain")


@router.get("/")
async def page() -> dict[str, str]:
    return {"page": "/"}


@pytest.fixture(scope="module")
def client() -> TestClient:
    app = FastAPI(redirect_slashes=False)
    app.include_router(router)
    errors.install(app, [router])
    app.add_middleware(HeadAsGet)
    app.add_middleware(TrailingSlash, routers=[router])
    return TestClient(app)


def test_a_slash_at_the_end_changes_nothing(client: TestClient) -> None:
    assert client.get("/things/", follow_redirects=False).json() == {"things": "all"}
    assert client.post("/things/", json={"a": "b"}, follow_redirects=False).json() == {"a": "b"}
    assert client.get("/").json() == {"page": "/"}
    assert client.get("/none/").status_code == 404


@given(st.text("ab/", min_size=1, max_size=6))
def test_a_slash_at_the_end_of_an_id_is_part_of_it(client: TestClient, id: str) -> None:
    assert client.get("/things/" + id.replace("/", "%2F")).json() == {"id": id}


@pytest.mark.parametrize("path", ["/things", "/things/", "/things/x", "/stream", "/", "/none", "/asked"])
def test_head_is_get_without_a_body(client: TestClient, path: str) -> None:
    head, get = client.head(path), client.get(path)
    assert head.content == b""
    assert head.status_code == get.status_code
    assert {name: value for name, value in head.headers.items() if path != "/asked" or name != "content-length"} == {
        name: value for name, value in get.headers.items() if path != "/asked" or name != "content-length"
    }


def test_head_is_allowed_where_get_is(client: TestClient) -> None:
    assert client.put("/things").headers["allow"] == "GET, HEAD, POST"
    assert client.get("/asked").headers["allow"] == "POST"
