"""Lucene's language analyzers, applied to folded words, many in one call.

An analyzer sees the *folded* word, so that a word's term depends on nothing but the form that tables are keyed
by, and a query typed without diacritics meets the same terms. Lucene's stemmers need none of the marks that
folding strips (those that are letters of the language are kept), except Portuguese, where they are put back.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import regex

from dragoman.indexes.java import jvm
from dragoman.lexicon.text.tokens import fold

__all__ = ["ANALYZERS", "Stemmer", "lucene_version"]

ANALYZERS: dict[str, str] = {
    "ar": "ar/ArabicAnalyzer",
    "bg": "bg/BulgarianAnalyzer",
    "bn": "bn/BengaliAnalyzer",
    "ca": "ca/CatalanAnalyzer",
    "cs": "cz/CzechAnalyzer",
    "da": "da/DanishAnalyzer",
    "de": "de/GermanAnalyzer",
    "el": "el/GreekAnalyzer",
    "en": "en/EnglishAnalyzer",
    "es": "es/SpanishAnalyzer",
    "et": "et/EstonianAnalyzer",
    "eu": "eu/BasqueAnalyzer",
    "fa": "fa/PersianAnalyzer",
    "fi": "fi/FinnishAnalyzer",
    "fr": "fr/FrenchAnalyzer",
    "ga": "ga/IrishAnalyzer",
    "gl": "gl/GalicianAnalyzer",
    "hi": "hi/HindiAnalyzer",
    "hu": "hu/HungarianAnalyzer",
    "hy": "hy/ArmenianAnalyzer",
    "id": "id/IndonesianAnalyzer",
    "it": "it/ItalianAnalyzer",
    "ja": "ja/JapaneseAnalyzer",
    "ku": "ckb/SoraniAnalyzer",
    "lt": "lt/LithuanianAnalyzer",
    "lv": "lv/LatvianAnalyzer",
    "nb": "no/NorwegianAnalyzer",
    "ne": "ne/NepaliAnalyzer",
    "nl": "nl/DutchAnalyzer",
    "nn": "no/NorwegianAnalyzer",
    "no": "no/NorwegianAnalyzer",
    "pl": "morfologik/MorfologikAnalyzer",
    "pt": "pt/PortugueseAnalyzer",
    "ro": "ro/RomanianAnalyzer",
    "ru": "ru/RussianAnalyzer",
    "sr": "sr/SerbianAnalyzer",
    "sv": "sv/SwedishAnalyzer",
    "ta": "ta/TamilAnalyzer",
    "te": "te/TeluguAnalyzer",
    "th": "th/ThaiAnalyzer",
    "tr": "tr/TurkishAnalyzer",
    "uk": "uk/UkrainianMorfologikAnalyzer",
}
"""Language to the analyzer's class under ``org.apache.lucene.analysis``."""

_STOP_WORDS_ALONE = frozenset({"th"})
"""Only the stop words of the analyzer are used: it splits text by a dictionary that this Java lacks."""
_FURTHER_FILTERS = {"fa": ["persianStem"]}
"""Token filters that a later version of the analyzer has."""
_NO_STOP_WORDS = frozenset({"pl"})
_ONE_BY_ONE = frozenset({"ja"})
"""Analyzers that look at neighbouring words: these get each word alone."""

_SEPARATOR = "0010100"
"""Stands between the words of one call: a number, which analyzers leave as it is and words are not."""
_WORDS_PER_CALL = 512
_FIELD = "f"
_HOLE = "?"
_STEM = re.compile(r"\(([^)]*)\)|(\S+)")

_Restore = Callable[[str], str]
_NASAL = regex.compile(r"(?<=\p{L}\p{L})(?:(ao)|(oes))$")


def _portuguese(word: str) -> str:
    """The nasal endings -ão and -ões, which the stemmer tells apart from -ao and -oes."""
    return str(_NASAL.sub(lambda match: "ão" if match[1] else "ões", word))


_RESTORE: dict[str, _Restore] = {"pt": _portuguese}


class Stemmer:
    """One language's analyzer. To be made and called on the thread that owns Java."""

    def __init__(self, language: str) -> None:
        from dragoman.indexes.java import classes as java

        self._language = language
        self._restore = _RESTORE.get(language)
        self._builder: Any = None
        analyzer = java.analyzer(ANALYZERS[language])
        if language not in _STOP_WORDS_ALONE:
            self._builder = java.QueryBuilder(_instance(analyzer, language))
        self._stop_words: frozenset[str] = frozenset()
        if language not in _NO_STOP_WORDS:
            listed = analyzer.getDefaultStopwords if language == "uk" else analyzer.getDefaultStopSet
            self._stop_words = _folded_stop_words(listed().toString(), language)

    def terms(self, words: Sequence[str]) -> list[str]:
        """The index term of each folded word; empty for a stop word.

        Where an analyzer splits a word, its longest part is the term, of equally long ones the last; where it
        knows several stems, the shortest, of equally short ones the first in order of code points.
        """
        terms = {word: self._kept(word) for word in words}
        asked = [word for word, term in terms.items() if term is None]
        if self._language in _ONE_BY_ONE:
            terms.update((word, self._alone(word)) for word in asked)
        else:
            for start in range(0, len(asked), _WORDS_PER_CALL):
                chosen = asked[start : start + _WORDS_PER_CALL]
                terms.update(zip(chosen, self._together(chosen), strict=True))
        return [terms[word] or "" for word in words]

    def _kept(self, word: str) -> str | None:
        """The term of a word that the analyzer is not asked about, else None."""
        if word in self._stop_words:
            return ""
        return word if self._builder is None or word.isdigit() else None

    def _parts(self, text: str) -> list[str]:
        """What the analyzer makes of a text: stems in order, with a hole for stop words between stems."""
        query = self._builder.createPhraseQuery(_FIELD, text)
        if query is None:
            return []
        return [
            min(several.split(), key=lambda stem: (len(stem), stem)) if several else one
            for several, one in _STEM.findall(query.toString(_FIELD).strip('"'))
        ]

    def _alone(self, word: str) -> str:
        if max(word) > "\uffff":  # the dictionary takes characters beyond the basic plane for symbols
            return word
        return self._chosen(word, self._parts(word) or [_HOLE])

    def _together(self, words: list[str]) -> list[str]:
        given = [self._restore(word) for word in words] if self._restore else words
        separated = f" {_SEPARATOR} ".join(given)
        parts = self._parts(f"{_SEPARATOR} {separated} {_SEPARATOR}")
        groups: list[list[str]] = []
        for part in parts:
            if part == _SEPARATOR:
                groups.append([])
            else:
                groups[-1].append(part)
        if len(groups) == len(words) + 1:
            return [self._chosen(word, group) for word, group in zip(words, groups, strict=False)]
        if len(words) == 1:
            return words
        return [term for word in words for term in self._together([word])]

    def _chosen(self, word: str, parts: list[str]) -> str:
        stems = [part for part in parts if part != _HOLE]
        if parts and not stems:
            return ""
        term = max(reversed(stems), key=len, default=word)
        return fold(term, self._language).replace(" ", "") or word


def _instance(analyzer: Any, language: str) -> Any:
    from dragoman.indexes.java import classes as java

    if language == "ja":
        stop_tags = analyzer.getDefaultStopTags()
        return analyzer(None, java.TokenizerMode.NORMAL, analyzer.getDefaultStopSet(), stop_tags)
    if language in _FURTHER_FILTERS:
        builder = java.CustomAnalyzer.builder().withTokenizer("standard", java.HashMap())
        for name in _FURTHER_FILTERS[language]:
            builder = builder.addTokenFilter(name, java.HashMap())
        return builder.build()
    return analyzer()


def _folded_stop_words(listed: str, language: str) -> frozenset[str]:
    """A Java set's ``[a, b]``, folded, without the comments that some of Lucene's lists let through."""
    words = {fold(word, language) for word in listed.strip("[]").split(", ") if not word.startswith("#")}
    return frozenset(word for word in words if word and " " not in word)


def lucene_version() -> str:
    """The version of Lucene in use."""

    def version() -> str:
        from dragoman.indexes.java import classes as java

        return str(java.Version.LATEST.toString())

    return jvm.run(version)
