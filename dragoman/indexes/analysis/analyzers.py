"""Lucene's language analyzers, applied to folded words, many in one call.

The input is the *folded* word. So a term depends only on the form that is the key of tables, and a query typed
without diacritics finds the same terms. Lucene's stemmers do not need the marks that folding removes (folding
keeps letters of the language), except in Portuguese, where they are restored.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import regex

from dragoman.deadline import checked
from dragoman.indexes.java import jvm
from dragoman.indexes.java.jvm import java_class
from dragoman.lexicon.text.tokens import fold, is_elided

__all__ = ["ANALYZERS", "Stemmer", "custom_analyzer", "lucene_version"]

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
"""Language code to the analyzer's class under ``org.apache.lucene.analysis``."""

_ONLY_STOP_WORDS = frozenset({"th"})
"""Languages that use only the analyzer's stop words: its word splitting needs a dictionary that this Java lacks."""
_FURTHER_FILTERS = {"fa": ["persianStem"]}
"""Token filters of later versions of the analyzer."""
_NO_STOP_WORDS = frozenset({"pl"})
_ONE_BY_ONE = frozenset({"ja"})
"""Languages whose analyzers depend on neighbouring words: each word is analysed alone."""

_SEPARATOR = "0010100"
"""Separates the words of one call: a number, which analyzers leave unchanged and which is not analysed as a word."""
_WORDS_PER_CALL = 512
_FIELD = "f"
_ANALYSIS = "org.apache.lucene.analysis."
_HOLE = "?"
_STEM = re.compile(r"\(([^)]*)\)|(\S+)")

_Restore = Callable[[str], str]
_NASAL = regex.compile(r"(?<=\p{L}\p{L})(?:(ao)|(oes))$")


def _portuguese(word: str) -> str:
    """Restore the nasal endings -ão and -ões, which the stemmer distinguishes from -ao and -oes."""
    return str(_NASAL.sub(lambda match: "ão" if match[1] else "ões", word))


_RESTORE: dict[str, _Restore] = {"pt": _portuguese}


class Stemmer:
    """One language's analyzer. Create and call it where Java runs."""

    def __init__(self, language: str) -> None:
        self._language = language
        self._restore = _RESTORE.get(language)
        self._builder: Any = None
        analyzer = java_class(_ANALYSIS + ANALYZERS[language].replace("/", "."))
        if language not in _ONLY_STOP_WORDS:
            self._builder = java_class("org.apache.lucene.util.QueryBuilder")(_instance(analyzer, language))
        self._stop_words: frozenset[str] = frozenset()
        if language not in _NO_STOP_WORDS:
            listed = analyzer.getDefaultStopwords if language == "uk" else analyzer.getDefaultStopSet
            self._stop_words = _folded_stop_words(str(listed()), language)

    def terms(self, words: Sequence[str]) -> list[str]:
        """The index term of each folded word; empty for a stop word.

        If the analyzer splits a word, the term is the longest part, among equals the last. If it gives several
        stems, the term is the shortest, among equals the first in code point order.
        """
        terms = {word: self._without_analyzer(word) for word in words}
        pending = [word for word, term in terms.items() if term is None]
        if self._language in _ONE_BY_ONE:
            terms.update((word, self._analysed_alone(word)) for word in checked(pending, 64))
        else:
            for start in checked(range(0, len(pending), _WORDS_PER_CALL)):
                chunk = pending[start : start + _WORDS_PER_CALL]
                terms.update(zip(chunk, self._analysed_together(chunk), strict=True))
        return [terms[word] or "" for word in words]

    def _without_analyzer(self, word: str) -> str | None:
        """The term of a word that needs no analyzer, else None."""
        if word in self._stop_words or is_elided(word):
            return ""
        return word if self._builder is None or word.isdigit() else None

    def _parts(self, text: str) -> list[str]:
        """The analyzer's stems of a text, in order; :data:`_HOLE` stands for stop words between stems."""
        query = self._builder.createPhraseQuery(_FIELD, text)
        if query is None:
            return []
        return [
            min(alternatives.split(), key=lambda stem: (len(stem), stem)) if alternatives else single
            for alternatives, single in _STEM.findall(str(query.toString(_FIELD)).strip('"'))
        ]

    def _analysed_alone(self, word: str) -> str:
        if max(word) > "\uffff":  # the dictionary treats characters beyond the basic plane as symbols
            return word
        return self._term(word, self._parts(word) or [_HOLE])

    def _analysed_together(self, words: list[str]) -> list[str]:
        restored = [self._restore(word) for word in words] if self._restore else words
        separated = f" {_SEPARATOR} ".join(restored)
        parts = self._parts(f"{_SEPARATOR} {separated} {_SEPARATOR}")
        groups: list[list[str]] = []
        for part in parts:
            if part == _SEPARATOR:
                groups.append([])
            else:
                groups[-1].append(part)
        if len(groups) == len(words) + 1:
            return [self._term(word, group) for word, group in zip(words, groups, strict=False)]
        if len(words) == 1:
            return words
        return [term for word in words for term in self._analysed_together([word])]

    def _term(self, word: str, parts: list[str]) -> str:
        stems = [part for part in parts if part != _HOLE]
        if parts and not stems:
            return ""
        term = max(reversed(stems), key=len, default=word)
        return fold(term, self._language).replace(" ", "") or word


def _instance(analyzer: Any, language: str) -> Any:
    if language == "ja":
        normal = java_class(_ANALYSIS + "ja.JapaneseTokenizer$Mode").NORMAL
        return analyzer(None, normal, analyzer.getDefaultStopSet(), analyzer.getDefaultStopTags())
    if language in _FURTHER_FILTERS:
        return custom_analyzer("standard", {}, _FURTHER_FILTERS[language])
    return analyzer()


def custom_analyzer(tokenizer: str, arguments: Mapping[str, str], filters: Sequence[str] = ()) -> Any:
    """A Java analyzer put together from parts by their names. Call it where Java runs."""
    hash_map = java_class("java.util.HashMap")
    builder = java_class(_ANALYSIS + "custom.CustomAnalyzer").builder().withTokenizer(tokenizer, hash_map(arguments))
    for name in filters:
        builder = builder.addTokenFilter(name, hash_map())
    return builder.build()


def _folded_stop_words(listed: str, language: str) -> frozenset[str]:
    """The folded words of a Java set printed as ``[a, b]``, without the comments in some of Lucene's lists."""
    words = {fold(word, language) for word in listed.strip("[]").split(", ") if not word.startswith("#")}
    return frozenset(word for word in words if word and " " not in word)


def lucene_version() -> str:
    """The version of Lucene in use."""
    return jvm.run(lambda: str(java_class("org.apache.lucene.util.Version").LATEST))
