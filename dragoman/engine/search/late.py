"""Late interaction: the first documents of hybrid search in a better order, by the states of their subwords.

    score = (fused + weight match) / (1 + weight)

The match is that of :mod:`dragoman.ranking.maxsim`. The states were kept when the documents were embedded, and those of
the query come from the pass that makes its vector, so that no text is read here.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from dragoman.deadline import check_each
from dragoman.engine.models.encoding import EncodedQuery
from dragoman.engine.search.ranked import CollectionRanking, RankedDocument, Retrieval, StageScore
from dragoman.ranking.maxsim import GLOSSARY, LINKED, inside, matches

DEPTH = 50
"""Documents that are compared; the others follow them."""


def reorder(retrieval: Retrieval, similarities: NDArray[np.float32], weight: float) -> None:
    """Order the documents by fused score and match; ``similarities`` are MaxSim (documents, subwords) of the first
    :data:`DEPTH`, NaN if not known.

    Those that were not compared follow, with scores as if they had the least match of those that were.
    """
    head, tail = retrieval.documents[:DEPTH], retrieval.documents[DEPTH:]
    if not head or retrieval.encoded is None:
        return
    match = matches(similarities.astype(np.float64), _links(head, retrieval.encoded), retrieval.encoded.weights)
    scores = (np.array([document.score for document in head]) + weight * match) / (1 + weight)
    share = 1 / (1 + weight)
    for document, document_match, score in zip(head, match.tolist(), scores.tolist(), strict=True):
        document.score, document.late = score, StageScore(document_match, document_match, weight=weight * share)
        for earlier in (document.bm25, document.dense):
            if earlier is not None and earlier.weight is not None:
                earlier.weight *= share
    keys, collections = np.array([(document.key, document.collection.key) for document in head]).T
    retrieval.documents = [*(head[place] for place in np.lexsort((keys, collections, -scores)).tolist()), *tail]
    least, limit = float(match.min()), float(scores.min())
    for document in tail:
        document.score = min(limit, (document.score + weight * least) / (1 + weight))


def _links(documents: Sequence[RankedDocument], query: EncodedQuery) -> NDArray[np.float64]:
    """What the links of the word of each subword of the query to each document count (documents, subwords)."""
    links = np.zeros((len(documents), len(query.weights)))
    rows_of_rankings: dict[int, list[int]] = {}
    rankings: list[CollectionRanking] = []
    for row, document in enumerate(documents):
        ranking = document.collection_ranking
        if document.linked is not None and ranking is not None and ranking.translated.foreign:
            if id(ranking) not in rows_of_rankings:
                rankings.append(ranking)
            rows_of_rankings.setdefault(id(ranking), []).append(row)
    start = 0
    words = _words(rankings, query)
    for ranking in check_each(rankings):
        rows, values = rows_of_rankings[id(ranking)], _values(ranking)
        linked = np.array([documents[row].linked for row in rows])
        if len(values):
            of_subwords = words[:, start : start + len(values)] * values
            links[rows] = (linked[:, None] * of_subwords).max(2)
        start += len(values)
    return links


def _words(rankings: Sequence[CollectionRanking], query: EncodedQuery) -> NDArray[np.bool_]:
    """Whether a subword of the query is in the word of a group (subwords, groups), for the groups of all rankings."""
    places = [
        [(group.start, group.end), *group.repeated] for ranking in rankings for group in ranking.translated.query.groups
    ]
    if not places:
        return np.zeros((len(query.weights), 0), np.bool_)
    firsts = np.cumsum([0, *map(len, places)])[:-1]
    words: NDArray[np.bool_] = np.logical_or.reduceat(
        inside(query.offsets, list(chain.from_iterable(places))), firsts, axis=1
    )
    return words


def _values(ranking: CollectionRanking) -> NDArray[np.float64]:
    """What a link of each group counts (groups,)."""
    view = ranking.translated.view
    glossaries = view.glossaries if view is not None else frozenset()
    if not glossaries:
        return np.full(len(ranking.translated.query.groups), LINKED)
    return np.array(
        [
            GLOSSARY if any(alternative.origin in glossaries for alternative in group.alternatives) else LINKED
            for group in ranking.translated.query.groups
        ]
    )
