"""The analysis of every language, the same for documents, queries, tables and training."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple
from zlib import crc32

import regex

from dragoman.deadline import check
from dragoman.indexes.analysis.inflection import dictionary_form, dictionary_form_version
from dragoman.indexes.analysis.languages import PLACED, analyser, has_words_among_terms
from dragoman.indexes.analysis.parts import parts, parts_version
from dragoman.indexes.analysis.segmenters import segmenter
from dragoman.indexes.analysis.stems import Stemmer, lucene_version
from dragoman.indexes.errors import TooManyWords
from dragoman.indexes.java import jvm
from dragoman.lexicon.text.folding import IGNORABLE, OFTEN_WITHOUT_MARKS
from dragoman.lexicon.text.function_words import folded_function_words, function_words
from dragoman.lexicon.text.languages import check_language
from dragoman.lexicon.text.segmentation import Segmenter
from dragoman.lexicon.text.tokens import (
    PART,
    PlacedWord,
    PlainAnalysis,
    Token,
    fold,
    is_elided,
    placed_words,
    word_forms,
    words,
)

__all__ = ["LONGEST_WORD", "Entry", "WordAnalysis", "analysis"]

LONGEST_WORD = 255
"""Maximal length of a word or term, in characters. Longer ones are cut, in documents and queries alike; offsets
still span the whole word. Lucene's limit is 32,766 bytes."""

VERSION = "4"
"""Increase it whenever a code change in this package may change the output for any text."""

DISTINCT_WORDS = 250_000
"""Most distinct words of one document: an index holds them all in memory until the document is written."""

_AT_ONE_PLACE = " \x02"
"""Before a further term of a word in what the index reads (``dragoman.Places``)."""
_APART = "\x04"
"""Before a word that does not continue a sequence with the one before it."""
_BLANK = rf"[[\s--[\r\n]]||[\u200B{IGNORABLE}]]*+"
_CONTINUED = regex.compile(rf"{_BLANK}(?:\r?\n{_BLANK})?", regex.V1)
"""What may stand between the words of a sequence: white space without the end of a paragraph."""
_HYPHENATED = regex.compile(rf"{_BLANK}(?:\r?\n{_BLANK})?|[-\u2010\u2011][{IGNORABLE}]*+", regex.V1)
"""Between syllables also a hyphen (``Việt-Nam``)."""
_CACHED_WORDS = 65_536
_CACHED_LENGTH = 64
_WORDS_AT_ONCE = 512
_WAIT_SECONDS = 0.1
"""How many words are stemmed at a time, and how long others wait before they look at their deadlines."""
_UNSPACED = "\u0e00"
"""Letters of scripts that are written without spaces come from here on."""
_new = tuple.__new__
_SEQUENCE_OF = 12
"""The longest word of which it is tried whether a text has it as two."""


class Entry(NamedTuple):
    """The index terms of a word."""

    term: str
    further: tuple[str, ...]
    row: str
    """All of them as the index reads them; empty for an elided word."""


def check_distinct(words: Sequence[str]) -> None:
    """
    Raises:
        TooManyWords: a document has more than :data:`DISTINCT_WORDS` distinct words.
    """
    if len(words) > DISTINCT_WORDS and (distinct := len(set(words))) > DISTINCT_WORDS:
        raise TooManyWords(f"it has {distinct} distinct words; at most {DISTINCT_WORDS} can be indexed")


class WordAnalysis:
    """Words of :func:`dragoman.lexicon.text.tokens.words`, with the terms that the language's row asks for.

    The term of a word is the stem of its dictionary form. Further terms at its place are the stem of the word itself
    (or the word, where the row says so), where that is another one, and the stems of the words within it (after
    :data:`~dragoman.lexicon.text.tokens.PART`). A function word, or one that is kept as it is written, is its own
    term: *war* is not *ist*. All depend on the folded word alone, and are cached for recent words. Thread-safe.
    """

    def __init__(self, language: str) -> None:
        self.language = language
        row = analyser(language)
        cutting = segmenter(language)
        self._segment: Segmenter | None = cutting[0] if cutting is not None else None
        name = cutting[1] if cutting is not None else ""
        plain = PlainAnalysis(language, self._segment, name)
        self._form = dictionary_form(language) if row.forms else None
        self._parts = parts(language) if row.parts else None
        lucene = f"{lucene_version()}:{row.stemmer}" if row.stemmer else ""
        forms = dictionary_form_version(language) if row.forms else ""
        made_of = [VERSION, lucene, forms, parts_version(language) if row.parts else "", plain.fingerprint]
        made_of += ["own words"] * has_words_among_terms(language) + ["syllables"] * row.syllables
        made_of.append(f"functions {crc32(' '.join(sorted(function_words(language))).encode()):08x}")
        self.fingerprint = ":".join(["words", *made_of])
        self._named = row.stemmer
        self._own_words = row.words
        self._function = folded_function_words(language)
        self._continued = (_HYPHENATED if row.syllables else _CONTINUED) if language in PLACED else None
        self._stemmer: Stemmer | None = None
        self._stemming = threading.Lock()
        self._recent: dict[str, Entry] = {}
        self._older: dict[str, Entry] = {}

    def tokens(self, text: str) -> list[Token]:
        """The tokens of ``text`` in order; elided words have an empty term."""
        placed = placed_words(text, self.language, self._segment)
        try:
            tokens = _tokens(placed, self._recent)
        except KeyError:
            tokens = _tokens(placed, self._entries({word for word, _, _ in placed}))
        return self._with_gaps(text, tokens) if self._continued is not None else tokens

    def batch(self, texts: Sequence[str]) -> list[list[Token]]:
        """The :meth:`tokens` of each text; all uncached words go to Lucene in one call."""
        placed_lists = [placed_words(text, self.language, self._segment) for text in texts]
        entries = self._entries({word for placed in placed_lists for word, _, _ in placed})
        return [_tokens(placed, entries) for placed in placed_lists]

    def analyse_texts(self, texts: Sequence[str]) -> list[tuple[list[str], list[Entry]]]:
        """Each text's folded words and their terms, without elided words, as in :meth:`tokens`.

        Raises:
            TooManyWords: one of them has too many distinct words to be indexed.
        """
        if self.language in PLACED:
            return [self._analyse_placed(text) for text in texts]
        word_lists = word_forms(texts, self.language, self._segment)
        for text in word_lists:
            check_distinct(text)
        entries = self._entries({word for text in word_lists for word in text})
        searchable = [[word for word in text if entries[word].term] for text in word_lists]
        terms = [[entries[word] for word in text] for text in searchable]
        if any(len(word) > LONGEST_WORD for word in entries):
            searchable = [[word[:LONGEST_WORD] for word in text] for text in searchable]
        return list(zip(searchable, terms, strict=True))

    def _analyse_placed(self, text: str) -> tuple[list[str], list[Entry]]:
        """As :meth:`analyse_texts`, with a mark before a word that is apart from the one before it."""
        tokens = words(text, self.language, self._segment)
        check_distinct([token.word for token in tokens])
        entries = self._entries({token.word for token in tokens})
        terms = [
            entries[token.word]._replace(row=_APART + entries[token.word].row) if token.apart else entries[token.word]
            for token in self._with_gaps(text, tokens)
        ]
        return [token.word[:LONGEST_WORD] for token in tokens], terms

    def _with_gaps(self, text: str, tokens: list[Token]) -> list[Token]:
        """The tokens, of which those are apart that do not continue a sequence with the one before."""
        assert self._continued is not None
        marked: list[Token] = []
        end = tokens[0].start if tokens else 0
        for token in tokens:
            together = end >= token.start or self._continued.fullmatch(text, end, token.start)
            marked.append(token if together else token._replace(apart=True))
            end = token.end
        return marked

    def sequences(self, term: str) -> list[str]:
        """How a text may have a term of tables otherwise cut: as one word, or as two, where words have no spaces."""
        if self._segment is None or term < _UNSPACED:
            return []
        if " " in term:
            whole = term.replace(" ", "")
            return [whole, f"{PART}{whole}"]
        size = len(term) if len(term) <= _SEQUENCE_OF else 0
        return [f"{term[:cut]} {term[cut:]}" for cut in range(1, size)]

    def _entries(self, words: Iterable[str]) -> dict[str, Entry]:
        recent, older = self._recent, self._older
        entries: dict[str, Entry] = {}
        unknown: list[str] = []
        for word in words:
            entry = recent.get(word)
            if entry is None:
                entry = older.get(word)
                if entry is not None:
                    recent[word] = entry
            if entry is None:
                unknown.append(word)
            else:
                entries[word] = entry
        if unknown:
            short = [word[:LONGEST_WORD] for word in unknown]
            entries.update(zip(unknown, self._look_up(short), strict=True))
            recent.update((word, entries[word]) for word in unknown[:_CACHED_WORDS] if len(word) <= _CACHED_LENGTH)
            if len(recent) >= _CACHED_WORDS:
                self._recent, self._older = {}, recent
        return entries

    def _look_up(self, unknown: list[str]) -> list[Entry]:
        """The entries of words, some at a time: other threads have words, too."""
        entries: list[Entry] = []
        for start in range(0, len(unknown), _WORDS_AT_ONCE):
            check()
            some = unknown[start : start + _WORDS_AT_ONCE]
            within = [self._parts(word) if self._parts else () for word in some]
            distinct = dict.fromkeys([*some, *(part for parts in within for part in parts)])
            forms = {word: self._dictionary_form(word) for word in distinct}
            stems = self._stems(list(distinct | dict.fromkeys(forms.values())))
            entries += [self._entry(word, parts, forms, stems) for word, parts in zip(some, within, strict=True)]
        return entries

    def _entry(self, word: str, within: tuple[str, ...], forms: dict[str, str], stems: dict[str, str]) -> Entry:
        if is_elided(word):
            return Entry("", (), "")
        if self._keeps_form(word) and word.isupper():  # an entry of another case matches it
            folded = fold(word, self.language)
            return Entry(word, (folded,), f"{word}{_AT_ONE_PLACE}{folded}")
        if word in self._function or self._keeps_form(word):
            return Entry(word, (), word)
        term = stems[forms[word]]
        marked = (f"{PART}{stems[forms[part]]}" for part in within)
        form = word if self._own_words else stems[word]
        further = tuple(
            dict.fromkeys(candidate for candidate in (form, *marked) if candidate not in (term, PART + term))
        )
        return Entry(term, further, _AT_ONE_PLACE.join((term, *further)))

    def _dictionary_form(self, word: str) -> str:
        """The dictionary form of a word; a letter is none of a longer one."""
        whole = len(word) == 1 and self.language not in OFTEN_WITHOUT_MARKS
        return self._form(word) if self._form and not whole and not self._keeps_form(word) else word

    def _keeps_form(self, word: str) -> bool:
        """Whether a word is kept as it is written (``IT``, ``té``)."""
        return fold(word, self.language) != word

    def _stems(self, words: list[str]) -> dict[str, str]:
        if not self._named:
            return dict(zip(words, words, strict=True))
        while not self._stemming.acquire(timeout=_WAIT_SECONDS):
            check()
        try:
            stems = jvm.run(self._stem_alone, words)
        finally:
            self._stemming.release()
        return {word: stem[:LONGEST_WORD] for word, stem in zip(words, stems, strict=True)}

    def _stem_alone(self, words: list[str]) -> list[str]:
        if self._stemmer is None:
            self._stemmer = Stemmer(self.language, self._named)
        return self._stemmer.terms(words)


def _tokens(placed: Sequence[PlacedWord], entries: Mapping[str, Entry]) -> list[Token]:
    """
    Raises:
        KeyError: a word has no entry.
    """
    return [
        _new(Token, (word[:LONGEST_WORD], (entry := entries[word]).term, start, end, entry.further, False))
        for word, start, end in placed
    ]


_analyses: dict[str, WordAnalysis] = {}
_creating = threading.Lock()


def analysis(language: str) -> WordAnalysis:
    """The shared analysis of a language, by its row of :data:`~dragoman.indexes.analysis.languages.ANALYSERS`.

    Raises:
        UnknownLanguage: for an unknown language code.
        JvmUnavailable: if the language needs Java, and it cannot be started.
    """
    shared = _analyses.get(language)
    if shared is None:
        code = check_language(language)
        with _creating:
            shared = _analyses.get(code)
            if shared is None:
                shared = _analyses[code] = WordAnalysis(code)
            _analyses[language] = shared
    return shared
