"""What one reader knows about its terms. Everything here runs on the thread that owns Java."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import Any

from dragoman.indexes.analysis.transliteration import BETWEEN as BETWEEN_SOUND
from dragoman.indexes.analysis.transliteration import most_alike, skeletons
from dragoman.indexes.explanation import Statistics
from dragoman.indexes.java import classes as java
from dragoman.indexes.lucene.fields import query_field, sound_field, term_field
from dragoman.indexes.lucene.tools import BETWEEN, BOOST, NOWHERE, toolbox
from dragoman.lexicon.query import TranslatedQuery

__all__ = ["Terms"]

_UNSEARCHABLE = re.compile(f"[\\s\x1c-\x1f\ud800-\udfff{BETWEEN}{BOOST}{NOWHERE}]")
_TERMS_PER_LOOKUP = 1_000
_CACHED_TERMS = 500_000
_CACHED_SOUNDS = 4_096


class Terms:
    """Document frequencies, statistics and sounds, remembered for as long as the reader is in use."""

    def __init__(self, reader: Any, searcher: Any) -> None:
        self._reader = reader
        self._searcher = searcher
        self._documents: dict[str, int] = {}
        self._frequencies: dict[str, dict[str, int]] = {}
        self._sounds: dict[tuple[str, str], list[tuple[str, float]]] = {}

    def documents(self, field: str) -> int:
        """N: how many documents have a term in ``field``."""
        if field not in self._documents:
            self._documents[field] = self._reader.getDocCount(field)
        return self._documents[field]

    def document_count(self, language: str) -> int:
        """How many documents have an index term in ``language``."""
        return self.documents(term_field(language))

    def document_frequencies(self, language: str, terms: Collection[str]) -> dict[str, int]:
        """The document frequency of each index term."""
        known = self.frequencies(term_field(language), terms)
        return {term: known[term] for term in terms}

    def frequencies(self, field: str, terms: Collection[str]) -> dict[str, int]:
        """A mapping that holds the document frequency of each of ``terms`` in ``field``, and maybe of others."""
        known = self._frequencies.setdefault(field, {})
        unknown = sorted({term for term in terms if term not in known})
        if unknown:
            if len(known) + len(unknown) > _CACHED_TERMS:
                known.clear()
                unknown = sorted(set(terms))
            for start in range(0, len(unknown), _TERMS_PER_LOOKUP):
                self._look_up(field, unknown[start : start + _TERMS_PER_LOOKUP], known)
        return known

    def _look_up(self, field: str, terms: list[str], known: dict[str, int]) -> None:
        """Document frequencies in one go: those that the weight of a synonym query gathers, which sorts its terms."""
        known.update(dict.fromkeys(terms, 0))
        terms = [term for term in terms if term and not _UNSEARCHABLE.search(term)]
        if not terms or not self.documents(field):
            return
        terms = sorted([*terms, NOWHERE])
        query = toolbox().boosted(field, terms, [1.0] * len(terms), BETWEEN)
        weight = self._searcher.createWeight(query, toolbox().complete, 1.0)
        known.update(zip(terms, toolbox().document_frequencies(weight), strict=True))

    def statistics(self, query: TranslatedQuery, language: str) -> Statistics:
        """What the scores of the query's terms rest on."""
        field = query_field(query, language)
        terms = {alternative.term for group in query.groups for alternative in group.alternatives}
        known = self.frequencies(field, terms)
        documents = self.documents(field)
        average = self._reader.getSumTotalTermFreq(field) / documents if documents else 0.0
        return Statistics(documents, average, {term: known[term] for term in terms})

    def sounding(self, language: str, term: str) -> list[tuple[str, float]]:
        """The index terms that sound most like ``term``, each with its similarity, the most similar first."""
        found = self._sounds.get((language, term))
        if found is None:
            if len(self._sounds) >= _CACHED_SOUNDS:
                self._sounds.clear()
            candidates = [other for form in skeletons(term) for other in self._sharing(language, form)]
            found = most_alike(term, candidates)
            self._sounds[language, term] = found
        return found

    def _sharing(self, language: str, form: str) -> Iterator[str]:
        """The index terms with the skeleton ``form``."""
        terms = java.MultiTerms.getTerms(self._reader, sound_field(language))
        if terms is None:
            return
        prefix = form + BETWEEN_SOUND
        entries = terms.iterator()
        if java.SeekStatus.END.equals(entries.seekCeil(java.BytesRef(prefix))):
            return
        entry = entries.term()
        while entry is not None and (text := entry.utf8ToString()).startswith(prefix):
            yield text[len(prefix) :]
            entry = entries.next()
