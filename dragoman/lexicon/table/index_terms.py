"""A table of folded words turned into one of index terms."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from dragoman.lexicon.table.aggregation import Floats, Ids, marginals, ratio, strongest, totals
from dragoman.lexicon.table.table import Table
from dragoman.lexicon.table.vocabulary import Vocabulary
from dragoman.lexicon.text.tokens import Analysis, Token

LONGEST_PHRASE = 4
"""Terms of more index terms than this are left out of analysed tables."""

_TERMS_AT_ONCE = 500
_ENTRIES_AT_ONCE = 1 << 16
_UNKNOWN_PAIR = 0.02

Mask = NDArray[np.bool_]
_Part = tuple[Ids, Ids, Floats, Floats, Ids]


@dataclass(frozen=True, slots=True)
class Analysed:
    """A table keyed by index terms, and what could not be."""

    table: Table
    dropped: int
    """Entries left out because a side is all stop words or longer than :data:`LONGEST_PHRASE` terms."""


def analysed(
    table: Table,
    source_analysis: Analysis,
    target_analysis: Analysis,
    glossaries: frozenset[int] = frozenset(),
) -> Table:
    """The same knowledge keyed by index terms: the table of :func:`analyse`."""
    return analyse(table, source_analysis, target_analysis, glossaries).table


def analyse(
    table: Table,
    source_analysis: Analysis,
    target_analysis: Analysis,
    glossaries: frozenset[int] = frozenset(),
) -> Analysed:
    """Key a table of folded terms by the index terms that the two analyses make of them.

    Stop words within a term are left out. Terms with equal index terms S form a class. With the marginals of
    :func:`~dragoman.lexicon.table.aggregation.marginals`, ``P(T|S) = sum_{s in S, t in T} P(t|s) p(s) /
    sum_{s in S} p(s)``, so that a class's row has the average mass of its members' rows; ``P(S|T)`` likewise.

    A term of several words stays one term, its index terms joined by single spaces. In addition, an entry of
    m source and n target words, at most :data:`LONGEST_PHRASE` each and ``m == 1``, ``n == 1`` or ``m == n``,
    counts as expected word alignments: each pair of its words gets a share of the entry's joint probability
    (:func:`_shares`). What a word gets as a part of longer terms adds to its p(s) in the divisor. So the
    entries of a row between single words have no more mass than the terms they come from, nor have those of
    whole terms; a row that holds both may sum to more than 1.

    A class that is a whole term of some entry with an origin in ``glossaries`` keeps only what entries of
    such origins say about it as a whole: as a part of their longer terms a word S gets P(S|T) = 0, so that "bank"
    in a query is no part of "central bank" where a glossary has both. An entry's origin is the one that contributes
    most to both its probabilities.
    """
    side = table.by_source
    s, t, origins = side.owners().astype(np.int64), side.ids.astype(np.int64), side.origins.astype(np.int64)
    p_s, p_t = marginals(table)
    sources = _Side(table.sources, source_analysis, p_s, totals(s, side.forward, len(p_s)))
    targets = _Side(table.targets, target_analysis, p_t, totals(t, side.backward, len(p_t)))
    usable = (sources.whole[s] >= 0) & (targets.whole[t] >= 0)
    ruling = np.isin(origins, list(glossaries))
    sources.cover(s[ruling & usable])
    targets.cover(t[ruling & usable])
    kept = usable & (ruling | ~(sources.covered[sources.whole[s]] | targets.covered[targets.whole[t]]))
    s, t, origins, ruling = s[kept], t[kept], origins[kept], ruling[kept]
    forward = side.forward[kept] * p_s[s]
    backward = side.backward[kept] * p_t[t]
    entries: _Part = (sources.whole[s], targets.whole[t], forward, backward, origins)
    parts = [entries, *_alignments(sources, targets, s, t, entries, ruling)]
    first, second, forward, backward, origins = (np.concatenate(column) for column in zip(*parts, strict=True))
    words = sources.single[first] & targets.single[second]
    made = strongest(
        first,
        second,
        ratio(forward, np.where(words, sources.word_weight[first], sources.whole_weight[first])),
        ratio(backward, np.where(words, targets.word_weight[second], targets.whole_weight[second])),
        origins,
    )
    return Analysed(
        Table.from_arrays(
            table.source,
            table.target,
            sources.classes,
            targets.classes,
            made[0],
            made[1],
            np.minimum(made[2], 1.0),
            np.minimum(made[3], 1.0),
            made[4],
        ),
        int(np.sum(~usable)),
    )


def _tokens(terms: Vocabulary, analysis: Analysis) -> Iterator[list[Token]]:
    """The tokens of every term; an analysis that can take many texts at once gets them so, as that is faster."""
    together: Callable[[list[str]], list[list[Token]]] | None = getattr(analysis, "batch", None)
    for start in range(0, len(terms), _TERMS_AT_ONCE):
        chunk = [terms[number] for number in range(start, min(start + _TERMS_AT_ONCE, len(terms)))]
        yield from together(chunk) if together else map(analysis.tokens, chunk)


class _Side:
    """The terms of one language and their classes.

    ``whole`` is each term's class (-1 for one that has none), ``words`` the classes of its single words,
    ``length`` their number; ``whole_weight`` and ``word_weight`` divide a class's row.
    """

    def __init__(self, terms: Vocabulary, analysis: Analysis, p: Floats, row_mass: Floats) -> None:
        numbers: dict[str, int] = {}
        count = len(terms)
        self.whole = np.full(count, -1, dtype=np.int64)
        self.words = np.full((count, LONGEST_PHRASE), -1, dtype=np.int64)
        self.length = np.zeros(count, dtype=np.int64)
        for number, tokens in enumerate(_tokens(terms, analysis)):
            found = [token.term for token in tokens if token.term]
            if not 0 < len(found) <= LONGEST_PHRASE:
                continue
            self.length[number] = len(found)
            self.words[number, : len(found)] = [numbers.setdefault(word, len(numbers)) for word in found]
            self.whole[number] = numbers.setdefault(" ".join(found), len(numbers))
        self.classes = list(numbers)
        self.single = np.fromiter((" " not in name for name in self.classes), bool, len(numbers))
        self.row_mass = row_mass
        self._p = p
        self.cover(np.zeros(0, dtype=np.int64))

    def cover(self, ruling: Ids) -> None:
        """Let the classes of the ``ruling`` terms be theirs alone, and weigh all classes anew."""
        self.covered = np.zeros(len(self.classes) + 1, dtype=bool)
        self.covered[self.whole[ruling]] = True
        counted = self.whole >= 0
        counted &= ~self.covered[self.whole]
        counted[ruling] = True
        self.whole_weight = totals(self.whole[counted], self._p[counted], len(self.classes))
        self.word_weight = self.whole_weight.copy()

    def add_word_weight(self, terms: Ids, words: Ids, joint: Floats) -> None:
        """Count what words get as parts of longer ``terms``, so that their rows keep those terms' mass."""
        parts = self.length[terms] > 1
        terms, words, joint = terms[parts], words[parts], joint[parts]
        self.word_weight += totals(words, ratio(joint, self.row_mass[terms]), len(self.classes))


class _Affinity:
    """How well two words translate each other by the entries of single words: P(t|s) + P(s|t), 0 to 2."""

    def __init__(self, pairs: _Part, sources: int, targets: int) -> None:
        s, t, forward, backward, _ = pairs
        self._targets = targets
        self._pairs, places = np.unique(s * targets + t, return_inverse=True)
        count = len(self._pairs)
        s, t = np.divmod(self._pairs, max(1, targets))
        forward, backward = totals(places, forward, count), totals(places, backward, count)
        self._values = ratio(forward, totals(s, forward, sources)[s])
        self._values += ratio(backward, totals(t, backward, targets)[t])

    def __call__(self, s: Ids, t: Ids) -> Floats:
        wanted = s * self._targets + t
        found = np.zeros(wanted.shape)
        if len(self._pairs):
            places = np.minimum(np.searchsorted(self._pairs, wanted), len(self._pairs) - 1)
            np.copyto(found, self._values[places], where=self._pairs[places] == wanted)
        return found


def _shares(affinity: Floats, m: Ids, n: Ids) -> Floats:
    """The expected alignments between the words of entries, as in an iteration of IBM Model 1.

    ``affinity`` is (entries, m, n), padded. Its values, plus a constant that lets unknown pairs share, are
    normalised for each word of the longer side over those of the shorter; where both are equally long, the
    average of normalising for either side is taken. So an entry's shares sum to
    min(m, n).
    """
    i = np.arange(LONGEST_PHRASE)
    exists = (i[:, None] < m[:, None, None]) & (i < n[:, None, None])
    weights = np.where(exists, affinity + _UNKNOWN_PAIR, 0.0)
    of_source = ratio(weights, np.broadcast_to(weights.sum(axis=2, keepdims=True), weights.shape))
    of_target = ratio(weights, np.broadcast_to(weights.sum(axis=1, keepdims=True), weights.shape))
    by_source = np.where(m == n, 0.5, (m < n).astype(np.float64))[:, None, None]
    return np.asarray(by_source * of_source + (1.0 - by_source) * of_target)


def _alignments(sources: _Side, targets: _Side, s: Ids, t: Ids, entries: _Part, ruling: Mask) -> Iterator[_Part]:
    """The word pairs of entries of several words, with their shares of the joint probabilities."""
    m, n = sources.length[s], targets.length[t]
    single = (m == 1) & (n == 1)
    affinity = _Affinity(_only(entries, single), len(sources.classes), len(targets.classes))
    several = np.flatnonzero(~single & ((m == 1) | (n == 1) | (m == n)))
    for start in range(0, len(several), _ENTRIES_AT_ONCE):
        chosen = several[start : start + _ENTRIES_AT_ONCE]
        first = sources.words[s[chosen]][:, :, None]
        second = targets.words[t[chosen]][:, None, :]
        shares = _shares(affinity(first, second), m[chosen], n[chosen])
        rules = ruling[chosen]
        for i, j in product(range(LONGEST_PHRASE), repeat=2):
            a, b = first[:, i, 0], second[:, 0, j]
            free = (a >= 0) & (b >= 0)
            apart_a, apart_b = sources.covered[a] & (m[chosen] > 1), targets.covered[b] & (n[chosen] > 1)
            free &= np.where(rules, ~(apart_a & apart_b), ~(sources.covered[a] | targets.covered[b]))
            picked, a, b, shared = chosen[free], a[free], b[free], shares[free, i, j]
            forward = entries[2][picked] * np.where(rules[free] & apart_b[free], 0.0, shared)
            backward = entries[3][picked] * np.where(rules[free] & apart_a[free], 0.0, shared)
            sources.add_word_weight(s[picked], a, forward)
            targets.add_word_weight(t[picked], b, backward)
            yield a, b, forward, backward, entries[4][picked]


def _only(part: _Part, chosen: Mask) -> _Part:
    return part[0][chosen], part[1][chosen], part[2][chosen], part[3][chosen], part[4][chosen]
