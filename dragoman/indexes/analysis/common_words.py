"""Common words of languages, by which a short text's language is recognised."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

import stopwordsiso

from dragoman.lexicon.text.tokens import PlainAnalysis

_LISTED_AS = {"nb": "no"}
"""Languages that the package has under another code."""
_NO_LIST = frozenset({"ms"})
"""Languages whose list in the package contains ordinary words of news text."""


@lru_cache(maxsize=256)
def common_words(language: str) -> frozenset[str]:
    """Folded common words of a language, for language detection; empty for a language without a list."""
    listed = _LISTED_AS.get(language, language)
    has_list = stopwordsiso.has_lang(listed) and listed not in _NO_LIST
    return _fold_entries(stopwordsiso.stopwords(listed), language) if has_list else frozenset()


@lru_cache(maxsize=256)
def common_letters(language: str) -> frozenset[str]:
    """The letters of a language's common words as they are written, in lower case; empty without a list."""
    listed = _LISTED_AS.get(language, language)
    return frozenset("".join(stopwordsiso.stopwords(listed)).lower()) if stopwordsiso.has_lang(listed) else frozenset()


def _fold_entries(entries: Iterable[str], language: str) -> frozenset[str]:
    """The folded entries that are one word; a Chinese entry always is."""
    whole = PlainAnalysis(language, lambda run: [(0, len(run))], "whole")
    token_lists = (whole.tokens(entry) for entry in entries)
    return frozenset(tokens[0].word for tokens in token_lists if len(tokens) == 1 and not tokens[0].word.isdigit())
