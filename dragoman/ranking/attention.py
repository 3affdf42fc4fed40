"""The translation attention matrix in its bipartite form: which words of a query and a passage translate each other.

"Mixed Attention Transformer" (MART) mixes the states of words by a matrix M over the subwords of query and passage: 1
on the diagonal and among the pieces of one word, T between the pieces of a query word and of a passage word that
translate each other, rows normalised. Only the word pairs with T > 0 are kept here, so that nothing of the size
length x length is ever made; `dragoman.ranking.mixing` applies M from them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dragoman.lexicon.table.table import Table

Ints = NDArray[np.int64]
Direction = Literal["forward", "backward", "mean"]
ExtraLinks = Mapping[str, Mapping[str, float]]
"""T of terms of passages that a term of the query reaches without a table."""
THRESHOLD = 0.01


@dataclass(frozen=True)
class Words:
    """The words of a text in order: for each its term, empty for a stop word, and its (start, end) in the text.

    Words of a query that are looked up together have the same term, of several words.
    """

    terms: list[str]
    spans: list[tuple[int, int]]


@dataclass(frozen=True)
class Links:
    """Word pairs of a query and a passage: `weights[n]` is T of query word `left[n]` and passage word `right[n]`."""

    left: Ints
    right: Ints
    weights: NDArray[np.float32]


class TranslationReference:
    """T of the words of one query, gathered from a table once and then looked up for any number of passages.

    T(i, j) of query word i and passage word j is P(j | i) (`forward`, the paper's), P(i | j) (`backward`) or their
    mean; equal terms, such as names and numbers, count as 1, unless it is given what joins words beside the table (a
    name's form in the other language's index, its sound), which then says so of equal terms too. Below `threshold`
    there is no link, nor for stop words. A term of several words links no single word, but where it is the term of
    query words: each of those is linked as the whole is, to each word of a translation by an equal share.
    """

    def __init__(
        self,
        query: Words,
        table: Table | None,
        *,
        direction: Direction = "mean",
        threshold: float = THRESHOLD,
        extra: ExtraLinks | None = None,
        glossaries: frozenset[int] = frozenset(),
    ) -> None:
        """`table` leads from the query's language to the passages'; of what `beside` has too, the larger T counts.

        An entry of an origin in `glossaries` by which P(i | j) = 0 says nothing of i: see `lexicon.index_terms`.
        """
        self._links: dict[str, list[tuple[int, float]]] = {}
        known: dict[str, dict[str, float]] = {}
        for number, term in enumerate(query.terms):
            if not term:
                continue
            if term not in known:
                known[term] = _translations(term, table, direction, threshold, glossaries)
                for other, weight in ({term: 1.0} if extra is None else extra.get(term, {})).items():
                    if weight >= threshold:
                        known[term][other] = max(weight, known[term].get(other, 0.0))
            for other, weight in known[term].items():
                self._links.setdefault(other, []).append((number, weight))

    def links(self, passage: Words) -> Links:
        """The pairs of the query's words and a passage's."""
        found = [
            (number, place, weight)
            for place, others in enumerate(map(self._links.get, passage.terms))
            if others is not None
            for number, weight in others
        ]
        left, right, weights = zip(*found, strict=True) if found else ((), (), ())
        return Links(np.asarray(left, np.int64), np.asarray(right, np.int64), np.asarray(weights, np.float32))


NO_LINKS = Links(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.float32))
"""Placebo: M is the identity but for the pieces of a word."""


def _translations(
    term: str, table: Table | None, direction: Direction, threshold: float, glossaries: frozenset[int]
) -> dict[str, float]:
    found: dict[str, float] = {}
    for entry in table.translations(term) if table is not None else ():
        weight = {
            "forward": entry.p_forward,
            "backward": entry.p_backward,
            "mean": (entry.p_forward + entry.p_backward) / 2,
        }[direction]
        words = entry.term.split(" ")
        if (len(words) > 1 and " " not in term) or (entry.origin in glossaries and entry.p_backward == 0.0):
            continue
        for word in words:
            found[word] = found.get(word, 0.0) + weight / len(words)
    return {word: min(1.0, weight) for word, weight in found.items() if weight >= threshold}


def word_of_pieces(spans: Sequence[tuple[int, int]], pieces: Sequence[tuple[int, int]]) -> Ints:
    """The word that each subword belongs to, by their offsets into the same text; -1 for one between words.

    A subword that reaches over several words belongs to the first that it overlaps. Both are in text order.
    """
    found, word = [], 0
    for start, end in pieces:
        while word < len(spans) and spans[word][1] <= start:
            word += 1
        inside = word < len(spans) and spans[word][0] < end and start < end
        found.append(word if inside else -1)
    return np.asarray(found, np.int64)
