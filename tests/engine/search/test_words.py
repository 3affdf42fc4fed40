"""Words that a search has to find, from upload to hit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from dragoman.engine.search.request import SearchQuery
from dragoman.engine.search.response import SearchResponse
from dragoman.engine.settings import Settings
from dragoman.service.runtime import Runtime
from dragoman.store.tables.service import Upload
from tests.support.searching import add, running

pytestmark = pytest.mark.slow


@pytest.fixture
def runtime(settings: Settings) -> Iterator[Runtime]:
    with running(settings) as opened:
        yield opened


def fill(runtime: Runtime, language: str, **texts: str) -> None:
    runtime.collections.create("c", language)
    add(runtime, "c", *({"id": id, "text": text} for id, text in texts.items()))


def put(runtime: Runtime, source: str, target: str, content: str) -> None:
    runtime.tables.upload(Upload("words", source, target, activate=True), iter([content.encode()]))


def search(runtime: Runtime, query: str, language: str | None = "en") -> SearchResponse:
    request = SearchQuery(query=query, query_language=language, method="psq", rerank=False)
    return runtime.search.search(request, "id")


def found(runtime: Runtime, query: str, language: str | None = "en") -> list[str]:
    return sorted(hit.id for hit in search(runtime, query, language).hits)


@pytest.mark.parametrize(("documents", "table"), [("no", "nb"), ("nb", "no")])
def test_norwegian_is_one_language_under_both_codes(runtime: Runtime, documents: str, table: str) -> None:
    fill(runtime, documents, one="Boken i biblioteket", two="Toget")
    put(runtime, "en", table, "book\tbok\ntrain\ttog\n")
    assert found(runtime, "books") == ["one"]
    assert found(runtime, "toget", table) == found(runtime, "toget", documents) == ["two"]
    assert search(runtime, "boken i biblioteket og toget", None).query.language == "nb"


def test_elided_words_are_not_found(runtime: Runtime) -> None:
    fill(runtime, "it", gold="gioielli d'oro", letter="vitamina D", oil="l'olio d'oliva")
    put(runtime, "en", "it", "vitamin\tvitamina\nolive oil\tolio d'oliva\n")
    assert found(runtime, "vitamin D") == ["letter"]
    assert found(runtime, "olive oil") == ["oil"]


@pytest.mark.parametrize(("documents", "table"), [("圖書館", "图书馆"), ("图书馆", "圖書館")])
def test_traditional_and_simplified_chinese_find_each_other(runtime: Runtime, documents: str, table: str) -> None:
    fill(runtime, "zh", one=f"我在{documents}學習", two="他在家")
    put(runtime, "en", "zh", f"library\t{table}\n")
    answer = search(runtime, "library")
    assert [hit.id for hit in answer.hits] == ["one"]
    (highlight,) = answer.hits[0].highlights
    assert answer.hits[0].snippet[highlight.start : highlight.end] == documents or highlight.document_term == documents
    assert found(runtime, table, "zh") == ["one"]


def test_a_term_that_a_search_matches_is_found(runtime: Runtime) -> None:
    put(runtime, "en", "de", "beekeeper\tImker\nkeeps\thält\nkeep\thalten\nheart attack\tHerzinfarkt\n")
    found = runtime.tables.look_up("words", "Beekeepers")
    assert (found.folded, found.language, found.matched) == ("beekeepers", "en", ["beekeeper"])
    assert [(entry.term, entry.p_forward) for entry in found.entries] == [("Imker", 1.0)]
    both = runtime.tables.look_up("words", "keeping")
    assert sorted(both.matched) == ["keep", "keeps"]
    assert [(entry.term, entry.p_forward) for entry in both.entries] == [("hält", 0.5), ("halten", 0.5)]
    assert [entry.term for entry in runtime.tables.look_up("words", "heart attacks").entries] == ["Herzinfarkt"]
    assert runtime.tables.look_up("words", "Imkern").matched == ["Imker"]
    assert runtime.tables.look_up("words", "Imkern", inverse=False).matched == []
    assert runtime.tables.look_up("words", "the").entries == []


def suggested(runtime: Runtime, query: str, language: str | None, method: str = "psq", **options: Any) -> list[str]:
    request = SearchQuery(query=query, query_language=language, method=method, rerank=False, **options)
    answer = runtime.search.search(request, "id")
    for one in answer.suggestions:
        again = replace(request, query_language=one.query_language)
        assert runtime.search.search(again, "id").hits
    return [one.query_language for one in answer.suggestions]


def test_another_reading_of_a_word_that_is_not_found_is_suggested(runtime: Runtime) -> None:
    fill(runtime, "de", one="Der Vulkan am Meer", two="Das Haus am See")
    put(runtime, "en", "de", "volcano\tVulkan\nhouse\tHaus\nword\tWort\n")
    assert suggested(runtime, "volcano", "de") == ["en"]
    assert suggested(runtime, "volcano", None) in ([], ["en"])  # found, or taken as another language
    assert suggested(runtime, "volcano", "de", tables=["words"]) == ["en"]
    (one,) = runtime.search.search(SearchQuery(query="volcano", query_language="de", rerank=False), "id").suggestions
    assert "German" in one.reason and "English" in one.reason


def test_no_reading_is_suggested_that_finds_nothing_or_that_nobody_misses(runtime: Runtime) -> None:
    fill(runtime, "de", one="Der Vulkan am Meer")
    put(runtime, "en", "de", "volcano\tVulkan\nword\tWort\n")
    assert suggested(runtime, "word", "de") == []  # translated, but in no document
    assert suggested(runtime, "xyzzy", "de") == []
    assert suggested(runtime, "Vulkan", "de") == []  # found as it is
    assert suggested(runtime, "volcano", "de", method="none") == []
    assert suggested(runtime, "one two three volcano", "de") == []


def test_short_inflected_words_are_found(runtime: Runtime) -> None:
    fill(runtime, "it", train="I treni sono in ritardo", bee="Le api fanno il miele", door="le porte")
    put(runtime, "en", "it", "train\ttreno\nbee\tape\ndoor\tporta\n")
    assert [found(runtime, word) for word in ("train", "bee", "door")] == [["train"], ["bee"], ["door"]]
    assert found(runtime, "treno", "it") == ["train"]
