"""Glosses: the content words of hits, each with its best translations into the query's language."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple
from weakref import WeakKeyDictionary

from dragoman.deadline import check_each
from dragoman.engine.search.ranked import RankedDocument
from dragoman.engine.search.response import Gloss, Snippet, TextField
from dragoman.engine.tables.snapshot import Snapshot
from dragoman.engine.tables.views import ActiveVersion, View
from dragoman.indexes.analysis.languages import analyser
from dragoman.lexicon.phrases import units
from dragoman.lexicon.query import LEAST_PROBABILITY
from dragoman.lexicon.table.table import Table
from dragoman.lexicon.table.vocabulary import Vocabulary
from dragoman.lexicon.text.function_words import folded_function_words
from dragoman.lexicon.text.tokens import Analysis, Token

BEST = 3
"""How many translations a word has at most."""

_ENTRIES = 50
_NEIGHBOURS = 500
_CACHED_WORDS = 100_000
_CHECKED = 100
"""After so many words the deadline is asked for."""
_GLOSSES: WeakKeyDictionary[Table, dict[tuple[str, str], list[WordTranslation]]] = WeakKeyDictionary()
"""The translations of words and index terms, by analysed table."""


class WordTranslation(NamedTuple):
    """A translation of a document's word, as it is written; the probability is P(translation | word)."""

    term: str
    probability: float
    version: ActiveVersion
    """The version of a table that has it."""


class Glosses:
    """Glosses in one language, by the tables of one snapshot. Safe from any thread."""

    def __init__(self, language: str, snapshot: Snapshot, analysis: Callable[[str], Analysis]) -> None:
        self._language = language
        self._snapshot = snapshot
        self._analysis = analysis

    def of(self, document: RankedDocument) -> list[Gloss]:
        """The glosses of the title, then of the snippets; words without a translation have none.

        Empty if the document is in this language already, or if no table translates from its language.
        """
        language, hit, words = document.whole.language, document.hit, document.words
        if (language, self._language) not in self._snapshot.views:
            return []
        if words is None:
            title = self._of(self._analysis(language).tokens(hit.title or ""), language, "title", 0)
            snippets = hit.snippets or [Snippet(text=hit.snippet, start=hit.snippet_start)]
            in_order = sorted(snippets, key=lambda snippet: snippet.start)
            return [*title, *(gloss for part in in_order for gloss in self.of_text(part.text, language, part.start))]
        before = len(document.whole.text) - len(document.stored.text)
        return [
            *self._of((token for token in words if token.end < before), language, "title", 0),
            *self._of((token for token in words if token.start >= before), language, "text", -before),
        ]

    def of_text(self, text: str, language: str, offset: int) -> list[Gloss]:
        """The glosses of a part of a text that begins at ``offset``, in code points."""
        return self._of(self._analysis(language).tokens(text), language, "text", offset)

    def _of(self, tokens: Iterable[Token], language: str, field: TextField, offset: int) -> list[Gloss]:
        return [
            Gloss(
                field=field,
                start=offset + token.start,
                end=offset + token.end,
                translations=[translation.term for translation in translations],
            )
            for token, translations in self.of_tokens(tokens, language)
        ]

    def of_tokens(self, tokens: Iterable[Token], language: str) -> Iterator[tuple[Token, Sequence[WordTranslation]]]:
        """The content words among some words of a text that have translations, with these, the best one first."""
        view, aside = self._snapshot.views.get((language, self._language)), folded_function_words(language)
        if view is None:
            return
        if analyser(language).syllables:
            tokens = units(list(tokens), view.analysed)
        for token in check_each(tokens, _CHECKED):
            if token.term and token.word not in aside and (translations := self._translations(token, language, view)):
                yield token, translations

    def _translations(self, token: Token, language: str, view: View) -> list[WordTranslation]:
        cache = _GLOSSES.setdefault(view.analysed, {})
        key = (token.word, token.term)
        cached = cache.get(key)
        if cached is not None:
            return cached
        if len(cache) >= _CACHED_WORDS:
            cache.clear()
        return cache.setdefault(key, self._look_up(token, language, view))

    def _look_up(self, token: Token, language: str, view: View) -> list[WordTranslation]:
        """The translations by P(query term | document term) of the index term, as a search matches it.

        Index terms are stems. Each is written as it is in the most probable translation of the word itself, else of its
        other forms. Else it is written as any word of the tables with this stem.
        """
        entries = view.analysed.translations(token.term, best=BEST)
        entries = [entry for entry in entries if entry.p_forward >= LEAST_PROBABILITY]
        written = self._written_forms([token.word], view)
        if not written.keys() >= {entry.term for entry in entries}:
            written = (
                self._written_forms(_forms(view.surface.sources, self._analysis(language), token.term), view) | written
            )
        translations: dict[str, WordTranslation] = {}
        for entry in entries:
            term = written.get(entry.term) or self._any_word(entry.term, view.surface.targets)
            translations.setdefault(term, WordTranslation(term, entry.p_forward, view.members[entry.origin]))
        return list(translations.values())

    def _written_forms(self, words: Iterable[str], view: View) -> dict[str, str]:
        """The translations of some words, and the words in them, by index term."""
        entries = [entry for word in words for entry in view.surface.translations(word, best=_ENTRIES)]
        analysis = self._analysis(self._language)
        analysis.tokens("\n".join(entry.term for entry in entries))  # at once: the terms of words are cached
        forms: dict[str, str] = {}
        for entry in sorted(entries, key=lambda entry: -entry.p_forward):
            tokens = [token for token in analysis.tokens(entry.term) if token.term]
            for token in tokens:
                forms.setdefault(token.term, token.word)
            forms.setdefault(" ".join(token.term for token in tokens), entry.term)
        return forms

    def _any_word(self, term: str, words: Vocabulary) -> str:
        analysis = self._analysis(self._language)
        return " ".join(min(_forms(words, analysis, part), key=len, default=part) for part in term.split(" "))


def _forms(words: Vocabulary, analysis: Analysis, term: str) -> list[str]:
    """The words with this index term, of those that begin as the term does."""
    beginning = term[: max(2, len(term) - 1)]
    first = bisect_left(range(len(words)), beginning, key=words.__getitem__)
    near: list[str] = []
    for index in range(first, min(first + _NEIGHBOURS, len(words))):
        word = words[index]
        if not word.startswith(beginning):
            break
        if " " not in word:
            near.append(word)
    analysis.tokens("\n".join(near))  # at once: the terms of words are cached
    return [word for word in near if [token.term for token in analysis.tokens(word)] == [term]]
