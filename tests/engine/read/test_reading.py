"""Documents that are read: what a hit of a search shows, over the whole document."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import astuple
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as examples
from hypothesis import strategies as st

from dragoman.deadline import deadline
from dragoman.engine.core import stages
from dragoman.engine.core.errors import NotFound
from dragoman.engine.indexing.stored_text import BEGINNING
from dragoman.engine.read.request import ReadQuery
from dragoman.engine.read.response import ReadResponse
from dragoman.engine.search.request import SearchQuery
from dragoman.engine.settings import Settings
from dragoman.service.runtime import Runtime
from dragoman.store.tables.service import Upload
from tests.support.modelling import WordEncoder, ask
from tests.support.searching import add, running

pytestmark = pytest.mark.slow

TABLE = """volcano\tVulkan\t0.9\t0.8
crater\tVulkan\t0.1\t0.2
ash\tAsche\t0.7\t0.6
rowan\tEsche\t1.0\t0.9
harbour\tHafen\t1.0\t0.9
ship\tSchiff\t0.8\t0.7
the\tder\t1.0\t1.0
"""
WORDS = ["Vulkan", "Vulkane", "Asche", "Esche", "Hafen", "Schiffe", "der", "und", "Tesla", "1997", "Unbekanntes", "🌋"]
SEPARATORS = [" ", ". ", "\n\n", "-", " „", "! "]
TEXTS = st.lists(st.tuples(st.sampled_from(WORDS), st.sampled_from(SEPARATORS)), min_size=1, max_size=60).map(
    lambda pairs: "".join(map("".join, pairs))
)
QUERIES = st.lists(
    st.sampled_from(["volcano", "ash", "harbour", "ships", "Tesla", "1997", "the"]), min_size=1, max_size=5
)


@pytest.fixture(scope="module")
def runtime(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runtime]:
    chosen = Settings.from_defaults(
        data_dir=tmp_path_factory.mktemp("read"), embed="on_demand", rerank="never", answer_bytes=4 * 2**20
    )
    with running(chosen) as opened:
        opened.collections.create("de", "de")
        opened.tables.upload(Upload("words", "en", "de", activate=True), iter([TABLE.encode()]))
        opened.tables.upload(Upload("words", "en", "de"), iter([b"fire\tVulkan\n"]))
        yield opened


def read(runtime: Runtime, query: str | None = None, id: str = "1", **more: Any) -> ReadResponse:
    asked = {"collection": "de", "reader_language": "en", "query_language": "en" if query else None}
    return runtime.reading.read(ReadQuery(id=id, query=query, **(asked | more)), "x")


@given(title=st.none() | TEXTS, text=TEXTS, query=QUERIES)
@examples(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_all_that_a_hit_shows_is_there_at_the_same_places(
    runtime: Runtime, title: str | None, text: str, query: list[str]
) -> None:
    text = f"7 {text}"
    add(runtime, "de", {"id": "1", "title": title, "text": text})
    answer = read(runtime, " ".join(["7", *query]))
    (hit,) = runtime.search.search(
        SearchQuery(query=" ".join(["7", *query]), query_language="en", method="psq", rerank=False, gloss=True), "x"
    ).hits
    fields = {"title": title or "", "text": text}
    listed = {astuple(highlight) for highlight in answer.highlights}
    assert listed >= {astuple(highlight) for highlight in hit.highlights}
    if len(text) <= len(hit.snippet):
        assert answer.highlights == hit.highlights
    assert all(
        fields[highlight.field][highlight.start : highlight.end] == highlight.document_term
        for highlight in answer.highlights
    )
    glosses = [
        (gloss.field, gloss.start, gloss.end, [translation.term for translation in gloss.translations])
        for gloss in answer.gloss
    ]
    assert hit.gloss is not None
    assert {str(gloss) for gloss in glosses} >= {str(astuple(gloss)) for gloss in hit.gloss}
    check_probabilities(runtime, answer, fields)
    check_sentences(answer, fields)
    assert (answer.degraded, answer.truncated) == ([], [])


def check_probabilities(runtime: Runtime, answer: ReadResponse, fields: dict[str, str]) -> None:
    for gloss in answer.gloss:
        word = fields[gloss.field][gloss.start : gloss.end]
        entries = runtime.tables.look_up("words", word, 1, inverse=True).entries
        probabilities = {entry.term: entry.p_forward for entry in entries}
        for translation in gloss.translations:
            assert (translation.table, translation.version) == ("words", 1)
            assert translation.probability == pytest.approx(probabilities[translation.term], abs=1e-6)


def check_sentences(answer: ReadResponse, fields: dict[str, str]) -> None:
    places = [("title", "text").index(sentence.field) * 2**40 + sentence.start for sentence in answer.sentences]
    assert places == sorted(set(places))
    for name, text in fields.items():
        rest = list(text)
        for sentence in answer.sentences:
            if sentence.field == name:
                assert text[sentence.start : sentence.end].strip() == text[sentence.start : sentence.end] != ""
                assert None not in rest[sentence.start : sentence.end]
                rest[sentence.start : sentence.end] = [None] * (sentence.end - sentence.start)  # type: ignore[list-item]
        assert "".join(filter(None, rest)).strip() == ""


@pytest.mark.parametrize("separator", [" ", "\n"])
def test_a_long_document_is_read_to_its_end(runtime: Runtime, separator: str) -> None:
    """Its parts join without a gap: every repetition has what the first one has."""
    sentence = f"Der Vulkan warf Asche über Häfen und Schiffe, 1997 am Rand{separator}"
    times = 3 * BEGINNING // len(sentence)
    add(runtime, "de", {"id": "long", "title": "Asche", "text": sentence * times})
    answer = read(runtime, "volcano ash 1997", id="long")
    assert len(answer.document.text) == len(sentence) * times
    for listed in (answer.highlights, answer.gloss):
        places = [(place.start, place.end) for place in listed if place.field == "text"]
        first = [place for place in places if place[1] <= len(sentence)]
        assert len(first) >= 3
        assert places == [
            (start + shift, end + shift)
            for shift in range(0, len(sentence) * times, len(sentence))
            for start, end in first
        ]
    assert answer.truncated == []


def test_what_there_is_no_time_or_room_for_is_told(runtime: Runtime, monkeypatch: pytest.MonkeyPatch) -> None:
    sentence = "Der Vulkan warf Asche über den Hafen. "
    add(runtime, "de", {"id": "long", "text": sentence * 15_000})
    answer = read(runtime, "volcano ash", id="long")
    assert [message.split(":")[0] for message in answer.truncated] == ["sentences", "highlights", "gloss"]
    ends = [int(message.split("character ")[1].split()[0]) for message in answer.truncated]
    for listed, end in zip((answer.sentences, answer.highlights, answer.gloss), ends, strict=True):
        assert listed
        assert max(place.start for place in listed) < end
    monkeypatch.setattr(stages, "_SHARE", 0.0)
    with deadline(60):
        hurried = read(runtime, "volcano ash", id="long")
    assert hurried.document == answer.document
    assert [(note.stage, note.reason) for note in hurried.degraded] == [
        ("sentences", "there are none: it took too long"),
        ("read", "highlights and gloss end at about the title: it took too long"),
    ]


def test_tables_are_chosen_by_version_and_those_that_are_not_there_are_told(runtime: Runtime) -> None:
    add(runtime, "de", {"id": "1", "text": "Der Vulkan, das Haus."})
    answer = read(runtime, "fire", tables=["words@2"])
    (highlight,), (gloss,) = answer.highlights, answer.gloss
    assert (highlight.document_term, highlight.table, highlight.version) == ("Vulkan", "words", 2)
    assert [(word.term, word.version) for word in gloss.translations] == [("fire", 2)]
    french = read(runtime, reader_language="fr")
    assert [(note.stage, note.reason) for note in french.degraded] == [
        ("gloss", "no table in use translates de to fr: words have no gloss")
    ]
    assert (french.gloss, french.highlights, len(french.sentences)) == ([], [], 1)
    german = read(runtime, reader_language="de")
    assert (german.gloss, german.degraded) == ([], [])
    for more, message in (
        ({"id": "2"}, "there is no document with id '2' in collection 'de'"),
        ({"collection": "fr"}, "there is no collection named 'fr'"),
        ({"tables": ["words@3"]}, r"tables\[0\]: there is no version 3"),
    ):
        with pytest.raises(NotFound, match=message):
            read(runtime, **more)


def test_what_is_near_in_meaning_is_marked_as_in_a_hybrid_hit(settings: Settings, encoder: WordEncoder) -> None:
    with running(settings) as runtime:
        runtime.collections.create("de", "de")
        text = "Ein langer Satz ohne Belang. Eine Biene summt im Garten. Der Hafen liegt still."
        add(runtime, "de", {"id": "0", "text": text, "metadata": {"year": 2024}}, {"id": "1", "text": "Asche"})
        hits = ask(runtime, "bee", method="hybrid", query_language="de").hits
        (hit,) = (hit for hit in hits if hit.id == "0")
        assert any(highlight.match == "meaning" for highlight in hit.highlights)
        answer = read(runtime, "bee", id="0", query_language="de", reader_language="de")
        assert answer.highlights == hit.highlights
        assert answer.degraded == []
        add(runtime, "de", {"id": "0", "text": text.replace("Biene", "Fliege")})
        assert read(runtime, id="0").document.text != text
