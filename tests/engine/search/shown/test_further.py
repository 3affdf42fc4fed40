"""Several snippets of one document, and snippets of another length."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.engine.core.answer import fields_of
from dragoman.engine.indexing.stored_text import BEGINNING
from dragoman.engine.search.ranked import RankedDocument, Retrieval
from dragoman.engine.search.request import SnippetOptions
from dragoman.engine.search.room import Room, longest_snippets
from dragoman.engine.search.shown.evidence import Evidence, Shown, of_sentence
from dragoman.engine.search.shown.hits import add_hits
from dragoman.engine.search.shown.places import Work
from dragoman.indexes.dense.index import DenseHit
from dragoman.lexicon.text.passages import sentences
from tests.engine.search.shown.test_evidence import (
    Counted,
    collection_ranking_of,
    document_of,
    filler,
    long_text,
    varied_texts,
)
from tests.engine.search.shown.test_hits import retrieval
from tests.engine.search.shown.test_snippets import WORDS

OPTIONS = st.builds(SnippetOptions, st.integers(1, 5), st.sampled_from([50, 120, 400, 2_000]) | st.integers(50, 2_000))


def shown_by(query: str, document: RankedDocument, analysis: Counted, options: SnippetOptions | None) -> Shown:
    ranking = collection_ranking_of(query, analysis)
    return Evidence(query, ranking, Work(), snippets=options).of(document, explained=False)


def check_snippets(shown: Shown, text: str, options: SnippetOptions) -> None:
    ranges = [(snippet.start, snippet.start + len(snippet.text)) for snippet in shown.snippets]
    assert len(ranges) <= options.count
    for snippet, (start, end) in zip(shown.snippets, ranges, strict=True):
        assert text[start:end] == snippet.text and len(snippet.text) <= options.length
    in_order = sorted(ranges)
    assert all(end <= start for (_, end), (start, _) in pairwise(in_order))
    marked = [(one.start, one.end) for one in shown.highlights if one.field == "text"]
    assert marked == sorted(marked)
    holders = [sum(low <= start and end <= high for low, high in ranges) for start, end in marked]
    assert set(holders) <= {1}
    for low, high in ranges[1:]:
        assert any(low <= start and end <= high for start, end in marked)


@settings(max_examples=40, deadline=None)
@given(varied_texts(), OPTIONS, st.booleans(), st.booleans(), st.data())
def test_snippets_are_parts_of_the_text_that_do_not_overlap_and_have_matches(
    varied: tuple[str, str, int], options: SnippetOptions, whole: bool, meant: bool, data: st.DataObject
) -> None:
    language, text = varied[0], long_text(*varied)
    if whole:
        start = data.draw(st.integers(0, len(text) - 1))
        text = text[start : start + data.draw(st.integers(1, BEGINNING))]
    analysis = Counted(language)
    words = sorted({token.term for token in analysis.plain.tokens(text)} - {""}) or ["a"]
    query = " ".join(data.draw(st.lists(st.sampled_from(words), min_size=1, max_size=4)))
    document = document_of(analysis, text, title=data.draw(st.sampled_from([None, words[0]])))
    if meant and (spans := sentences(text)):
        sentence = data.draw(st.sampled_from(spans))
        document.passage = DenseHit(1, 0.9, 1, *sentence, sentence)
    shown = shown_by(query, document, analysis, options)
    check_snippets(shown, text, options)
    if whole:
        first = shown_by(query, document, analysis, SnippetOptions(1, options.length))
        assert first.snippets == shown.snippets[:1]
    if document.passage is not None:
        low, high = document.passage.sentence
        start, end = shown.start, shown.start + len(shown.snippet)
        assert (start <= low and high <= end) if high - low <= options.length else (low <= start and end <= high)
        alone = of_sentence(document, document.passage.sentence, options.length)
        check_snippets(alone, text, options)


@settings(max_examples=20, deadline=None)
@given(st.permutations(["eins", "zwei", "drei", "vier"]), st.integers(1, 5), st.integers(700, 60_000))
def test_each_further_snippet_shows_what_the_earlier_ones_lack(words: list[str], count: int, apart: int) -> None:
    analysis = Counted("de")
    text = filler("de", apart) + "".join(f"Hier steht {word} allein. {filler('de', apart)}" for word in words)
    shown = shown_by("eins zwei drei vier", document_of(analysis, text), analysis, SnippetOptions(count, 100))
    check_snippets(shown, text, SnippetOptions(count, 100))
    assert {one.document_term for one in shown.highlights} <= set(words)
    assert len(shown.highlights) == len(shown.snippets) == min(count, 4)
    everything = shown_by("eins", document_of(analysis, text), analysis, SnippetOptions(5, 100))
    assert len(everything.snippets) == 1


@pytest.mark.parametrize("language", ["de", "ar"])
def test_the_default_is_one_snippet_of_400_characters(language: str) -> None:
    analysis = Counted(language)
    for length in (300, 5_000, 50_000):
        text, query = filler(language, length), WORDS[language].split()[0]
        asked = [
            shown_by(query, document_of(analysis, text), analysis, options)
            for options in (None, SnippetOptions(), SnippetOptions(1, 400))
        ]
        assert asked[0] == asked[1] == asked[2]


def hits_of(options: SnippetOptions, hits: int, room: Room) -> Retrieval:
    search = retrieval(hits, snippets=options)
    search.room = room
    add_hits(search)
    return search


def test_a_hit_lists_its_snippets_only_where_there_may_be_several() -> None:
    for count in (1, 3):
        (document,) = hits_of(SnippetOptions(count, 60), 1, Room(4 * 1024**2)).documents
        hit: dict[str, Any] = fields_of(document.hit)
        assert ("snippets" in hit) == (count > 1)
        if count > 1:
            assert hit["snippets"][0] == {"text": hit["snippet"], "start": hit["snippet_start"]}
            assert len(hit["snippets"]) == 3


def test_snippets_without_room_are_left_out_with_their_highlights_and_named() -> None:
    search = hits_of(SnippetOptions(5, 60), 3, Room(3 * 3_000 + 900))
    lists = [document.hit.snippets for document in search.documents]
    assert [len(snippets) for snippets in lists] == sorted((len(snippets) for snippets in lists), reverse=True)
    assert len(lists[0]) == 5 and not lists[-1]
    for document in search.documents:
        ranges = [(part.start, part.start + len(part.text)) for part in document.hit.snippets]
        ranges = ranges or [(document.hit.snippet_start, document.hit.snippet_start + len(document.hit.snippet))]
        for one in document.hit.highlights:
            assert any(low <= one.start and one.end <= high for low, high in ranges)
    assert any(message.startswith("snippets: cut short in") for message in search.room.messages())


def test_the_first_snippets_of_all_hits_have_room_or_are_refused() -> None:
    assert longest_snippets(16 * 1024**2, 1_000) >= 2_000
    assert longest_snippets(4 * 1024**2, 1_000) < 2_000
    assert longest_snippets(1_000, 1_000) == 400
