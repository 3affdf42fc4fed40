"""Words that neither a table nor a document has, taken for what is spelt nearly so: shown, and of no other words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from dragoman.engine.query import spelling
from dragoman.engine.query.spelling import Spellings
from dragoman.engine.search.request import SearchQuery
from dragoman.engine.search.response import SearchResponse
from dragoman.engine.settings import Settings
from dragoman.indexes.analysis.pipeline import analysis
from dragoman.service.runtime import Runtime
from dragoman.store.tables.changes import Upload
from tests.support.searching import add, running

pytestmark = pytest.mark.slow

TABLE = """volcano\tVulkan\t0.9\t0.8
volcanic\tvulkanisch
ashes\tAsche
which\twelche
blorch\tSache
eruption\tAusbruch\t0.9\t0.8
planet\tPlanet
"""
DOCUMENTS = [
    {"id": "v", "text": "Der Vulkan raucht."},
    {"id": "a", "text": "Die Asche fiel auf Snorch."},
    {"id": "w", "text": "Welche Sache?"},
    {"id": "e", "text": "Ein Ausbruch."},
]


@pytest.fixture(scope="module", params=[1, 2], ids=["one part", "two parts"])
def runtime(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runtime]:
    settings = Settings.load(data_dir=tmp_path_factory.mktemp("data"), ner_tagger="off")
    with running(settings) as started:
        started.collections.create("de", "de", shards=request.param)
        add(started, "de", *DOCUMENTS)
        started.tables.upload(Upload("en_de", "en", "de", activate=True), iter([TABLE.encode()]))
        started.tables.upload(Upload("fr_de", "fr", "de", activate=True), iter([b"volcane\tSache\n"]))
        yield started


def search(runtime: Runtime, query: str, **options: Any) -> SearchResponse:
    asked = SearchQuery(query=query, query_language="en", collections=["de"], **{"method": "psq", **options})
    return runtime.search.search(asked, "id")


def matches(answer: SearchResponse) -> list[tuple[str, str, str, str, str | None, int | None]]:
    return [
        (hit.id, one.match, one.query_term, one.document_term, one.table, one.version)
        for hit in answer.hits
        for one in hit.highlights
    ]


def test_another_spelling_finds_documents_and_says_so(runtime: Runtime) -> None:
    answer = search(runtime, "erupion")
    assert matches(answer) == [("e", "spelling", "erupion", "Ausbruch", "en_de", 1)]
    (term,) = answer.translation.terms
    assert term.term == "erupion"
    assert [(one.term, one.spelling) for one in term.translations] == [("ausbruch", "eruption")]
    assert answer.translation.oov == {"de": ["erupion"]}
    assert sorted(match[1:3] for match in matches(search(runtime, "blorhc volcano erupion"))) == [
        ("spelling", "blorhc"),
        ("spelling", "erupion"),
        ("table", "volcano"),
    ]


def test_another_spelling_comes_before_sound(runtime: Runtime) -> None:
    assert matches(search(runtime, "volcanno")) == [("v", "spelling", "volcanno", "Vulkan", "en_de", 1)]
    assert matches(search(runtime, "wulcano")) == [("v", "sound", "wulcano", "Vulkan", None, None)]


@pytest.mark.parametrize("word", ["policy", "banker", "seconde"])
def test_frequent_words_are_no_misspellings(runtime: Runtime, word: str) -> None:
    assert spelling.is_word(word, [])
    view = runtime.search.snapshot.view("en", "de")
    assert view is not None
    assert Spellings("en", "de", runtime.search.snapshot, analysis)(word, view) is None


def test_what_is_right_stays_as_it_is(runtime: Runtime, monkeypatch: pytest.MonkeyPatch) -> None:
    queries = ["volcano", "volcanoes", "Snorch", "which ashes", "volcano 20200"]
    answers = [search(runtime, query) for query in queries]
    with monkeypatch.context() as patch:
        patch.setattr(Spellings, "__call__", lambda *_: None)
        assert [search(runtime, query).hits for query in queries] == [answer.hits for answer in answers]
    assert all(match[1] in ("table", "identical") for answer in answers for match in matches(answer))
    assert matches(answers[2]) == [("a", "identical", "Snorch", "Snorch", None, None)]


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ("volcane", "another language has it"),
        ("whicj", "it would be a function word"),
        ("volcaxyz", "nothing is that near"),
        ("wolcano", "it begins otherwise"),
        ("asch", "it is short"),
        ("planed", "a searched document in another language has it"),
        ("the Erupion began", "it is a name"),
    ],
)
def test_some_words_are_not_spelt_otherwise(runtime: Runtime, query: str, why: str) -> None:
    assert all(match[1] != "spelling" for match in matches(search(runtime, query))), why


def test_other_methods_do_not_spell(runtime: Runtime) -> None:
    assert search(runtime, "erupion", method="smt").hits == search(runtime, "erupion", method="none").hits == []


def test_only_the_first_words_are_looked_up(runtime: Runtime, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spelling, "MOST_WORDS", 1)
    spellings = Spellings("en", "de", runtime.search.snapshot, analysis)
    view = runtime.search.snapshot.view("en", "de")
    assert view is not None
    assert spellings("volcanno", view) == spellings("volcanno", view) == ("volcano", "volcano", 0.5)
    assert spellings("plannet", view) is None
    assert spellings.truncated == [
        "query: only the first 1 of 2 words that neither a table nor a document in de has were spelt otherwise"
    ]
