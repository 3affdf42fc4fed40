"""Conversion of a table of folded words to a table of index terms."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from dragoman import deadline
from dragoman.lexicon.table.aggregation import (
    EntryColumns,
    Floats,
    Ids,
    join_parts,
    marginals,
    ratio,
    strongest,
    totals,
)
from dragoman.lexicon.table.table import Table
from dragoman.lexicon.table.terms import TermRecords
from dragoman.lexicon.table.vocabulary import Vocabulary
from dragoman.lexicon.text.function_words import folded_function_words
from dragoman.lexicon.text.tokens import Analysis, Token

LONGEST_TERM = 12
"""Terms with more words than this are dropped from analysed tables."""
LONGEST_PHRASE = 4
"""Entries of terms with more content words than this count as a whole alone."""

_TERMS_PER_BATCH = 500
_ENTRIES_PER_BATCH = 1 << 16
_SMOOTHING = 0.02

Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class AnalysedTable:
    """A table keyed by index terms, with the number of dropped entries."""

    table: Table
    dropped: int
    """Entries with a side of more than :data:`LONGEST_TERM` words or none, or outside glossaries of only function
    words."""


def analyse_table(
    table: Table,
    source_analysis: Analysis,
    target_analysis: Analysis,
    glossaries: frozenset[int] = frozenset(),
) -> Table:
    """The table of :func:`analyse`, without the number of dropped entries."""
    return analyse(table, source_analysis, target_analysis, glossaries).table


def analyse(
    table: Table,
    source_analysis: Analysis,
    target_analysis: Analysis,
    glossaries: frozenset[int] = frozenset(),
) -> AnalysedTable:
    """Convert a table of folded terms to index terms, with the analyses of both languages.

    Terms with the same index term S form a class. With the marginals of
    :func:`~dragoman.lexicon.table.aggregation.marginals`, ``P(T|S) = sum_{s in S, t in T} P(t|s) p(s) /
    sum_{s in S} p(s)``, so a class's row has the average mass of its members' rows; ``P(S|T)`` is analogous.

    A term of several words stays one term; its index terms are joined by single spaces. In addition, an entry of m
    source and n target content words (all words if it has only function words) may count as expected word alignments.
    It does with at most :data:`LONGEST_PHRASE` each and ``m == 1``, ``n == 1`` or ``m == n``. Each pair of its words
    gets a share of the entry's joint probability (:func:`_shares`). The mass that a word gets as a part of longer terms
    is added to its p(s) in the divisor. Within a row, neither entries between single words nor entries of whole terms
    have more mass than the terms they come from; a row with both may sum to more than 1.

    If a class is a whole term of an entry with an origin in ``glossaries``, it keeps only the entries of such
    origins, as a whole term. As a part of their longer terms, a word S gets P(S|T) = 0: "bank" in a query does
    not match "central bank" if a glossary has both. An entry's origin is the one that contributes most to both
    of its probabilities.
    """
    side = table.by_source
    p_s, p_t = marginals(table)
    sources = _Side(table.sources, source_analysis, p_s, totals(side.owners(), side.forward, len(p_s)))
    targets = _Side(table.targets, target_analysis, p_t, totals(side.ids, side.backward, len(p_t)))
    parts, dropped = _parts(table, sources, targets, glossaries)
    first, second, forward, backward, origins = join_parts(parts)
    words = sources.single[first] & targets.single[second]
    forward = ratio(forward, np.where(words, sources.word_weight[first], sources.whole_weight[first]))
    backward = ratio(backward, np.where(words, targets.word_weight[second], targets.whole_weight[second]))
    first, second, forward, backward, origins = strongest(first, second, forward, backward, origins)
    converted = Table.from_records(
        table.source,
        table.target,
        sources.terms,
        targets.terms,
        sources.records[first],
        targets.records[second],
        np.minimum(forward, 1.0, out=forward),
        np.minimum(backward, 1.0, out=backward),
        origins,
    )
    return AnalysedTable(converted, dropped)


def _parts(table: Table, sources: _Side, targets: _Side, glossaries: frozenset[int]) -> tuple[list[EntryColumns], int]:
    """The joint probabilities of classes, in parts whose pairs may be the same, and the number of dropped entries."""
    side = table.by_source
    s, t = side.owners(), side.ids
    in_glossary = np.isin(side.origins, list(glossaries))
    usable = (sources.whole[s] >= 0) & (targets.whole[t] >= 0)
    usable &= in_glossary | ~(sources.functional[s] | targets.functional[t])
    sources.cover(s[in_glossary & usable])
    targets.cover(t[in_glossary & usable])
    selected = usable & (in_glossary | ~(sources.covered[sources.whole[s]] | targets.covered[targets.whole[t]]))
    s, t, in_glossary = s[selected], t[selected], in_glossary[selected]
    forward = side.forward[selected] * sources.p[s]
    backward = side.backward[selected] * targets.p[t]
    entries: EntryColumns = (sources.whole[s], targets.whole[t], forward, backward, side.origins[selected])
    return [entries, *_alignments(sources, targets, s, t, entries, in_glossary)], int(np.sum(~usable))


def tokens_of(terms: Vocabulary, analysis: Analysis) -> Iterator[list[Token]]:
    """The tokens of each term, analysed in batches if the analysis supports it."""
    batch: Callable[[list[str]], list[list[Token]]] | None = getattr(analysis, "batch", None)
    for start in deadline.check_each(range(0, len(terms), _TERMS_PER_BATCH)):
        chunk = [terms[index] for index in range(start, min(start + _TERMS_PER_BATCH, len(terms)))]
        yield from batch(chunk) if batch else map(analysis.tokens, chunk)


class _Side:
    """The terms of one language and their classes, which are numbered as they come.

    ``whole`` is the class of each term (-1 for none), and ``words`` the classes of its content words. ``length`` is
    their number (0 if they are too many), and ``p`` the term's marginal. ``functional`` says whether it has only
    function words, and ``several`` whether it has several words. ``records`` is the record of each class among
    ``terms``, and ``single`` says whether it is one word. ``whole_weight`` and ``word_weight`` are the divisors of a
    class's row.
    """

    def __init__(self, terms: Vocabulary, analysis: Analysis, p: Floats, row_mass: Floats) -> None:
        records = TermRecords()
        count = len(terms)
        whole = np.full(count, -1, dtype=np.int32)
        words = np.full((count, LONGEST_PHRASE), -1, dtype=np.int32)
        self.length = np.zeros(count, dtype=np.int8)
        self.functional = np.zeros(count, dtype=bool)
        function = folded_function_words(analysis.language)
        for index, tokens in enumerate(tokens_of(terms, analysis)):
            searchable = [token for token in tokens if token.term]
            if not 0 < len(searchable) <= LONGEST_TERM:
                continue
            content = [token.term for token in searchable if token.word not in function]
            self.functional[index] = not content
            whole[index] = records.add(" ".join(token.term for token in searchable))
            content = content or [token.term for token in searchable]
            if len(content) <= LONGEST_PHRASE:
                self.length[index] = len(content)
                words[index, : len(content)] = [records.add(word) for word in content]
        self.terms = records.sort()
        first = self.terms.first
        firsts = first == np.arange(len(first))
        self.records = np.flatnonzero(firsts).astype(np.int32)
        self.single = ~self.terms.containing(" ")[self.records]
        classes = np.append((np.cumsum(firsts, dtype=np.int32) - 1)[first], np.int32(-1))  # place -1 is the last one
        self.whole, self.words = classes[whole], classes[words]
        self.several = ~np.append(self.single, True)[self.whole]
        self.row_mass = row_mass
        self.p = p
        self.cover(np.zeros(0, dtype=np.int64))

    def cover(self, glossary_terms: Ids) -> None:
        """Reserve the classes of ``glossary_terms`` for these terms, and recompute all class weights."""
        self.covered = np.zeros(len(self.records) + 1, dtype=bool)
        self.covered[self.whole[glossary_terms]] = True
        counted = self.whole >= 0
        counted &= ~self.covered[self.whole]
        counted[glossary_terms] = True
        self.whole_weight = totals(self.whole[counted], self.p[counted], len(self.records))
        self.word_weight = self.whole_weight.copy()

    def add_word_weight(self, terms: Ids, words: Ids, joint: Floats) -> None:
        """Add the mass that words get as parts of longer ``terms`` to their divisors."""
        parts = self.several[terms]
        terms, words, joint = terms[parts], words[parts], joint[parts]
        self.word_weight += totals(words, ratio(joint, self.row_mass[terms]), len(self.records))


class _Affinity:
    """Affinity of two words by the single-word entries: P(t|s) + P(s|t), 0 to 2."""

    def __init__(self, pairs: EntryColumns, sources: int, targets: int) -> None:
        s, t, forward, backward, _ = pairs
        self._targets = targets
        self._pairs, inverse = np.unique(s.astype(np.int64) * targets + t, return_inverse=True)
        count = len(self._pairs)
        s, t = np.divmod(self._pairs, max(1, targets))
        forward, backward = totals(inverse, forward, count), totals(inverse, backward, count)
        self._values = ratio(forward, totals(s, forward, sources)[s])
        self._values += ratio(backward, totals(t, backward, targets)[t])

    def __call__(self, s: Ids, t: Ids) -> Floats:
        keys = s.astype(np.int64) * self._targets + t
        affinities = np.zeros(keys.shape)
        if len(self._pairs):
            positions = np.minimum(np.searchsorted(self._pairs, keys), len(self._pairs) - 1)
            np.copyto(affinities, self._values[positions], where=self._pairs[positions] == keys)
        return affinities


def _shares(affinity: Floats, m: Ids, n: Ids) -> Floats:
    """The expected alignments between the words of entries, as in an iteration of IBM Model 1.

    ``affinity`` is (entries, m, n), padded. Its values, plus a smoothing constant for unknown pairs, are normalised
    for each word of the longer side over the words of the shorter side. For equal lengths, both normalisations
    are averaged. The shares of an entry sum to min(m, n).
    """
    i = np.arange(LONGEST_PHRASE)
    exists = (i[:, None] < m[:, None, None]) & (i < n[:, None, None])
    weights = np.where(exists, affinity + _SMOOTHING, 0.0)
    of_source = ratio(weights, np.broadcast_to(weights.sum(axis=2, keepdims=True), weights.shape))
    of_target = ratio(weights, np.broadcast_to(weights.sum(axis=1, keepdims=True), weights.shape))
    by_source = np.where(m == n, 0.5, (m < n).astype(np.float64))[:, None, None]
    return np.asarray(by_source * of_source + (1.0 - by_source) * of_target)


def _alignments(
    sources: _Side, targets: _Side, s: Ids, t: Ids, entries: EntryColumns, in_glossary: Mask
) -> Iterator[EntryColumns]:
    """The word pairs of multi-word entries, with their shares of the joint probabilities."""
    m, n = sources.length[s], targets.length[t]
    single = ~(sources.several[s] | targets.several[t])
    affinity = _Affinity(_only(entries, single), len(sources.records), len(targets.records))
    multiword = np.flatnonzero(~single & (m > 0) & (n > 0) & ((m == 1) | (n == 1) | (m == n)))
    for start in range(0, len(multiword), _ENTRIES_PER_BATCH):
        chosen = multiword[start : start + _ENTRIES_PER_BATCH]
        first = sources.words[s[chosen]][:, :, None]
        second = targets.words[t[chosen]][:, None, :]
        shares = _shares(affinity(first, second), m[chosen], n[chosen])
        glossary = in_glossary[chosen]
        for i, j in product(range(LONGEST_PHRASE), repeat=2):
            a, b = first[:, i, 0], second[:, 0, j]
            free = (a >= 0) & (b >= 0)
            part_a, part_b = (
                sources.covered[a] & sources.several[s[chosen]],
                targets.covered[b] & targets.several[t[chosen]],
            )
            free &= np.where(glossary, ~(part_a & part_b), ~(sources.covered[a] | targets.covered[b]))
            picked, a, b, shared = chosen[free], a[free], b[free], shares[free, i, j]
            forward = entries[2][picked] * np.where(glossary[free] & part_b[free], 0.0, shared)
            backward = entries[3][picked] * np.where(glossary[free] & part_a[free], 0.0, shared)
            sources.add_word_weight(s[picked], a, forward)
            targets.add_word_weight(t[picked], b, backward)
            yield a, b, forward, backward, entries[4][picked]


def _only(part: EntryColumns, chosen: Mask) -> EntryColumns:
    return part[0][chosen], part[1][chosen], part[2][chosen], part[3][chosen], part[4][chosen]
