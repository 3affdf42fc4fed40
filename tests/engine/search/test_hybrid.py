"""Hybrid search in process, with an encoder of which the tests know what it finds alike."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from dragoman.engine.core.errors import TooManyRequests
from dragoman.engine.core.priority import background
from dragoman.engine.models.models import Encode
from dragoman.engine.search.response import SearchResponse
from dragoman.engine.settings import Settings
from dragoman.indexes.errors import IndexFault
from dragoman.indexes.lucene.lucene_index import LuceneIndex
from tests.support.modelling import GERMAN, WordEncoder, ask, reasons
from tests.support.searching import add, ask_one_by_one, running

pytestmark = pytest.mark.slow


def ids(answer: SearchResponse) -> list[str]:
    return [hit.id for hit in answer.hits]


def test_hybrid_weighs_dense_search_as_set(settings: Settings, encoder: WordEncoder) -> None:
    with running(settings.replace(hybrid_dense_weight=0.25)) as runtime:
        runtime.collections.create("de", "de")
        add(runtime, "de", {"id": "0", "text": "Der Bee ist weit weg."}, {"id": "1", "text": "Eine Biene"})
        for hit in ask(runtime, "bee", method="hybrid", query_language="de", explain=True).hits:
            parts = [part for part in (hit.fusion.bm25, hit.fusion.dense) if part is not None]
            assert hit.score == pytest.approx(sum(part.weight * part.value for part in parts))
            assert hit.fusion.dense.weight == 0.25
            assert hit.fusion.dense.value == max(0.0, hit.fusion.dense.score)  # of an encoder without a floor
            assert hit.scores.dense == hit.fusion.dense.score


def test_hybrid_fuses_by_ranks_if_so_set(settings: Settings, encoder: WordEncoder) -> None:
    with running(settings.replace(hybrid_fusion="rrf", hybrid_dense_weight=0.5)) as runtime:
        runtime.collections.create("de", "de")
        add(runtime, "de", {"id": "0", "text": "Der Bee ist weit weg."}, {"id": "1", "text": "Eine Biene"})
        for hit in ask(runtime, "bee", method="hybrid", query_language="de", explain=True).hits:
            parts = [part for part in (hit.fusion.bm25, hit.fusion.dense) if part is not None]
            assert hit.score == pytest.approx(sum(0.5 / (60 + part.rank) for part in parts))


def test_hybrid_fuses_both_rankings_and_keeps_the_evidence(settings: Settings, encoder: WordEncoder) -> None:
    with running(settings) as runtime:
        runtime.collections.create("de", "de")
        texts = ["Der Bee ist weit weg.", "Eine Biene", "Der Hafen", "Asche"]
        add(runtime, "de", *({"id": f"{n}", "text": text} for n, text in enumerate(texts)))
        answer = ask(runtime, "bee", method="hybrid", query_language="de", explain=True)
        assert ids(answer)[0] == "0"
        first, second = answer.hits[:2]
        words, meaning = first.fusion.bm25, first.fusion.dense
        assert first.score == first.scores.first_stage
        assert first.score == pytest.approx(0.4 * words.value + 0.6 * meaning.value)
        assert [(one.match, one.document_term) for one in first.highlights] == [
            ("meaning", "Der Bee ist weit weg."),
            ("identical", "Bee"),
        ]
        assert sum(one.score for one in first.contributions) == pytest.approx(first.fusion.bm25.score, rel=1e-4)
        assert second.fusion.bm25 is None
        assert [(one.match, one.document_term) for one in second.highlights] == [("meaning", "Eine Biene")]
        assert answer.timings_ms.dense is not None
        assert answer.translation.terms[0].term == "bee"


def test_symbols_that_are_not_read_are_named(settings: Settings, encoder: WordEncoder) -> None:
    with running(settings) as runtime:
        runtime.collections.create("de", "de")
        add(runtime, "de", *GERMAN)
        for method in ("hybrid", "dense"):
            answer = ask(runtime, "bee " + "\N{SHIP}" * 110, method=method, query_language="de")
            assert answer.truncated == ["dense: the last 8 symbols of the query, such as '\N{SHIP}', are not read"]
            assert ask(runtime, "bee " + "\N{SHIP}" * 90, method=method, query_language="de").truncated == []


def test_hybrid_without_bm25_is_dense_and_says_so(
    settings: Settings, encoder: WordEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running(settings) as runtime:
        runtime.collections.create("de", "de")
        add(runtime, "de", *GERMAN)

        def broken(*_: object, **__: object) -> None:
            raise IndexFault(Path("folder"), "is not there")

        ask_one_by_one(monkeypatch)
        monkeypatch.setattr(LuceneIndex, "score", broken)
        answer = ask(runtime, "bee", method="hybrid")
        assert ids(answer)[0] == "b"
        assert any("ranked by dense search alone" in reason for reason in reasons(answer, "first_stage"))


def test_a_failing_encoder_leaves_hybrid_its_words(settings: Settings, encoder: WordEncoder) -> None:
    with running(settings) as runtime:
        runtime.collections.create("de", "de")
        add(runtime, "de", {"id": "1", "text": "Hafen 7"})
        answer = ask(runtime, "7 poison", method="hybrid")
        assert ids(answer) == ["1"]
        assert reasons(answer) == ["hits are ranked by BM25 alone: the encoder failed"]


def test_a_full_queue_refuses_dense_and_degrades_hybrid(settings: Settings, encoder: WordEncoder) -> None:
    with running(settings.replace(worker_queue=1)) as runtime:
        runtime.collections.create("de", "de")
        add(runtime, "de", *GERMAN, {"id": "7", "text": "7"})
        ask(runtime, "bee")
        encoder.barrier.clear()
        encoder.batches.clear()
        held = runtime.models.worker.submit(Encode(), ["x"])
        while not encoder.batches:
            time.sleep(0.01)
        runtime.models.worker.submit(Encode(), ["y"])
        with pytest.raises(TooManyRequests, match="waiting"):
            ask(runtime, "harbour")
        assert ids(ask(runtime, "7", method="hybrid")) == ["7"]
        encoder.barrier.set()
        held[0].result(10)


def test_an_index_that_fails_after_the_ranking_is_reported_once(
    settings: Settings, encoder: WordEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running(settings) as runtime:
        runtime.collections.create("de", "de")
        add(runtime, "de", *GERMAN, {"id": "r", "text": "bee", "language": "ru"}, {"id": "s", "text": "bee"})

        def broken(*_: object, **__: object) -> None:
            raise IndexFault(Path("folder"), "is closing")

        ask_one_by_one(monkeypatch)
        monkeypatch.setattr(LuceneIndex, "score_documents", broken)
        answer = ask(runtime, "bee", method="hybrid")
        assert set(ids(answer)) >= {"r", "s", "b"}
        assert reasons(answer, "first_stage") == [
            "collection 'de': some documents have no words compared: the index of a collection is damaged or closed,"
            " and is being repaired"
        ]
        with background(60), pytest.raises(IndexFault, match="is closing"):
            ask(runtime, "bee", method="hybrid")
