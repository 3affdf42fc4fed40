"""How far documents stand out from the others of their collection and language."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.engine.indexing.collections import CollectionInfo
from dragoman.engine.search.ranked import RankedDocument
from dragoman.engine.search.relevance.signals import LOOKED_AT, OTHERS, Competition

scores = st.lists(st.floats(0, 1), min_size=1, max_size=LOOKED_AT + 10).map(lambda drawn: sorted(drawn, reverse=True))


def collection(documents: int) -> CollectionInfo:
    return CollectionInfo(1, "c", "de", None, documents, 1, "ready", 1, ("de", "ru"), False, 1, 1, datetime.now(UTC))


def ranked(drawn: list[float], language: str = "de") -> list[tuple[RankedDocument, float]]:
    return [(RankedDocument(collection(1_000), key, language, score), score) for key, score in enumerate(drawn)]


@given(scores)
def test_one_document_at_most_is_the_first(drawn: list[float]) -> None:
    documents = ranked(drawn)
    compared = [Competition(documents, 0.0, 0.0).compare(*each) for each in documents]
    assert sum(first for first, _, _ in compared) <= 1
    assert all(first == (lead > 0) and clear >= lead for first, lead, clear in compared)


@given(scores, scores)
def test_documents_of_another_language_do_not_matter(drawn: list[float], others: list[float]) -> None:
    documents, foreign = ranked(drawn)[:10], ranked(others, "ru")[:10]
    alone = Competition(documents, 0.0, 0.0)
    together = Competition([*documents, *foreign], 0.0, 0.0)
    assert [alone.compare(*each) for each in documents] == [together.compare(*each) for each in documents]


@given(scores, st.floats(0, 1))
def test_documents_below_the_best_ones_do_not_matter(drawn: list[float], level: float) -> None:
    documents = ranked(drawn)
    best = documents[: OTHERS + 1]
    if len(best) > OTHERS:
        compared = [Competition(documents, level, 0.0).compare(*each) for each in best]
        assert compared == [Competition(best, level, 0.0).compare(*each) for each in best]


@pytest.mark.parametrize(("held", "lead", "clear"), [(1, 0.2, 0.2), (2, 0.2, 0.23), (1_000, 0.5, 0.5)])
def test_a_small_collection_has_others_of_the_usual_level(held: int, lead: float, clear: float) -> None:
    document = RankedDocument(collection(held), 1, "de", 0.5)
    compared = Competition([(document, 0.5)], 0.3, 0.0).compare(document, 0.5)
    assert compared == pytest.approx((True, lead, clear))
