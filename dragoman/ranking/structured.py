"""A probabilistic structured query of one document, without a collection: how much of a query its words translate.

    share = sum over i of r_i n_i (1 + K1) / (n_i + K1 (1 - B + B length / LENGTH)) / sum over i of r_i

n_i is how often word i of the query is expected in the document, the sum of T over the document's words that translate
it (Darwish and Oard 2003), saturated as BM25 does. r_i stands for the word's inverse document frequency, which needs a
collection: how rare the word is as its subwords are, see `word_surprisals`, at most `RAREST`. length is the document's,
in words. So a document's share depends on nothing but the query, the document and the table, as the scores that it
joins. Stop words and function words, which have no T, count among the words that are not met; being common they weigh
little.

The constants were chosen on XQuAD-R's tuning questions, on a plateau: MAP moves by .004 at most between K1 .05 and
.2, B .1 and .6, LENGTH 15 and 50, RAREST 14 and 18.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from dragoman.ranking.about import Floats
from dragoman.ranking.attention import Ints

if TYPE_CHECKING:
    from dragoman.ranking.passages import Passage

K1, B, LENGTH = 0.1, 0.3, 25.0
RAREST = 16.0
"""Nats beyond which a word counts no more: long words have many subwords, and are not as rare as those make them."""


def share(document: Sequence[Passage], surprisals: Floats | None) -> float:
    """The share of a query that a document, given as its passages, has the translations of: 0 to 1 + K1.

    `surprisals` are those of the vocabulary, None where it does not say how rare its subwords are.
    """
    rare = np.minimum(word_surprisals(document[0], surprisals), RAREST)
    if not rare.any():
        return 0.0
    links = document[0].row.links
    read = words_read(document)
    met = (links.left < len(rare)) & np.isin(links.right, read)
    counts = np.bincount(links.left[met], links.weights[met], len(rare))
    saturated = counts * (1 + K1) / (counts + K1 * (1 - B + B * len(read) / LENGTH))
    return float(saturated @ rare / rare.sum())


def words_read(document: Sequence[Passage]) -> Ints:
    """The words of a document that its passages hold a part of, in order."""
    words = np.unique(np.concatenate([one.row.passage for one in document]))
    return words[words >= 0]


def word_surprisals(passage: Passage, surprisals: Floats | None) -> Floats:
    """How rare each word of the query is (N,): the sum of its subwords' surprisals, or how many it has."""
    row = passage.row
    ids = np.asarray(passage.pair.ids[row.first :][: len(row.query)], np.int64)
    inside = row.query >= 0
    weights = None if surprisals is None else surprisals[ids[inside]]
    return np.bincount(row.query[inside], weights).astype(np.float64)
