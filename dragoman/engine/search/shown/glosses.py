"""Glosses: the content words of hits, each with its best translations into the query's language."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple
from weakref import WeakKeyDictionary

from dragoman.deadline import check_each
from dragoman.engine.core.answer import Degraded
from dragoman.engine.query.description import why_untranslated
from dragoman.engine.search.ranked import RankedDocument
from dragoman.engine.search.response import Gloss, Snippet, TextField
from dragoman.engine.tables.snapshot import Snapshot
from dragoman.engine.tables.views import ActiveVersion, PivotView, View, source_tables, target_tables, view_of
from dragoman.engine.tables.written_terms import WrittenTerms
from dragoman.indexes.analysis.languages import analyser
from dragoman.lexicon.phrases import units
from dragoman.lexicon.query import LEAST_PROBABILITY
from dragoman.lexicon.table.table import Entry, Lookup
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
_GLOSSES: WeakKeyDictionary[Lookup, dict[tuple[str, str], list[WordTranslation]]] = WeakKeyDictionary()
"""The translations of words and index terms, by analysed table."""


class WordTranslation(NamedTuple):
    """A translation of a document's word, as it is written; the probability is P(translation | word)."""

    term: str
    probability: float
    version: ActiveVersion
    """The version of a table that has it."""
    between: Sequence[ActiveVersion] = ()
    """By way of a third language, the tables from the word to that."""


class WrittenForm(NamedTuple):
    """A word or phrase of the language of the glosses, folded, in an entry of the tables that has it."""

    word: str
    source: str
    entry: Entry
    whole: bool
    """Whether it is all of the entry's translation."""


class Glosses:
    """Glosses in one language, by the tables of one snapshot. Safe from any thread."""

    def __init__(
        self, language: str, snapshot: Snapshot, analysis: Callable[[str], Analysis], written: WrittenTerms
    ) -> None:
        self._language = language
        self._snapshot = snapshot
        self._analysis = analysis
        self._written = written
        self._views: dict[str, View | PivotView | None] = {}

    def view(self, language: str) -> View | PivotView | None:
        """What glosses the words of a language, also by way of a third one; None if nothing does."""
        if language not in self._views:
            other = language != self._language
            self._views[language] = self._snapshot.view(language, self._language) if other else None
        return self._views[language]

    def of(self, document: RankedDocument) -> list[Gloss]:
        """The glosses of the title, then of the snippets; words without a translation have none.

        Empty if the document is in this language already, or if no table translates from its language.
        """
        language, hit, words = document.whole.language, document.hit, document.words
        if self.view(language) is None:
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
        view, aside = self.view(language), folded_function_words(language)
        if view is None:
            return
        if analyser(language).syllables:
            tokens = units(list(tokens), view.analysed)
        for token in check_each(tokens, _CHECKED):
            if token.term and token.word not in aside and (translations := self._translations(token, language, view)):
                yield token, translations

    def _translations(self, token: Token, language: str, view: View | PivotView) -> list[WordTranslation]:
        cache = _GLOSSES.setdefault(view.analysed, {})
        key = (token.word, token.term)
        cached = cache.get(key)
        if cached is not None:
            return cached
        if len(cache) >= _CACHED_WORDS:
            cache.clear()
        return cache.setdefault(key, self._look_up(token, language, view))

    def _look_up(self, token: Token, language: str, view: View | PivotView) -> list[WordTranslation]:
        """The translations by P(query term | document term) of the index term, as a search matches it.

        Index terms are stems. Each is written as it is in the most probable translation of the word itself, else of its
        other forms. Else it is written as any word of the tables with this stem.
        """
        entries = _without_shares(view.analysed.translations(token.term, best=_ENTRIES))
        entries = [entry for entry in entries if entry.p_forward >= LEAST_PROBABILITY][:BEST]
        forms = self._forms_of([token.word], view)
        if not forms.keys() >= {entry.term for entry in entries}:
            vocabularies = [table.sources for table in source_tables(view)]
            forms = self._forms_of(_forms(vocabularies, self._analysis(language), token.term), view) | forms
        translations: dict[str, WordTranslation] = {}
        for entry in entries:
            form, version = forms.get(entry.term), view.members[entry.origin]
            term = self._write(form, language, view) if form else self._any_word(entry, version, view)
            between = view.between if isinstance(view, PivotView) and entry.origin >= view.direct else ()
            translations.setdefault(term, WordTranslation(term, entry.p_forward, version, between))
        return list(translations.values())

    def _forms_of(self, words: Iterable[str], view: View | PivotView) -> dict[str, WrittenForm]:
        """The translations of some words, and the words in them, by index term."""
        entries = [(word, entry) for word in words for entry in view.surface.translations(word, best=_ENTRIES)]
        analysis = self._analysis(self._language)
        analysis.tokens("\n".join(entry.term for _, entry in entries))  # at once: the terms of words are cached
        forms: dict[str, WrittenForm] = {}
        for source, entry in sorted(entries, key=lambda pair: -pair[1].p_forward):
            tokens = [token for token in analysis.tokens(entry.term) if token.term]
            for token in tokens:
                forms.setdefault(token.term, WrittenForm(token.word, source, entry, len(tokens) == 1))
            forms.setdefault(" ".join(token.term for token in tokens), WrittenForm(entry.term, source, entry, True))
        return forms

    def _write(self, form: WrittenForm, language: str, view: View | PivotView) -> str:
        """A translation as its table has it written."""
        entry, version = form.entry, view.members[form.entry.origin]
        if isinstance(view, PivotView) and entry.origin >= view.direct:
            written = self._written.of_term(version, self._language, entry.term)
        else:
            pair = self._written.of_pair(version, self._language, entry.term, form.source)
            written = pair[0] if pair else entry.term
        if form.whole:
            return written
        tokens = self._analysis(self._language).tokens(written)
        return next((written[token.start : token.end] for token in tokens if token.word == form.word), form.word)

    def _any_word(self, entry: Entry, version: ActiveVersion, view: View | PivotView) -> str:
        """An index term as any words of the tables that have its parts as theirs."""
        analysis = self._analysis(self._language)
        vocabularies = [table.targets for table in target_tables(view)]
        words = [min(_forms(vocabularies, analysis, part), key=len, default="") for part in entry.term.split(" ")]
        if all(words):
            return " ".join(self._written.of_term(version, self._language, word) for word in words)
        last = view_of(view, entry.origin)  # a stem may begin otherwise: French "arroser", "aros"
        source, sources = last.surface.source, [last.surface.sources]
        between = last.analysed.inverse().translations(entry.term, best=BEST)
        words = [word for other in between for word in _forms(sources, self._analysis(source), other.term)]
        form = self._forms_of(words, last).get(entry.term)
        return self._write(form, source, last) if form else entry.term


def _without_shares(entries: Sequence[Entry]) -> list[Entry]:
    """The translations of a word, the most probable one first, without what words have as a share of a phrase that is
    among them: a search counts that twice, for the phrase and for its words. So they sum to 1 at most."""
    phrases = [entry for entry in entries if " " in entry.term]
    if not phrases:
        return list(entries)
    left = {entry.term: entry.p_forward for entry in entries}
    for phrase in phrases:
        words = sorted({word for word in phrase.term.split(" ") if word in left}, key=lambda word: left[word])
        due = phrase.p_forward
        for place, word in enumerate(words):  # what the least ones do not have, the others give
            share = min(left[word], due / (len(words) - place))
            left[word] -= share
            due -= share
    reduced = [replace(entry, p_forward=left[entry.term]) for entry in entries]
    return sorted(reduced, key=lambda entry: -entry.p_forward)


def no_gloss(language: str, reader: str, snapshot: Snapshot) -> Degraded:
    """Why words of a language have no gloss in another one."""
    untranslated = why_untranslated(language, reader, snapshot)
    return Degraded.of("gloss", f"{untranslated.reason}: words have no gloss", untranslated.cause)


def without_glosses(reader: str, documents: Iterable[RankedDocument], snapshot: Snapshot) -> list[Degraded]:
    """One entry for each language of documents whose words nothing translates."""
    languages = sorted({document.language for document in documents} - {reader})
    return [no_gloss(language, reader, snapshot) for language in languages if not snapshot.view(language, reader)]


def _forms(vocabularies: Iterable[Vocabulary], analysis: Analysis, term: str) -> list[str]:
    """The words with this index term, of those that begin as the term does."""
    beginning = term[: max(2, len(term) - 1)]
    near: dict[str, None] = {}
    for words in vocabularies:
        first = words.place(beginning)
        for index in range(first, min(first + _NEIGHBOURS, len(words))):
            word = words[index]
            if not word.startswith(beginning):
                break
            if " " not in word:
                near[word] = None
    analysis.tokens("\n".join(near))  # at once: the terms of words are cached
    return [word for word in near if [token.term for token in analysis.tokens(word)] == [term]]
