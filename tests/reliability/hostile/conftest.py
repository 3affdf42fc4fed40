"""A service that has little patience and memory."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.connections import MORE
from tests.support.serving import Server, server


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A service without keys that has little patience and memory, and a collection."""
    limits = {"upload_idle_seconds": 2, "body_bytes_per_second": 20_000, "send_idle_seconds": 2}
    with server(tmp_path_factory.mktemp("opened"), as_shipped=True, concurrent_uploads=2, **limits) as running:
        running.client.post("/v1/collections", json={"name": "c", "language": "sw"}).raise_for_status()
        running.limit_memory(2 * MORE)
        yield running
