"""Translated queries as the arrays that the Java class ``dragoman.Searcher`` takes, and its answers as ours."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dragoman.indexes.analysis.spellings import likely_skeletons
from dragoman.indexes.analysis.transliteration import SKELETON_SEPARATOR
from dragoman.indexes.bm25 import BM25, Hit, Parts, Ranking
from dragoman.indexes.explanation import Statistics
from dragoman.indexes.lucene.fields import query_field, sound_field, term_field
from dragoman.indexes.shard_group import Unsearched
from dragoman.lexicon.query import TranslatedQuery

__all__ = [
    "MOST_HITS",
    "Lease",
    "PreparedQuery",
    "Scored",
    "begin",
    "document_frequencies",
    "prepare",
    "read_parts",
    "read_scored",
    "score",
    "score_documents",
    "sharing_skeleton",
]

_SURROGATE = re.compile("[\ud800-\udfff]")
MOST_HITS = 2**31 - 1
_HEAD, _STATISTICS = 3, 2
"""How many numbers stand before the statistics in an answer, and before the frequencies in these."""
_new = tuple.__new__


class Lease(NamedTuple):
    """A snapshot of an index by its version, and the statistics by which its documents are scored."""

    version: int
    numbers: NDArray[np.int64]
    """N, the length of all documents together, and the document frequency of each term (terms + 2,)."""


class PreparedQuery(NamedTuple):
    """A translated query over one language's documents, as the Java methods take it."""

    terms: list[str]
    """Those of all groups, in their order."""
    field: str
    structured: bool
    lines: str
    """The terms, one a line."""
    weights: NDArray[np.float64]
    """(terms,)"""
    groups: NDArray[np.float64]
    """(2 groups,) by turns the weight and the number of terms of each."""
    k1: float
    b: float
    filter: str = ""
    """The program of a filter that leaves some documents (:mod:`dragoman.indexes.attributes.filters`); empty: all."""

    def arguments(self, lease: Lease | None) -> tuple[Any, ...]:
        """What the Java methods take first: the version, the query, and the statistics."""
        version, numbers = (0, None) if lease is None else lease
        return (version, *self[1:-1], numbers)


class Scored(NamedTuple):
    """The best documents of an index as arrays, best first, and what they were scored by."""

    keys: NDArray[np.int64]
    scores: NDArray[np.float64]
    attainable: float
    numbers: NDArray[np.int64]
    """As those of :class:`Lease`."""
    matching: int = 0
    """All documents with a term of the query that its filter leaves."""
    unsearched: tuple[Unsearched, ...] = ()
    parts: Parts | None = None
    """The scores of these documents for each group, where they were asked for and are known already."""

    def ranking(self) -> Ranking:
        """The same as a ranking."""
        hits = [_new(Hit, pair) for pair in zip(self.keys.tolist(), self.scores.tolist(), strict=True)]
        return Ranking(hits, self.attainable, self.unsearched)

    def statistics(self, terms: Sequence[str]) -> Statistics:
        """The statistics of the query's ``terms``."""
        documents, length, *frequencies = self.numbers.tolist()
        return Statistics(documents, length, dict(zip(terms, frequencies, strict=True)))


def prepare(query: TranslatedQuery, language: str, bm25: BM25, filter: str = "") -> PreparedQuery:
    """The query as arrays, over the documents that a filter's program leaves.

    Raises:
        ValueError: a weight is not a positive number.
    """
    terms: list[str] = []
    weights: list[float] = []
    groups: list[float] = []
    for group in query.groups:
        terms += [alternative.term for alternative in group.alternatives]
        weights += [alternative.weight for alternative in group.alternatives]
        groups += (group.weight, len(group.alternatives))
    of_terms, of_groups = np.array(weights, np.float64), np.array(groups, np.float64)
    if not (_positive(of_terms) and _positive(of_groups[::2])):
        _refuse(query)
    structured = query.method != "smt"
    field = query_field(query, language)
    return PreparedQuery(terms, field, structured, _lines(terms), of_terms, of_groups, bm25.k1, bm25.b, filter)


def begin(searcher: Any, query: PreparedQuery, version: int = 0) -> Lease:
    """The statistics of a query's terms, of a snapshot that stays until its version is released; 0: the present one."""
    answer = np.array(searcher.statistics(version, query.field, query.lines))
    return Lease(answer[0].item(), answer[1 : 1 + _STATISTICS + len(query.terms)])


def score(searcher: Any, query: PreparedQuery, k: int, lease: Lease | None) -> Scored:
    """The ``k`` best documents; without ``lease`` by the statistics of the present snapshot of this index."""
    return read_scored(np.array(searcher.search(*query.arguments(lease), query.filter, min(k, MOST_HITS))), query)


def read_scored(answer: NDArray[np.int64], query: PreparedQuery) -> Scored:
    """What ``dragoman.Searcher.search`` answers."""
    count, attainable = answer[0].item(), answer[1:2].view(np.float64).item()
    rest = _HEAD + _STATISTICS + len(query.terms)
    scores = answer[rest + count :].view(np.float64)
    return Scored(answer[rest : rest + count], scores, attainable, answer[_HEAD:rest], answer[2].item())


def score_documents(searcher: Any, query: PreparedQuery, keys: Sequence[int], lease: Lease | None) -> Parts:
    """The scores of the documents ``keys``: for each group, for a group weight of 1, and together."""
    return read_parts(np.array(searcher.parts(*query.arguments(lease), np.array(keys, np.int64))), query)


def read_parts(answer: NDArray[np.float64], query: PreparedQuery) -> Parts:
    """What ``dragoman.Searcher.parts`` answers."""
    rows = answer.reshape(-1, len(query.groups) // 2 + 1)
    return Parts(rows[:-1, :-1].astype(np.float32), rows[-1, :-1], rows[:-1, -1].astype(np.float32))


def document_frequencies(searcher: Any, language: str, terms: Collection[str]) -> dict[str, int]:
    """The document frequency of each index term."""
    if not terms:
        return {}
    listed = list(terms)
    return dict(zip(listed, np.array(searcher.frequencies(term_field(language), _lines(listed))).tolist(), strict=True))


def sharing_skeleton(searcher: Any, language: str, term: str) -> list[str]:
    """The index terms of documents that have a likely phonetic skeleton of ``term``."""
    terms: list[str] = []
    for skeleton in likely_skeletons(term, language):
        terms += str(searcher.completions(sound_field(language), skeleton + SKELETON_SEPARATOR)).split("\n")[:-1]
    return [candidate for candidate, frequency in document_frequencies(searcher, language, terms).items() if frequency]


def _positive(weights: NDArray[np.float64]) -> bool:
    return not len(weights) or bool(weights.min() > 0 and weights.max() < math.inf)


def _refuse(query: TranslatedQuery) -> None:
    weights = [(group.weight, group.query_word) for group in query.groups]
    weights += [(alternative.weight, alternative.term) for group in query.groups for alternative in group.alternatives]
    for weight, term in weights:
        if not 0 < weight < math.inf:
            raise ValueError(f"weight {weight} of {term!r} in the query is not a positive number")


def _lines(terms: Sequence[str]) -> str:
    """The terms, one a line. No document has a term with a line feed or half a character: such a one is left empty."""
    lines = "\n".join(terms)
    try:
        lines.encode()
    except UnicodeEncodeError:
        return _lines(["" if _SURROGATE.search(term) else term for term in terms])
    if lines.count("\n") >= max(len(terms), 1):
        return "\n".join([term.replace("\n", " ") for term in terms])
    return lines
