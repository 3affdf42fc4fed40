"""Term statistics of one reader. All functions run on the thread that owns Java."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import Any

from dragoman.indexes.analysis.transliteration import SKELETON_SEPARATOR, most_alike, skeletons
from dragoman.indexes.explanation import Statistics
from dragoman.indexes.java import classes as java
from dragoman.indexes.lucene.fields import query_field, sound_field, term_field
from dragoman.indexes.lucene.tools import ABSENT_TERM, BOOST, SYNONYM, toolbox
from dragoman.lexicon.query import TranslatedQuery

__all__ = ["Terms"]

_UNSEARCHABLE = re.compile(f"[\\s\x1c-\x1f\ud800-\udfff{SYNONYM}{BOOST}{ABSENT_TERM}]")
_TERMS_PER_LOOKUP = 1_000
_CACHED_TERMS = 500_000
_CACHED_SOUNDS = 4_096


class Terms:
    """Document frequencies, statistics and phonetic matches, cached for the lifetime of the reader."""

    def __init__(self, reader: Any, searcher: Any) -> None:
        self._reader = reader
        self._searcher = searcher
        self._documents: dict[str, int] = {}
        self._frequencies: dict[str, dict[str, int]] = {}
        self._sounds: dict[tuple[str, str], list[tuple[str, float]]] = {}

    def documents(self, field: str) -> int:
        """N: the number of documents with a term in ``field``."""
        if field not in self._documents:
            self._documents[field] = self._reader.getDocCount(field)
        return self._documents[field]

    def document_count(self, language: str) -> int:
        """The number of documents with an index term in ``language``."""
        return self.documents(term_field(language))

    def document_frequencies(self, language: str, terms: Collection[str]) -> dict[str, int]:
        """The document frequency of each index term."""
        known = self.frequencies(term_field(language), terms)
        return {term: known[term] for term in terms}

    def frequencies(self, field: str, terms: Collection[str]) -> dict[str, int]:
        """The document frequencies in ``field`` of ``terms``, and of other cached terms."""
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
        """Read the document frequencies of all terms from the weight of one synonym query, which sorts its terms."""
        known.update(dict.fromkeys(terms, 0))
        terms = [term for term in terms if term and not _UNSEARCHABLE.search(term)]
        if not terms or not self.documents(field):
            return
        terms = sorted([*terms, ABSENT_TERM])
        query = toolbox().boosted(field, terms, [1.0] * len(terms), SYNONYM)
        weight = self._searcher.createWeight(query, toolbox().complete, 1.0)
        known.update(zip(terms, toolbox().document_frequencies(weight), strict=True))

    def statistics(self, query: TranslatedQuery, language: str) -> Statistics:
        """The statistics behind the query's scores."""
        field = query_field(query, language)
        terms = {alternative.term for group in query.groups for alternative in group.alternatives}
        known = self.frequencies(field, terms)
        documents = self.documents(field)
        average = self._reader.getSumTotalTermFreq(field) / documents if documents else 0.0
        return Statistics(documents, average, {term: known[term] for term in terms})

    def sounding(self, language: str, term: str) -> list[tuple[str, float]]:
        """The index terms that sound most like ``term``, with their similarities, most similar first."""
        found = self._sounds.get((language, term))
        if found is None:
            if len(self._sounds) >= _CACHED_SOUNDS:
                self._sounds.clear()
            candidates = [other for skeleton in skeletons(term) for other in self._sharing(language, skeleton)]
            found = most_alike(term, candidates)
            self._sounds[language, term] = found
        return found

    def _sharing(self, language: str, skeleton: str) -> Iterator[str]:
        """The index terms with this skeleton."""
        terms = java.MultiTerms.getTerms(self._reader, sound_field(language))
        if terms is None:
            return
        prefix = skeleton + SKELETON_SEPARATOR
        entries = terms.iterator()
        if java.SeekStatus.END.equals(entries.seekCeil(java.BytesRef(prefix))):
            return
        entry = entries.term()
        while entry is not None and (text := entry.utf8ToString()).startswith(prefix):
            yield text[len(prefix) :]
            entry = entries.next()
