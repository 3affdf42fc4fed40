"""Counts what a search found, orders it by fields, and keeps one hit of each value.

By words (psq, smt, none) all matching documents are counted and ordered; by meaning every document is near to some
degree, so those that were ranked are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress

from dragoman.deadline import check_each
from dragoman.engine.core.errors import NotFound
from dragoman.engine.indexing.lucene.indexes import Indexes
from dragoman.engine.search.first_stage import FirstStage
from dragoman.engine.search.listing.options import ListOptions
from dragoman.engine.search.ranked import RankedDocument, Retrieval, document_of_words
from dragoman.engine.search.request import BY_WORDS, FacetField
from dragoman.engine.search.response import FacetCount, Total
from dragoman.indexes.attributes.values import DATE, decode
from dragoman.indexes.lucene.listing import SCORE, Matched, Row, Values, in_order, sort_values

_LONGEST_SHOWN = 1_000
"""Characters of a value that is counted."""


class Lister:
    """Lists what searches ranked. Safe from any thread."""

    def __init__(self, first_stage: FirstStage, indexes: Indexes) -> None:
        self._first_stage = first_stage
        self._indexes = indexes

    def list(self, retrieval: Retrieval, options: ListOptions, k: int) -> None:
        """Add the total and the facets, and order the documents by fields, the ``k`` first at least."""
        if retrieval.ranked_by in BY_WORDS:
            self._list_matches(retrieval, options, k)
        else:
            self._list_candidates(retrieval, options)

    def collapse(self, retrieval: Retrieval, field: str) -> None:
        """Keep the first document of each value of a field, with the number of the others; all that have none."""
        values = self._values(retrieval, [field])
        first: dict[bytes, RankedDocument] = {}
        documents: list[RankedDocument] = []
        for document in retrieval.documents:
            (of_field,) = values[document.key]
            earlier = first.setdefault(min(of_field), document) if of_field else document
            if earlier is document:
                documents.append(document)
            else:
                earlier.collapsed += 1
        retrieval.documents = documents

    def _list_matches(self, retrieval: Retrieval, options: ListOptions, k: int) -> None:
        rankings = retrieval.collection_rankings
        whole = not any(degraded.missing_share for degraded in retrieval.degraded)
        retrieval.total = Total(value=sum(ranking.matching for ranking in rankings), relation="eq" if whole else "gte")
        if not (options.facets or options.order):
            return
        names = [facet.field for facet in options.facets]
        matched = self._first_stage.list_matches(retrieval, names, options.order, k)
        counts = [Counter[bytes]() for _ in names]
        for answer in matched.values():
            for of_field, more in zip(counts, answer.facets, strict=True):
                of_field.update(more)
        cut = frozenset().union(*(answer.cut for answer in matched.values()))
        retrieval.facets = _facets(retrieval, options.facets, counts, cut)
        if options.order:
            retrieval.documents = _put_in_order(retrieval, options, matched, k)

    def _list_candidates(self, retrieval: Retrieval, options: ListOptions) -> None:
        fields = [facet.field for facet in options.facets]
        sorted_by = [part.name for part in options.order if part.name != SCORE]
        if not (fields or sorted_by):
            return
        values = self._values(retrieval, [*fields, *sorted_by])
        counts = [Counter[bytes]() for _ in fields]
        for document in check_each(retrieval.documents):
            for counted, of_field in zip(counts, values[document.key], strict=False):
                counted.update({encoded for encoded in of_field if encoded[:1] != DATE})
        retrieval.facets = _facets(retrieval, options.facets, counts, frozenset())
        if sorted_by:
            documents = {document.key: document for document in retrieval.documents}
            rows = [
                Row(key, document.score, sort_values(values[key][len(fields) :], options.order))
                for key, document in documents.items()
            ]
            retrieval.documents = [documents[row.key] for row in in_order(rows, options.order)]

    def _values(self, retrieval: Retrieval, fields: Sequence[str]) -> dict[int, Values]:
        """The values of fields of the documents by their keys; none where they cannot be read."""
        values: dict[int, Values] = {document.key: [[] for _ in fields] for document in retrieval.documents}
        for collection, documents in retrieval.by_collection().items():
            keys = [document.key for document in documents]
            with suppress(NotFound), self._indexes.of(collection).use(filtered=True) as index:
                values.update(zip(keys, index.values(fields, keys), strict=True))
        return values


def _put_in_order(
    retrieval: Retrieval, options: ListOptions, matched: dict[int, Matched], k: int
) -> list[RankedDocument]:
    """The ``k`` first of all matching documents."""
    rankings = retrieval.collection_rankings
    rows = [(index, row) for index, answer in matched.items() for row in answer.rows]
    of_keys = {row.key: index for index, row in rows}
    first = in_order([row._replace(score=row.score / rankings[index].attainable) for index, row in rows], options.order)
    scores = {row.key: row.score for _, row in rows}
    return [document_of_words(rankings[of_keys[row.key]], row.key, scores[row.key], row.score) for row in first[:k]]


def _facets(
    retrieval: Retrieval, facets: Sequence[FacetField], counts: Sequence[Counter[bytes]], cut: Iterable[int]
) -> dict[str, list[FacetCount]]:
    """The most frequent values of each field, equal ones in their order."""
    for place in cut:
        retrieval.truncated.append(f"facets: of {facets[place].field!r} only frequent values were counted: it has many")
    listed: dict[str, list[FacetCount]] = {}
    for facet, of_field in zip(facets, counts, strict=True):
        best = sorted(of_field.items(), key=lambda entry: (-entry[1], entry[0]))
        shown = []
        for encoded, count in best[: facet.size]:
            shown_value = decode(encoded)
            if shown_value is None or (isinstance(shown_value, str) and len(shown_value) > _LONGEST_SHOWN):
                retrieval.truncated.append(f"facets: a long value of {facet.field!r} is not listed")
            else:
                shown.append(FacetCount(value=shown_value, count=count))
        listed[facet.field] = retrieval.room.facet(shown)
    return listed
