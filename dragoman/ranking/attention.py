"""The translation attention matrix as a sparse bipartite graph of translated word pairs of a query and a passage.

"Mixed Attention Transformer" (MART) mixes the states of words by a matrix M over the subwords of query and passage. M
is 1 on the diagonal and among the subwords of one word, and T between the subwords of a query word and a passage word
that translate each other. Its rows are normalised. Only word pairs with T > 0 are stored, so no length x length matrix
is built; `dragoman.ranking.mixed_attention` applies M from these pairs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dragoman.deadline import check_each
from dragoman.lexicon.table.table import Lookup

Ints = NDArray[np.int64]
_PAIR = np.dtype([("left", np.int64), ("right", np.int64), ("weight", np.float32), ("written", np.bool_)])
Direction = Literal["forward", "backward", "mean"]
ExtraLinks = Mapping[str, Mapping[str, float]]
"""T of passage terms by query term, from other sources than the table."""
THRESHOLD = 0.01


@dataclass(frozen=True)
class Words:
    """The words of a text in order, each with its term (empty for a stop word) and its (start, end) in the text.

    Query words that form a phrase share the phrase as their term.
    """

    terms: list[str]
    spans: list[tuple[int, int]]
    further: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    """More terms of some words, such as the words within them, by place."""


@dataclass(frozen=True)
class Links:
    """Word pairs of a query and a passage: `weights[n]` is T of query word `left[n]` and passage word `right[n]`."""

    left: Ints
    right: Ints
    weights: NDArray[np.float32]
    glossary: NDArray[np.bool_] | None = None
    """Which pairs a glossary translates; None if none."""


class TranslationReference:
    """T of the words of one query, read from a table once and applied to any number of passages.

    T(i, j) of query word i and passage word j is P(j | i) (`forward`, as in the paper), P(i | j) (`backward`) or their
    mean. Equal terms, such as names and numbers, have T = 1, unless `extra` gives the links outside the table
    (identical forms, sounds), including those of equal terms. Stop words and values below `threshold` give no link. A
    phrase gives links only if it is the term of query words. Each of these words then has the links of the phrase,
    with T divided equally among the words of a translation.
    """

    def __init__(
        self,
        query: Words,
        table: Lookup | None,
        *,
        direction: Direction = "mean",
        threshold: float = THRESHOLD,
        extra: ExtraLinks | None = None,
        glossaries: frozenset[int] = frozenset(),
    ) -> None:
        """`table` translates from the query's language to that of the passages. For a pair also in `extra`, the larger
        T counts.

        Glossary entries (origin in `glossaries`) with P(i | j) = 0 are ignored: see `lexicon.table.index_terms`.
        """
        self._links: dict[str, list[tuple[int, float, bool]]] = {}
        """By word of a passage: the first place of each query word that it is linked with, and how."""
        self._places: dict[int, list[int]] = {}
        """All places of a query word by its first one, where it stands more than once."""
        first: dict[str, int] = {}
        for position, term in enumerate(check_each(query.terms)):
            if not term:
                continue
            if term in first:
                self._places.setdefault(first[term], [first[term]]).append(position)
                continue
            first[term] = position
            weights, written = _translations(term, table, direction, threshold, glossaries)
            for other, weight in ({term: 1.0} if extra is None else extra.get(term, {})).items():
                if weight >= threshold:
                    weights[other] = max(weight, weights.get(other, 0.0))
            for other, weight in weights.items():
                self._links.setdefault(other, []).append((position, weight, other in written))

    def links(self, passage: Words, most: int | None = None) -> Links:
        """The linked word pairs of the query and a passage, the first ``most`` of them."""
        # From a generator, which lets other threads run on the way: there may be a million.
        pairs = np.fromiter(islice(self._pairs(passage), most), _PAIR)
        left, right, weights, written = (np.ascontiguousarray(pairs[name]) for name in _PAIR.names or ())
        return Links(left, right, weights, written if written.any() else None)

    def _pairs(self, passage: Words) -> Iterator[tuple[int, int, float, bool]]:
        for position, others in enumerate(check_each(map(self._links.get, passage.terms), 100)):
            further = passage.further.get(position)
            if further is not None and self._links:
                others = self._strongest([others or (), *(self._links.get(term, ()) for term in further)])
            for query_position, weight, written in self._at_all_places(others or ()):
                yield query_position, position, weight, written

    def _strongest(self, linked: Sequence[Sequence[tuple[int, float, bool]]]) -> list[tuple[int, float, bool]]:
        """One link with each query word, of all terms of a word."""
        strongest: dict[int, tuple[int, float, bool]] = {}
        for link in (link for links in linked for link in links):
            if link[0] not in strongest or strongest[link[0]][1] < link[1]:
                strongest[link[0]] = link
        return list(strongest.values())

    def _at_all_places(self, links: Sequence[tuple[int, float, bool]]) -> Sequence[tuple[int, float, bool]]:
        """Links with the first places of query words, at all their places, in the order of these."""
        if not any(first in self._places for first, _, _ in links):
            return links
        return sorted(
            (place, weight, written) for first, weight, written in links for place in self._places.get(first, (first,))
        )


NO_LINKS = Links(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.float32))
"""Placebo: M is the identity, except among the subwords of a word."""


def _translations(
    term: str, table: Lookup | None, direction: Direction, threshold: float, glossaries: frozenset[int]
) -> tuple[dict[str, float], set[str]]:
    """T by word of the passage, and the words that a glossary has."""
    weights: dict[str, float] = {}
    written: set[str] = set()
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
            weights[word] = weights.get(word, 0.0) + weight / len(words)
        if entry.origin in glossaries:
            written.update(words)
    return {word: min(1.0, weight) for word, weight in weights.items() if weight >= threshold}, written


def word_of_pieces(spans: Sequence[tuple[int, int]], pieces: Sequence[tuple[int, int]]) -> Ints:
    """The index of the word that each subword belongs to, by offsets into the same text; -1 for none.

    A subword that overlaps several words belongs to the first. `spans` and `pieces` are in text order.
    """
    indices, word = [], 0
    for start, end in pieces:
        while word < len(spans) and spans[word][1] <= start:
            word += 1
        inside = word < len(spans) and spans[word][0] < end and start < end
        indices.append(word if inside else -1)
    return np.asarray(indices, np.int64)
