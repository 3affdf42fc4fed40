"""What tells whether a document answers a query, in figures that mean about the same for every language and collection.

What tells most is how far a document stands out: by how much its score exceeds those of the best others of its
collection and language. How much of the query it covers, and how near it is, says little by itself: a question that
nothing answers is as near to what is on its topic.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dragoman.engine.search.ranked import CollectionRanking, RankedDocument, Retrieval
from dragoman.engine.search.relevance.oddness import oddness

Floats = NDArray[np.float64]
Group = tuple[int, str]
"""The documents of one language in one collection, by its key."""
Row = tuple[float, ...]

SIGNALS = (
    "first",
    "lead",
    "clear",
    "share",
    "words",
    "unmatched",
    "near",
    "late",
    "score",
    "odd",
    "root",
    "long",
    "rare",
)
"""first: whether its score exceeds all others; lead: by how much, negative below the best; clear: by how much it
exceeds the mean of the ten best others. share: how much of the query's idf it covers, that of words that no document
has included; words: the logarithm of their number, of a long query :data:`MOST_WORDS`; unmatched: the share of those
that no document has. near: its cosine, less the mean one of passages in its language. late: its match by late
interaction. score: what orders it, of reranked documents as log odds. odd: how unlike writing the query's letters are,
where it was encoded. root: the square root of the lead, with its sign. long: the logarithm of the mean number of index
terms of its collection's documents in its language, within :data:`LENGTHS`. rare: whether it has the rarest word of the
query that documents have at all."""
LOOKED_AT = 50
"""The first documents, which others are compared with: on every page, and however many hits are asked for."""
OTHERS = 10
LENGTHS = (20.0, 130.0)
"""Sentences and paragraphs: what the functions were fitted to."""
SUBWORDS_OF_TERM = 1.4
"""So many subwords of the encoder come with an index term: what is known of how long documents are without words."""
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
        within = np.append(frequencies[: sizes.sum()], 0)
        held = np.where(sizes > 0, np.maximum.reduceat(within, ends - sizes), 0) if len(sizes) else ends
        words, lost = float(weights.sum()), float(weights[held == 0].sum())
        self.words = math.log1p(min(words, MOST_WORDS))
        self.long = _log_length(int(ranking.numbers[1]) / max(1, documents))
        rarities = weights * np.where(held > 0, np.log1p((documents + 0.5) / (held + 0.5)), 0.0)
        self._rarest = int(rarities.argmax()) if rarities.any() else None
        self.unmatched = lost / words if words else 1.0
        self._attainable = ranking.attainable + lost * math.log1p((documents + 0.5) / 0.5)

    def share(self, score: float) -> float:
        """How much of the query a document with this score covers."""
        return score / self._attainable if self._attainable else 0.0

    def has_rarest(self, document: RankedDocument) -> bool:
        """Whether a document has the rarest word that documents have; False where its words were not compared."""
        return self._rarest is not None and document.linked is not None and bool(document.linked[self._rarest])


class WordsOfRankings:
    """What the words of the query can tell, for each ranking; worked out for those that have a hit."""

    def __init__(self, retrieval: Retrieval) -> None:
        self._rankings = {
            (ranking.collection.key, ranking.translated.language): ranking for ranking in retrieval.collection_rankings
        }
        self._words: dict[Group, QueryWords] = {}

    def of(self, group: Group) -> QueryWords | None:
        """Those for the documents of a group; None if no word of the query is looked for there."""
        ranking = self._rankings.get(group)
        if ranking is None:
            return None
        if group not in self._words:
            self._words[group] = QueryWords(ranking)
        return self._words[group]


def read_signals(
    retrieval: Retrieval,
    documents: Sequence[RankedDocument],
    words: WordsOfRankings,
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
        row[3:6], row[11:13] = _of_words(document, words, retrieval.mean_subwords.get(document.collection.key))
        if document.dense is not None:
            row[6] = document.dense.score - retrieval.background.get(document.language, 0.0)
        if document.late is not None:
            row[7] = document.late.score
    return signals


def _of_words(document: RankedDocument, words: WordsOfRankings, subwords: float | None) -> tuple[Row, Row]:
    """The share, the number of words and the share of unmatched ones; how long documents are, and the rarest word.

    ``subwords`` is the mean number of those of its collection's documents: without words it tells how long these are.
    """
    of_query = words.of(_group(document))
    if of_query is None:
        terms = math.prod(LENGTHS) ** 0.5 if subwords is None else subwords / SUBWORDS_OF_TERM
        return (0.0, 0.0, 1.0), (_log_length(terms), 0.0)
    share = of_query.share(document.bm25.score if document.bm25 is not None else 0.0)
    return (share, of_query.words, of_query.unmatched), (of_query.long, float(of_query.has_rarest(document)))


def _log_length(terms: float) -> float:
    return math.log(min(max(terms, LENGTHS[0]), LENGTHS[1]))


def ranked_score(document: RankedDocument) -> float:
    """The score that ordered a document before it was reranked."""
    return document.score if document.ranked is None else document.ranked


def log_odds(document: RankedDocument) -> float:
    """The logarithm of the odds of a reranked document's score, within what 32 bits tell apart."""
    bounded = min(max(document.score, 1e-7), 1 - 1e-7)
    return math.log(bounded / (1 - bounded))
