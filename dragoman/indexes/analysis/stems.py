"""Lucene's stemmers, applied to folded words, many in one call.

The input is the *folded* word. So a term depends only on the form that is the key of tables, and a query typed
without diacritics finds the same terms. Lucene's stemmers do not need the marks that folding removes (folding
keeps letters of the language), except in Portuguese, where they are restored. No word is a stop word here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import regex

from dragoman.deadline import check_each
from dragoman.indexes.java import jvm
from dragoman.indexes.java.jvm import java_class
from dragoman.lexicon.text.tokens import fold

__all__ = ["Stemmer", "custom_analyzer", "lucene_version"]

_FILTERS = {"fa/PersianAnalyzer": ["persianStem"]}
"""Analyzers that are put together from filters: later versions of them have these."""
_ALONE = "ja/JapaneseAnalyzer"
"""It depends on neighbouring words: each word is analysed alone."""
_WITHOUT_STOP_WORDS = "morfologik/MorfologikAnalyzer"

_SEPARATOR = "0010100"
"""Separates the words of one call: a number, which analyzers leave unchanged and which is not analysed as a word."""
_WORDS_PER_CALL = 512
_FIELD = "f"
_ANALYSIS = "org.apache.lucene.analysis."
_STEM = re.compile(r"\(([^)]*)\)|(\S+)")
_NASAL = regex.compile(r"(?<=\p{L}\p{L})(?:(ao)|(oes))$")


def _portuguese(word: str) -> str:
    """Restore the nasal endings -ão and -ões, which the stemmer distinguishes from -ao and -oes."""
    return str(_NASAL.sub(lambda match: "ão" if match[1] else "ões", word))


_RESTORE: dict[str, Callable[[str], str]] = {"pt": _portuguese}


class Stemmer:
    """One language's analyzer of Lucene, by its class under ``org.apache.lucene.analysis``.

    Create and call it where Java runs.
    """

    def __init__(self, language: str, name: str) -> None:
        self._language = language
        self._restore = _RESTORE.get(language)
        self._one_by_one = name == _ALONE
        self._builder: Any = java_class("org.apache.lucene.util.QueryBuilder")(_instance(name))

    def terms(self, words: Sequence[str]) -> list[str]:
        """The index term of each folded word.

        If the analyzer splits a word, the term is the longest part, among equals the last. If it gives several
        stems, the term is the shortest, among equals the first in code point order.
        """
        terms = {word: word if word.isdigit() else None for word in words}
        pending = [word for word, term in terms.items() if term is None]
        if self._one_by_one:
            terms.update((word, self._analyse_alone(word)) for word in check_each(pending, 64))
        else:
            for start in check_each(range(0, len(pending), _WORDS_PER_CALL)):
                chunk = pending[start : start + _WORDS_PER_CALL]
                terms.update(zip(chunk, self._analyse_together(chunk), strict=True))
        return [terms[word] or word for word in words]

    def _parts(self, text: str) -> list[str]:
        """The analyzer's stems of a text, in order."""
        query = self._builder.createPhraseQuery(_FIELD, text)
        if query is None:
            return []
        return [
            min(alternatives.split(), key=lambda stem: (len(stem), stem)) if alternatives else single
            for alternatives, single in _STEM.findall(str(query.toString(_FIELD)).strip('"'))
        ]

    def _analyse_alone(self, word: str) -> str:
        if max(word) > "\uffff":  # the dictionary treats characters beyond the basic plane as symbols
            return word
        return self._term(word, self._parts(word))

    def _analyse_together(self, words: list[str]) -> list[str]:
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
        return [term for word in words for term in self._analyse_together([word])]

    def _term(self, word: str, parts: list[str]) -> str:
        term = max(reversed(parts), key=len, default=word)
        return fold(term, self._language).replace(" ", "") or word


def _instance(name: str) -> Any:
    """The analyzer without its stop words."""
    if name in _FILTERS:
        return custom_analyzer("standard", {}, _FILTERS[name])
    analyzer = java_class(_ANALYSIS + name.replace("/", "."))
    if name == _WITHOUT_STOP_WORDS:
        return analyzer()
    none = java_class(_ANALYSIS + "CharArraySet").EMPTY_SET
    if name == _ALONE:
        normal = java_class(_ANALYSIS + "ja.JapaneseTokenizer$Mode").NORMAL
        return analyzer(None, normal, none, java_class("java.util.HashSet")())
    return analyzer(none)


def custom_analyzer(tokenizer: str, arguments: Mapping[str, str], filters: Sequence[str] = ()) -> Any:
    """A Java analyzer put together from parts by their names. Call it where Java runs."""
    hash_map = java_class("java.util.HashMap")
    builder = java_class(_ANALYSIS + "custom.CustomAnalyzer").builder().withTokenizer(tokenizer, hash_map(arguments))
    for name in filters:
        builder = builder.addTokenFilter(name, hash_map())
    return builder.build()


def lucene_version() -> str:
    """The version of Lucene in use."""
    return jvm.run(lambda: str(java_class("org.apache.lucene.util.Version").LATEST))
