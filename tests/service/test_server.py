from __future__ import annotations

import socket
import time
from pathlib import Path

import pytest

from dragoman.engine.core.errors import Unavailable
from dragoman.engine.settings import Settings
from dragoman.service.app import create_app
from dragoman.service.server import _listen, check_encoder
from tests.support.searching import ndjson
from tests.support.serving import server

pytestmark = pytest.mark.slow


def test_a_stop_ends_uploads_where_they_are_and_says_so(tmp_path: Path) -> None:
    with server(tmp_path, shutdown_seconds=3) as running:
        client = running.client
        client.post("/v1/collections", json={"name": "c", "language": "sw"}).raise_for_status()
        with socket.create_connection((client.base_url.host, client.base_url.port)) as connection:
            head = (
                "POST /v1/collections/c/documents HTTP/1.1\r\nHost: localhost\r\n"
                "Content-Type: application/x-ndjson\r\nContent-Length: 1000000\r\n\r\n"
            )
            connection.sendall(head.encode() + ndjson([{"id": "1", "text": "moja"}, {"id": "2", "text": "mbili"}]))
            time.sleep(0.5)
            assert running.stop() in (0, -15)
            answer = b""
            while part := connection.recv(65536):
                answer += part
    assert answer.startswith(b"HTTP/1.1 503")
    assert b"line 3: the service is stopping; stored and kept: the 2 documents up to line 2" in answer
    with server(tmp_path) as running:
        assert running.client.get("/v1/collections/c").json()["documents"] == 2
        assert running.client.get("/v1/collections/c/documents/2").json()["text"] == "mbili"


def test_an_idle_service_stays_small(tmp_path: Path) -> None:
    with server(tmp_path, forked=False) as running:
        for language in ("de", "zh", "ja", "th", "sw"):
            running.client.post("/v1/collections", json={"name": language, "language": language}).raise_for_status()
            body = ndjson({"id": f"{n}", "text": f"Das ist ein Text, 2024, 東京 และ {n}."} for n in range(200))
            headers = {"content-type": "application/x-ndjson"}
            path = f"/v1/collections/{language}/documents"
            running.client.post(path, content=body, headers=headers).raise_for_status()
        assert running.memory() < 600_000_000
        # Servers of other tests answer with what one process found out for all of them.
        assert (
            running.client.get("/openapi.json").json()
            == create_app(Settings.from_defaults(data_dir=tmp_path)).openapi()
        )


def test_connections_are_ones_that_asyncio_answers_on_at_once() -> None:
    with _listen("127.0.0.1", 0) as listener, socket.create_connection(listener.getsockname()):
        accepted, _ = listener.accept()
        with accepted:
            assert accepted.proto == socket.IPPROTO_TCP


def test_an_encoder_that_cannot_be_had_is_refused_at_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: object, **kwargs: object) -> None:
        raise ConnectionError("no route")

    monkeypatch.setattr("huggingface_hub.get_hf_file_metadata", fail)
    for place in (None, "e5-small", "/nowhere"):
        check_encoder(Settings.load(encoder=place))
    with pytest.raises(Unavailable, match=r"DRAGOMAN_ENCODER: team/absent: .*the hub cannot be reached; .*hf download"):
        check_encoder(Settings.load(encoder="team/absent"))
