"""A text is analysed once, when its words are first asked for."""

from __future__ import annotations

from threading import Barrier, Thread
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from dragoman.engine.query.analysed_text import AnalysedText, RecentWords
from dragoman.lexicon.text.tokens import PlainAnalysis, Token


def test_a_text_is_analysed_once() -> None:
    asked: list[str] = []

    def analysis(language: str) -> PlainAnalysis:
        asked.append(language)
        return PlainAnalysis(language)

    text = AnalysedText("ash and smoke", "en", analysis)
    assert [token.term for token in text.tokens] == ["ash", "and", "smoke"]
    assert text.tokens is text.tokens
    assert asked == ["en"]


def test_no_text_waits_for_the_analysis_of_another() -> None:
    both = Barrier(2, timeout=20)

    class Together:
        def tokens(self, text: str) -> Any:
            both.wait()
            return [text]

    texts = [AnalysedText(word, "en", lambda _: Together()) for word in ("ash", "smoke")]  # type: ignore[arg-type,return-value]
    found: list[Any] = []
    threads = [Thread(target=lambda one=one: found.extend(one.tokens)) for one in texts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == ["ash", "smoke"]


class Noted:
    """An analysis that notes what it was asked."""

    fingerprint = "noted"

    def __init__(self, language: str) -> None:
        self.language = language
        self.plain = PlainAnalysis(language)
        self.asked: list[str] = []

    def tokens(self, text: str) -> list[Token]:
        self.asked.append(text)
        return self.plain.tokens(text)


@given(st.lists(st.tuples(st.sampled_from(["en", "fr"]), st.text("l' eau", max_size=8)), max_size=40))
def test_kept_words_are_those_of_the_text_in_its_language(asked: list[tuple[str, str]]) -> None:
    recent = RecentWords(characters=20)
    analyses = {language: Noted(language) for language in ("en", "fr")}
    for language, text in asked:
        before = len(analyses[language].asked)
        analysed = AnalysedText(text, language, analyses.__getitem__, recent)
        assert analysed.tokens == PlainAnalysis(language).tokens(text)
        assert recent.tokens(text, analyses[language]) is analysed.tokens
        terms = [token.term for token in analysed.tokens]
        places = {term: [place for place, other in enumerate(terms) if other == term] for term in terms if term}
        assert analysed.places == places
        assert len(analyses[language].asked) <= before + 1


def test_the_texts_that_were_asked_for_last_are_kept() -> None:
    recent, analysis = RecentWords(characters=10), Noted("en")
    for text in ("ash", "smoke", "ash", "fire", "ash", "smoke", "longer than all", "smoke"):
        recent.tokens(text, analysis)
    assert analysis.asked == ["ash", "smoke", "fire", "smoke", "longer than all"]
