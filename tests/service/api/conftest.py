from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from tests.support import postgresql
from tests.support.serving import Server, http_client, server
from tests.support.small_batches import SMALL_BATCHES

LIMITS = {
    "body_bytes": 100_000,
    "body_depth": 20,
    "upload_bytes": 2_000_000,
    "decompressed_bytes": 4_000_000,
    "ndjson_line_bytes": 20_000,
    "rejected_lines": 50,
    "upload_idle_seconds": 0.5,
    "rerank_seconds": 60,
    "record_searches": "plain",
}


@pytest.fixture(scope="package")
def served(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One server with low limits for all tests of this folder, over SQLite unless they are parametrised."""
    folder = tmp_path_factory.mktemp("served")
    if getattr(request, "param", "sqlite") == "sqlite":
        with server(folder, SMALL_BATCHES, **LIMITS) as running:
            yield running
        return
    with (
        postgresql.database(request.getfixturevalue("postgresql_server")) as url,
        server(folder, SMALL_BATCHES, **LIMITS, database_url=url) as running,
    ):
        yield running


@pytest.fixture
def client(served: Server) -> Iterator[httpx.Client]:
    with http_client(served.url) as client:
        yield client


@pytest.fixture
def collection(client: httpx.Client, request: pytest.FixtureRequest) -> Iterator[str]:
    """The name of an empty Swahili collection."""
    name = f"c{abs(hash(request.node.nodeid)):x}"
    assert client.post("/v1/collections", json={"name": name, "language": "sw"}).status_code == 201
    yield name
    client.delete(f"/v1/collections/{name}")
