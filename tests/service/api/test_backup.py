"""A service's backup goes into another service, which searches it at once."""

from __future__ import annotations

import subprocess
from pathlib import Path

import httpx
import pytest

from tests.support.errorbody import check_error
from tests.support.searching import ndjson
from tests.support.serving import dragoman, http_client, server

pytestmark = pytest.mark.slow


def _fill(client: httpx.Client) -> None:
    client.post("/v1/collections", json={"name": "news", "language": "de"}).raise_for_status()
    documents = ndjson([{"id": "1", "text": "Der Hund schläft.", "metadata": {"year": 1999}}])
    headers = {"content-type": "application/x-ndjson"}
    client.post("/v1/collections/news/documents", content=documents, headers=headers).raise_for_status()
    client.put("/v1/aliases/today", json={"collection": "news"}).raise_for_status()
    table = {"source": "en", "target": "de", "activate": "true", "kind": "glossary"}
    client.put("/v1/tables/mine", params=table, content=b"doggy\tHund\n").raise_for_status()


def _told(done: subprocess.CompletedProcess[str]) -> str:
    assert done.returncode == 0, done.stderr
    return done.stderr.splitlines()[-1]


def test_a_backup_moves_a_service(tmp_path: Path) -> None:
    with server(tmp_path / "old") as old, http_client(old.url) as client:
        _fill(client)
        told = _told(dragoman("backup", tmp_path / "by_url", url=old.url))
        assert told.startswith(f"{tmp_path / 'by_url'}: ")
        _told(dragoman("backup", tmp_path / "beside", "--data-dir", tmp_path / "old"))
        exported = client.get("/v1/collections/news/export").text
        kept_table = client.get("/v1/tables/mine/versions/1/export").text
        check_error(
            client.post("/v1/backup", content=b"x", headers={"content-type": "application/gzip"}), 422, "backup"
        )
        cut = (tmp_path / "by_url").read_bytes()[:-20]
        check_error(client.post("/v1/backup", content=cut, headers={"content-type": "application/gzip"}), 400, "gzip")
        refused = dragoman("restore", tmp_path / "by_url", url=old.url)
        assert refused.returncode == 2 and "this one has collections" in refused.stderr
    done = _told(dragoman("restore", tmp_path / "beside", "--data-dir", tmp_path / "here"))
    assert done.endswith("1 collections, 1 documents, 1 versions of tables")
    for folder, file in (("here", None), ("new", tmp_path / "by_url")):
        with server(tmp_path / folder) as new, http_client(new.url) as client:
            if file is not None:
                _told(dragoman("restore", file, url=new.url))
            assert client.get("/v1/collections/news/export").text == exported
            assert client.get("/v1/tables/mine/versions/1/export").text == kept_table
            query = {"query": "doggy", "query_language": "en", "collections": ["today"], "filter": {"year": 1999}}
            answer = client.post("/v1/search", json=query).json()
            assert [hit["id"] for hit in answer["hits"]] == ["1"], answer
