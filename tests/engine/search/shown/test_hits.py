from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from dragoman.deadline import DeadlinePassed, deadline
from dragoman.engine.core import stages
from dragoman.engine.core.priority import background
from dragoman.engine.query.analysed_text import AnalysedText
from dragoman.engine.search.ranked import Retrieval
from dragoman.engine.search.request import SearchQuery, SnippetOptions
from dragoman.engine.search.room import Room
from dragoman.engine.search.shown.hits import add_hits
from tests.engine.search.shown.test_evidence import Counted, collection_ranking_of, document_of

TEXT = "Über dem Tal lag Asche. " * 100


ONE = SnippetOptions()


def retrieval(hits: int, snippets: SnippetOptions = ONE) -> Retrieval:
    analysis = Counted("de")
    request = SearchQuery(query="Asche", explain=True, snippets=snippets)
    unused: Any = None
    search = Retrieval(request, AnalysedText("Asche", "de", lambda language: analysis), unused, [], Room(4 * 1024**2))
    for _ in range(hits):
        document = document_of(analysis, TEXT)
        collection: Any = SimpleNamespace(name="news", key=1)
        document.collection = collection
        document.collection_ranking = ranking = replace(collection_ranking_of("Asche", analysis), collection=collection)
        search.documents.append(document)
        search.collection_rankings.append(ranking)
    return search


def test_hits_for_which_there_is_no_time_are_told_and_have_no_evidence(monkeypatch: pytest.MonkeyPatch) -> None:
    search = retrieval(3)
    monkeypatch.setattr(stages, "_SHARE", 0.0)
    with deadline(1_000):
        add_hits(search)
    assert [one.hit.rank for one in search.documents] == [1, 2, 3]
    assert all(TEXT.startswith(one.hit.snippet) and not one.hit.highlights for one in search.documents)
    (degraded,) = search.degraded
    assert degraded.stage == "highlights" and degraded.reason.startswith("hits from rank 1 on have no evidence")


def test_hits_of_background_work_have_their_evidence_or_none_is_made() -> None:
    search = retrieval(2)
    with background(1.0), deadline(0), pytest.raises(DeadlinePassed):
        add_hits(search)
    add_hits(search)
    assert all(one.hit.highlights for one in search.documents) and not search.degraded


def test_contributions_without_room_are_not_made_for_the_hits_after(monkeypatch: pytest.MonkeyPatch) -> None:
    search = retrieval(4)
    words: list[int] = []
    real = Room.all_or_none

    def counted(room: Room, kind: str, rank: int, items: Any, size: Any) -> Any:
        words.append(len(items))
        return real(room, kind, rank, items, lambda one: 10_000_000)

    monkeypatch.setattr(Room, "all_or_none", counted)
    add_hits(search)
    assert words == [1, 0, 0, 0]
    assert any(message.startswith("contributions: cut short in 4 hits") for message in search.room.messages())
