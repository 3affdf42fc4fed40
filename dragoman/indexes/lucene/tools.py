"""Java objects shared by all indexes. All functions run on the thread that owns Java."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from typing import Any

from dragoman.indexes.bm25 import BM25
from dragoman.indexes.java import classes as java
from dragoman.indexes.lucene.fields import KEY_FIELD

__all__ = ["ABSENT_TERM", "BOOST", "SUM", "SYNONYM", "Toolbox", "toolbox"]

SYNONYM = "\ue001"
"""Private-use character between the terms of one synonym query; it is no letter or digit, so no term has it."""
BOOST = "\ue002"
ABSENT_TERM = "\ue003"
"""A term that no document has. With it, Lucene uses weighted frequencies even in a synonym query of one real term."""
SUM = " "

_LONGEST_TEXT = 1_000_000
_MAX_CLAUSES = 2**20
_SIMILARITIES = 64


class Toolbox:
    """Builds queries from lists of terms, and converts Java results to Python values, in one or two calls."""

    def __init__(self) -> None:
        java.IndexSearcher.setMaxClauseCount(_MAX_CLAUSES)
        self.complete = java.ScoreMode.COMPLETE
        by_key = java.SortField(KEY_FIELD, java.SortType.LONG)
        self.by_score = java.Sort((java.SortField.FIELD_SCORE, by_key))
        self.by_document = java.Sort((java.SortField.FIELD_DOC, java.SortField.FIELD_SCORE, by_key))
        self._should, self._must, self._filter = java.Occur.SHOULD, java.Occur.MUST, java.Occur.FILTER
        self._builder = java.QueryBuilder(_group_analyzer())
        self._hits = java.ObjectMapper()
        _ignore(self._hits, "search.TopFieldDocs", ("totalHits", "fields"))
        _ignore(self._hits, "search.FieldDoc", ("score", "doc", "shardIndex"))
        self._weights = java.ObjectMapper()
        self._weights.setVisibility(java.PropertyAccessor.FIELD, java.Visibility.ANY)
        _ignore(
            self._weights,
            "search.SynonymQuery$SynonymWeight",
            ("this$0", "parentQuery", "similarity", "scoreMode", "simWeight", "query"),
        )
        _ignore(self._weights, "index.TermStates", ("states", "topReaderContextIdentity", "term", "totalTermFreq"))
        self._similarities: dict[BM25, Any] = {}

    def boosted(self, field: str, terms: Sequence[str], boosts: Sequence[float], separator: str) -> Any:
        """A query of boosted terms: one synonym query (:data:`SYNONYM`) or their sum (:data:`SUM`)."""
        text = separator.join([f"{term}{BOOST}{boost!r}" for term, boost in zip(terms, boosts, strict=True)])
        if separator == SYNONYM and len(text) > _LONGEST_TEXT:
            builder = java.SynonymQueryBuilder(field)
            for term, boost in zip(terms, boosts, strict=True):
                builder.addTerm(java.Term(field, term), boost)
            return builder.build()
        return self._builder.createBooleanQuery(field, text, self._should)

    def total(self, queries: Sequence[Any]) -> Any:
        """A query whose score is the sum of the scores of ``queries``."""
        if len(queries) == 1:
            return queries[0]
        builder = java.BooleanQueryBuilder()
        for query in queries:
            builder.add(query, self._should)
        return builder.build()

    def filtered(self, query: Any, chosen: Any) -> Any:
        """``query``, for the documents that match ``chosen`` alone."""
        return java.BooleanQueryBuilder().add(query, self._must).add(chosen, self._filter).build()

    def similarity(self, bm25: BM25) -> Any:
        """Lucene's BM25 with the parameters."""
        found = self._similarities.get(bm25)
        if found is None:
            if len(self._similarities) >= _SIMILARITIES:
                self._similarities.clear()
            found = self._similarities[bm25] = java.BM25Similarity(bm25.k1, bm25.b)
        return found

    def fields(self, collector: Any) -> list[list[Any]]:
        """The sort values of a collector's hits, in order."""
        found = json.loads(self._hits.writeValueAsString(collector.topDocs()))["scoreDocs"]
        return [hit["fields"] for hit in found]

    def document_frequencies(self, weight: Any) -> list[int]:
        """The document frequencies in the weight of a synonym query, in the order of its sorted terms."""
        return [state["docFreq"] for state in json.loads(self._weights.writeValueAsString(weight))["termStates"]]


@cache
def toolbox() -> Toolbox:
    """The shared :class:`Toolbox`."""
    return Toolbox()


def _ignore(mapper: Any, classname: str, properties: tuple[str, ...]) -> None:
    override = mapper.configOverride(java.find_javaclass(f"org.apache.lucene.{classname}"))
    override.setIgnorals(java.JsonIgnored.forIgnoredProperties(properties))


def _group_analyzer() -> Any:
    """An analyzer that splits ``f1 BOOST 0.5 SYNONYM f2 BOOST 0.25`` into boosted synonyms at one position."""
    tokenizer, splitter, boosts = java.HashMap(), java.HashMap(), java.HashMap()
    tokenizer.put("maxTokenLen", "1048576")
    splitter.put("pattern", f"([^{SYNONYM}]+)")
    splitter.put("preserve_original", "false")
    boosts.put("delimiter", BOOST)
    builder = java.CustomAnalyzer.builder().withTokenizer("whitespace", tokenizer)
    return builder.addTokenFilter("patternCaptureGroup", splitter).addTokenFilter("delimitedBoost", boosts).build()
