"""Late interaction: how well a document matches a query, subword by subword, from the similarities of their states.

    match = sum over i of r_i m_i / sum over i of r_i
    m_i = min(1, maxsim_i + link_i)

maxsim_i is the largest cosine of the state of the query's subword i with those of the document's subwords: ColBERT's
MaxSim (Khattab & Zaharia 2020) over the states of a middle layer, without a projection. r_i is the rarity of the
subword: -log p in the vocabulary's training text, at most `MAX_RARITY`. link_i is `LINKED` if a translation table
links the word of subword i to the document, `GLOSSARY` if a glossary does.
Shapes: D documents, Q subwords of a query.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dragoman.ranking.about import Floats

MAX_RARITY = 16.0
"""In nats: the probabilities of rare subwords are hardly known."""
LINKED = 0.1
"""What a table's link adds to a similarity. More of it tells the ranking little that BM25 has not told it."""

GLOSSARY = 1.0
"""What a glossary's link adds: what a user has written counts in full."""


def matches(maxsim: Floats, links: Floats, rarity: Floats) -> Floats:
    """The match (D,) of documents, of `maxsim` (D, Q), `links` (D, Q) and `rarity` (Q,).

    NaN stands for similarities that are not known: of a document that others are compared with but whose states are
    not kept. Its subwords count as the least similar of all documents, so that its links alone speak for it. 0 for a
    query without subwords.
    """
    total = rarity.sum()
    if not total:
        return np.zeros(len(maxsim))
    present = ~np.isnan(maxsim)
    least = np.where(present, maxsim, np.inf).min(0, initial=np.inf)
    similarities = np.where(present, maxsim, np.where(np.isfinite(least), least, 0.0))
    score: Floats = np.minimum(1, similarities + links) @ rarity / total
    return score


def inside(offsets: Sequence[tuple[int, int]], spans: Sequence[tuple[int, int]]) -> NDArray[np.bool_]:
    """Which subwords (rows) lie in which words (columns), by their places in the query."""
    places = np.array(offsets, np.int64).reshape(-1, 2)
    words = np.array(spans, np.int64).reshape(-1, 2)
    overlap: NDArray[np.bool_] = (places[:, :1] < words[:, 1]) & (places[:, 1:] > words[:, 0])
    return overlap
