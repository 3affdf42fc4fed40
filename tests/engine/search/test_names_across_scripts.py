"""Names in Latin letters in documents of other scripts: found whole, shown whole, and told from other words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from dragoman.engine.search.request import SearchQuery
from dragoman.engine.search.response import SearchResponse
from dragoman.engine.settings import Settings
from dragoman.service.runtime import Runtime
from dragoman.store.tables.changes import Upload
from tests.support.searching import add, running

pytestmark = pytest.mark.slow

DOCUMENTS = {
    "ja": ["漫画家手塚治虫の歴史は長い。", "手塚さんの家", "日本の歴史", "ビル・クリントン大統領", "大阪の町"],
    "zh": ["张无忌是小说人物", "張無忌練成神功", "张先生很忙", "美国总统奥巴马"],
    "ko": ["박근혜 대통령이 왔다", "새로운 대통령"],
    "ru": ["Сеяха — село на Ямале", "новый процесс начался", "Хиллари Клинтон приехала"],
    "he": ["בנימין נתניהו ראש הממשלה", "ראש העיר"],
    "hi": ["बिल क्लिंटन आए", "नदी का पानी"],
}


@pytest.fixture(scope="module")
def runtime(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runtime]:
    settings = Settings.load(data_dir=tmp_path_factory.mktemp("names"), ner_tagger="off", embed="on_demand")
    with running(settings) as started:
        for language, texts in DOCUMENTS.items():
            started.collections.create(language, language, shards=1)
            add(started, language, *({"id": str(place), "text": text} for place, text in enumerate(texts)))
        started.collections.create("parts", "ja", shards=2)
        add(started, "parts", *({"id": str(place), "text": text} for place, text in enumerate(DOCUMENTS["ja"])))
        yield started


def search(runtime: Runtime, query: str, collection: str, **options: Any) -> SearchResponse:
    asked = SearchQuery(query=query, query_language="en", collections=[collection], method="psq", **options)
    return runtime.search.search(asked, "id")


def marks(answer: SearchResponse) -> list[tuple[str, str, str, str]]:
    return [(hit.id, mark.query_term, mark.document_term, mark.match) for hit in answer.hits for mark in hit.highlights]


@pytest.mark.parametrize("query", ["history of Osamu Tezuka", "history of Tezuka Osamu"])
def test_a_name_in_latin_letters_finds_its_kanji(runtime: Runtime, query: str) -> None:
    name = query.removeprefix("history of ")
    assert marks(search(runtime, query, "ja")) == [("0", name, "手塚治虫", "sound"), ("1", name, "手塚", "sound")]


def test_an_index_in_parts_answers_alike(runtime: Runtime) -> None:
    for query in ("history of Osamu Tezuka", "Bill Clinton in Osaka", "Osamu"):
        whole, parts = search(runtime, query, "ja"), search(runtime, query, "parts")
        assert [(hit.id, hit.score) for hit in whole.hits] == [(hit.id, hit.score) for hit in parts.hits]
        assert marks(whole) == marks(parts)


@pytest.mark.parametrize(
    ("language", "query", "expected"),
    [
        ("ja", "Bill Clinton", [("3", "Bill", "ビル"), ("3", "Clinton", "クリントン")]),
        ("ja", "flights to Osaka", [("4", "Osaka", "大阪")]),
        ("zh", "Zhang Wuji", [("0", "Zhang Wuji", "张无忌"), ("1", "Zhang Wuji", "張無忌")]),
        ("zh", "speech of Obama", [("3", "Obama", "奥巴马")]),
        ("ko", "Park Geun-hye", [("0", "Park Geun-hye", "박근혜")]),
        ("ru", "Hillary Clinton", [("2", "Hillary", "Хиллари"), ("2", "Clinton", "Клинтон")]),
        ("he", "Benjamin Netanyahu", [("0", "Benjamin", "בנימין"), ("0", "Netanyahu", "נתניהו")]),
        ("hi", "Bill Clinton", [("0", "Bill", "बिल"), ("0", "Clinton", "क्लिंटन")]),
    ],
)
def test_names_are_found_by_their_sound(
    runtime: Runtime, language: str, query: str, expected: list[tuple[str, str, str]]
) -> None:
    assert marks(search(runtime, query, language)) == [(*mark, "sound") for mark in expected]


@pytest.mark.parametrize("query", ["Osaka", "the process of law", "press"])
def test_what_only_sounds_a_little_alike_is_no_match(runtime: Runtime, query: str) -> None:
    assert not [mark for mark in marks(search(runtime, query, "ru")) if mark[2] != "процесс"]
    assert not search(runtime, "press", "ru").hits


def test_the_translation_of_a_name_in_a_table_comes_first(runtime: Runtime) -> None:
    runtime.tables.upload(Upload("names", "en", "ja", activate=True), iter(["Tezuka\t日本\nOsamu\t日本\n".encode()]))
    try:
        answer = search(runtime, "Osamu Tezuka", "ja")
        assert {mark[1:] for mark in marks(answer)} == {("Osamu", "日本", "table"), ("Tezuka", "日本", "table")}
    finally:
        runtime.tables.deactivate("names")
