"""Function words as words of the language's analysis, and common words for language detection."""

from __future__ import annotations

import pytest

from dragoman.indexes.analysis.common_words import common_words
from dragoman.indexes.analysis.pipeline import analysis
from dragoman.lexicon.text.function_words import folded_function_words

ABOUT = {
    "en": "volcano bank first may mine state",
    "de": "vulkan wort welt erste",
    "zh": "光 火山 速度 时间 人 水",
    "vi": "nước anh tiếng nhà",
    "sw": "sauti maji mkubwa watu volkano",
    "so": "dagaal biyo dal",
    "pl": "wulkan wojna rok",
}


@pytest.mark.parametrize("language", sorted(ABOUT))
def test_content_words_are_no_function_words(language: str) -> None:
    assert not {*ABOUT[language].split()} & folded_function_words(language)


@pytest.mark.parametrize(
    ("language", "question", "about"),
    [
        ("en", "Where did the first volcano erupt?", ["first", "volcano", "erupt"]),
        ("en", "How many volcanoes are there?", ["volcanoes"]),
        ("de", "Wann brach der Vulkan aus?", ["brach", "vulkan"]),
        ("de", "Wie viele Vulkane gibt es?", ["vulkane", "gibt"]),
        ("zh", "什么是火山", ["火山"]),
        ("zh", "为什么天空是蓝色的", ["天空", "蓝色"]),
        ("vi", "nước Anh là gì", ["nước", "anh"]),
        ("sw", "Nani ni rais wa Kenya?", ["rais", "kenya"]),
        ("pl", "Co to jest wulkan?", ["wulkan"]),
    ],
)
def test_a_question_without_function_words_keeps_its_topic(language: str, question: str, about: list[str]) -> None:
    found = [token for token in analysis(language).tokens(question) if token.term]
    assert [token.word for token in found if token.word not in folded_function_words(language)] == about


def test_a_language_without_a_list_has_none() -> None:
    assert folded_function_words("qu") == common_words("qu") == frozenset()


def test_lists_with_content_words_are_not_used() -> None:
    assert common_words("ms") == frozenset()
    assert {"what", "who", "the"} <= common_words("en")
