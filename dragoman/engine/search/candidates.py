"""The documents that rankings find, in arrays: most of them are compared and never shown."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dragoman.engine.search.ranked import RankedDocument, Retrieval, StageScore
from dragoman.indexes.bm25 import Parts

LEAST_LINK = 0.2
"""The least share of a group's attainable score that links a word to a document: about that of a probability of .05."""
_TINY = 1e-9

Keys = NDArray[np.int64]
Floats = NDArray[np.float64]


class WordRanking(NamedTuple):
    """Documents that BM25 ranked, best first: arrays (documents,)."""

    keys: Keys
    rankings: Keys
    """The index of each one's ranking in ``Retrieval.collection_rankings``."""
    scores: Floats
    shares: Floats
    """Of the attainable score of its ranking."""


class WordMatches(NamedTuple):
    """How the words of a ranking's query match some documents of its collection."""

    ranking: int
    """Its index in ``Retrieval.collection_rankings``."""
    keys: Keys
    parts: Parts


class MeaningRanking(NamedTuple):
    """Documents whose vectors were compared with the query's, best first: arrays (documents,)."""

    keys: Keys
    collections: Keys
    """The key of each one's collection."""
    languages: NDArray[np.object_]
    scores: Floats
    """Inner products of the best passages."""
    similarities: Floats
    """The same without what is common to a language."""
    shares: Floats
    """The similarities as shares of their range."""

    def at(self, places: Keys) -> MeaningRanking:
        """Those at some places."""
        return MeaningRanking(
            self.keys[places],
            self.collections[places],
            self.languages[places],
            self.scores[places],
            self.similarities[places],
            self.shares[places],
        )


_NONE = np.zeros(0, np.int64)
NO_WORDS = WordRanking(_NONE, _NONE, np.zeros(0), np.zeros(0))
NO_MEANINGS = MeaningRanking(_NONE, _NONE, np.zeros(0, object), np.zeros(0), np.zeros(0), np.zeros(0))


@dataclass(slots=True)
class Scored:
    """The scores of one stage: arrays (documents,), NaN where a document has none."""

    scores: Floats
    shares: Floats
    """What is weighted, as in :class:`StageScore`."""
    ranks: Floats
    weights: Floats

    @classmethod
    def empty(cls, documents: int) -> Scored:
        """Of documents that have none yet."""
        return cls(*(np.full(documents, np.nan) for _ in range(4)))

    def at(self, places: Keys) -> list[StageScore | None]:
        """The scores of the documents at some places."""
        columns = (column[places].tolist() for column in (self.scores, self.shares, self.ranks, self.weights))
        return [
            None
            if math.isnan(score)
            else StageScore(
                score, share, None if math.isnan(rank) else int(rank), None if math.isnan(weight) else weight
            )
            for score, share, rank, weight in zip(*columns, strict=True)
        ]


@dataclass(slots=True)
class Candidates:
    """The documents of both rankings, by ascending key: arrays (documents,)."""

    keys: Keys
    collections: Keys
    languages: NDArray[np.object_]
    rankings: Keys
    """The index of the ranking whose query it matches; -1 for none."""
    bm25: Scored
    dense: Scored
    links: dict[tuple[int, int], NDArray[np.bool_]] = field(default_factory=dict)
    """By the index of a ranking and the place of a document that matches its query, for each group whether the document
    has a good translation of it (groups,)."""

    @classmethod
    def join(cls, retrieval: Retrieval, words: WordRanking, meanings: MeaningRanking, depth: int) -> Candidates:
        """Those of both rankings; the ``depth`` first of a ranking have ranks."""
        keys = np.union1d(words.keys, meanings.keys)
        collections, rankings = np.full(len(keys), -1), np.full(len(keys), -1)
        languages = np.empty(len(keys), object)
        bm25, dense = Scored.empty(len(keys)), Scored.empty(len(keys))
        places = np.searchsorted(keys, meanings.keys)
        collections[places], languages[places] = meanings.collections, meanings.languages
        dense.scores[places], dense.shares[places] = meanings.scores, meanings.shares
        dense.ranks[places[:depth]] = np.arange(1, len(places[:depth]) + 1)
        places = np.searchsorted(keys, words.keys)
        for index, ranking in enumerate(retrieval.collection_rankings):
            of_ranking = places[words.rankings == index]
            collections[of_ranking], languages[of_ranking] = ranking.collection.key, ranking.translated.language
        rankings[places] = words.rankings
        bm25.scores[places], bm25.shares[places] = words.scores, words.shares
        bm25.ranks[places[:depth]] = np.arange(1, len(places[:depth]) + 1)
        return cls(keys, collections, languages, rankings, bm25, dense)

    def add_words(self, retrieval: Retrieval, matches: Iterable[WordMatches]) -> None:
        """Note how words match documents."""
        for index, keys, parts in matches:
            matching = np.flatnonzero(parts.totals)
            places, totals = np.searchsorted(self.keys, keys[matching]), parts.totals[matching].astype(np.float64)
            new = np.isnan(self.bm25.scores[places])
            self.rankings[places[new]] = index
            self.bm25.scores[places[new]] = totals[new]
            self.bm25.shares[places[new]] = totals[new] / retrieval.collection_rankings[index].attainable
            linked = parts.scores[matching] >= LEAST_LINK * np.maximum(parts.attainable, _TINY)
            self.links.update(((index, place), row) for place, row in zip(places.tolist(), linked, strict=True))

    def ranked_within(self, depth: int) -> NDArray[np.bool_]:
        """Whether each is among the ``depth`` first of one of the rankings."""
        return (self.bm25.ranks <= depth) | (self.dense.ranks <= depth)

    def best(
        self, retrieval: Retrieval, scores: Floats, k: int, first: NDArray[np.bool_] | None = None
    ) -> list[RankedDocument]:
        """The ``k`` documents with the highest ``scores``, ties by collection and key; none whose score is NaN.

        Those that are ``first`` precede all others, whose scores are no higher then.
        """
        last = np.zeros(len(scores), bool) if first is None else ~first
        places = np.lexsort((self.keys, self.collections, -scores, last))
        places = places[~np.isnan(scores[places])][:k]
        ordered = np.minimum.accumulate(scores[places])
        collections = {collection.key: collection for collection in retrieval.collections}
        documents = []
        for place, score, fused, bm25, dense in zip(
            places.tolist(),
            ordered.tolist(),
            scores[places].tolist(),
            self.bm25.at(places),
            self.dense.at(places),
            strict=True,
        ):
            index = int(self.rankings[place])
            document = RankedDocument(
                collections[int(self.collections[place])], int(self.keys[place]), self.languages[place], score, fused
            )
            document.bm25, document.dense = bm25, dense
            if index >= 0:
                document.collection_ranking = retrieval.collection_rankings[index]
                document.linked = self.links.get((index, place))
            documents.append(document)
        return documents
