"""M as specified, cell by cell, in a matrix of length x length."""

from __future__ import annotations

import torch
from torch import Tensor

from dragoman.lexicon.table.table import Table
from dragoman.ranking.attention import Direction, Words
from dragoman.ranking.mixed_attention import PassageRow


def probability(query: str, passage: str, table: Table, direction: Direction, threshold: float) -> float:
    """T of a query term and a passage term."""
    if not query or not passage:
        return 0.0
    if query == passage:
        return 1.0
    for entry in table.translations(query):
        if entry.term == passage:
            both = (entry.p_forward + entry.p_backward) / 2
            found = {"forward": entry.p_forward, "backward": entry.p_backward, "mean": both}[direction]
            return found if found >= threshold else 0.0
    return 0.0


def dense(
    row: PassageRow, query: Words, passage: Words, length: int, table: Table, direction: Direction, threshold: float
) -> Tensor:
    """M (length, length) of one row."""
    side = [""] * length
    word = [-1] * length
    for name, first, words in (("query", row.first, row.query), ("passage", row.second, row.passage)):
        for offset, number in enumerate(words):
            side[first + offset], word[first + offset] = name, number
    m = torch.eye(length, dtype=torch.float64)
    for i in range(length):
        for j in range(length):
            if i == j or word[i] < 0 or word[j] < 0:
                continue
            if side[i] == side[j]:
                m[i, j] = float(word[i] == word[j])
            elif side[i] == "query":
                m[i, j] = probability(query.terms[word[i]], passage.terms[word[j]], table, direction, threshold)
            else:
                m[i, j] = probability(query.terms[word[j]], passage.terms[word[i]], table, direction, threshold)
    return m / m.sum(1, keepdim=True)
