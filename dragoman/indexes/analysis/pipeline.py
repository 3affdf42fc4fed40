"""The analysis of every language, the same for documents, queries, tables and training."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence

from dragoman.deadline import check
from dragoman.indexes.analysis.analyzers import ANALYZERS, Stemmer, lucene_version
from dragoman.indexes.analysis.inflection import INFLECTED, DictionaryForms
from dragoman.indexes.analysis.segmenters import segmenter
from dragoman.indexes.errors import TooManyWords
from dragoman.indexes.java import jvm
from dragoman.lexicon.text.languages import check_language
from dragoman.lexicon.text.segmentation import Segmenter
from dragoman.lexicon.text.tokens import Analysis, PlainAnalysis, Token, word_forms, words

__all__ = ["LONGEST_WORD", "LuceneAnalysis", "analysis"]

LONGEST_WORD = 255
"""Maximal length of a word or term, in characters. Longer ones are cut, in documents and queries alike; offsets
still span the whole word. Lucene's limit is 32,766 bytes."""

VERSION = "2"
"""Increase it whenever a code change in this package may change the output for any text."""

DISTINCT_WORDS = 250_000
"""Most distinct words of one document: an index holds them all in memory until the document is written."""

_CACHED_WORDS = 65_536
_CACHED_LENGTH = 64
_WORDS_AT_ONCE = 512
_WAIT_SECONDS = 0.1
"""How many words are stemmed at a time, and how long others wait before they look at their deadlines."""


def check_distinct(words: Sequence[str]) -> None:
    """
    Raises:
        TooManyWords: a document has more than :data:`DISTINCT_WORDS` distinct words.
    """
    if len(words) > DISTINCT_WORDS and (distinct := len(set(words))) > DISTINCT_WORDS:
        raise TooManyWords(f"it has {distinct} distinct words; at most {DISTINCT_WORDS} can be indexed")


class LuceneAnalysis:
    """Words of :func:`dragoman.lexicon.text.tokens.words`, with terms from Lucene's analyzer of the language.

    In languages of :data:`~dragoman.indexes.analysis.inflection.INFLECTED` the analyzer stems the dictionary form of a
    word, unless that is a stop word.
    A term depends only on the folded word, and is cached for recent words. Thread-safe.
    """

    def __init__(self, language: str, segment: Segmenter | None, segment_version: str) -> None:
        self.language = language
        self._segment = segment
        plain = PlainAnalysis(language, segment, segment_version)
        analyzer = ANALYZERS[language]
        self.fingerprint = f"lucene:{VERSION}:{lucene_version()}:{analyzer}:{plain.fingerprint}"
        if language in INFLECTED:
            self.fingerprint += f":{DictionaryForms.version()}"
        self._forms: DictionaryForms | None = None
        self._stemmer: Stemmer | None = None
        self._stemming = threading.Lock()
        self._recent: dict[str, str] = {}
        self._older: dict[str, str] = {}

    def tokens(self, text: str) -> list[Token]:
        """The tokens of ``text`` in order; stop words have an empty term."""
        found = words(text, self.language, self._segment)
        terms = self._recent
        try:
            return [Token(t.word, terms[t.word], t.start, t.end) for t in found]
        except KeyError:
            terms = self._terms({token.word for token in found})
            return [Token(t.word[:LONGEST_WORD], terms[t.word], t.start, t.end) for t in found]

    def batch(self, texts: Sequence[str]) -> list[list[Token]]:
        """The :meth:`tokens` of each text; all uncached words go to Lucene in one call."""
        found = [words(text, self.language, self._segment) for text in texts]
        terms = self._terms({token.word for tokens in found for token in tokens})
        return [[Token(t.word[:LONGEST_WORD], terms[t.word], t.start, t.end) for t in tokens] for tokens in found]

    def indexed(self, texts: Sequence[str]) -> list[tuple[list[str], list[str]]]:
        """Each text's folded words and their terms, without stop words.

        The result equals that of :meth:`tokens`.

        Raises:
            TooManyWords: one of them has too many distinct words to be indexed.
        """
        found = word_forms(texts, self.language, self._segment)
        for text in found:
            check_distinct(text)
        terms = self._terms({word for text in found for word in text})
        kept = [[word for word in text if terms[word]] for text in found]
        if any(len(word) > LONGEST_WORD for word in terms):
            return [([word[:LONGEST_WORD] for word in text], [terms[word] for word in text]) for text in kept]
        return [(text, [terms[word] for word in text]) for text in kept]

    def _terms(self, words: Iterable[str]) -> dict[str, str]:
        recent, older = self._recent, self._older
        terms: dict[str, str] = {}
        unknown: list[str] = []
        for word in words:
            term = recent.get(word)
            if term is None:
                term = older.get(word)
                if term is not None:
                    recent[word] = term
            if term is None:
                unknown.append(word)
            else:
                terms[word] = term
        if unknown:
            short = [word[:LONGEST_WORD] for word in unknown]
            terms.update(zip(unknown, [t[:LONGEST_WORD] for t in jvm.run(self._stem, short)], strict=True))
            recent.update((word, terms[word]) for word in unknown[:_CACHED_WORDS] if len(word) <= _CACHED_LENGTH)
            if len(recent) >= _CACHED_WORDS:
                self._recent, self._older = {}, recent
        return terms

    def _stem(self, unknown: list[str]) -> list[str]:
        """The terms of words, some at a time: other threads have words, too."""
        terms: list[str] = []
        for start in range(0, len(unknown), _WORDS_AT_ONCE):
            check()
            while not self._stemming.acquire(timeout=_WAIT_SECONDS):
                check()
            try:
                terms += self._stem_alone(unknown[start : start + _WORDS_AT_ONCE])
            finally:
                self._stemming.release()
        return terms

    def _stem_alone(self, unknown: list[str]) -> list[str]:
        if self._stemmer is None:
            self._stemmer = Stemmer(self.language)
            self._forms = DictionaryForms(self.language) if self.language in INFLECTED else None
        terms = self._stemmer.terms(unknown)
        if self._forms is None:
            return terms
        forms = {word: form for word, term in zip(unknown, terms, strict=True) if term and (form := self._forms(word))}
        stems = dict(zip(forms.values(), self._stemmer.terms(list(forms.values())), strict=True))
        return [stems.get(forms.get(word, ""), "") or term for word, term in zip(unknown, terms, strict=True)]


class _CutAnalysis(PlainAnalysis):
    """:class:`PlainAnalysis` with words of at most :data:`LONGEST_WORD` characters."""

    def __init__(self, language: str, segment: Segmenter | None, segment_version: str) -> None:
        super().__init__(language, segment, segment_version)
        self.fingerprint = f"cut:{VERSION}:{self.fingerprint}"

    def tokens(self, text: str) -> list[Token]:
        """The tokens of ``text`` in order."""
        found = super().tokens(text)
        if len(text) <= LONGEST_WORD:
            return found
        return [
            token
            if len(token.word) <= LONGEST_WORD
            else Token(token.word[:LONGEST_WORD], token.term[:LONGEST_WORD], token.start, token.end)
            for token in found
        ]


_analyses: dict[str, Analysis] = {}
_creating = threading.Lock()


def analysis(language: str) -> Analysis:
    """The shared analysis of a language.

    It uses Lucene's analyzer if :data:`~dragoman.indexes.analysis.analyzers.ANALYZERS` has one, else plain words.
    Chinese, Japanese and Thai are segmented with dictionaries.

    Raises:
        UnknownLanguage: for an unknown language code.
        JvmUnavailable: if the language needs a Lucene analyzer and Java cannot be started.
    """
    found = _analyses.get(language)
    if found is None:
        known = check_language(language)
        with _creating:
            found = _analyses.get(known)
            if found is None:
                segment, name = segmenter(known) or (None, "")
                make = LuceneAnalysis if known in ANALYZERS else _CutAnalysis
                found = _analyses[known] = make(known, segment, name)
            _analyses[language] = found
    return found
