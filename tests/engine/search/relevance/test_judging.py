"""What was fitted, and what it makes of hits."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, cast, get_args

import numpy as np
import pytest

from dragoman.engine.indexing.collections import CollectionInfo
from dragoman.engine.search.ranked import CollectionRanking, RankedDocument, Retrieval, StageScore
from dragoman.engine.search.relevance.judging import Judge, load_fitted
from dragoman.engine.search.relevance.signals import MOST_WORDS, SIGNALS, QueryWords
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
        row = np.array([[signals.get(name, 0.0) for name in SIGNALS]])
        return load_fitted().judge([kind], row).label

    assert label(first=1, lead=0.3, clear=0.4, share=0.9, near=0.12, late=0.9, score=0.8, words=1.8) == "good"
    assert label(first=1, near=-0.02, late=0.3, unmatched=1.0, words=1.8) == "none"
    by_meaning = {"first": 1.0, "lead": 0.005, "root": 0.07, "clear": 0.016, "near": 0.046}
    assert label("dense", **by_meaning, odd=0.9) == "none"
    assert label("dense", **by_meaning, odd=0.0) == "weak"


@pytest.mark.parametrize("method", ["psq", "smt"])
def test_a_long_query_is_not_nothing_for_its_length(method: str) -> None:
    groups, numbers = np.array([1.0, 1.0] * 200), np.array([10.0, 0.0, *[1.0] * 200])
    ranking = SimpleNamespace(query=SimpleNamespace(groups=groups), numbers=numbers, attainable=100.0)
    words = QueryWords(cast(CollectionRanking, ranking))
    assert words.words == math.log1p(MOST_WORDS) and words.unmatched == 0
    signals = {"first": 1.0, "lead": 0.2, "root": 0.45, "clear": 0.3, "share": 0.4, "words": words.words}
    row = np.array([[signals.get(name, 0.0) for name in SIGNALS]])
    assert load_fitted().judge([method], row).label != "none"


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
    Judge(retrieval)  # where words cannot be searched, hybrid answers by meaning
