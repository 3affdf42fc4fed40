"""Searches under filters: the hits are those without one, filtered, and their scores are the same."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as chances
from hypothesis import strategies as st

from dragoman.engine.core.answer import as_json
from dragoman.engine.core.errors import InvalidRequest, Unavailable
from dragoman.engine.indexing.lucene import builds
from dragoman.engine.search.response import Hit
from dragoman.engine.settings import Settings
from dragoman.service.runtime import Runtime
from dragoman.store.documents.patch import DocumentPatch
from tests.support.filtering import matches
from tests.support.modelling import WordEncoder, ask
from tests.support.searching import add, running

pytestmark = pytest.mark.slow

WORDS = ["Vulkan", "Asche", "Hafen", "Biene", "bee", "Der", "Haus"]


def document(n: int) -> dict[str, Any]:
    text = " ".join([WORDS[n % 7], WORDS[n * n % 7], WORDS[n // 7 % 7]])
    metadata = {"n": n, "even": n % 2 == 0, "tags": [WORDS[n % 3], n % 5], "at": f"20{n:02}-01-01"}
    metadata["by"] = [{"name": f"x{n % 4}"}]
    return {"id": str(n), "text": f"{text}.", "title": WORDS[n % 6] if n % 3 else None, "metadata": metadata}


DOCUMENTS = [document(n) for n in range(40)]
CONDITIONS = st.one_of(
    st.integers(0, 40).map(lambda n: {"n": {"$lt": n}}),
    st.lists(st.integers(0, 40), max_size=8).map(lambda ns: {"n": {"$in": ns}}),
    st.booleans().map(lambda even: {"even": even}),
    st.sampled_from(WORDS[:3]).map(lambda word: {"tags": word}),
    st.integers(0, 40).map(lambda n: {"at": {"$gte": f"20{n:02}-01-01T00:00:01"}}),
    st.sampled_from(["x0", "x1", "x9"]).map(lambda name: {"by.name": {"$ne": name}}),
    st.sampled_from(WORDS).map(lambda word: {"title": {"$contains": word[1:3]}}),
    st.lists(st.integers(0, 40).map(str), max_size=5).map(lambda ids: {"id": {"$nin": ids}}),
)
FILTERS = st.lists(CONDITIONS, min_size=1, max_size=3).flatmap(
    lambda parts: st.sampled_from([{"$and": parts}, {"$or": parts}, {"$not": {"$and": parts}}])
)


@pytest.fixture
def runtime(tmp_path: Path, encoder: WordEncoder) -> Iterator[Runtime]:
    settings = Settings.load(data_dir=tmp_path / "data", index_commit_seconds=0.2, ner_tagger="off")
    with running(settings) as started:
        started.collections.create("one", "de")
        started.collections.create("three", "de", shards=3)
        for name in ("one", "three"):
            add(started, name, *DOCUMENTS)
            add(started, name, *DOCUMENTS[:9])  # replaced, so that the index has deleted documents too
        yield started


def scores(hits: list[Hit]) -> list[tuple[str, str, float, float]]:
    return [(hit.collection, hit.id, hit.score, hit.scores.first_stage) for hit in hits]


@chances(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    query=st.sampled_from(["Vulkan Asche", "bee Hafen", "Haus"]),
    method=st.sampled_from(["psq", "smt", "none", "dense", "hybrid"]),
    filter=FILTERS,
    collections=st.sampled_from([["one"], ["three"], ["one", "three"]]),
)
def test_hits_under_a_filter_are_those_without_one_filtered(
    runtime: Runtime, query: str, method: Any, filter: dict[str, Any], collections: list[str]
) -> None:
    asked: dict[str, Any] = {"method": method, "query_language": "de", "collections": collections, "top_k": 100}
    hits = ask(runtime, query, **asked).hits
    by_id = {line["id"]: {**line, "language": "de"} for line in DOCUMENTS}
    expected = [hit for hit in hits if matches(by_id[hit.id], filter)]
    answer = ask(runtime, query, filter=filter, **asked)
    assert not answer.degraded
    if method == "hybrid":  # late interaction orders the first that the filter leaves
        first_stage = {(hit.collection, hit.id): hit.scores.first_stage for hit in expected}
        assert {(hit.collection, hit.id): hit.scores.first_stage for hit in answer.hits} == first_stage
    else:
        assert scores(answer.hits) == scores(expected)
    for hit in answer.hits:
        assert hit.metadata == by_id[hit.id]["metadata"]


def test_a_filter_follows_changes_of_metadata_alone(runtime: Runtime) -> None:
    def left() -> list[str]:
        asked: dict[str, Any] = {"method": "psq", "query_language": "de", "collections": ["three"], "top_k": 100}
        return [hit.id for hit in ask(runtime, "Vulkan", filter={"n": -1}, **asked).hits]

    assert left() == []
    runtime.collections.change_document("three", "7", DocumentPatch(metadata={"n": -1}))
    assert left() == ["7"]
    runtime.collections.change_document("three", "7", DocumentPatch(metadata={"n": 7}))
    assert left() == []


def test_hits_have_the_metadata_that_is_chosen(runtime: Runtime) -> None:
    asked: dict[str, Any] = {"method": "psq", "query_language": "de", "collections": ["one"], "top_k": 3}
    hit = ask(runtime, "Biene", fields=["by.name", "n", "title", "none"], **asked).hits[0]
    metadata = DOCUMENTS[int(hit.id)]["metadata"]
    assert hit.metadata == {"by": [{"name": metadata["by"][0]["name"]}], "n": metadata["n"]}
    assert ask(runtime, "Biene", fields=[], **asked).hits[0].metadata == {}
    assert ask(runtime, "Biene", fields=["metadata"], **asked).hits[0].metadata == metadata
    shown = {"n": 10**30, "é": "日" * 10_000, "none": None, "zero": -0.0}
    larger = {"é": "日" * 20_000}
    lines = [{"id": id, "text": "Nashorn", "metadata": m} for id, m in (("0", {}), ("1", shown), ("2", larger))]
    add(runtime, "one", *lines)
    answer = ask(runtime, "Nashorn", **asked)
    assert {hit.id: hit.metadata for hit in answer.hits} == {"0": {}, "1": shown, "2": {}}
    assert [message for message in answer.truncated if message.startswith("metadata: that of document '2' is left out")]
    assert json.loads(as_json(answer))["hits"][1]["metadata"] == shown


def test_a_wrong_filter_is_refused_and_an_old_index_said(runtime: Runtime, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InvalidRequest, match=r"^filter\.n\.\$is: there is no operator"):
        ask(runtime, "Vulkan", filter={"n": {"$is": 1}})
    with pytest.raises(InvalidRequest, match=r"^filter\.entities: collection 'one' was made without"):
        ask(runtime, "Vulkan", filter={"entities": "x"}, collections=["one"])
    monkeypatch.setattr(builds, "_LAYOUT", "1")
    runtime.collections.index_of("one").rebuild()
    for method in ("psq", "dense", "hybrid"):
        with pytest.raises(Unavailable, match="its metadata is being indexed"):
            ask(runtime, "Vulkan", filter={"n": 1}, collections=["one"], method=method)
