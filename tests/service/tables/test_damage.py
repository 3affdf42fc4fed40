"""Damage to what is derived from the database: found at the start, named, made again; all else is served on."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy import text

from dragoman.engine.core.errors import Unavailable
from dragoman.engine.settings import Settings
from dragoman.store.tables import service as tables
from dragoman.store.tables.service import Upload
from tests.support.errorbody import check_error
from tests.support.searching import ndjson, running
from tests.support.serving import Server, server, wait_for

pytestmark = pytest.mark.slow

DAMAGES = [
    "*.cfs 0.0",
    "*.cfs 0.5",
    "*.cfs 1.0",
    "*.si 0.5",
    "*.cfe 0.5",
    "segments_* 0.7",
    "*.cfs cut",
    "segments_* cut",
]
TABLES = {"de": b"volcano\tVulkan\t1\t1\n", "fr": b"volcano\tvolcan\t1\t1\n", "es": b"volcano\tvolc\xc3\xa1n\t1\t1\n"}


def flip(path: Path, share: float) -> None:
    """Flip one bit, that far into the file."""
    content = bytearray(path.read_bytes())
    content[round(share * (len(content) - 1))] ^= 0b100
    path.write_bytes(content)


def cut(path: Path) -> None:
    """Leave the first half of the file."""
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])


def damage(path: Path, how: str) -> None:
    if how == "cut":
        cut(path)
    else:
        flip(path, float(how))


def search(running: Server, **asked: Any) -> list[str]:
    body = {"query": "volcano", "query_language": "en"} | asked
    answer = running.client.post("/v1/search", json=body)
    assert answer.status_code == 200, answer.text
    assert answer.json()["degraded"] == []
    return [hit["id"] for hit in answer.json()["hits"]]


def filled(running: Server, name: str, language: str, word: str) -> None:
    running.client.post("/v1/collections", json={"name": name, "language": language}).raise_for_status()
    documents = [{"id": f"{n}", "text": f"{word} {n}"} for n in range(3)]
    sent = {"content": ndjson(documents), "headers": {"content-type": "application/x-ndjson"}}
    running.client.post(f"/v1/collections/{name}/documents", **sent).raise_for_status()


def ready(running: Server) -> None:
    wait_for(lambda: running.client.get("/readyz").status_code == 200)


def test_damaged_indexes_are_named_and_built_anew_and_the_others_left_alone(tmp_path: Path) -> None:
    names = [f"c{number}" for number in range(len(DAMAGES))]
    with server(tmp_path) as first:
        first.client.put("/v1/tables/de?source=en&target=de&activate=true", content=TABLES["de"]).raise_for_status()
        builds = {}
        for name in [*names, "whole"]:
            before = set((tmp_path / "indexes").glob("*/current"))
            filled(first, name, "de", "Vulkan")
            (pointer,) = set((tmp_path / "indexes").glob("*/current")) - before
            builds[name] = pointer
        assert first.stop() == 0
    before = {name: pointer.read_text() for name, pointer in builds.items()}
    for name, how in zip(names, DAMAGES, strict=True):
        pattern, kind = how.split()
        damage(next((builds[name].parent / before[name]).glob(pattern)), kind)
    with server(tmp_path) as second:
        ready(second)
        for name in [*names, "whole"]:
            assert search(second, collections=[name]) == ["0", "1", "2"], name
        log = "".join(second.log)
    for name in names:
        assert builds[name].read_text() != before[name]
        assert f"the index of {name} cannot be opened and is built anew" in log
    assert builds["whole"].read_text() == before["whole"]
    assert "the index of whole " not in log


def test_damaged_compiled_tables_are_named_and_made_again(tmp_path: Path) -> None:
    with server(tmp_path) as first:
        for language, content in TABLES.items():
            asked = {"source": "en", "target": language, "activate": True}
            first.client.put(f"/v1/tables/{language}", params=asked, content=content).raise_for_status()
            filled(first, f"in_{language}", language, content.split(b"\t")[1].decode())
        assert first.stop() == 0
    versions = sorted((tmp_path / "tables").glob("[0-9]*/*.safetensors"))
    merged = sorted((tmp_path / "tables" / "merged").glob("*.safetensors"))
    assert (len(versions), len(merged)) == (3, 6)
    for path, how in zip([*versions, *merged], ["0.0", "0.5", "1.0", "cut", "0.3", "0.99", "0.1", "cut"], strict=False):
        damage(path, how)
    with server(tmp_path) as second:
        ready(second)
        for language in TABLES:
            assert search(second, collections=[f"in_{language}"]) == ["0", "1", "2"]
            terms = second.client.get(f"/v1/tables/{language}/terms/volcano").json()
            assert len(terms["translations"]) == 1
        log = "".join(second.log)
    for language in TABLES:
        assert f"the compiled file of table '{language}' version 1 is damaged and is rebuilt" in log
    assert log.count("is damaged and is rebuilt") == 8


def test_a_table_that_cannot_be_compiled_is_named_and_all_else_is_served(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running(settings) as runtime:
        for language, content in TABLES.items():
            runtime.tables.upload(Upload(language, "en", language, activate=True), iter([content]))
        _entry(runtime, "vulkan", "fulkan")
    shutil.rmtree(settings.store.tables_dir)
    monkeypatch.setattr(tables, "_RETRY_SECONDS", 0.2)
    with running(settings) as runtime:
        snapshot = runtime.tables.registry.snapshot
        assert {version.name for version in snapshot.versions} == {"fr", "es"}
        with pytest.raises(Unavailable, match="version 1 of table 'de' in the database does not match its"):
            runtime.tables.registry.include(snapshot, ["de"])
        runtime.tables.upload(Upload("more", "en", "fr", activate=True), iter([b"ash\tcendre\n"]))
        assert {version.name for version in runtime.tables.registry.snapshot.versions} == {"fr", "es", "more"}
        with pytest.raises(Unavailable, match="does not match"):
            runtime.tables.upload(Upload("again", "en", "de", activate=True), iter([b"ash\tAsche\n"]))
        assert [table.name for table in runtime.tables.all()] == ["de", "es", "fr", "more"]
        _entry(runtime, "fulkan", "vulkan")
        wait_for(lambda: not runtime.tables.registry.snapshot.unserved)
        assert {version.name for version in runtime.tables.registry.snapshot.versions} == {"de", "fr", "es", "more"}


def _entry(runtime: Any, old: str, new: str) -> None:
    """Change a term in the database behind the service's back."""
    with runtime.store.write() as session:
        session.execute(text("UPDATE table_entries SET target = :new WHERE target = :old"), locals())


def test_searches_name_a_table_that_is_not_served_and_readiness_counts_it(tmp_path: Path) -> None:
    with server(tmp_path) as first:
        for language in ("de", "fr"):
            asked = {"source": "en", "target": language, "activate": True}
            first.client.put(f"/v1/tables/{language}", params=asked, content=TABLES[language]).raise_for_status()
            filled(first, f"in_{language}", language, TABLES[language].split(b"\t")[1].decode())
        assert first.stop() == 0
    with running(Settings.load(data_dir=tmp_path)) as runtime:
        _entry(runtime, "vulkan", "fulkan")
    shutil.rmtree(tmp_path / "tables")
    with server(tmp_path) as second:
        check_error(second.client.get("/readyz"), 503, "1 active tables are not served")
        assert search(second, collections=["in_fr"]) == ["0", "1", "2"]
        body = _asked(second, collections=["in_de"]).json()
        (told,) = body["degraded"]
        assert told["stage"] == "translate"
        assert "the tables from en to de cannot be served (table 'de' version 1: " in told["reason"]
        check_error(_asked(second, tables=["de"]), 503, r"tables\[0\]: cannot be served now: table 'de' version 1")
        second.client.put("/v1/tables/de?source=en&target=de&activate=true", content=TABLES["de"]).raise_for_status()
        ready(second)
        assert search(second, collections=["in_de"]) == ["0", "1", "2"]


def _asked(running: Server, **asked: Any) -> httpx.Response:
    return running.client.post("/v1/search", json={"query": "volcano", "query_language": "en"} | asked)
