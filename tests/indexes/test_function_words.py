"""Function words: of Lucene's jar for English, of a package where Lucene has no analyzer, none elsewhere."""

from __future__ import annotations

import pytest

from dragoman.indexes.analysis import analysis
from dragoman.indexes.function_words import common_words, function_words


def test_those_that_questions_are_made_with() -> None:
    assert {"what", "who", "when", "how", "does", "their"} <= function_words("en")
    assert not {"volcano", "bank", "first", "many", "us"} & function_words("en")
    for language, word in (("sw", "ya"), ("so", "oo"), ("zh", "的"), ("vi", "của")):
        assert word in function_words(language)


@pytest.mark.parametrize("language", ["de", "es", "ru", "ar", "th", "pl", "qu"])
def test_none_where_the_analyzer_has_them_or_nobody_does(language: str) -> None:
    assert function_words(language) == frozenset()


@pytest.mark.parametrize("language", ["en", "zh", "vi", "sw", "so", "he", "ko"])
def test_they_are_single_folded_words(language: str) -> None:
    for word in function_words(language) | common_words(language):
        assert [token.word for token in analysis(language).tokens(word)] == [word] or language == "zh"
        assert not word.isdigit()
