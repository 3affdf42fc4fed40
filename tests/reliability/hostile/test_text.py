"""Time is linear in the text: for twice the text it is at most 2.5 times as long, whatever is repeated in it.

What is measured is eight times the text, and 2.5 * 2.5 * 2.5 times as long: where time is quadratic it is 64 times as
long, and other work on the machine makes no difference of that size.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dragoman.engine.query.language import detect
from dragoman.indexes.analysis.pipeline import LONGEST_WORD, analysis
from dragoman.lexicon.text.passages import passages
from dragoman.lexicon.text.tokens import fold, fold_term, words

PIECES = (
    *"aAlsSIzßéİ.,'’·“\"״׳ 01٣३\u00a0\u066c．＇-_\n!?…;。",
    *"אשְיـ\u064b\u0651\ufe71กำา\u0e4d\u0e48ໍາកា្ကခ်我語がー\uff70\uff9eｶ한ད़ེम",
    *"\u0301\u0323\u0308\u20dd\u0344\u0345\u034f\u200d\u00ad\ufe0f\u3099\U000e0100",
    *(".000", "1.000", "a.", "．ｂ", "l'", "qu’", "'s", "\u200d\u0301", "\ufe0f\u05b0", "\u0301\u0323", "א״"),
)
LANGUAGES = ("am", "ar", "en", "fa", "fr", "he", "hi", "km", "ru", "th", "tr", "uk", "vi", "zh")
CHARACTERS = 4_000
DOUBLINGS, RATIO, TRIES = 3, 2.5, 10
MILLISECONDS = 2e-3
"""What the clock and the collector of garbage may add to each time."""


def seconds(work: Callable[[str], object], text: str) -> float:
    started = time.thread_time()
    work(text)
    return time.thread_time() - started


def is_linear(work: Callable[[str], object], text: Callable[[int], str]) -> bool:
    """Whether time grows at most by RATIO with each doubling of the text, in one of some tries."""
    short, long = text(CHARACTERS), text(CHARACTERS << DOUBLINGS)
    gc.disable()
    try:
        return any(seconds(work, long) <= RATIO**DOUBLINGS * seconds(work, short) + MILLISECONDS for _ in range(TRIES))
    finally:
        gc.enable()


def analysed(text: str, language: str) -> None:
    words(text, language)
    fold(text, language)
    fold_term(text, language)
    passages(text)


@settings(max_examples=12, deadline=None)
@given(
    st.lists(st.sampled_from(PIECES), min_size=1, max_size=4).map("".join),
    st.sampled_from(PIECES),
    st.sampled_from(PIECES),
    st.sampled_from(LANGUAGES),
)
@example(".000", "1", "0 ཀ", "en")
@example(".000", "1", "0", "en")
@example("a.", "a", "ab ཀ", "en")
@example("a.", "a", "ab", "en")
@example("\u0301\u0323", "a", "", "vi")
@example("\u20dd", "a", "", "vi")
@example("\ufe0f\u05b0", "a", "", "he")
@example("\ufe71\ufe77", "a", "", "ar")
@example("l'", "", "x", "fr")
def test_words_and_folding_are_linear(unit: str, first: str, last: str, language: str) -> None:
    assert is_linear(
        lambda text: analysed(text, language), lambda length: first + unit * (length // len(unit)) + last
    ), (unit, first, last, language)


@pytest.mark.parametrize(
    ("language", "unit"),
    [("th", "กา"), ("th", "ก"), ("th", "ตากลม"), ("zh", "龘"), ("zh", "中国人民"), ("ja", "ア"), ("ja", "すもも")],
)
def test_segmentation_is_linear(language: str, unit: str) -> None:
    used = analysis(language)
    used.tokens(unit)
    assert is_linear(used.tokens, lambda length: unit * (length // len(unit)))


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("1" + 100_000 * ".000" + "0 ཀ", "en"),
        ("a" + 300_000 * "\u0301\u0323", "vi"),
        ("a" + 200_000 * ".b" + "c ཀ", "en"),
        (150_000 * "\ufe71\ufe77", "ar"),
    ],
    ids=["number", "marks", "letters", "forms of marks"],
)
def test_a_long_one_is_analysed(text: str, language: str) -> None:
    """It ends by a limit of the test run where it is not linear; none of these ended within an hour."""
    found = analysis(language).tokens(text)
    assert all(len(token.word) <= LONGEST_WORD for token in found)
    assert all(0 <= token.start < token.end <= len(text) for token in found)


def test_only_the_first_marks_of_a_letter_count() -> None:
    (token,) = words("e" + 31 * "\u0301", "vi")
    assert (token.word, token.start, token.end) == (words("e" + 30 * "\u0301", "vi")[0].word, 0, 32)


def test_the_script_of_a_query_is_told_in_linear_time() -> None:
    text = 999 * "\u0ebc" + "a"  # marks of a script are neither letters nor of another script: both could match
    assert detect(text, ["lo", "en"], lambda language, word: False).language == "en"
