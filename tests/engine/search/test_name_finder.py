"""Names in queries stay whole: real searches with the shipped tagger."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from dragoman.engine.search.response import SearchResponse
from dragoman.engine.settings import Settings
from dragoman.service.runtime import Runtime
from dragoman.store.tables.service import Upload
from tests.support.modelling import ask
from tests.support.searching import add, running

pytestmark = pytest.mark.slow

TABLE = """rice\tReis\t1.0\t0.9
bush\tBusch\t1.0\t0.9
great\tgroß\t1.0\t0.9
peter\tPeter\t1.0\t0.9
peter the great\tZar Peter\t1.0\t0.9
minister\tMinister\t1.0\t0.9
of\tvon\t1.0\t0.9
japan\tJapan\t1.0\t0.9
sea of japan\tJapanisches Meer\t1.0\t0.9
sea\tSee\t1.0\t0.9
black\tschwarz\t1.0\t0.9
"""
DOCUMENTS = (
    {"id": "rice", "text": "Der Reis wächst im Wasser."},
    {"id": "name", "text": "Condoleezza Rice war Ministerin."},
    {"id": "bush", "text": "Der Busch blüht."},
    {"id": "tsar", "text": "Zar Peter baute eine Stadt."},
    {"id": "great", "text": "Der Wald ist groß."},
    {"id": "meer", "text": "Das Japanische Meer ist tief."},
    {"id": "see", "text": "Der See ist schwarz."},
)


@pytest.fixture(scope="module")
def runtime(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runtime]:
    settings = Settings.load(data_dir=tmp_path_factory.mktemp("names"), embed="on_demand", rerank="never")
    with running(settings) as opened:
        opened.collections.create("de", "de")
        opened.tables.upload(Upload("words", "en", "de", activate=True), iter([TABLE.encode()]))
        add(opened, "de", *DOCUMENTS)
        yield opened


def searched(runtime: Runtime, query: str, **options: Any) -> SearchResponse:
    return ask(runtime, query, query_language="en", **({"method": "psq", "rerank": False, "names": True} | options))


def found(answer: SearchResponse) -> set[str]:
    return {hit.id for hit in answer.hits}


def test_a_name_is_not_translated_word_by_word(runtime: Runtime) -> None:
    answer = searched(runtime, "Where was Condoleezza Rice born?")
    assert answer.translation.names == ["Condoleezza Rice"] and found(answer) == {"name"}
    shown = {term.term: [one.term for one in term.translations] for term in answer.translation.terms}
    assert shown["Rice"] == []  # no translation is shown that was not searched
    off = searched(runtime, "Where was Condoleezza Rice born?", names=False)
    assert off.translation.names == [] and found(off) == {"name", "rice"}


def test_the_word_by_itself_is_translated(runtime: Runtime) -> None:
    answer = searched(runtime, "how does rice grow")
    assert answer.translation.names == [] and "rice" in found(answer)


def test_a_name_that_a_table_has_whole_is_translated_whole(runtime: Runtime) -> None:
    answer = searched(runtime, "When did Peter the Great die?")
    assert answer.translation.names == ["Peter the Great"]
    (term,) = [one for one in answer.translation.terms if one.term == "Peter the Great"]
    assert [one.term for one in term.translations] == ["zar peter"]
    assert found(answer) == {"tsar"}


def test_the_same_word_beside_a_name_is_translated(runtime: Runtime) -> None:
    answer = searched(runtime, "What did Condoleezza Rice say about rice?")
    assert answer.translation.names == ["Condoleezza Rice"] and found(answer) == {"name", "rice"}


def test_a_place_stays_whole_only_where_a_table_has_it(runtime: Runtime) -> None:
    answer = searched(runtime, "Which ships crossed the Sea of Japan yesterday?")  # the tagger finds parts of it
    assert answer.translation.names == ["Sea of Japan"] and "meer" in found(answer)
    assert "see" not in found(answer)
    words = searched(runtime, "Where is the Black Sea?")
    assert words.translation.names == [] and "see" in found(words)


@pytest.mark.parametrize("method", ["psq", "hybrid"])
def test_names_are_looked_for_only_where_the_request_says_so(runtime: Runtime, method: str) -> None:
    query = "Where was Condoleezza Rice born?"
    answer = ask(runtime, query, query_language="en", method=method, rerank=False)
    assert answer.translation.names == [] and {"name", "rice"} <= found(answer)
    assert searched(runtime, query, method=method).translation.names == ["Condoleezza Rice"]


def test_evidence_of_a_kept_name_is_the_same_word(runtime: Runtime) -> None:
    (hit,) = searched(runtime, "Where was Condoleezza Rice born?").hits
    text = DOCUMENTS[1]["text"]
    marked = [(text[one.start : one.end], one.match) for one in hit.highlights]
    assert marked == [("Condoleezza", "identical"), ("Rice", "identical")]
