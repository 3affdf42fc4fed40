"""What was fitted, and what it makes of hits."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, cast, get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.engine.indexing.collections import CollectionInfo
from dragoman.engine.search.ranked import CollectionRanking, RankedDocument, Retrieval, StageScore
from dragoman.engine.search.relevance.judging import Judge, Verdict, bound, load_fitted
from dragoman.engine.search.relevance.signals import LENGTHS, MOST_WORDS, SIGNALS, SUBWORDS_OF_TERM, QueryWords
from dragoman.engine.search.request import Method, SearchQuery
from dragoman.engine.tables.snapshot import Snapshot

KINDS = [*get_args(Method), "hybrid late"]


@pytest.mark.parametrize("kind", [*KINDS, *(f"{kind} rerank" for kind in KINDS)])
def test_every_kind_of_hit_was_fitted(kind: str) -> None:
    shipped = load_fitted()
    signals = np.zeros((2, len(SIGNALS)))
    signals[0, SIGNALS.index("first")] = 1
    assert all(0 < each < 1 for each in shipped.relevances([kind, kind], signals))
    assert shipped.judge([kind, kind], signals).label in ("good", "weak", "none")
    assert np.isfinite(shipped.levels[kind])


def test_what_stands_out_is_good_and_what_has_nothing_of_the_query_is_nothing() -> None:
    def label(kind: str = "hybrid late", **signals: float) -> str:
        signals = {"long": math.log(25), "root": math.sqrt(signals.get("lead", 0.0))} | signals
        row = np.array([[signals.get(name, 0.0) for name in SIGNALS]])
        return load_fitted().judge([kind], row).label

    assert label(first=1, lead=0.3, clear=0.4, share=0.9, near=0.12, late=0.9, score=0.8, words=1.8, rare=1) == "good"
    assert label(first=1, near=-0.02, late=0.3, unmatched=1.0, words=1.8) == "none"
    by_meaning = {"first": 1.0, "lead": 0.005, "clear": 0.016, "near": 0.046}
    assert label("dense", **by_meaning, odd=0.9) == "none"
    assert label("dense", **by_meaning, odd=0.0) == "weak"


def test_without_translation_words_that_no_document_has_make_the_first_hit_less_relevant() -> None:
    signals = {"first": 1.0, "lead": 0.1, "root": 0.3, "clear": 0.2, "share": 0.3, "words": 1.8, "long": math.log(25)}
    rows = [[(signals | {"unmatched": lost}).get(name, 0.0) for name in SIGNALS] for lost in (0.0, 0.4, 0.8)]
    few, some, most = load_fitted().relevances(["none"] * 3, np.array(rows))
    assert few > some > most


@pytest.mark.parametrize("method", ["psq", "smt"])
def test_a_long_query_is_not_nothing_for_its_length(method: str) -> None:
    groups, numbers = np.array([1.0, 1.0] * 200), np.array([10.0, 0.0, *[1.0] * 200])
    ranking = SimpleNamespace(query=SimpleNamespace(groups=groups), numbers=numbers, attainable=100.0)
    words = QueryWords(cast(CollectionRanking, ranking))
    assert words.words == math.log1p(MOST_WORDS) and words.unmatched == 0
    signals = {"first": 1.0, "lead": 0.2, "root": 0.45, "clear": 0.3, "share": 0.4}
    signals |= {"words": words.words, "long": words.long}
    row = np.array([[signals.get(name, 0.0) for name in SIGNALS]])
    assert load_fitted().judge([method], row).label != "none"


@pytest.mark.parametrize(
    ("query", "found"),
    [
        *(("\N{SHIP}", "none"), ("?! ...", "none"), ("\u2764\ufe0f", "none")),
        *(("x", "weak"), ("7", "weak"), ("\N{THAI CHARACTER KO KAI}", "weak"), ("\N{SHIP} a", "weak")),
        *(("船", "good"), ("배", "good"), ("x7", "good"), ("tax \N{SHIP}", "good"), ("घी", "good"), ("ดี", "good")),
    ],
)
def test_nothing_is_good_about_a_query_without_words(query: str, found: str) -> None:
    label, factor = bound(Verdict("good", 1.0), query, matched=False)
    assert label == found and (factor < load_fitted().weak) == (found != "good")
    assert bound(Verdict("none", 0.01), query, matched=False) == ("none", 0.01)
    assert bound(Verdict("good", 1.0), query, matched=True) == ("good", 1.0)  # as C++ and § 5 may have


def test_the_rarest_word_that_documents_have_is_looked_for() -> None:
    groups = np.array([1.0, 1.0, 1.0, 2.0, 1.0, 1.0])  # three words, the second of two terms
    ranking = SimpleNamespace(
        query=SimpleNamespace(groups=groups), numbers=np.array([10, 250, 9, 1, 2, 0]), attainable=9.0
    )
    words = QueryWords(cast(CollectionRanking, ranking))
    assert words.long == math.log(25) and words.unmatched == pytest.approx(1 / 3)
    for linked, has in ((None, False), ([True, False, False], False), ([False, True, False], True)):
        document = SimpleNamespace(linked=None if linked is None else np.array(linked))
        assert words.has_rarest(cast(RankedDocument, document)) == has


@given(st.integers(0, 10**9), st.integers(1, 10**6))
def test_how_long_documents_are_is_within_what_was_fitted(terms: int, documents: int) -> None:
    ranking = SimpleNamespace(
        query=SimpleNamespace(groups=np.array([1.0, 1.0])), numbers=np.array([documents, terms, 0]), attainable=0.0
    )
    long = QueryWords(cast(CollectionRanking, ranking)).long
    assert math.log(LENGTHS[0]) <= long <= math.log(LENGTHS[1])


def test_hits_by_meaning_that_late_interaction_ordered_are_judged_too() -> None:
    collection = CollectionInfo(
        key=1, name="de", language="de", description=None, documents=2, generation=1, index_state="ready",
        index_generation=1, languages=("de",), entities=False, shards=1,
        index_shards=1, created_at=datetime.now(UTC),
    )  # fmt: skip
    retrieval = Retrieval(
        request=SearchQuery(query="x"), query=cast(Any, None), snapshot=Snapshot(), collections=[collection],
        room=cast(Any, None), ranked_by="dense",
    )  # fmt: skip
    for key, score in enumerate((0.9, 0.4)):
        late = StageScore(score=score, share=score)
        retrieval.documents.append(RankedDocument(collection, key, "de", score, late=late, dense=late))
    # where words cannot be searched, hybrid answers by meaning
    signals, _ = Judge(retrieval).judge(retrieval.documents)
    long = SIGNALS.index("long")
    assert math.log(LENGTHS[0]) < signals[0, long] < math.log(LENGTHS[1])  # not known: between the two
    retrieval.mean_subwords[1] = 40 * SUBWORDS_OF_TERM
    signals, _ = Judge(retrieval).judge(retrieval.documents)
    assert signals[:, long] == pytest.approx(math.log(40))
