"""The analysis of every language, the same for documents, queries, tables and training."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence

from dragoman.indexes.analysis.analyzers import ANALYZERS, Stemmer, lucene_version
from dragoman.indexes.analysis.segmenters import segmenter
from dragoman.indexes.java import jvm
from dragoman.lexicon.text.languages import check_language
from dragoman.lexicon.text.segmentation import Segmenter
from dragoman.lexicon.text.tokens import Analysis, PlainAnalysis, Token, word_forms, words

__all__ = ["LONGEST_WORD", "LuceneAnalysis", "analysis"]

LONGEST_WORD = 255
"""Characters of a word or term that count. Of longer ones the rest is cut off, in documents and queries alike,
and offsets still span the whole word: nobody searches for them, and Lucene takes 32,766 bytes at most."""

VERSION = "1"
"""To be raised whenever the output for some text may change through a change of this package's code."""

_CACHED_WORDS = 65_536


class LuceneAnalysis:
    """Words of :func:`dragoman.lexicon.text.tokens.words`, with terms by Lucene's analyzer for the language.

    A word's term depends on the folded word alone, and is remembered for the words of recent texts. Safe from
    any thread.
    """

    def __init__(self, language: str, segment: Segmenter | None, segment_version: str) -> None:
        self.language = language
        self._segment = segment
        plain = PlainAnalysis(language, segment, segment_version)
        analyzer = ANALYZERS[language]
        self.fingerprint = f"lucene:{VERSION}:{lucene_version()}:{analyzer}:{plain.fingerprint}"
        self._stemmer: Stemmer | None = None
        self._recent: dict[str, str] = {}
        self._older: dict[str, str] = {}

    def tokens(self, text: str) -> list[Token]:
        """The words of ``text`` in order; stop words have an empty term."""
        found = words(text, self.language, self._segment)
        terms = self._recent
        try:
            return [Token(t.word, terms[t.word], t.start, t.end) for t in found]
        except KeyError:
            terms = self._terms({token.word for token in found})
            return [Token(t.word[:LONGEST_WORD], terms[t.word], t.start, t.end) for t in found]

    def batch(self, texts: Sequence[str]) -> list[list[Token]]:
        """The :meth:`tokens` of each text, with all new words of the texts given to Lucene at once."""
        found = [words(text, self.language, self._segment) for text in texts]
        terms = self._terms({token.word for tokens in found for token in tokens})
        return [[Token(t.word[:LONGEST_WORD], terms[t.word], t.start, t.end) for t in tokens] for tokens in found]

    def indexed(self, texts: Sequence[str]) -> list[tuple[list[str], list[str]]]:
        """Each text's folded words and their terms, without stop words.

        As by :meth:`tokens`, with all new words of the texts given to Lucene at once.
        """
        found = word_forms(texts, self.language, self._segment)
        terms = self._terms({word for text in found for word in text})
        kept = [[word for word in text if terms[word]] for text in found]
        if any(len(word) > LONGEST_WORD for word in terms):
            return [([word[:LONGEST_WORD] for word in text], [terms[word] for word in text]) for text in kept]
        return [(text, [terms[word] for word in text]) for text in kept]

    def _terms(self, wanted: Iterable[str]) -> dict[str, str]:
        recent, older = self._recent, self._older
        terms: dict[str, str] = {}
        unknown: list[str] = []
        for word in wanted:
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
            terms.update(zip(unknown, [t[:LONGEST_WORD] for t in jvm.run(self._learn, short)], strict=True))
            recent.update((word, terms[word]) for word in unknown if len(word) <= LONGEST_WORD)
            if len(recent) >= _CACHED_WORDS:
                self._recent, self._older = {}, recent
        return terms

    def _learn(self, unknown: list[str]) -> list[str]:
        if self._stemmer is None:
            self._stemmer = Stemmer(self.language)
        return self._stemmer.terms(unknown)


class _CutAnalysis(PlainAnalysis):
    """:class:`PlainAnalysis` with the limit on the length of words."""

    def __init__(self, language: str, segment: Segmenter | None, segment_version: str) -> None:
        super().__init__(language, segment, segment_version)
        self.fingerprint = f"cut:{VERSION}:{self.fingerprint}"

    def tokens(self, text: str) -> list[Token]:
        """The words of ``text`` in order."""
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
_making = threading.Lock()


def analysis(language: str) -> Analysis:
    """The analysis of a language, one object for all.

    Lucene's analyzer where :data:`~dragoman.indexes.analysis.analyzers.ANALYZERS` has one, plain words otherwise;
    Chinese, Japanese and Thai are segmented by dictionaries.

    Raises:
        UnknownLanguage: for a code that is not a language's.
        JvmUnavailable: for a language with a Lucene analyzer where Java cannot be started.
    """
    found = _analyses.get(language)
    if found is None:
        check_language(language)
        with _making:
            found = _analyses.get(language)
            if found is None:
                segment, name = segmenter(language) or (None, "")
                make = LuceneAnalysis if language in ANALYZERS else _CutAnalysis
                found = _analyses[language] = make(language, segment, name)
    return found
