"""Suggests titles, terms and other spellings for what is typed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from dragoman.deadline import check_each
from dragoman.engine.core.errors import InvalidRequest
from dragoman.engine.indexing.collections import CollectionInfo
from dragoman.engine.query.spelling import by_nearness, correct, is_word
from dragoman.engine.settings import Settings
from dragoman.engine.suggest.response import Completion, Correction, SuggestResponse
from dragoman.engine.suggest.terms import TermCompletion
from dragoman.engine.tables.snapshot import Snapshot, TableRegistry
from dragoman.engine.tables.views import source_tables
from dragoman.lexicon.table.beginnings import begin_ranges
from dragoman.lexicon.table.table import Table
from dragoman.lexicon.text.beginnings import begin_key
from dragoman.lexicon.text.tokens import Analysis, fold_term

MOST_CHARS = 200
"""The longest text that is completed."""
_MOST = 10
_CORRECTED_WORDS = 8
_CORRECTIONS = 3
"""Spellings of one word."""


class TitledCollections(Protocol):
    """What is asked of whoever stores the documents."""

    def chosen(self, names: Sequence[str] | None) -> list[CollectionInfo]:
        """As :meth:`SearchedCollections.chosen`."""

    def complete_titles(self, collection: int, begun: str, most: int) -> list[str]:
        """At most ``most`` different titles of a collection that begin so when they are folded, in their order."""


class Suggest:
    """Answers what is typed. Usable from any thread."""

    def __init__(
        self,
        collections: TitledCollections,
        registry: TableRegistry,
        analysis: Callable[[str], Analysis],
        settings: Settings,
    ) -> None:
        self._collections = collections
        self._registry = registry
        self._analysis = analysis
        self._names = settings.search.search_names
        self._terms = TermCompletion(registry.written)

    def suggest(
        self,
        typed: str,
        request_id: str,
        language: str | None = None,
        collections: Sequence[str] | None = None,
        readers: Sequence[str] = (),
    ) -> SuggestResponse:
        """Completions and other spellings of what is typed, in ``language`` or in a language of the readers.

        Raises:
            InvalidRequest: it is too long, or too many collections are named.
            NotFound: there is no such collection.
        """
        if len(typed) > MOST_CHARS:
            raise InvalidRequest(f"q: longer than {MOST_CHARS} characters")
        if len(collections or ()) > self._names:
            raise InvalidRequest(f"collections: {len(collections or ())} of them; at most {self._names} are allowed")
        chosen = self._collections.chosen(collections)
        snapshot = self._registry.snapshot
        targets = sorted({language for info in chosen for language in info.languages}) or sorted(snapshot.languages)
        sources = _sources(snapshot, language, readers)
        terms = self._terms.complete(snapshot, typed, sources, targets, _MOST)
        titles = self._titles(chosen, typed)
        half = max(_MOST // 2, _MOST - len(titles))
        completions = [*terms[:half], *titles][:_MOST]
        return SuggestResponse(request_id, completions, self._corrections(snapshot, typed, sources))

    def _titles(self, collections: Sequence[CollectionInfo], typed: str) -> list[Completion]:
        """The first titles of all collections that begin with what is typed, each once."""
        titles: dict[str, str] = {}
        for info in check_each(collections):
            for begun in {begin_key(typed, language) for language in (*info.languages, info.language)}:
                for title in self._collections.complete_titles(info.key, begun, _MOST):
                    titles.setdefault(title, begin_key(title, info.language))
        ordered = sorted(titles, key=lambda title: (titles[title], title))
        return [Completion(title, "title") for title in ordered[:_MOST]]

    def _corrections(self, snapshot: Snapshot, typed: str, sources: Sequence[str]) -> list[Correction]:
        """Other spellings of the words that no table has in any of the languages."""
        tables = {source: _tables_from(snapshot, source) for source in sources}
        words = self._analysis(sources[0]).tokens(typed) if sources else []
        corrections: list[Correction] = []
        for token in check_each(words[:_CORRECTED_WORDS]):
            word = typed[token.start : token.end]
            if any(self._is_spelt(snapshot, source, word, token.end == len(typed)) for source in sources):
                continue
            spellings = sorted(
                (
                    spelling._replace(term=self._as_written(snapshot, source, spelling.term))
                    for source in sources
                    for spelling in correct(tables[source], fold_term(word, source), _CORRECTIONS)
                ),
                key=by_nearness,
            )
            nearest = [spelling.term for spelling in spellings if spelling.distance == spellings[0].distance]
            for term in list(dict.fromkeys(nearest))[:_CORRECTIONS]:
                corrections.append(Correction(typed[: token.start] + term + typed[token.end :], word, term))
        return corrections

    def _as_written(self, snapshot: Snapshot, source: str, term: str) -> str:
        """A term as the first of the tables has it that has it at all."""
        views = (
            view for (first, _), view in sorted(snapshot.views.items(), key=lambda entry: entry[0]) if first == source
        )
        view = next((view for view in views if term in view.surface), None)
        return term if view is None else self._registry.written.of_source(view, source, term)

    def _is_spelt(self, snapshot: Snapshot, source: str, word: str, unfinished: bool) -> bool:
        """Whether a word needs no other spelling: a table has it or its index term, or it is likely a word.

        If more of it may be typed, also if a term begins so.
        """
        folded = fold_term(word, source)
        if not folded or snapshot.knows(source, folded):
            return True
        terms = {token.term for token in self._analysis(source).tokens(word) if token.term}
        views = [view for (first, _), view in snapshot.views.items() if first == source]
        if not terms or any(terms <= set(filter(view.analysed.__contains__, terms)) for view in views):
            return True
        if is_word(folded, _tables_from(snapshot, source)):
            return True
        return unfinished and any(
            begin_ranges(table.sources, folded, source) for table in _tables_from(snapshot, source)
        )


def _sources(snapshot: Snapshot, language: str | None, readers: Sequence[str]) -> list[str]:
    """The languages that what is typed may be in: the named one, or those of the readers, of which there are tables."""
    translated = {source for source, _ in snapshot.views}
    if language is not None:
        return [language] if language in translated else []
    return [reader for reader in readers if reader in translated] or sorted(translated)


def _tables_from(snapshot: Snapshot, source: str) -> list[Table]:
    return [
        table
        for (first, _), view in sorted(snapshot.views.items(), key=lambda entry: entry[0])
        if first == source
        for table in source_tables(view)
    ]
