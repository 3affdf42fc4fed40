"""The rerank stage of a search: the new order, its scores and evidence, and first-stage order where it fails."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from dragoman.engine.core.errors import InvalidRequest, Unavailable
from dragoman.engine.rerank.reranking import Reranking
from dragoman.engine.search.dense_stage import DenseStage
from dragoman.engine.search.first_stage import FirstStage
from dragoman.engine.search.response import SearchResponse
from dragoman.engine.settings import Settings
from dragoman.indexes.analysis.pipeline import WordAnalysis
from dragoman.ranking.about import LEAST_SHARE, HybridAbout, RerankerAbout, sigmoid
from dragoman.service.runtime import Runtime
from dragoman.service.search.schemas import SearchRequest
from dragoman.store.collections.service import Collections
from dragoman.store.tables.service import Upload
from tests.support.modelling import LinkScorer, WordEncoder, standing_in
from tests.support.searching import add
from tests.support.serving import wait_for

pytestmark = pytest.mark.slow

TABLE = b"volcano\tVulkan\t1\t1\nash\tAsche\t0.6\t0.6\nash\tEsche\t0.4\t0.4\n"
DOCUMENTS = {
    "short": "Vulkan",
    "both": "Der Vulkan speit Asche",
    "ash": "Asche und Asche und Asche auf dem Feld",
    "tree": "Die Esche im Wald",
    "ship": "Ein Schiff im Hafen",
}


@pytest.fixture
def scorer() -> LinkScorer:
    return LinkScorer()


@pytest.fixture
def runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scorer: LinkScorer) -> Iterator[Runtime]:
    import_module("dragoman.ranking.scoring")  # PyTorch alone may take longer than the two seconds below
    with standing_in(monkeypatch, WordEncoder(), None, scorer):
        yield from started(Settings.load(data_dir=tmp_path, rerank_seconds=2.0))
        scorer.barrier.set()


def started(settings: Settings) -> Iterator[Runtime]:
    opened = Runtime(settings)
    try:
        opened.start()
        opened.tables.upload(Upload("words", "en", "de", activate=True), iter([TABLE]))
        opened.collections.create("de", "de")
        lines = [json.dumps({"id": key, "text": text}).encode() + b"\n" for key, text in DOCUMENTS.items()]
        opened.collections.import_documents("de", iter(lines))
        yield opened
    finally:
        opened.close()


def ask(runtime: Runtime, query: str = "volcano ash", **more: Any) -> SearchResponse:
    given = {"rerank": {}, "query_language": "en"} | more
    return runtime.search.search(SearchRequest.model_validate({"query": query} | given).as_query(), "id")


def ids(answer: SearchResponse) -> list[str]:
    return [hit.id for hit in answer.hits]


def test_hits_are_ordered_by_model_and_first_stage_together(runtime: Runtime, scorer: LinkScorer) -> None:
    plain = ask(runtime, rerank=False)
    assert scorer.batches == []
    assert all(hit.scores.rerank is None for hit in plain.hits)
    answer = ask(runtime)
    assert ids(answer)[0] == "both"
    assert set(ids(answer)) == set(ids(plain))
    known = {hit.id: hit for hit in plain.hits}
    for hit in answer.hits:
        assert hit.scores.first_stage == known[hit.id].scores.first_stage
        assert hit.highlights == known[hit.id].highlights
        assert hit.scores.rerank is not None
        assert 0 < hit.score < hit.scores.rerank < 1
    assert [hit.score for hit in answer.hits] == sorted((hit.score for hit in answer.hits), reverse=True)
    assert [hit.rank for hit in answer.hits] == [1, 2, 3, 4]
    assert answer.degraded == []
    assert answer.timings_ms.rerank > 0


def test_a_first_stage_s_share_joins_a_document_s_score_by_itself(runtime: Runtime) -> None:
    linked = {"short": 1.0, "both": 1.6, "ash": 1.8, "tree": 0.4}
    model = {key: sum_of_t + len(DOCUMENTS[key].split()) / 1000 for key, sum_of_t in linked.items()}
    alone = {key: model[key] + linked[key] / 10 for key in linked}
    shares = {hit.id: hit.score for hit in ask(runtime, rerank=False).hits}
    answer = ask(runtime)
    assert set(ids(answer)) == set(linked)
    for hit in answer.hits:
        assert hit.scores.rerank == pytest.approx(sigmoid(alone[hit.id]), abs=1e-4)
        assert hit.score == pytest.approx(sigmoid(alone[hit.id] + math.log(shares[hit.id])), abs=1e-4)
    assert ids(answer)[0] == "both"
    dense = ask(runtime, method="dense")
    assert set(linked) <= set(ids(dense)) and ids(dense)[0] == "ash"
    assert [hit.score for hit in dense.hits] == [hit.scores.rerank for hit in dense.hits]


@pytest.mark.parametrize("hybrid", [None, HybridAbout(2.5, 0.3, 0.7)])
def test_hybrid_s_score_joins_by_what_was_fitted_to_it(
    runtime: Runtime, scorer: LinkScorer, hybrid: HybridAbout | None
) -> None:
    scorer.about = replace(scorer.about, hybrid=hybrid)
    scores = {hit.id: hit.score for hit in ask(runtime, method="hybrid", rerank=False).hits}
    hits = ask(runtime, method="hybrid").hits
    assert {hit.id for hit in hits} == set(scores)
    for hit in hits:
        alone = hit.scores.rerank
        joined = math.log(alone / (1 - alone))
        if hybrid is not None:
            joined = 0.3 * (joined + 2.5 * math.log(max(scores[hit.id], LEAST_SHARE))) - 0.7
        assert hit.score == pytest.approx(sigmoid(joined), abs=1e-4)


@pytest.mark.parametrize(("part", "fusion"), [("encoder", "convex"), ("index", "convex"), ("encoder", "rrf")])
def test_half_a_hybrid_search_joins_by_the_weight_of_the_method_that_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: str, fusion: str
) -> None:
    scorer = LinkScorer()
    scorer.about = replace(scorer.about, hybrid=HybridAbout(2.5, 0.3, 0.7), first_stage_weight=0.5)

    def broken(*_: object, **__: object) -> None:
        raise Unavailable("it is not there")

    monkeypatch.setattr(*((DenseStage, "find") if part == "encoder" else (FirstStage, "find")), broken)
    weight = 0.5 if (part, fusion) == ("encoder", "convex") else 0.0  # RRF's scores are no shares
    settings = Settings.load(data_dir=tmp_path, rerank_seconds=2.0, hybrid_fusion=fusion)
    with standing_in(monkeypatch, WordEncoder(), None, scorer):
        for runtime in started(settings):
            scores = {hit.id: hit.score for hit in ask(runtime, method="hybrid", rerank=False).hits}
            for hit in ask(runtime, method="hybrid").hits:
                alone = hit.scores.rerank
                joined = math.log(alone / (1 - alone)) + weight * math.log(max(scores[hit.id], LEAST_SHARE))
                assert hit.score == pytest.approx(sigmoid(joined), abs=1e-4)


def test_only_the_depth_is_reranked_and_the_rest_follows(runtime: Runtime, scorer: LinkScorer) -> None:
    plain = ask(runtime, rerank=False)
    answer = ask(runtime, rerank={"depth": 2})
    assert set(ids(answer)[:2]) == set(ids(plain)[:2])
    assert ids(answer)[2:] == ids(plain)[2:]
    assert [hit.scores.rerank is None for hit in answer.hits] == [False, False, True, True]
    assert [hit.score for hit in answer.hits] == sorted((hit.score for hit in answer.hits), reverse=True)
    assert sum(map(len, scorer.batches)) == 2


def test_a_depth_beyond_the_hits_asked_for_is_looked_at(runtime: Runtime, scorer: LinkScorer) -> None:
    assert ids(ask(runtime, top_k=1, rerank={"depth": 4})) == ["both"]
    assert sum(map(len, scorer.batches)) == 4


def test_the_table_chosen_is_the_one_that_reranks(runtime: Runtime) -> None:
    runtime.tables.upload(Upload("other", "en", "de", activate=True), iter([b"volcano\tSchiff\t1\t1\n"]))
    answer = ask(runtime, "volcano", tables=["other"])
    assert ids(answer) == ["ship"]
    assert answer.hits[0].scores.rerank == pytest.approx(0.75, abs=0.01)  # the link counts 1 and its share .1


def test_a_reranker_that_fails_leaves_the_first_stage(runtime: Runtime, scorer: LinkScorer) -> None:
    plain = ask(runtime, rerank=False)
    scorer.barrier.clear()
    slow = ask(runtime)
    assert ids(slow) == ids(plain)
    assert [hit.score for hit in slow.hits] == [hit.score for hit in plain.hits]
    (told,) = slow.degraded
    assert (told.stage, "first-stage order" in told.reason, "not scored in time" in told.reason) == (
        "rerank",
        True,
        True,
    )
    wait_for(lambda: "the models have been computing one batch" in ask(runtime).degraded[0].reason)
    waiting = runtime.models.worker.waiting()
    assert ids(ask(runtime)) == ids(plain)
    assert runtime.models.worker.waiting() == waiting, "it was asked in vain"
    scorer.barrier.set()
    wait_for(lambda: ask(runtime).degraded == [])


def test_a_reranker_that_gets_on_is_asked_by_each_search(
    runtime: Runtime, scorer: LinkScorer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A batch takes half as long as a search waits; there are more than it can wait for."""
    monkeypatch.setattr(runtime.settings.worker, "worker_batch_tokens", 1)
    monkeypatch.setattr(scorer, "scores", slowly(scorer.scores))
    for _ in range(4):
        assert "not scored in time" in ask(runtime).degraded[0].reason


def slowly(values: Callable[[Any], list[float]]) -> Callable[[Any], list[float]]:
    def delayed(documents: Any) -> list[float]:
        time.sleep(1.0)
        return values(documents)

    return delayed


def test_a_document_that_cannot_be_scored_follows_the_others(runtime: Runtime) -> None:
    runtime.collections.import_documents("de", iter([b'{"id": "bad", "text": "Vulkan Asche nan"}\n']))
    answer = ask(runtime)
    assert ids(answer)[-1] == "bad"
    (told,) = answer.degraded
    assert "1 of 5 hits could not be scored and follow the others: the model's score" in told.reason


def test_a_reranker_of_another_name_is_refused(runtime: Runtime) -> None:
    assert ids(ask(runtime, rerank={"model": "links"}))[0] == "both"
    with pytest.raises(InvalidRequest, match=r"rerank.model: there is no reranker named 'cross'; there is 'links'"):
        ask(runtime, rerank={"model": "cross"})


def test_a_query_that_is_too_long_is_read_in_part_and_says_so(runtime: Runtime) -> None:
    answer = ask(runtime, "volcano ash " + "word " * 150)
    assert answer.degraded == []
    assert all(hit.scores.rerank is not None for hit in answer.hits)
    assert answer.truncated == ["rerank: only the beginning of the query was read, to leave room for the documents"]


def test_memory_that_is_out_halves_the_batch(runtime: Runtime, scorer: LinkScorer) -> None:
    scorer.most = 9
    answer = ask(runtime)
    assert answer.degraded == []
    assert all(hit.scores.rerank is not None for hit in answer.hits)
    assert max(sum(batch) for batch in scorer.batches) > 9 >= min(sum(batch) for batch in scorer.batches)


@pytest.mark.parametrize(
    ("rerank", "not_for", "method", "reranked"),
    [
        ("auto", [], "psq", True),
        ("auto", [], "smt", True),
        ("auto", ["en-de"], "psq", False),
        ("auto", ["de-en"], "psq", True),
        ("auto", [], "dense", False),
        ("never", [], "psq", False),
    ],
)
def test_what_a_search_that_does_not_say_gets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rerank: Any, not_for: list[str], method: str, reranked: bool
) -> None:
    scorer = LinkScorer()
    scorer.about = RerankerAbout("links", not_for=not_for)
    with standing_in(monkeypatch, WordEncoder(), None, scorer):
        for runtime in started(Settings.load(data_dir=tmp_path, rerank=rerank, reranker="links")):
            answer = ask(runtime, rerank=None, method=method)
            assert answer.degraded == []
            assert [hit.scores.rerank is not None for hit in answer.hits] == [reranked] * len(answer.hits)
            assert answer.hits


@pytest.mark.parametrize(("seconds", "depth"), [(0.05, 2), (1e-6, 4)])
def test_without_a_rerank_field_the_depth_follows_from_the_budget_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seconds: float, depth: int
) -> None:
    monkeypatch.setattr(Reranking, "time", lambda *_: 8 * seconds)  # of eight documents, not of this busy machine
    with standing_in(monkeypatch, WordEncoder(), None, LinkScorer()):
        for runtime in started(Settings.load(data_dir=tmp_path, rerank="auto", reranker="links", rerank_budget_ms=200)):
            for _ in range(2):
                answer = ask(runtime, rerank=None, method="psq")
                expected = [True] * depth + [False] * (4 - depth)
                assert [hit.scores.rerank is not None for hit in answer.hits] == expected
                assert answer.rerank is not None and (answer.rerank.depth, answer.rerank.model) == (depth, "links")
                monkeypatch.setattr(Reranking, "time", lambda *_: 1e9)  # it is not measured again
            explicit = ask(runtime, rerank={"depth": 3}, method="psq")
            assert explicit.rerank is not None and explicit.rerank.depth == 3
            assert [hit.scores.rerank is not None for hit in explicit.hits] == [True] * 3 + [False]


def test_the_depth_is_measured_with_the_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scorer = LinkScorer()
    with standing_in(monkeypatch, WordEncoder(), None, scorer):
        for runtime in started(Settings.load(data_dir=tmp_path, rerank="auto", reranker="links", rerank_budget_ms=1e5)):
            answer = ask(runtime, rerank=None, method="psq")
            assert answer.degraded == [] and answer.rerank is not None and answer.rerank.depth == len(answer.hits)
            samples = [batch for batch in scorer.batches if len(batch) == 8]
            assert len(samples) == 3 and all(length == samples[0][0] > 50 for batch in samples for length in batch)


def test_longer_documents_count_for_several(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Reranking, "time", lambda *_: 8 * 0.05)
    with standing_in(monkeypatch, WordEncoder(), None, LinkScorer()):
        for runtime in started(Settings.load(data_dir=tmp_path, rerank="auto", reranker="links", rerank_budget_ms=200)):
            runtime.collections.create("long", "de")
            text = "Der Vulkan " + "spuckt Asche " * 100
            add(runtime, "long", *({"id": f"{place}", "text": text} for place in range(3)))
            answer = ask(runtime, rerank=None, method="psq", collections=["long"])
            assert [hit.scores.rerank is not None for hit in answer.hits] == [True, False, False]
            assert answer.rerank is not None and answer.rerank.depth == 1


def test_over_the_budget_hits_are_in_first_stage_order_and_degraded_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scorer = LinkScorer()
    monkeypatch.setattr(Reranking, "time", lambda *_: 1e-6)
    with standing_in(monkeypatch, WordEncoder(), None, scorer):
        settings = Settings.load(data_dir=tmp_path, rerank="auto", reranker="links", rerank_budget_ms=100)
        for runtime in started(settings):
            assert ask(runtime, rerank=None, method="psq").degraded == []
            scorer.barrier.clear()
            answer = ask(runtime, rerank=None, method="psq")
            scorer.barrier.set()
            assert [entry.stage for entry in answer.degraded] == ["rerank"] and answer.rerank is None
            assert ids(answer) == ids(ask(runtime, rerank=False, method="psq"))


def test_documents_in_the_querys_language_are_reranked_only_where_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with standing_in(monkeypatch, WordEncoder(), None, LinkScorer()):
        for runtime in started(Settings.load(data_dir=tmp_path, rerank="auto", reranker="links")):
            for rerank, expected in ((None, False), ({}, True)):
                answer = ask(runtime, "Vulkan", query_language="de", rerank=rerank)
                assert {hit.scores.rerank is not None for hit in answer.hits} == {expected}


def test_beside_others_hits_of_pairs_that_do_not_gain_are_reranked_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scorer = LinkScorer()
    scorer.about = RerankerAbout("links", first_stage_weight=1.0, not_for=["en-fr"])
    with standing_in(monkeypatch, WordEncoder(), None, scorer):
        for runtime in started(Settings.load(data_dir=tmp_path, rerank="auto", reranker="links")):
            runtime.tables.upload(Upload("more", "en", "fr", activate=True), iter([b"volcano\tvolcan\t1\t1\n"]))
            runtime.collections.create("fr", "fr")
            runtime.collections.import_documents("fr", iter([b'{"id": "volcan", "text": "Le volcan volcan"}\n']))
            mixed, alone = (
                ask(runtime, "volcano", rerank=None),
                ask(runtime, "volcano", rerank=None, collections=["fr"]),
            )
            assert ids(mixed)[0] == "volcan"
            assert all(hit.scores.rerank is not None for hit in mixed.hits) and len(mixed.hits) == 3
            assert [hit.scores.rerank for hit in alone.hits] == [None]


def test_searches_that_wait_are_limited(runtime: Runtime, scorer: LinkScorer, monkeypatch: pytest.MonkeyPatch) -> None:
    ask(runtime)
    monkeypatch.setattr(runtime.settings.search, "rerank_seconds", 30.0)  # none gives up before the last one has come
    scorer.barrier.clear()
    answers: list[SearchResponse] = []
    waiting = [Thread(target=lambda: answers.append(ask(runtime))) for _ in range(70)]
    for thread in waiting:
        thread.start()
    until = time.monotonic() + 20
    while len(answers) < 6 and time.monotonic() < until:
        time.sleep(0.01)
    scorer.barrier.set()
    for thread in waiting:
        thread.join()
    reasons = [answer.degraded[0].reason for answer in answers if answer.degraded]
    assert len(reasons) == 6 and all("64 searches are waiting for the models" in reason for reason in reasons)
    assert len(answers) == 70


@pytest.mark.parametrize("method", ["psq", "hybrid"])
def test_documents_are_read_once_and_every_text_is_analysed_once(
    runtime: Runtime, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    runtime.collections.create("other", "de")
    ask(runtime, method=method)
    new = "Ein Vulkan und viel Asche"  # the words of others are known from the search before
    add(runtime, "de", {"id": "new", "text": new})
    read: list[list[int]] = []
    analysed: list[tuple[str, str]] = []
    by_keys, tokens = Collections.by_keys, WordAnalysis.tokens

    def counted_keys(self: Collections, keys: list[int]) -> Any:
        read.append(list(keys))
        return by_keys(self, keys)

    def counted_tokens(self: WordAnalysis, text: str) -> Any:
        analysed.append((self.language, text))
        return tokens(self, text)

    monkeypatch.setattr(Collections, "by_keys", counted_keys)
    monkeypatch.setattr(WordAnalysis, "tokens", counted_tokens)
    monkeypatch.setattr(Collections, "all", lambda self: pytest.fail("all collections are listed"))
    answer = ask(runtime, method=method, collections=["de"], gloss=True)
    assert all(hit.scores.rerank is not None for hit in answer.hits) and len(answer.hits) >= 3
    assert len(read) == 1 and len(set(read[0])) == len(read[0])
    texts = [one for one in analysed if len(one[1].split()) > 1]  # of single words are the tables' entries
    assert ("en", "volcano ash") in texts and ("de", new) in texts
    assert len(set(texts)) == len(texts)
