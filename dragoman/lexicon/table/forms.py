"""The terms of a table by their index terms: which of them a search takes for the same."""

from __future__ import annotations

import numpy as np

from dragoman.lexicon.table.index_terms import tokens_of
from dragoman.lexicon.table.table import Entry, Table
from dragoman.lexicon.table.vocabulary import Vocabulary
from dragoman.lexicon.text.tokens import Analysis

__all__ = ["Forms"]


class Forms:
    """The source terms of one table, by their index terms. Making it takes as long as analysing all of them."""

    def __init__(self, table: Table, analysis: Analysis) -> None:
        self._table = table
        self._analysis = analysis
        keys = [
            " ".join([token.term for token in tokens if token.term]) for tokens in tokens_of(table.sources, analysis)
        ]
        distinct_keys = sorted(set(keys) - {""})
        self._keys = Vocabulary.from_terms(distinct_keys)
        numbers = {key: position for position, key in enumerate(distinct_keys)}
        classes = np.fromiter((numbers.get(key, -1) for key in keys), np.int64, len(keys))
        self._order = np.argsort(classes, kind="stable")
        self._starts = np.searchsorted(classes[self._order], np.arange(len(distinct_keys) + 1))

    def of(self, term: str) -> list[str]:
        """The table's terms with the index terms of ``term``, in code point order."""
        position = self._keys.index(" ".join([token.term for token in self._analysis.tokens(term) if token.term]))
        if position < 0:
            return []
        first, last = self._starts[position : position + 2].tolist()
        return [self._table.sources[index] for index in self._order[first:last].tolist()]

    def translations(self, terms: list[str]) -> list[Entry]:
        """The translations of several terms as of one, most probable first.

        P(translation | terms) is the average over the terms, P(terms | translation) their sum.
        """
        merged: dict[str, Entry] = {}
        for entry in (entry for term in terms for entry in self._table.translations(term)):
            forward, backward = entry.p_forward / len(terms), entry.p_backward
            other = merged.get(entry.term)
            if other is not None:
                forward, backward = forward + other.p_forward, min(1.0, backward + other.p_backward)
            merged[entry.term] = Entry(entry.term, forward, backward, entry.origin)
        return sorted(merged.values(), key=lambda entry: (-entry.p_forward, entry.term))
