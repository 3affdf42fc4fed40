"""The first word of a sentence is no name because it has a capital, whatever mark stands before it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.engine.query.translation import is_function_word
from dragoman.lexicon.text.function_words import folded_function_words
from dragoman.lexicon.text.tokens import PlainAnalysis


def named(text: str, language: str, word: str) -> bool:
    """Whether a function word is searched, as it is a name."""
    (token,) = [one for one in PlainAnalysis(language).tokens(text) if text[one.start : one.end] == word]
    return not is_function_word(text, folded_function_words(language), None, token)


@given(st.text(alphabet="¿¡\"'«„“‘([-–—*#•. \t\n…!?:;", max_size=20))
def test_a_capital_after_marks_alone_makes_no_name(marks: str) -> None:
    assert not named(f"{marks}Quién perdió el balón", "es", "Quién")


@given(st.sampled_from(".?!…¿¡。？！؟\n"), st.text(alphabet=" \"'«“(¿¡-", max_size=5))
def test_a_capital_after_the_end_of_a_sentence_makes_no_name(end: str, marks: str) -> None:
    assert not named(f"perdió el balón{end}{marks}Quién lo vio", "es", "Quién")


@pytest.mark.parametrize(
    "text", ["concierto de Quién", "concierto de «Quién»", "el grupo (Quién) y otros", "¿ven a Quién?"]
)
def test_a_capital_within_a_sentence_makes_one(text: str) -> None:
    assert named(text, "es", "Quién")
