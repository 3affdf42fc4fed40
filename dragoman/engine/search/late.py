"""Late interaction: the first documents of hybrid search in a better order, by the states of their subwords.

    score = (fused + weight match) / (1 + weight)

The match is that of :mod:`dragoman.ranking.maxsim`. The states were kept when the documents were embedded, and those of
the query come from the pass that makes its vector, so that no text is read here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from dragoman.deadline import check_each
from dragoman.engine.models.encoding import EncodedQuery
from dragoman.engine.search.ranked import CollectionRanking, RankedDocument, Retrieval, StageScore, place_of
from dragoman.ranking.maxsim import GLOSSARY, LINKED, inside, matches

DEPTH = 50
"""Documents that are compared; the others follow them."""


def reorder(retrieval: Retrieval, similarities: Mapping[int, NDArray[np.float32]], weight: float) -> None:
    """Order the documents by fused score and match; ``similarities`` are MaxSim (subwords,) by key, NaN if not known.

    Those that were not compared follow, with scores as if they had the least match of those that were.
    """
    head, tail = retrieval.documents[:DEPTH], retrieval.documents[DEPTH:]
    if not head or retrieval.encoded is None:
        return
    maxsim = np.array([similarities[document.key] for document in head], np.float64)
    match = matches(maxsim, _links(head, retrieval.encoded), retrieval.encoded.weights)
    scores = (np.array([document.score for document in head]) + weight * match) / (1 + weight)
    share = 1 / (1 + weight)
    for document, document_match, score in zip(head, match.tolist(), scores.tolist(), strict=True):
        document.score, document.late = score, StageScore(document_match, document_match, weight=weight * share)
        for earlier in (document.bm25, document.dense):
            if earlier is not None and earlier.weight is not None:
                earlier.weight *= share
    head.sort(key=lambda document: (-document.score, place_of(document)))
    retrieval.documents = [*head, *tail]
    least, limit = float(match.min()), float(scores.min())
    for document in tail:
        document.score = min(limit, (document.score + weight * least) / (1 + weight))


def _links(documents: Sequence[RankedDocument], query: EncodedQuery) -> NDArray[np.float64]:
    """What the links of the word of each subword of the query to each document count (documents, subwords)."""
    links = np.zeros((len(documents), len(query.weights)))
    values_of_rankings: dict[int, NDArray[np.float64]] = {}
    for row, document in enumerate(check_each(documents)):
        if (
            document.linked is None
            or document.collection_ranking is None
            or not document.collection_ranking.translated.foreign
        ):
            continue
        if id(document.collection_ranking) not in values_of_rankings:
            values_of_rankings[id(document.collection_ranking)] = _values(document.collection_ranking, query)
        links[row] = (values_of_rankings[id(document.collection_ranking)] * document.linked).max(1, initial=0)
    return links


def _values(ranking: CollectionRanking, query: EncodedQuery) -> NDArray[np.float64]:
    """What a link counts, for each subword of the query and each group (subwords, groups); 0 outside of its word."""
    translated = ranking.translated
    glossaries = translated.view.glossaries if translated.view is not None else frozenset()
    words = np.stack(
        [
            inside(query.offsets, [(group.start, group.end), *group.repeated]).any(1)
            for group in translated.query.groups
        ],
        axis=1,
    )
    values = [
        GLOSSARY if any(alternative.origin in glossaries for alternative in group.alternatives) else LINKED
        for group in translated.query.groups
    ]
    link_values: NDArray[np.float64] = words * np.array(values)
    return link_values
