from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.engine.query.analysed_text import RecentWords
from dragoman.engine.search.shown.snippets import Match, Matcher, Window, best_window, inside, sentence_window
from dragoman.lexicon.query import IDENTICAL, Alternative, TermGroup, TranslatedQuery
from dragoman.lexicon.text.passages import sentences
from dragoman.lexicon.text.tokens import PlainAnalysis, Token, fold

WORDS = {
    "de": "Größe Straße Bundesregierung über Äpfel Haus Klimawandel",
    "fr": "l’été élève château naïveté cœur",
    "el": "ήλιος θάλασσα ΆΝΘΡΩΠΟΣ ενέργεια",
    "ru": "ёлка солнечный энергия йод МОСКВА",
    "ar": "الطَّاقَة الشمسيّة كتاب مدرسة أحمد",
    "hi": "सौर ऊर्जा विद्यालय हिन्दी प्रधानमंत्री",
    "th": "พลังงานแสงอาทิตย์ โรงเรียน ภาษาไทย",
    "zh": "太阳能 发电 中华人民共和国 学校",
    "ja": "太陽光 発電 カタカナ がっこう ﾊﾝｶｸ",
    "vi": "năng lượng mặt trời trường học",
    "tr": "İstanbul güneş IŞIK öğrenci",
    "ko": "태양광 발전 학교",
    "he": "שָׁלוֹם שמש בית",
}
GLUE = st.sampled_from([" ", "  ", "\n", ". ", "。", ", ", "! ", " 🙂 ", "\u00ad", "\u200d", " — ", "؟ ", "।"])


@st.composite
def language_texts(draw: st.DrawFn) -> tuple[str, str]:
    language = draw(st.sampled_from(sorted(WORDS)))
    words = WORDS[language].split()
    pieces = draw(st.lists(st.tuples(st.sampled_from(words), GLUE), max_size=120))
    text = "".join(word + glue for word, glue in pieces)
    form = draw(st.sampled_from(["NFC", "NFD", None]))
    return language, unicodedata.normalize(form, text) if form else text


def query_of(*groups: tuple[str, dict[str, float]]) -> TranslatedQuery:
    return TranslatedQuery(
        "psq",
        [
            TermGroup(word, word, 0, len(word), [Alternative(t, p, 0) for t, p in found.items()])
            for word, found in groups
        ],
    )


def plain_matches(query: TranslatedQuery, tokens: list[Token]) -> set[tuple[int, int, int, float, int]]:
    return {
        (token.start, token.end, number, alternative.weight, alternative.origin)
        for token in tokens
        for number, group in enumerate(query.groups)
        for alternative in group.alternatives
        if token.term and token.term == alternative.term
    }


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(language_texts(), st.data())
def test_evidence_in_any_script_lies_where_it_says(language_text: tuple[str, str], data: st.DataObject) -> None:
    language, text = language_text
    tokens = PlainAnalysis(language).tokens(text)
    terms = sorted({token.term for token in tokens} - {""})
    groups = data.draw(
        st.lists(st.dictionaries(st.sampled_from([*terms, "absent"]), st.floats(0.01, 1.0), max_size=4), max_size=4)
    )
    query = query_of(*((f"q{number}", group) for number, group in enumerate(groups)))
    length = data.draw(st.integers(20, 450))

    matches = Matcher(query, "term").matches(tokens)
    assert {(m.start, m.end, m.group, m.probability, m.origin) for m in matches} == plain_matches(query, tokens)
    kept = RecentWords()
    kept.tokens(text, PlainAnalysis(language))
    places = Matcher(query, "term").places_among(kept.places(text, PlainAnalysis(language)))
    assert Matcher(query, "term").matches(tokens, places=places) == matches
    window = best_window(text, tokens, matches, [1.0] * len(groups), length)
    assert 0 <= window.start <= window.end <= len(text)
    assert window.end - window.start <= length
    shown = inside(matches, window)
    if any(match.end - match.start <= length for match in matches):
        assert shown
    for match in shown:
        surface = text[match.start : match.end]
        assert surface in text[window.start : window.end]
        alternatives = {a.term: a.weight for a in query.groups[match.group].alternatives}
        assert alternatives[fold(surface, language)] == match.probability


def test_a_match_longer_than_the_snippet_does_not_hide_one_that_fits() -> None:
    text = "Donaudampfschifffahrtsgesellschaft und der Hafen von Wien"
    tokens = PlainAnalysis("de").tokens(text)
    long, _, _, harbour, *_ = [token.term for token in tokens]
    matches = Matcher(query_of(("q", {long: 1.0, harbour: 0.5})), "term").matches(tokens)
    window = best_window(text, tokens, matches, [1.0], 20)
    assert "Hafen" in text[window.start : window.end]


@settings(max_examples=200, deadline=None)
@given(language_texts(), st.integers(20, 200))
def test_a_snippet_never_cuts_a_word_that_fits(language_text: tuple[str, str], length: int) -> None:
    language, text = language_text
    tokens = PlainAnalysis(language).tokens(text)
    matches = Matcher(query_of(("q", {t.term: 0.5 for t in tokens[-1:]})), "term").matches(tokens)
    window = best_window(text, tokens, matches, [1.0], length)
    for token in tokens:
        if token.end - token.start <= length:
            assert not token.start < window.start < token.end
            assert not token.start < window.end < token.end


@settings(max_examples=200, deadline=None)
@given(language_texts(), st.integers(20, 200), st.data())
def test_a_snippet_around_a_sentence_has_all_of_it(
    language_text: tuple[str, str], length: int, data: st.DataObject
) -> None:
    language, text = language_text
    spans = [*sentences(text, length), (0, 0)]
    chosen = data.draw(st.sampled_from(spans))
    tokens = PlainAnalysis(language).tokens(text)
    terms = data.draw(st.lists(st.sampled_from([*(t.term for t in tokens), "absent"]), max_size=3))
    matches = Matcher(query_of(*((term, {term: 0.5}) for term in set(terms))), "term").matches(tokens)
    for window in (
        best_window(text, tokens, matches, [1.0] * 3, length, Window(*chosen)),
        sentence_window(text, chosen, length),
    ):
        assert 0 <= window.start <= chosen[0] <= chosen[1] <= window.end <= len(text)
        assert window.end - window.start <= length


def test_a_snippet_around_a_sentence_that_is_a_part_of_a_word_has_it() -> None:
    text = "\u0627\u0644\u0637\u0651\u064e\u0627\u0642\u064e\u0629 " + "\u0627\u0644\u0637\u0627\u0642\u0629\u00ad" * 3
    window = best_window(text, PlainAnalysis("ar").tokens(text), [], [], 20, Window(20, 28))
    assert window.start <= 20 and 28 <= window.end <= window.start + 20


def test_a_snippet_around_a_sentence_has_the_matches_near_it() -> None:
    filler = "und noch ein Satz ohne Belang. " * 30
    text = f"{filler}Das Haus der Sonne. Der Hafen. {filler}Die Sonne. {filler}"
    tokens = PlainAnalysis("de").tokens(text)
    matches = Matcher(query_of(("house", {"haus": 0.9}), ("sun", {"sonne": 0.9})), "term").matches(tokens)
    start = text.index("Der Hafen.")
    window = best_window(text, tokens, matches, [1.0, 1.0], 60, Window(start, start + 10))
    assert "Das Haus der Sonne. Der Hafen." in text[window.start : window.end]


def test_a_sentence_is_shown_with_its_neighbours() -> None:
    text = "Eins ist da. Zwei ist da. Drei ist da. Vier ist da."
    assert sentence_window(text, (13, 25)) == Window(0, len(text))
    assert sentence_window(text, (13, 25), 30) == Window(13, 38)
    assert sentence_window(text, (39, 51), 30) == Window(26, 51)
    assert sentence_window(text, (0, 0), 30) == Window(0, 25)


def test_a_short_text_is_shown_whole() -> None:
    assert best_window("Ein Haus.", PlainAnalysis("de").tokens("Ein Haus."), [], [1.0]) == Window(0, 9)


def test_a_long_text_without_matches_is_shown_from_its_beginning() -> None:
    text = "Erster Satz. " * 60
    window = best_window(text, PlainAnalysis("de").tokens(text), [], [])
    assert window.start == 0
    assert text[window.start : window.end].endswith(("Satz.", "Erster"))


def test_the_window_with_more_query_words_wins_over_repetition() -> None:
    filler = "und noch ein Satz ohne Belang. " * 30
    text = "Haus Haus Haus Haus Haus. " + filler + "Das Haus der Sonne. " + filler
    tokens = PlainAnalysis("de").tokens(text)
    query = query_of(("house", {"haus": 0.9}), ("sun", {"sonne": 0.9}))
    matches = Matcher(query, "term").matches(tokens)
    window = best_window(text, tokens, matches, [1.0, 1.0])
    shown = text[window.start : window.end]
    assert shown.startswith("und noch ein Satz") or shown.startswith("Das Haus")
    assert "Das Haus der Sonne." in shown


def test_a_rare_word_weighs_more_than_a_common_one() -> None:
    filler = "und noch ein Satz ohne Belang. " * 30
    text = "Das Haus steht. " + filler + "Penicillin heilt. " + filler
    tokens = PlainAnalysis("de").tokens(text)
    query = query_of(("house", {"haus": 0.9}), ("penicillin", {"penicillin": 0.9}))
    matches = Matcher(query, "term").matches(tokens)
    window = best_window(text, tokens, matches, [1.0, 6.0])
    assert "Penicillin" in text[window.start : window.end]


def test_a_word_longer_than_a_snippet_is_cut_between_characters() -> None:
    text = "ё" + "e\u0301" * 600
    tokens = PlainAnalysis("fr").tokens(text)
    matches = [Match(0, len(text), 0, 1.0, IDENTICAL)]
    window = best_window(text, tokens, matches, [1.0])
    assert window.end - window.start <= 400
    assert window.end < len(text)
    assert unicodedata.combining(text[window.end]) == 0
    assert inside(matches, window) == []


def test_all_query_words_of_a_document_word_are_reported_best_first() -> None:
    query = query_of(("federal", {"bundesregierung": 0.3}), ("government", {"bundesregierung": 0.6}))
    matches = Matcher(query, "term").matches(PlainAnalysis("de").tokens("Die Bundesregierung"))
    assert [(m.start, m.end, m.group, m.probability) for m in matches] == [(4, 19, 1, 0.6), (4, 19, 0, 0.3)]


@pytest.mark.parametrize(("form", "expected"), [("term", 1), ("word", 0)])
def test_stems_and_words_are_kept_apart(form: str, expected: int) -> None:
    tokens = [Token("häuser", "haus", 0, 6)]
    query = query_of(("house", {"haus": 1.0}))
    assert len(Matcher(query, form).matches(tokens)) == expected  # type: ignore[arg-type]


def test_a_stop_word_is_never_evidence() -> None:
    query = query_of(("the", {"": 1.0, "die": 1.0}))
    assert Matcher(query, "word").matches([Token("die", "", 0, 3)]) == []
