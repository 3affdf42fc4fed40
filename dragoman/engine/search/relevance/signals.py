"""What tells whether a document answers a query, in figures that mean about the same for every language and collection.

What tells most is how far a document stands out: by how much its score exceeds those of the best others of its
collection and language. How much of the query it covers, and how near it is, says little by itself: a question that
nothing answers is as near to what is on its topic.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from dragoman.engine.search.ranked import CollectionRanking, RankedDocument, Retrieval
from dragoman.engine.search.relevance.oddness import oddness

Floats = NDArray[np.float64]
Group = tuple[int, str]
"""The documents of one language in one collection, by its key."""

SIGNALS = ("first", "lead", "clear", "share", "words", "unmatched", "near", "late", "score", "odd", "root")
"""first: whether its score exceeds all others; lead: by how much, negative below the best; clear: by how much it
exceeds the mean of the ten best others. share: how much of the query's idf it covers, that of words that no document
has included; words: the logarithm of their number, of a long query :data:`MOST_WORDS`; unmatched: the share of those
that no document has. near: its cosine, less the mean one of passages in its language. late: its match by late
interaction. score: what orders it, of reranked documents as log odds. odd: how unlike writing the query's letters are,
where it was encoded. root: the square root of the lead, with its sign."""
LOOKED_AT = 50
"""The first documents, which others are compared with: on every page, and however many hits are asked for."""
OTHERS = 10
MOST_WORDS = 16
"""Words of a query that count: few of the questions that the functions were fitted to have more."""


class Competition:
    """The best scores of each group among the first documents of a ranking."""

    def __init__(self, scored: Sequence[tuple[RankedDocument, float]], level: float, unmatched: float | None) -> None:
        """``scored`` are documents, best first, with their scores.

        ``level`` is what others score usually: it stands for those that a small collection lacks. ``unmatched`` is the
        score of documents that are not ranked because they do not match; None where all are ranked.
        """
        looked_at = scored[:LOOKED_AT]
        self._level, self._unmatched = level, unmatched
        self._least = min((score for _, score in looked_at), default=level)
        self._full = len(looked_at) == LOOKED_AT
        self._best: dict[Group, list[float]] = {}
        for document, score in looked_at:
            self._best.setdefault(_group(document), []).append(score)
        for scores in self._best.values():
            scores.sort(reverse=True)
            del scores[OTHERS + 1 :]

    def compare(self, document: RankedDocument, score: float) -> tuple[bool, float, float]:
        """Whether a document is the first of its group, its lead on the best other, and on the mean of the others."""
        others = list(self._best.get(_group(document), ()))
        if score in others:
            others.remove(score)
        others = others[:OTHERS]
        if self._full:
            others += [self._least] * (OTHERS - len(others))
        elif self._unmatched is not None:
            others += [self._unmatched] * (min(OTHERS, document.collection.documents - 1) - len(others))
        others += [self._level] * (OTHERS - len(others))
        lead = score - max(others)
        return lead > 0, lead, score - math.fsum(others) / OTHERS


def _group(document: RankedDocument) -> Group:
    return document.collection.key, document.language


class QueryWords:
    """What the words of the query can tell of the documents of one collection and language."""

    def __init__(self, ranking: CollectionRanking) -> None:
        weights, sizes = ranking.query.groups[::2], ranking.query.groups[1::2].astype(np.int64)
        documents, frequencies = int(ranking.numbers[0]), ranking.numbers[2:]
        ends = np.cumsum(sizes)
        held = [frequencies[end - size : end].any() for end, size in zip(ends.tolist(), sizes.tolist(), strict=True)]
        words, lost = float(weights.sum()), float(weights[~np.array(held, np.bool_)].sum())
        self.words = math.log1p(min(words, MOST_WORDS))
        self.unmatched = lost / words if words else 1.0
        self._attainable = ranking.attainable + lost * math.log1p((documents + 0.5) / 0.5)

    def share(self, score: float) -> float:
        """How much of the query a document with this score covers."""
        return score / self._attainable if self._attainable else 0.0


def words_of(retrieval: Retrieval) -> dict[Group, QueryWords]:
    """What the words of the query can tell, for each ranking."""
    return {
        (ranking.collection.key, ranking.translated.language): QueryWords(ranking)
        for ranking in retrieval.collection_rankings
    }


def read_signals(
    retrieval: Retrieval,
    documents: Sequence[RankedDocument],
    words: Mapping[Group, QueryWords],
    ranked: Competition,
    reranked: Competition | None,
) -> Floats:
    """The signals of documents (documents, signals), in the order of :data:`SIGNALS`; NaN for what is not known."""
    signals = np.full((len(documents), len(SIGNALS)), np.nan)
    if retrieval.encoded is not None:
        signals[:, 9] = oddness(retrieval.query.text, retrieval.encoded)
    for row, document in zip(signals, documents, strict=True):
        if document.rerank is None or reranked is None:
            competition, score = ranked, ranked_score(document)
        else:
            competition, score = reranked, log_odds(document)
        row[:3], row[8] = competition.compare(document, score), score
        row[10] = math.copysign(math.sqrt(abs(row[1])), row[1])
        row[3:6] = _of_words(document, words)
        if document.dense is not None:
            row[6] = document.dense.score - retrieval.background.get(document.language, 0.0)
        if document.late is not None:
            row[7] = document.late.score
    return signals


def _of_words(document: RankedDocument, words: Mapping[Group, QueryWords]) -> tuple[float, float, float]:
    """The share, the number of words, and the share of unmatched ones."""
    of_query = words.get(_group(document))
    if of_query is None:
        return 0.0, 0.0, 1.0
    return of_query.share(document.bm25.score if document.bm25 is not None else 0.0), of_query.words, of_query.unmatched


def ranked_score(document: RankedDocument) -> float:
    """The score that ordered a document before it was reranked."""
    return document.score if document.ranked is None else document.ranked


def log_odds(document: RankedDocument) -> float:
    """The logarithm of the odds of a reranked document's score, within what 32 bits tell apart."""
    bounded = min(max(document.score, 1e-7), 1 - 1e-7)
    return math.log(bounded / (1 - bounded))
