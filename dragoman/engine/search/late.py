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
from dragoman.engine.search.ranked import Part, RankedDocument, Retrieval, StageScore
from dragoman.ranking.maxsim import GLOSSARY, LINKED, inside, matches

DEPTH = 50
"""Documents that are compared; the others follow them."""


def reorder(found: Retrieval, similarities: Mapping[int, NDArray[np.float32]], weight: float) -> None:
    """Order the documents by fused score and match; ``similarities`` are MaxSim (subwords,) by key, NaN if not known.

    Those that were not compared follow, with scores as if they had the least match of those that were.
    """
    head, tail = found.documents[:DEPTH], found.documents[DEPTH:]
    if not head or found.encoded is None:
        return
    maxsim = np.array([similarities[one.key] for one in head], np.float64)
    match = matches(maxsim, _links(head, found.encoded), found.encoded.weights)
    scores = (np.array([one.score for one in head]) + weight * match) / (1 + weight)
    share = 1 / (1 + weight)
    for one, own, score in zip(head, match.tolist(), scores.tolist(), strict=True):
        one.score, one.late = score, StageScore(own, own, weight=weight * share)
        for earlier in (one.bm25, one.dense):
            if earlier is not None and earlier.weight is not None:
                earlier.weight *= share
    found.documents = [*(head[row] for row in np.argsort(-scores, kind="stable")), *tail]
    least, limit = float(match.min()), float(scores.min())
    for one in tail:
        one.score = min(limit, (one.score + weight * least) / (1 + weight))


def _links(documents: Sequence[RankedDocument], query: EncodedQuery) -> NDArray[np.float64]:
    """What the links of the word of each subword of the query to each document count (documents, subwords)."""
    links = np.zeros((len(documents), len(query.weights)))
    of_parts: dict[int, NDArray[np.float64]] = {}
    for row, one in enumerate(check_each(documents)):
        if one.linked is None or one.part is None or not one.part.translated.foreign:
            continue
        if id(one.part) not in of_parts:
            of_parts[id(one.part)] = _values(one.part, query)
        links[row] = (of_parts[id(one.part)] * one.linked).max(1, initial=0)
    return links


def _values(part: Part, query: EncodedQuery) -> NDArray[np.float64]:
    """What a link counts, for each subword of the query and each group (subwords, groups); 0 outside of its word."""
    translated = part.translated
    glossaries = translated.view.glossaries if translated.view is not None else frozenset()
    words = np.stack(
        [
            inside(query.offsets, [(group.start, group.end), *group.repeated]).any(1)
            for group in translated.query.groups
        ],
        axis=1,
    )
    values = [
        GLOSSARY if any(one.origin in glossaries for one in group.alternatives) else LINKED
        for group in translated.query.groups
    ]
    found: NDArray[np.float64] = words * np.array(values)
    return found
