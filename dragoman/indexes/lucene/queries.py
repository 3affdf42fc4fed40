"""Translated queries as Lucene queries over one reader. Code runs on the thread that owns Java, unless noted."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from dragoman.indexes.bm25 import BM25, Hit, Parts, Ranking, idf
from dragoman.indexes.java import classes as java
from dragoman.indexes.lucene.fields import KEY_FIELD, query_field
from dragoman.indexes.lucene.terms import Terms
from dragoman.indexes.lucene.tools import ABSENT_TERM, SUM, SYNONYM, toolbox
from dragoman.indexes.memory.lru import LruCache
from dragoman.indexes.memory.ranker import SMALLEST_WEIGHT, ArrayRanker, check_weight
from dragoman.indexes.memory.scores import GroupScores, ScoreCache, best
from dragoman.indexes.memory.snapshot import IndexSnapshot
from dragoman.lexicon.query import TranslatedQuery

__all__ = ["Queries"]

_CACHED_GROUPS = 4_096
_MAX_CACHED_MATCHES = 8_192
"""Scores of groups with more matches are not cached: Lucene's search skips most of those documents."""
_EXHAUSTIVE = 2**31 - 1
_TOTAL_HITS_THRESHOLD = 1_000
"""Number of hits after which Lucene may skip documents that cannot reach the best ones."""
_LARGE = 100_000


class _Key(NamedTuple):
    """The cache key of a group's query."""

    structured: bool
    field: str
    terms: tuple[str, ...]
    weights: tuple[float, ...]


class _Group:
    """A group's query for a group weight of 1; ``query`` is None if the index has none of its terms."""

    __slots__ = ("attainable", "matches", "query", "scores")

    def __init__(self, query: Any, attainable: float, matches: int) -> None:
        self.query = query
        self.attainable = attainable
        self.matches = matches
        """Upper bound of the number of matching documents."""
        self.scores: dict[BM25, GroupScores] = {}


class Queries:
    """Builds, runs and caches queries over one reader."""

    def __init__(self, reader: Any, snapshot: IndexSnapshot | None) -> None:
        self._reader = reader
        self._snapshot = snapshot
        self._arrays: dict[str, ArrayRanker] = {}
        self._size: int = reader.maxDoc()
        self._searcher = java.IndexSearcher(reader)
        self._searcher.setQueryCache(None)
        self.terms = Terms(reader, self._searcher)
        self.cache = ScoreCache(np.zeros(self._size, dtype=np.int64))
        self._groups: LruCache[_Key, _Group] = LruCache(_CACHED_GROUPS)

    def arrays(self, language: str) -> ArrayRanker | None:
        """The in-memory ranker of a language; None if the index is too large for memory. Thread-safe."""
        found = self._arrays.get(language)
        if found is None and self._snapshot is not None:
            found = self._arrays.setdefault(language, ArrayRanker(self._snapshot.postings(language)))
        return found

    def known(self, query: TranslatedQuery, language: str, k: int, bm25: BM25) -> Ranking | None:
        """The ranking if it can be computed without Java, else None. Thread-safe."""
        arrays = None if query.method == "smt" else self.arrays(language)
        return arrays.rank(query, k, bm25) if arrays else self.cache.rank(query, query_field(query, language), k, bm25)

    def document_count(self, language: str) -> int:
        """The number of documents with an index term in ``language``."""
        arrays = self.arrays(language)
        return arrays.postings.document_count() if arrays else self.terms.document_count(language)

    def document_frequencies(self, language: str, terms: Collection[str]) -> dict[str, int]:
        """The document frequency of each index term."""
        arrays = self.arrays(language)
        if arrays:
            return arrays.postings.document_frequencies(terms)
        return self.terms.document_frequencies(language, terms)

    def rank(self, query: TranslatedQuery, language: str, k: int, bm25: BM25) -> Ranking:
        """The ``k`` best hits, and the maximal attainable score."""
        field = query_field(query, language)
        groups = [self._group(key) for key in self._keys(query, field)]
        weights = [group.weight for group in query.groups]
        if all(group.matches <= _MAX_CACHED_MATCHES for group in groups):
            scores = [self._scores(group, bm25) for group in groups]
            for group, known in zip(query.groups, scores, strict=True):
                self.cache.put(query.method, field, bm25, group.alternatives, known)
            return best(scores, weights, self.cache.keys, k)
        return self._search(groups, weights, k, bm25)

    def parts(self, query: TranslatedQuery, language: str, keys: Sequence[int], bm25: BM25) -> Parts:
        """The scores of the documents ``keys`` for each group, for a group weight of 1."""
        arrays = None if query.method == "smt" else self.arrays(language)
        if arrays:
            return arrays.parts(query, keys, bm25)
        rows = {key: row for row, key in enumerate(keys)}
        chosen = toolbox().boosted(KEY_FIELD, [str(key) for key in keys], [1.0] * len(keys), SUM) if keys else None
        groups = [self._group(key) for key in self._keys(query, query_field(query, language))]
        scores = np.zeros((len(keys), len(groups)), np.float32)
        for column, group in enumerate(groups):
            if group.query is not None and chosen is not None:
                among = toolbox().filtered(group.query, chosen)
                for _, score, key in self._collect(among, toolbox().by_document, len(keys), _EXHAUSTIVE, bm25):
                    scores[rows[key], column] = score
        return Parts(scores, np.array([group.attainable for group in groups]))

    def _search(self, groups: list[_Group], weights: list[float], k: int, bm25: BM25) -> Ranking:
        present = [(g, w) for g, w in zip(groups, weights, strict=True) if g.query is not None]
        query = toolbox().total([g.query if w == 1 else java.BoostQuery(g.query, w) for g, w in present])
        threshold = _TOTAL_HITS_THRESHOLD if self._size > _LARGE else _EXHAUSTIVE
        hits = self._collect(query, toolbox().by_score, min(k, self._size), threshold, bm25)
        scores = np.array([score for score, _ in hits], dtype=np.float32).tolist()
        attainable = math.fsum([g.attainable * w for g, w in present])
        return Ranking([Hit(key, score) for score, (_, key) in zip(scores, hits, strict=True)], attainable)

    def _scores(self, group: _Group, bm25: BM25) -> GroupScores:
        found = group.scores.get(bm25)
        if found is None:
            rows: list[list[Any]] = []
            if group.query is not None:
                rows = self._collect(group.query, toolbox().by_document, group.matches, _EXHAUSTIVE, bm25)
            documents = [document for document, _, _ in rows]
            scores = np.array([score for _, score, _ in rows], dtype=np.float32).tolist()
            self.cache.keys[documents] = [key for _, _, key in rows]
            found = group.scores[bm25] = GroupScores.of(documents, scores, group.attainable)
        return found

    def _collect(self, query: Any, sort: Any, count: int, threshold: int, bm25: BM25) -> list[list[Any]]:
        self._searcher.setSimilarity(toolbox().similarity(bm25))
        collector = java.TopFieldCollector.create(sort, count, threshold)
        self._searcher.search(query, collector)
        return toolbox().fields(collector)

    def _keys(self, query: TranslatedQuery, field: str) -> Iterator[_Key]:
        terms: set[str] = set()
        for group in query.groups:
            terms.update([alternative.term for alternative in group.alternatives])
        self.terms.frequencies(field, terms)
        for group in query.groups:
            check_weight(group.weight, group.query_word)
            yield _Key(
                query.method == "psq",
                field,
                tuple([alternative.term for alternative in group.alternatives]),
                tuple([alternative.weight for alternative in group.alternatives]),
            )

    def _group(self, key: _Key) -> _Group:
        found = self._groups.get(key)
        if found is None:
            found = self._build(key)
            self._groups.put(key, found)
        return found

    def _build(self, key: _Key) -> _Group:
        frequencies = self.terms.frequencies(key.field, ())
        weights: dict[str, float] = {}
        for term, weight in zip(key.terms, key.weights, strict=True):
            check_weight(weight, term)
            if frequencies[term] and weight >= SMALLEST_WEIGHT:
                weights[term] = weights.get(term, 0.0) + weight
        if not weights:
            return _Group(None, 0.0, 0)
        matches = min(self._size, sum([frequencies[term] for term in weights]))
        build = self._structured if key.structured else self._weighted
        return _Group(*build(key.field, weights), matches)

    def _structured(self, field: str, weights: dict[str, float]) -> tuple[Any, float]:
        """One BM25 term with ``tf_e = sum_f w_f tf_f`` and ``df_e = sum_f w_f df_f``.

        Lucene's synonym query uses the weighted frequency, but the idf of the most frequent term. A boost by the
        ratio of the two idf corrects that exactly, because BM25 is idf times saturation.
        """
        frequencies, documents = self.terms.frequencies(field, ()), self.terms.documents(field)
        if max(weights.values()) > 1:
            weights = {term: min(weight, 1.0) for term, weight in weights.items()}
        expected = idf(math.fsum([w * frequencies[term] for term, w in weights.items()]), documents)
        assumed = idf(max([frequencies[term] for term in weights]), documents)
        query = toolbox().boosted(field, [*weights, ABSENT_TERM], [*weights.values(), 1.0], SYNONYM)
        return java.BoostQuery(query, expected / assumed), expected

    def _weighted(self, field: str, weights: dict[str, float]) -> tuple[Any, float]:
        """``sum_f w_f BM25(f)``."""
        frequencies, documents = self.terms.frequencies(field, ()), self.terms.documents(field)
        query = toolbox().boosted(field, list(weights), list(weights.values()), SUM)
        return query, math.fsum([w * idf(frequencies[term], documents) for term, w in weights.items()])
