"""A disk that is full, really: the data directory, and PostgreSQL's tables, on a small file system of their own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.errorbody import check_error
from tests.support.searching import ndjson
from tests.support.serving import Server, server, wait_for
from tests.support.small_batches import SMALL_BATCHES
from tests.support.small_disk import fill, small_disk

pytestmark = pytest.mark.slow

NDJSON = {"content-type": "application/x-ndjson"}
MIB = 1 << 20
WORDS = {"source": "en", "target": "de", "activate": True}


def documents(many: int, word: str) -> bytes:
    """Documents of words that no other has, so that an index of them takes space."""
    texts = (f"{word} " + " ".join(f"neno{n}x{place}" for place in range(200)) for n in range(many))
    return ndjson({"id": f"{word}{n}", "text": text} for n, text in enumerate(texts))


def table(mark: str, entries: int) -> bytes:
    return b"house\tHaus\n" + b"".join(b"word%d\t%s%d\n" % (n, mark.encode(), n) for n in range(entries))


def found(client: httpx.Client, query: str, language: str) -> set[str]:
    asked = {"query": query, "query_language": language, "collections": ["sw" if language == "sw" else "de"]}
    answer = client.post("/v1/search", json=asked | {"top_k": 1000})
    assert answer.status_code == 200, answer.text
    return {hit["id"] for hit in answer.json()["hits"]}


def started(running: Server) -> None:
    for language in ("sw", "de"):
        running.client.post("/v1/collections", json={"name": language, "language": language}).raise_for_status()
    german = ndjson([{"id": "h", "text": "Das Haus steht."}])
    running.client.post("/v1/collections/de/documents", content=german, headers=NDJSON).raise_for_status()
    first = documents(5, "kwanza")
    running.client.post("/v1/collections/sw/documents", content=first, headers=NDJSON).raise_for_status()
    running.client.put("/v1/tables/words", params=WORDS, content=table("alt", 20)).raise_for_status()


def check_old(client: httpx.Client) -> None:
    assert found(client, "kwanza", "sw") == {f"kwanza{n}" for n in range(5)}
    assert found(client, "house", "en") == {"h"}
    info = client.get("/v1/tables/words").json()
    assert ([one["version"] for one in info["versions"]], info["active_version"]) == ([1], 1)
    assert client.get("/v1/tables/words/terms/word3").json()["translations"][0]["term"] == "alt3"
    assert client.get("/healthz").status_code == 200


def check_whole(running: Server) -> None:
    """Nothing unfinished lies beside the compiled tables, and each is of a version that there is."""
    versions = len(running.client.get("/v1/tables/words").json()["versions"])
    files = [path for path in (running.data_dir / "tables").rglob("*") if path.is_file()]
    # tables, how they are written, and the terms in capitals
    assert {path.suffix for path in files} == {".safetensors", ".written"}
    assert sum(path.parent.name != "merged" for path in files) == 2 * versions


def overfill_and_recover(running: Server, disk: Path, documents_sent: int, entries: int) -> None:
    client = running.client
    filler = fill(disk, leave=MIB)
    upload = client.post("/v1/collections/sw/documents", content=documents(documents_sent, "pili"), headers=NDJSON)
    told = check_error(upload, 507, "no space is left on the disk")
    assert "stored and kept" in told or "nothing" in told
    stored = client.get("/v1/collections/sw").json()["documents"]
    assert found(client, "kwanza", "sw") == {f"kwanza{n}" for n in range(5)}
    fill_again = disk / "more"
    with fill_again.open("wb", buffering=0) as file:
        try:
            while file.write(b"\0" * 4096):
                pass
        except OSError as fault:
            assert fault.errno == 28
    check_error(client.put("/v1/tables/words", params=WORDS, content=table("neu", entries)), 507, "no space is left")
    check_old(client)
    filler.unlink()
    fill_again.unlink()
    check_whole(running)
    wait_for(lambda: client.get("/readyz").status_code == 200)
    again = client.post("/v1/collections/sw/documents", content=documents(20, "tatu"), headers=NDJSON)
    assert again.json()["accepted"] == 20
    info = client.get("/v1/collections/sw").json()
    assert info["documents"] == stored + 20
    assert info["index"] == {"state": "ready", "generation": info["generation"], "failed": 0, "shards": 1}
    assert len(found(client, "kwanza pili tatu", "sw")) == stored + 20
    done = client.put("/v1/tables/words", params=WORDS, content=table("neu", entries))
    assert (done.status_code, done.json()["active"]) == (201, True)
    assert client.get("/v1/tables/words/terms/word3").json()["translations"][0]["term"] == "neu3"
    assert found(client, "house", "en") == {"h"}
    check_whole(running)


def test_a_full_data_directory_is_told_and_mends_when_there_is_space(tmp_path: Path, database_url: str | None) -> None:
    more: dict[str, Any] = {} if database_url is None else {"database_url": database_url}
    with (
        small_disk(tmp_path / "disk", 64) as disk,
        server(disk / "data", SMALL_BATCHES, index_commit_seconds=0.2, **more) as running,
    ):
        started(running)
        overfill_and_recover(running, disk, 3_000, 20_000)
        assert running.stop() in (0, -15)
        with server(disk / "data", **more) as again:
            wait_for(lambda: again.client.get("/readyz").status_code == 200)
            assert len(found(again.client, "tatu", "sw")) == 20
