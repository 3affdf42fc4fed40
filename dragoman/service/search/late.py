"""Late interaction: the first documents of hybrid search in a better order, by the states of their subwords.

    score = (fused + weight match) / (1 + weight)

The match is that of :mod:`dragoman.ranking.maxsim`. The states were kept when the documents were embedded, and those of
the query come from the pass that makes its vector, so that no text is read here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dragoman.ranking.maxsim import GLOSSARY, LINKED, inside, matches
from dragoman.service.inference.encoding import EncodedQuery
from dragoman.service.schemas.search import RankedBy
from dragoman.service.search.bm25 import Match, Part
from dragoman.service.search.ranked import Ranked

DEPTH = 50
"""Documents that are compared; the others follow them."""


def reordered(
    places: Sequence[Ranked],
    query: EncodedQuery,
    similarities: Mapping[int, NDArray[np.float32]],
    matched: Mapping[int, Match],
    weight: float,
) -> list[Ranked]:
    """The places by fused score and match; ``similarities`` are MaxSim (subwords,) by key, NaN if not known."""
    head, tail = places[:DEPTH], places[DEPTH:]
    if not head:
        return []
    maxsim = np.array([similarities[place.key] for place in head], np.float64)
    found = matches(maxsim, _links(head, query, matched), query.weights)
    scores = (np.array([place.score for place in head]) + weight * found) / (1 + weight)
    ordered = [
        _scored(head[row], float(scores[row]), float(found[row]), weight) for row in np.argsort(-scores, kind="stable")
    ]
    least = float(found.min())
    return [*ordered, *_below(tail, ordered[-1].score, least, weight)]


def _links(places: Sequence[Ranked], query: EncodedQuery, matched: Mapping[int, Match]) -> NDArray[np.float64]:
    """What the links of the word of each subword of the query to each document count (places, subwords)."""
    links = np.zeros((len(places), len(query.weights)))
    of_parts: dict[int, NDArray[np.float64]] = {}
    for row, place in enumerate(places):
        match = matched.get(place.key)
        if match is None or not match.place.part.translated.foreign:
            continue
        part = match.place.part
        if id(part) not in of_parts:
            of_parts[id(part)] = _values(part, query)
        links[row] = (of_parts[id(part)] * match.linked).max(1, initial=0)
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


def _scored(place: Ranked, score: float, match: float, weight: float) -> Ranked:
    fusion = place.fusion
    if fusion is not None:
        share = 1 / (1 + weight)
        fusion = fusion.model_copy(
            update={
                "bm25": fusion.bm25 and fusion.bm25.model_copy(update={"weight": fusion.bm25.weight * share}),
                "dense": fusion.dense and fusion.dense.model_copy(update={"weight": fusion.dense.weight * share}),
                "late": RankedBy(rank=None, score=match, value=match, weight=weight * share),
            }
        )
    return replace(place, score=score, late=match, fusion=fusion)


def _below(places: Sequence[Ranked], limit: float, match: float, weight: float) -> list[Ranked]:
    """The places that were not compared, with scores below the others' as if they had the least match of those."""
    return [replace(one, score=min(limit, (one.score + weight * match) / (1 + weight))) for one in places]
