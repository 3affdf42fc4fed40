from __future__ import annotations

import unicodedata
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.engine.indexing.feed import indexed_text
from dragoman.engine.indexing.stored_text import BEGINNING, StoredText
from dragoman.engine.query.analysed_text import AnalysedText
from dragoman.engine.query.translation import Translated
from dragoman.engine.search.ranked import CollectionRanking, RankedDocument
from dragoman.engine.search.request import SNIPPET_LENGTH
from dragoman.engine.search.shown.evidence import Evidence, Shown
from dragoman.engine.search.shown.places import Work
from dragoman.engine.search.shown.snippets import Matcher, best_window, inside
from dragoman.indexes.dense.index import DenseHit
from dragoman.indexes.explanation import Statistics, rarity
from dragoman.lexicon.query import monolingual
from dragoman.lexicon.text.passages import sentences
from dragoman.lexicon.text.tokens import PlainAnalysis, Token
from tests.engine.search.shown.test_snippets import GLUE, WORDS

NEVER = {"de": "nirgendwo", "fr": "nullepart", "el": "πουθενα", "ru": "нигде", "ar": "لامكان", "hi": "कहींनहीं"}


@dataclass(frozen=True, slots=True)
class KeptText(StoredText):
    """A document whose text is kept in memory."""

    kept: str = ""

    def part(self, start: int, end: int) -> str:
        return self.kept[start:end]


@dataclass
class Counted:
    """An analysis that counts the characters that it is given."""

    language: str
    characters: int = 0
    plain: PlainAnalysis = field(init=False)

    def __post_init__(self) -> None:
        self.plain = PlainAnalysis(self.language)

    @property
    def fingerprint(self) -> str:
        return self.plain.fingerprint

    def tokens(self, text: str) -> list[Token]:
        self.characters += len(text)
        return self.plain.tokens(text)


def document_of(analysis: Counted, text: str, title: str | None = None) -> RankedDocument:
    nothing: Any = None
    stored = KeptText(1, "d", analysis.language, title, 1, text[:BEGINNING], len(text) <= BEGINNING, nothing, kept=text)
    document = RankedDocument(nothing, 1, analysis.language)
    document.stored = stored
    document.whole = AnalysedText(indexed_text(title, stored.text), analysis.language, lambda language: analysis)
    return document


def collection_ranking_of(query: str, analysis: Counted) -> CollectionRanking:
    nothing: Any = None
    tokens = analysis.plain.tokens(query)
    translated = Translated(analysis.language, monolingual(tokens), None, False)
    frequencies = dict.fromkeys((token.term for token in tokens), 1)
    return CollectionRanking(
        nothing, translated, nothing, 1.0, Statistics(10, 1_000, frequencies), np.zeros(2, np.int64), 0
    )


def shown_of(query: str, document: RankedDocument, analysis: Counted, work: Work | None = None) -> Shown:
    return Evidence(query, collection_ranking_of(query, analysis), work or Work()).of(document, explained=False)


def filler(language: str, length: int) -> str:
    sentence = " ".join([*WORDS[language].split()[:3], ". "])
    return sentence * (length // len(sentence) + 1)


@st.composite
def varied_texts(draw: st.DrawFn) -> tuple[str, str, int]:
    """A language, a text of it, and how much is to stand before it in a document."""
    language = draw(st.sampled_from(sorted(WORDS)))
    pieces = draw(st.lists(st.tuples(st.sampled_from(WORDS[language].split()), GLUE), min_size=1, max_size=60))
    varied = "".join(word + glue for word, glue in pieces)
    form = draw(st.sampled_from(["NFC", "NFD", None]))
    varied = unicodedata.normalize(form, varied) if form else varied
    return language, varied, draw(st.integers(0, 30_000))


def long_text(language: str, varied: str, before: int) -> str:
    return filler(language, before) + varied + filler(language, BEGINNING + 1)


@settings(max_examples=15, deadline=None)
@given(varied_texts(), st.data())
def test_evidence_of_a_long_text_is_that_of_its_words(varied: tuple[str, str, int], data: st.DataObject) -> None:
    language, text = varied[0], long_text(*varied)
    analysis = Counted(language)
    words = {(token.start, token.end): token.term for token in analysis.plain.tokens(text)}
    asked = data.draw(st.lists(st.sampled_from(sorted(set(words.values()) - {""})), min_size=1, max_size=4))
    document = document_of(analysis, text, title=asked[0])
    shown = shown_of(" ".join(asked), document, analysis)

    assert (
        shown.snippet == text[shown.start : shown.start + len(shown.snippet)] and len(shown.snippet) <= SNIPPET_LENGTH
    )
    in_text = [one for one in shown.highlights if one.field == "text"]
    assert in_text
    terms = {token.term for token in analysis.plain.tokens(" ".join(asked))}
    for one in in_text:
        assert shown.start <= one.start and one.end <= shown.start + len(shown.snippet)
        assert text[one.start : one.end] == one.document_term
        assert words[one.start, one.end] in terms
    assert shown.limits


@settings(max_examples=15, deadline=None)
@given(varied_texts(), st.data())
def test_a_text_up_to_the_limit_has_the_evidence_of_all_of_it(
    varied: tuple[str, str, int], data: st.DataObject
) -> None:
    language, text = varied[0], long_text(*varied)
    start = data.draw(st.integers(0, len(text) - 1))
    text = text[start : start + BEGINNING]
    analysis = Counted(language)
    tokens = analysis.plain.tokens(text)
    words = sorted({token.term for token in tokens} - {""}) or ["a"]
    query = " ".join(data.draw(st.lists(st.sampled_from(words), min_size=1, max_size=4)))
    shown = shown_of(query, document_of(analysis, text), analysis)

    part = collection_ranking_of(query, analysis)
    groups = part.translated.query.groups
    matches = Matcher(part.translated.query, "term").matches(tokens)
    importance = [group.weight * rarity(group, part.statistics, False) for group in groups]
    window = best_window(text, tokens, matches, importance)
    assert (shown.snippet, shown.start) == (text[window.start : window.end], window.start)
    assert [(one.start, one.end) for one in shown.highlights] == [
        (one.start, one.end) for one in inside(matches, window)
    ]
    assert not shown.limits


@pytest.mark.parametrize("language", sorted(NEVER))
@pytest.mark.parametrize("place", [0.0, 0.5, 1.0])
def test_the_match_is_shown_wherever_it_is_and_costs_the_same(language: str, place: float) -> None:
    costs = []
    for length in (100_000, 1_000_000):
        analysis, text = Counted(language), filler(language, length)
        at = text.find(" ", int(place * (len(text) - 200)))
        text = f"{text[:at]}. {NEVER[language]} {text[at:]}"
        shown = shown_of(NEVER[language], document_of(analysis, text), analysis)
        assert NEVER[language] in shown.snippet
        assert [text[one.start : one.end] for one in shown.highlights] == [NEVER[language]]
        costs.append(analysis.characters)
    assert max(costs) <= 4 * SNIPPET_LENGTH and abs(costs[0] - costs[1]) <= SNIPPET_LENGTH


def test_words_that_stand_together_are_preferred_to_one_that_is_everywhere() -> None:
    analysis = Counted("de")
    text = filler("de", 300_000) + "Nirgendwo sonst ist die Größe so klein. " + filler("de", 300_000)
    shown = shown_of("Größe nirgendwo klein", document_of(analysis, text), analysis)
    assert {"Nirgendwo", "Größe", "klein"} <= {one.document_term for one in shown.highlights}


@pytest.mark.parametrize("place", [0.1, 0.5, 1.0])
def test_a_rare_word_is_found_far_from_the_first_of_a_frequent_one(place: float) -> None:
    analysis, often = Counted("de"), "Das Tal ist breit, und der Fluss fließt langsam hindurch. "
    before = int(place * 5_000)
    text = often * before + "Nirgendwo ist Asche. " + often * (5_000 - before)
    shown = shown_of("Tal nirgendwo", document_of(analysis, text), analysis)
    assert {"Nirgendwo", "Tal"} == {one.document_term for one in shown.highlights}


def test_a_decomposed_text_has_its_places() -> None:
    analysis = Counted("vi")
    text = unicodedata.normalize("NFD", filler("vi", 50_000) + "Ở đây có trường học . ") + filler("vi", 50_000)
    shown = shown_of("học", document_of(analysis, text), analysis)
    assert [unicodedata.normalize("NFC", one.document_term) for one in shown.highlights] == ["học"]


def test_a_sentence_of_dense_search_needs_no_scan() -> None:
    analysis = Counted("de")
    text = filler("de", 200_000) + "Ein Satz über Äpfel steht hier. " + filler("de", 200_000)
    start = text.index("Ein Satz")
    sentence = (start, start + len("Ein Satz über Äpfel steht hier."))
    assert sentence in sentences(text)
    document = document_of(analysis, text)
    document.passage = DenseHit(1, 0.9, 1, *sentence, sentence)
    work = Work()
    shown = shown_of("Äpfel", document, analysis, work)
    assert text[slice(*sentence)] in shown.snippet and shown.start <= start
    assert "Äpfel" in {one.document_term for one in shown.highlights}
    assert work.scanned == Work().scanned and analysis.characters <= 4 * SNIPPET_LENGTH


def test_many_documents_together_have_a_limit_of_their_own() -> None:
    analysis, text = Counted("de"), filler("de", 15_000) + "nirgendwo"
    work = Work(analysed=100_000, scanned=60_000)
    shown = [shown_of("nirgendwo", document_of(analysis, text), analysis, work) for _ in range(40)]
    assert analysis.characters <= 100_000 + 40 * 2_000
    assert all("nirgendwo" in one.snippet for one in shown[:9])
    assert not shown[0].limits and "none after character" in shown[-1].limits[0]


def test_what_a_replaced_document_has_lost_is_not_shown() -> None:
    analysis, text = Counted("de"), filler("de", 30_000)
    document = document_of(analysis, text)
    sentence = (25_000, 25_040)
    document.passage = DenseHit(1, 0.9, 1, *sentence, sentence)
    nothing: Any = None
    document.stored = KeptText(1, "d", "de", None, 1, text[:BEGINNING], False, nothing, kept="")
    shown = shown_of("Größe", document, analysis)
    assert text.startswith(shown.snippet) and not shown.highlights
