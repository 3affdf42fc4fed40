"""Search across two languages that only tables with a third language join."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations, product

import pytest

from dragoman.engine.core.errors import Unavailable
from dragoman.engine.core.priority import background
from dragoman.engine.read.request import ReadQuery
from dragoman.engine.search.request import SearchQuery
from dragoman.engine.search.response import SearchResponse
from dragoman.engine.settings import Settings
from dragoman.engine.tables.snapshot import Snapshot, Unserved
from dragoman.service.runtime import Runtime
from dragoman.store.tables.service import Upload
from tests.support.searching import add, running

pytestmark = pytest.mark.slow


@pytest.fixture
def runtime(settings: Settings) -> Iterator[Runtime]:
    with running(settings) as opened:
        opened.collections.create("ru", "ru")
        texts = {"volcano": "Вулкан дымится", "house": "Старый дом", "bank": "Новый банк"}
        add(opened, "ru", *({"id": id, "text": text} for id, text in texts.items()))
        yield opened


def put(runtime: Runtime, name: str, source: str, target: str, content: str, kind: str = "statistical") -> None:
    upload = Upload(name, source, target, kind=kind, activate=True)  # type: ignore[arg-type]
    runtime.tables.upload(upload, iter([content.encode()]))


def search(runtime: Runtime, query: str, **more: object) -> SearchResponse:
    return runtime.search.search(SearchQuery(query=query, query_language="de", explain=True, **more), "x")  # type: ignore[arg-type]


def test_a_query_goes_by_way_of_english(runtime: Runtime) -> None:
    put(runtime, "german", "en", "de", "volcano\tVulkan\nhouse\tHaus\n")
    assert search(runtime, "Haus").degraded[0].reason.startswith("no table in use translates de to ru")
    put(runtime, "russian", "en", "ru", "volcano\tвулкан\nhouse\tдом\n")
    answer = search(runtime, "Haus")
    assert answer.degraded == []
    assert [hit.id for hit in answer.hits] == ["house"]
    (highlight,) = answer.hits[0].highlights
    assert (highlight.match, highlight.document_term, highlight.query_term) == ("table", "дом", "Haus")
    assert (highlight.table, highlight.version) == ("russian", 1)
    assert [(one.name, one.version) for one in answer.translation.tables] == [("german", 1), ("russian", 1)]
    assert [(one.term, one.language) for one in answer.translation.terms[0].translations] == [("дом", "ru")]
    assert sum(one.score for one in answer.hits[0].contributions) == pytest.approx(
        answer.hits[0].scores.first_stage, rel=1e-4
    )
    assert search(runtime, "Haus Zwiebel").translation.oov == {"ru": ["Zwiebel"]}
    assert [hit.id for hit in search(runtime, "Haus", method="smt").hits] == ["house"]


def test_glosses_go_the_same_way(runtime: Runtime) -> None:
    put(runtime, "german", "en", "de", "volcano\tVulkan\nhouse\tHaus\n")
    unglossed = search(runtime, "Вулкан", gloss=True)
    assert [hit.gloss for hit in unglossed.hits] == [[]]
    assert ("gloss", "no table in use translates ru to de: words have no gloss") in [
        (one.stage, one.reason) for one in unglossed.degraded
    ]
    put(runtime, "russian", "en", "ru", "volcano\tвулкан\nhouse\tдом\n")
    answer = search(runtime, "Haus", gloss=True)
    assert answer.hits[0].gloss is not None
    assert [one.translations for one in answer.hits[0].gloss] == [["Haus"]]
    read = runtime.reading.read(ReadQuery(collection="ru", id="volcano", reader_language="de"), "x")
    (gloss,) = read.gloss
    (translation,) = gloss.translations
    assert (translation.term, translation.probability, translation.table, translation.version) == (
        "Vulkan",
        1,
        "german",
        1,
    )
    assert [(table.name, table.version) for table in translation.by_way_of] == [("russian", 1)]
    assert read.degraded == []


def test_tables_of_the_pair_come_first_and_others_between_are_an_alternative(runtime: Runtime) -> None:
    put(runtime, "german", "en", "de", "house\tHaus\n")
    put(runtime, "russian", "en", "ru", "house\tдом\n")
    put(runtime, "french", "de", "fr", "Haus\tbanque\n")
    put(runtime, "franco-russian", "fr", "ru", "banque\tбанк\n")
    assert [hit.id for hit in search(runtime, "Haus").hits] == ["house"]
    chosen = search(runtime, "Haus", tables=["french", "franco-russian"])
    assert [hit.id for hit in chosen.hits] == ["bank"]
    put(runtime, "direct", "de", "ru", "Haus\tвулкан\n")
    answer = search(runtime, "Haus")
    assert [hit.id for hit in answer.hits] == ["volcano"]
    assert [one.name for one in answer.translation.tables] == ["direct"]


def test_a_small_table_of_the_pair_leaves_other_words_to_the_others(runtime: Runtime) -> None:
    put(runtime, "german", "en", "de", "house\tHaus\nvolcano\tVulkan\n")
    put(runtime, "russian", "en", "ru", "house\tдом\nvolcano\tвулкан\n")
    put(runtime, "ours", "de", "ru", "Haus\tбанк\nneue Bank\tновый банк\n", kind="glossary")
    assert [hit.id for hit in search(runtime, "Haus").hits] == ["bank"]
    answer = search(runtime, "Vulkan Haus")
    assert {hit.id for hit in answer.hits} == {"bank", "volcano"}
    tables = {one.document_term: one.table for hit in answer.hits for one in hit.highlights}
    assert tables == {"Вулкан": "russian", "банк": "ours"}
    assert [one.name for one in answer.translation.tables] == ["german", "ours", "russian"]
    assert [one.term for one in search(runtime, "neue Bank").translation.terms] == ["neue Bank"]


def test_a_table_on_the_way_that_cannot_be_served_is_reported_and_no_other_way_taken(runtime: Runtime) -> None:
    put(runtime, "german", "en", "de", "house\tHaus\n")
    put(runtime, "russian", "en", "ru", "house\tдом\n")
    put(runtime, "french", "de", "fr", "Haus\tbanque\n")
    put(runtime, "franco-russian", "fr", "ru", "banque\tбанк\n")
    whole = runtime.tables.registry.snapshot
    lost = Unserved(whole.views["en", "ru"].members, "the disk is full")
    views = {pair: view for pair, view in whole.views.items() if set(pair) != {"en", "ru"}}
    ill = Snapshot(whole.versions, views, {("en", "ru"): lost})
    request = SearchQuery(query="Haus", query_language="de")
    answer = runtime.search.search(request, "x", snapshot=ill)
    assert answer.hits == []
    assert [one.stage for one in answer.degraded] == ["translate"]
    assert "the disk is full" in answer.degraded[0].reason
    with background(60), pytest.raises(Unavailable, match="the disk is full"):
        runtime.search.search(request, "x", snapshot=ill)
    put(runtime, "direct", "de", "ru", "Vulkan\tвулкан\n")
    backed = runtime.tables.registry.snapshot
    views |= {pair: backed.views[pair] for pair in (("de", "ru"), ("ru", "de"))}
    ill = Snapshot(backed.versions, views, {("en", "ru"): lost})
    answer = runtime.search.search(SearchQuery(query="Vulkan Haus", query_language="de"), "x", snapshot=ill)
    assert [hit.id for hit in answer.hits] == ["volcano"]
    assert "the disk is full" in answer.degraded[0].reason
    for snapshot, (source, target) in product((whole, ill, backed), permutations(("de", "en", "fr", "ru", "sw"), 2)):
        assert snapshot.translates(source, target) == (snapshot.view(source, target) is not None)


def test_a_short_query_is_read_in_a_language_that_two_tables_translate(runtime: Runtime) -> None:
    put(runtime, "german", "en", "de", "house\tHaus\n")
    put(runtime, "russian", "en", "ru", "house\tдом\n")
    answer = runtime.search.search(SearchQuery(query="Haus", query_language="fr"), "x")
    assert answer.hits == []
    assert [one.query_language for one in answer.suggestions] == ["de"]


def test_the_next_search_sees_a_new_version_of_either_table(runtime: Runtime) -> None:
    put(runtime, "german", "en", "de", "house\tHaus\nbank\tUfer\n")
    put(runtime, "russian", "en", "ru", "house\tдом\nbank\tбанк\n")
    assert [hit.id for hit in search(runtime, "Haus").hits] == ["house"]
    put(runtime, "german", "en", "de", "bank\tHaus\n")
    assert [hit.id for hit in search(runtime, "Haus").hits] == ["bank"]
    put(runtime, "russian", "en", "ru", "bank\tвулкан\n")
    assert [hit.id for hit in search(runtime, "Haus").hits] == ["volcano"]


def test_a_glossary_decides_what_the_word_between_is(runtime: Runtime) -> None:
    put(runtime, "german", "en", "de", "house\tHaus\n")
    put(runtime, "russian", "en", "ru", "house\tдом\nvolcano\tвулкан\n")
    put(runtime, "ours", "de", "en", "Haus\tvolcano\n", kind="glossary")
    answer = search(runtime, "Haus")
    assert [hit.id for hit in answer.hits] == ["volcano"]
    assert {one.name for one in answer.translation.tables} == {"german", "ours", "russian"}
