"""Other spellings of a word that no table has: the terms of tables that are spelt nearly as it is.

A real word that a small table lacks must not become another one. The rules were chosen on misspellings made of words
of the demo's tables, and on words of its documents and tables left out of these (``docs/search.md`` has the figures).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from dragoman.deadline import check_each
from dragoman.engine.query.frequent_words import is_frequent_word
from dragoman.engine.query.sounds import MOST_WORDS
from dragoman.engine.tables.snapshot import Snapshot
from dragoman.engine.tables.views import PivotView, View, source_tables
from dragoman.lexicon.query import Respelt
from dragoman.lexicon.table.derivations import is_derived
from dragoman.lexicon.table.nearest import most_edits, nearest
from dragoman.lexicon.table.table import Table
from dragoman.lexicon.text.function_words import folded_function_words
from dragoman.lexicon.text.tokens import Analysis

EDIT_WEIGHT = 0.5
"""What a match by another spelling counts for each edit, beside one of the word itself: it may be another word."""
LEAST_MASS = 0.3
"""A word is a correction only if it is frequent: the encoder's vocabulary has it, or its entries weigh as much."""
_CACHED_WORDS = 1_000
_MOST = 10
_CACHE: WeakKeyDictionary[Table, dict[str, list[Spelling]]] = WeakKeyDictionary()
"""For each table the nearest terms of words that were asked for lately: who types asks for a word again and again."""


class Spelling(NamedTuple):
    """A term of a table, how many edits it is away, and how much its entries weigh: frequent words have many."""

    distance: int
    mass: float
    term: str


class Spellings:
    """Finds other spellings of the words of one query, the first :data:`MOST_WORDS` of them.

    Only for a word that no table of any language has, nor what it is regularly made of, and that is not a frequent word
    of any language: that is spelt as it should be.
    """

    def __init__(self, language: str, target: str, snapshot: Snapshot, analysis: Callable[[str], Analysis]) -> None:
        """Of a query in ``language`` for documents in ``target``."""
        self._language, self._target = language, target
        self._snapshot = snapshot
        self._analysis = analysis
        self._asked: set[str] = set()
        self._left: set[str] = set()

    def __call__(self, word: str, view: View | PivotView) -> Respelt | None:
        """The nearest word that the view's tables have, and its index term."""
        if not most_edits(word) or any(self._snapshot.knows(language, word) for language in self._snapshot.languages):
            return None
        if is_word(word, source_tables(view)):
            return None
        if word not in self._asked and len(self._asked) >= MOST_WORDS:
            self._left.add(word)
            return None
        self._asked.add(word)
        function_words = folded_function_words(self._language)
        for spelling in correct(source_tables(view), word, _MOST):
            tokens = self._analysis(self._language).tokens(spelling.term)
            if spelling.term not in function_words and len(tokens) == 1 and tokens[0].term in view.analysed:
                return Respelt(spelling.term, tokens[0].term, EDIT_WEIGHT**spelling.distance)
        return None

    @property
    def truncated(self) -> list[str]:
        """The message that words were left out, as there were too many."""
        if not self._left:
            return []
        count = len(self._asked) + len(self._left)
        return [
            f"query: only the first {len(self._asked)} of {count} words that neither a table nor a document in"
            f" {self._target} has were spelt otherwise"
        ]


def is_word(word: str, tables: Iterable[Table]) -> bool:
    """Whether a folded word that no table has is likely one: a frequent one, or made of one of theirs by an ending."""
    return is_frequent_word(word) or is_derived(word, tables)


def correct(tables: Iterable[Table], word: str, most: int = 1) -> list[Spelling]:
    """At most ``most`` frequent terms of the source side of some tables that are spelt nearly as a folded word is.

    The nearest come first, and of several at one distance the one whose entries weigh most.
    """
    best: dict[str, Spelling] = {}
    for table in check_each(tables):
        for spelling in _of_table(table, word):
            other = best.get(spelling.term)
            mass = spelling.mass if other is None else spelling.mass + other.mass
            best[spelling.term] = spelling._replace(mass=mass)
    frequent = (term for term in best.values() if term.mass >= LEAST_MASS or is_frequent_word(term.term))
    return sorted(frequent, key=by_nearness)[:most]


def mass_of(table: Table, first: int, last: int) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    """The sum of P(term | translation) for each source term from ``first`` to before ``last``."""
    side = table.by_source
    begun = side.indptr[first : last + 1]
    return np.add.reduceat(side.backward[begun[0] : begun[-1]], begun[:-1] - begun[0])


def _of_table(table: Table, word: str) -> list[Spelling]:
    cache = _CACHE.setdefault(table, {})
    spellings = cache.get(word)
    if spellings is None:
        near = nearest(table.sources, word, most_edits(word))
        spellings = sorted(
            (Spelling(term.distance, float(mass_of(table, term.place, term.place + 1)[0]), term.term) for term in near),
            key=by_nearness,
        )[:_MOST]
        if len(cache) >= _CACHED_WORDS:
            cache.clear()
        cache[word] = spellings
    return spellings


def by_nearness(spelling: Spelling) -> tuple[int, float, str]:
    """The order of spellings, the likeliest first."""
    return spelling.distance, -spelling.mass, spelling.term
