"""A collection in several parts answers as one in a single part, and its number of parts can be changed at any time."""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Iterator
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as budget
from hypothesis import strategies as st

from dragoman.engine.core.answer import fields_of
from dragoman.engine.core.errors import Unavailable
from dragoman.engine.core.priority import background
from dragoman.engine.indexing.lucene.collection_index import CollectionIndex
from dragoman.engine.search.request import RerankOptions
from dragoman.engine.settings import Settings
from dragoman.indexes.dense.state_codec import StateCodec
from dragoman.indexes.errors import IndexCorrupt
from dragoman.indexes.lucene.lucene_index import LuceneIndex
from dragoman.service.runtime import Runtime
from dragoman.store.tables.service import Upload
from tests.support.modelling import WIDTH, LinkScorer, UpperTranslator, WordEncoder, ask, standing_in
from tests.support.searching import add, ask_one_by_one, found, ndjson, running
from tests.support.serving import Server

pytestmark = pytest.mark.slow

WORDS = {
    "de": ["Vulkan", "Asche", "Hafen", "Häuser", "Fußballweltmeisterschaft", "Merkel", "Petersburg", "speit", "der"],
    "ru": ["вулкан", "пепел", "гавань", "дом", "Меркель", "Петербург", "вулканы"],
    "ja": ["火山", "灰", "港", "ペテルブルク", "メルケル"],
}
QUERY_WORDS = ["volcano", "ash", "harbour", "houses", "Merkel", "Petersburg", "Pitersburg", "world cup", "the", "IT"]
TABLE = b"volcano\tVulkan\t0.8\t0.9\nash\tAsche\t0.7\t0.7\nharbour\tHafen\t0.5\t0.5\nhouses\tHaus\t0.5\t0.5\n"
RUSSIAN = "volcano\tвулкан\t0.8\t0.9\nash\tпепел\t0.7\t0.7\nharbour\tгавань\t0.6\t0.6\n".encode()
GLOSSARY = "world cup\tFußballweltmeisterschaft\nash\tHafen\n".encode()

texts = st.sampled_from(sorted(WORDS)).flatmap(
    lambda language: st.tuples(st.just(language), st.lists(st.sampled_from(WORDS[language]), min_size=1, max_size=6))
)
uploads = st.lists(st.dictionaries(st.integers(0, 30), texts, min_size=1, max_size=12), min_size=1, max_size=3)
questions = st.lists(st.sampled_from(QUERY_WORDS), min_size=1, max_size=4).map(" ".join)


@pytest.fixture(scope="module")
def runtime(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runtime]:
    settings = Settings.load(data_dir=tmp_path_factory.mktemp("shards"), ner_tagger="off")
    encoder, scorer = WordEncoder(), LinkScorer()
    encoder.codec = StateCodec(np.tile(GRID, (WIDTH, 1, 1)), np.zeros(WIDTH), np.eye(WIDTH), layer=1)
    with (
        pytest.MonkeyPatch.context() as patch,
        standing_in(patch, encoder, UpperTranslator(), scorer),
        running(settings) as opened,
    ):
        opened.tables.upload(Upload("general", "en", "de", activate=True), iter([TABLE]))
        opened.tables.upload(Upload("russian", "en", "ru", activate=True), iter([RUSSIAN]))
        opened.tables.upload(Upload("own", "en", "de", kind="glossary"), iter([GLOSSARY]))
        yield opened


GRID = np.linspace(-1, 1, 256, dtype=np.float32)[:, None]
RERANKED = ("psq", "hybrid")

NAMES = (f"c{number}" for number in itertools.count())


def answer(runtime: Runtime, collection: str, query: str, method: str, **more: Any) -> dict[str, Any]:
    """All that an answer says, but for the name of the collection, the times, and what is of one request."""
    response = fields_of(ask(runtime, query, method, collections=[collection], explain=True, **more))
    del response["request_id"], response["timings_ms"], response["next"]
    for hit in response["hits"]:
        del hit["collection"]
    return response


def scored_by(answer: dict[str, Any]) -> set[str]:
    """The stages that scored the first hit; all where there is none."""
    return set(answer["hits"][0]["scores"]) if answer["hits"] else {"late", "rerank"}


@budget(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(uploads, st.sets(st.integers(0, 30)), st.lists(questions, min_size=1, max_size=3), st.sampled_from([2, 3, 5]))
def test_any_number_of_parts_gives_the_answers_of_one(
    runtime: Runtime,
    uploads: list[dict[int, tuple[str, list[str]]]],
    deleted: set[int],
    queries: list[str],
    shards: int,
) -> None:
    name = next(NAMES)
    one, several = f"{name}-one", f"{name}-several"
    runtime.collections.create(one, "de")
    runtime.collections.create(several, "de", shards=shards)
    for collection in (one, several):
        for upload in uploads:
            documents = [
                {"id": f"d{number}", "language": language, "text": " ".join(words), "title": words[0]}
                for number, (language, words) in upload.items()
            ]
            add(runtime, collection, *documents)
        for number in sorted(deleted & {number for upload in uploads for number in upload}):
            runtime.collections.delete_document(collection, f"d{number}")
    for active in (False, True):
        runtime.tables.activate("own", 1) if active else runtime.tables.deactivate("own")
        for query in queries:
            for method in ("psq", "smt", "none", "hybrid", "dense"):
                for rerank in (False, RerankOptions(depth=5)) if method in RERANKED else (False,):
                    asked = {"query": query, "method": method, "query_language": "en", "rerank": rerank}
                    expected = answer(runtime, one, **asked)
                    assert scored_by(expected) >= ({"late"} if method == "hybrid" else set()) | (
                        {"rerank"} if rerank else set()
                    )
                    assert answer(runtime, several, **asked) == expected
    for collection in (one, several):
        runtime.collections.delete(collection)


DOCUMENTS = [{"id": f"d{n}", "text": f"neno{n} moja", "title": "wote"} for n in range(40)]


def await_shards(runtime: Runtime, shards: int) -> None:
    until = time.monotonic() + 60
    while runtime.collections.get("c").index_shards != shards or runtime.collections.index_of("c").rebuilding:
        assert time.monotonic() < until
        time.sleep(0.01)


def test_a_change_of_parts_is_built_beside_the_present_ones(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running(settings) as runtime:
        runtime.collections.create("c", "sw")
        add(runtime, "c", *DOCUMENTS)
        expected = answer(runtime, "c", "neno7 moja", "none")
        go_on, catch_up = Event(), CollectionIndex._catch_up

        def catch_up_later(self: CollectionIndex, *arguments: Any, **options: Any) -> None:
            assert go_on.wait(60)
            catch_up(self, *arguments, **options)

        monkeypatch.setattr(CollectionIndex, "_catch_up", catch_up_later)
        assert runtime.collections.change("c", {"shards": 3}).shards == 3
        index = runtime.collections.index_of("c")
        while not index.rebuilding:
            time.sleep(0.01)
        assert answer(runtime, "c", "neno7 moja", "none") == expected  # and nothing is degraded
        index.refresh()  # as an import that has begun before does; it waits for nothing
        with pytest.raises(Unavailable, match="being built"):
            add(runtime, "c", {"id": "new", "text": "mpya"})
        runtime.collections.delete_document("c", "d39")
        go_on.set()
        await_shards(runtime, 3)
        add(runtime, "c", {"id": "new", "text": "mpya"})
        assert len(found(runtime, "c", "moja")) == 39
        assert found(runtime, "c", "mpya") == ["new"]
        assert not list(index.directory.glob("*/segments_*"))  # those of the one part are gone
    with running(settings) as runtime:
        assert runtime.collections.get("c").index_shards == 3
        assert len(found(runtime, "c", "moja")) == 39
        runtime.collections.change("c", {"shards": 1})
        await_shards(runtime, 1)
        assert len(found(runtime, "c", "moja")) == 39


def test_a_change_that_fails_leaves_the_parts_as_they_are(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    with running(settings) as runtime:
        runtime.collections.create("c", "sw", shards=2)
        add(runtime, "c", *DOCUMENTS)
        index = runtime.collections.index_of("c")
        failed, commit = Event(), LuceneIndex.commit

        def full(self: LuceneIndex, *arguments: Any) -> None:
            if len(arguments[1]) > 1 and arguments[1].get("shards") == "5":
                failed.set()
                raise OSError(28, "no space left on device")
            commit(self, *arguments)

        monkeypatch.setattr(LuceneIndex, "commit", full)
        runtime.collections.change("c", {"shards": 5})
        assert failed.wait(60)
        while index.rebuilding:
            time.sleep(0.01)
        assert (runtime.collections.get("c").index_state, index.shards) == ("ready", 2)
        add(runtime, "c", {"id": "new", "text": "mpya"})
        assert found(runtime, "c", "mpya") == ["new"]
        monkeypatch.undo()
        runtime.indexes.follower.follow(runtime.collections.get("c").key)
        await_shards(runtime, 5)
        assert len(found(runtime, "c", "moja")) == 40


def test_a_part_that_fails_is_named_and_built_anew_while_the_others_serve(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running(settings) as runtime:
        runtime.collections.create("c", "sw", shards=3)
        add(runtime, "c", *DOCUMENTS)
        index = runtime.collections.index_of("c")
        broken = index._index()._parts[1]
        score, go_on, rebuild = LuceneIndex.score, Event(), CollectionIndex.rebuild

        def fail(self: LuceneIndex, *arguments: Any) -> Any:
            if self is broken:
                raise IndexCorrupt(self.directory, "is damaged")
            return score(self, *arguments)

        def rebuild_later(self: CollectionIndex, *arguments: Any) -> None:
            assert go_on.wait(60)
            rebuild(self, *arguments)

        ask_one_by_one(monkeypatch)
        monkeypatch.setattr(LuceneIndex, "score", fail)
        monkeypatch.setattr(CollectionIndex, "rebuild", rebuild_later)
        with background(60), pytest.raises(Unavailable, match="33% of its documents"):
            ask(runtime, "moja", "none", top_k=100)
        response = ask(runtime, "moja", "none", top_k=100)
        assert 0 < len(response.hits) < 40
        assert "collection 'c': about 33% of its documents were not searched" in response.degraded[0].reason
        assert (response.degraded[0].collection, round(response.degraded[0].missing_share, 2)) == ("c", 0.33)
        assert str(settings.store.data_dir) not in response.degraded[0].reason
        go_on.set()
        until = time.monotonic() + 60
        while (response := ask(runtime, "moja", "none", top_k=100)).degraded:
            assert time.monotonic() < until
        assert len(response.hits) == 40


@pytest.mark.kill
def test_killed_during_a_change_of_parts_nothing_is_lost_or_half(tmp_path: Path) -> None:
    noise = random.Random(0)
    body = ndjson({"id": f"d{n}", "text": f"neno{n} moja"} for n in range(3_000))
    server = Server(tmp_path, index_commit_seconds=0.05)
    server.client.post("/v1/collections", json={"name": "c", "language": "sw"}).raise_for_status()
    server.client.post(
        "/v1/collections/c/documents", content=body, headers={"content-type": "application/x-ndjson"}
    ).raise_for_status()
    expected = hits(server)
    for shards in (3, 2, 5):
        server.client.patch("/v1/collections/c", json={"shards": shards}).raise_for_status()
        time.sleep(noise.uniform(0.0, 0.4))
        server.kill()
        server = Server(tmp_path, index_commit_seconds=0.05)
        assert hits(server) == expected
    until = time.monotonic() + 60
    while (state := server.client.get("/v1/collections/c").json())["index"]["shards"] != 5:
        assert time.monotonic() < until
    assert (state["shards"], state["index"]["state"], state["documents"]) == (5, "ready", 3_000)
    assert hits(server) == expected
    server.stop()


def hits(server: Server) -> list[tuple[str, float]]:
    until = time.monotonic() + 60
    while server.client.get("/v1/collections/c").json()["index"]["state"] != "ready":
        assert time.monotonic() < until
    found = server.client.post("/v1/search", json={"query": "neno7 neno99 moja", "query_language": "sw", "top_k": 100})
    assert found.json()["degraded"] == []
    return [(hit["id"], hit["score"]) for hit in found.json()["hits"]]


def test_the_number_of_parts_is_checked(tmp_path: Path) -> None:
    server = Server(tmp_path)
    try:
        new = {"name": "c", "language": "sw"}
        for shards in (0, 65, -1, 1.5, "2", True, None):
            refused = server.client.post("/v1/collections", json={**new, "shards": shards})
            assert refused.status_code == 422
            assert "shards" in refused.json()["message"]
        made = server.client.post("/v1/collections", json={**new, "shards": 2}).json()
        assert (made["shards"], made["index"]["shards"]) == (2, 2)
        assert server.client.patch("/v1/collections/c", json={"shards": 0}).status_code == 422
        assert server.client.patch("/v1/collections/c", json={"shards": None}).status_code == 422
        assert server.client.patch("/v1/collections/c", json={}).json()["shards"] == 2
        assert server.client.patch("/v1/collections/none", json={"shards": 2}).status_code == 404
    finally:
        server.stop()
