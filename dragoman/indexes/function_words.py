"""Words of a query that say how it is asked, and not what about."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from zipfile import ZipFile

import stopwordsiso

from dragoman.indexes import jvm
from dragoman.indexes.analyzers import ANALYZERS
from dragoman.lexicon.text import words

_SNOWBALL = {"en": "org/apache/lucene/analysis/snowball/english_stop.txt"}
"""Lists in Lucene's jar that are longer than the analyzer's own: English has 33 words there, none of questions."""


@lru_cache(maxsize=256)
def function_words(language: str) -> frozenset[str]:
    """Folded words of a language that a query is not searched by across languages, beyond its analyzer's stop words.

    They stay in indexes and tables: left out of documents too, as stop words are, they cost more than they gain.

    Raises:
        JvmUnavailable: the jar that has the list is not there.
    """
    if language in _SNOWBALL:
        with ZipFile(jvm.lucene_jar()) as jar:
            lines = jar.read(_SNOWBALL[language]).decode().splitlines()
        return _folded((line.partition("|")[0].strip() for line in lines), language)
    return frozenset() if language in ANALYZERS else common_words(language)


@lru_cache(maxsize=256)
def common_words(language: str) -> frozenset[str]:
    """Folded common words of a language; none for one that has no list."""
    return _folded(stopwordsiso.stopwords(language), language) if stopwordsiso.has_lang(language) else frozenset()


def _folded(listed: Iterable[str], language: str) -> frozenset[str]:
    found = (words(entry, language) for entry in listed)
    return frozenset(tokens[0].word for tokens in found if len(tokens) == 1 and not tokens[0].word.isdigit())
