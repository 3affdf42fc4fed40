"""Translated queries as Lucene queries over one reader. Everything here runs on the thread that owns Java."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Iterable, Iterator
from typing import Any, NamedTuple

from dragoman.indexes import java
from dragoman.indexes.bm25 import BM25, Hit, idf
from dragoman.indexes.explanation import Statistics
from dragoman.indexes.transliteration import BETWEEN as BETWEEN_SOUND
from dragoman.indexes.transliteration import LEAST_SIMILARITY, similarity, skeletons
from dragoman.lexicon.query import TranslatedQuery

__all__ = ["Queries", "sound_field", "term_field", "word_field"]

BETWEEN = "\ue001"
"""Private-use character between the terms of one group; no letter or digit, so no term holds it."""
BOOST = "\ue002"
NOWHERE = "\ue003"
"""A term that no document holds: beside it, even a group's only term is scored by its weighted frequency."""

_UNSEARCHABLE = re.compile(f"[\\s\x1c-\x1f\ud800-\udfff{BETWEEN}{BOOST}{NOWHERE}]")
_SMALLEST_BOOST = 1.2e-38
_LONGEST_TEXT = 1_000_000
_TERMS_PER_LOOKUP = 1_000
_CACHED_TERMS = 500_000
_CACHED_GROUPS = 4_096
_EXHAUSTIVE = 2**31 - 1
_MAX_CLAUSES = 2**20
_CACHED_SIMILARITIES = 64
_ALTERNATIVES_BY_SOUND = 50


def term_field(language: str) -> str:
    """The field of a language's index terms (stems), which ``psq`` and ``none`` search."""
    return f"t_{language}"


def word_field(language: str) -> str:
    """The field of a language's folded words, which ``smt`` searches."""
    return f"w_{language}"


def sound_field(language: str) -> str:
    """The field of the skeletons of a language's index terms."""
    return f"x_{language}"


def _field(query: TranslatedQuery, language: str) -> str:
    return word_field(language) if query.method == "smt" else term_field(language)


class _Key(NamedTuple):
    """What the query of one group depends on, besides the reader."""

    structured: bool
    field: str
    weight: float
    alternatives: tuple[tuple[str, float], ...]


class _Group(NamedTuple):
    query: Any
    attainable: float


class _Toolbox:
    """Java objects that depend on no reader, built once."""

    def __init__(self) -> None:
        java.IndexSearcher.setMaxClauseCount(_MAX_CLAUSES)
        self.should = java.Occur.SHOULD
        self.complete = java.ScoreMode.COMPLETE
        self.builder = java.QueryBuilder(_group_analyzer())
        self.sort = java.Sort((java.SortField.FIELD_SCORE, java.SortField("key", java.SortType.LONG)))
        self.hits = java.ObjectMapper()
        self._ignore(self.hits, "org.apache.lucene.search.TopFieldDocs", ("totalHits", "fields"))
        self._ignore(self.hits, "org.apache.lucene.search.FieldDoc", ("score", "doc", "shardIndex"))
        self.states = java.ObjectMapper()
        self.states.setVisibility(java.PropertyAccessor.FIELD, java.Visibility.ANY)
        self._ignore(
            self.states,
            "org.apache.lucene.search.SynonymQuery$SynonymWeight",
            ("this$0", "parentQuery", "similarity", "scoreMode", "simWeight", "query"),
        )
        self._ignore(
            self.states,
            "org.apache.lucene.index.TermStates",
            ("states", "topReaderContextIdentity", "term", "totalTermFreq"),
        )

    @staticmethod
    def _ignore(mapper: Any, classname: str, properties: tuple[str, ...]) -> None:
        override = mapper.configOverride(java.find_javaclass(classname))
        override.setIgnorals(java.JsonIgnored.forIgnoredProperties(properties))


def _group_analyzer() -> Any:
    """Splits ``f1 BOOST 0.5 BETWEEN f2 BOOST 0.25`` into boosted synonyms, all at one position."""
    tokenizer, splitter, boosts = java.HashMap(), java.HashMap(), java.HashMap()
    tokenizer.put("maxTokenLen", "1048576")
    splitter.put("pattern", f"([^{BETWEEN}]+)")
    splitter.put("preserve_original", "false")
    boosts.put("delimiter", BOOST)
    builder = java.CustomAnalyzer.builder().withTokenizer("whitespace", tokenizer)
    return builder.addTokenFilter("patternCaptureGroup", splitter).addTokenFilter("delimitedBoost", boosts).build()


_toolbox: list[_Toolbox] = []


class Queries:
    """Builds and runs queries over one reader, keeping what it learns about the reader's terms."""

    def __init__(self, reader: Any) -> None:
        if not _toolbox:
            _toolbox.append(_Toolbox())
        self._tools = _toolbox[0]
        self._reader = reader
        self._searcher = java.IndexSearcher(reader)
        self._searcher.setQueryCache(None)
        self._documents: dict[str, int] = {}
        self._frequencies: dict[str, dict[str, int]] = {}
        self._groups: dict[_Key, _Group | None] = {}
        self._similarities: dict[BM25, Any] = {}
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
        for term in terms:
            known[term] = 0
        terms = [term for term in terms if term and not _UNSEARCHABLE.search(term)]
        if not terms or not self.documents(field):
            return
        query = self._boosted(field, [*terms, NOWHERE], [1.0] * (len(terms) + 1), BETWEEN)
        weight = self._searcher.createWeight(query, self._tools.complete, 1.0)
        states = json.loads(self._tools.states.writeValueAsString(weight))["termStates"]
        for term, state in zip(sorted([*terms, NOWHERE]), states, strict=True):
            known[term] = state["docFreq"]

    def sounding(self, language: str, term: str) -> list[tuple[str, float]]:
        """The index terms that sound most like ``term``, each with its similarity, the most similar first."""
        found = self._sounds.get((language, term))
        if found is None:
            if len(self._sounds) >= _CACHED_GROUPS:
                self._sounds.clear()
            near = {other: similarity(term, other) for form in skeletons(term) for other in self._heard(language, form)}
            near = {other: value for other, value in near.items() if value >= LEAST_SIMILARITY}
            found = sorted(near.items(), key=lambda item: (-item[1], item[0]))[:_ALTERNATIVES_BY_SOUND]
            self._sounds[language, term] = found
        return found

    def _heard(self, language: str, form: str) -> Iterator[str]:
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

    def ranked(self, query: TranslatedQuery, language: str, k: int, bm25: BM25) -> tuple[list[Hit], float]:
        """The ``k`` best hits, and the score's least upper bound."""
        field = _field(query, language)
        groups = [group for group in map(self._group, self._keys(query, field)) if group is not None]
        if not groups:
            return [], 0.0
        self._searcher.setSimilarity(self._similarity(bm25))
        collector = java.TopFieldCollector.create(self._tools.sort, min(k, max(1, self._reader.maxDoc())), _EXHAUSTIVE)
        self._searcher.search(self._sum([group.query for group in groups]), collector)
        found = json.loads(self._tools.hits.writeValueAsString(collector.topDocs()))
        hits = [Hit(key, score) for score, key in (hit["fields"] for hit in found["scoreDocs"])]
        return hits, math.fsum([group.attainable for group in groups])

    def statistics(self, query: TranslatedQuery, language: str) -> Statistics:
        """What the scores of the query's terms rest on."""
        field = _field(query, language)
        terms = {alternative.term for group in query.groups for alternative in group.alternatives}
        known = self.frequencies(field, terms)
        documents = self.documents(field)
        average = self._reader.getSumTotalTermFreq(field) / documents if documents else 0.0
        return Statistics(documents, average, {term: known[term] for term in terms})

    def _keys(self, query: TranslatedQuery, field: str) -> Iterable[_Key]:
        terms: set[str] = set()
        for group in query.groups:
            terms.update([alternative.term for alternative in group.alternatives])
        self.frequencies(field, terms)
        for group in query.groups:
            pairs = tuple([(alternative.term, alternative.weight) for alternative in group.alternatives])
            yield _Key(query.method == "psq", field, group.weight, pairs)

    def _group(self, key: _Key) -> _Group | None:
        """The query of one group, or None where the index holds none of its terms."""
        if key in self._groups:
            found = self._groups.pop(key)
        else:
            found = self._built(key)
            while len(self._groups) >= _CACHED_GROUPS:
                del self._groups[next(iter(self._groups))]
        self._groups[key] = found
        return found

    def _built(self, key: _Key) -> _Group | None:
        _check_boost(key.weight, key)
        frequencies = self._frequencies[key.field]
        weights: dict[str, float] = {}
        for term, weight in key.alternatives:
            _check_boost(weight, key)
            if frequencies[term] and weight >= _SMALLEST_BOOST:
                weights[term] = weights.get(term, 0.0) + weight
        if not weights:
            return None
        return self._structured(key, weights) if key.structured else self._weighted(key, weights)

    def _structured(self, key: _Key, weights: dict[str, float]) -> _Group:
        """One BM25 term with ``tf_e = sum_f w_f tf_f`` and ``df_e = sum_f w_f df_f``.

        Lucene scores a synonym query by the weighted frequency, but by the idf of its most frequent term; the
        ratio of the two idf corrects that exactly, since BM25 is idf times saturation.
        """
        frequencies, documents = self._frequencies[key.field], self.documents(key.field)
        if max(weights.values()) > 1:
            weights = {term: min(weight, 1.0) for term, weight in weights.items()}
        expected = idf(math.fsum([w * frequencies[term] for term, w in weights.items()]), documents)
        assumed = idf(max([frequencies[term] for term in weights]), documents)
        query = self._boosted(key.field, [*weights, NOWHERE], [*weights.values(), 1.0], BETWEEN)
        return _Group(java.BoostQuery(query, key.weight * expected / assumed), key.weight * expected)

    def _weighted(self, key: _Key, weights: dict[str, float]) -> _Group:
        """``sum_f w_f BM25(f)``."""
        frequencies, documents = self._frequencies[key.field], self.documents(key.field)
        boosts = [key.weight * weight for weight in weights.values()]
        query = self._boosted(key.field, list(weights), boosts, " ")
        attainable = [b * idf(frequencies[term], documents) for term, b in zip(weights, boosts, strict=True)]
        return _Group(query, math.fsum(attainable))

    def _boosted(self, field: str, terms: list[str], boosts: list[float], between: str) -> Any:
        """Terms with boosts: a synonym query where they are ``BETWEEN`` each other, a sum where a space is."""
        text = between.join([f"{term}{BOOST}{boost!r}" for term, boost in zip(terms, boosts, strict=True)])
        if between == BETWEEN and len(text) > _LONGEST_TEXT:
            builder = java.SynonymQueryBuilder(field)
            for term, boost in zip(terms, boosts, strict=True):
                builder.addTerm(java.Term(field, term), boost)
            return builder.build()
        return self._tools.builder.createBooleanQuery(field, text, self._tools.should)

    def _sum(self, queries: list[Any]) -> Any:
        if len(queries) == 1:
            return queries[0]
        builder = java.BooleanQueryBuilder()
        for query in queries:
            builder.add(query, self._tools.should)
        return builder.build()

    def _similarity(self, bm25: BM25) -> Any:
        found = self._similarities.get(bm25)
        if found is None:
            if len(self._similarities) >= _CACHED_SIMILARITIES:
                self._similarities.clear()
            found = self._similarities[bm25] = java.BM25Similarity(bm25.k1, bm25.b)
        return found


def _check_boost(weight: float, key: _Key) -> None:
    if not (math.isfinite(weight) and weight > 0):
        raise ValueError(f"weight {weight} in the query's group of {key.alternatives[0][0]!r} is not a positive number")
