"""BM25 written out from its formulas, the slow way, with document lengths as Lucene keeps them in one byte."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from dragoman.indexes.bm25 import BM25
from dragoman.lexicon.query import TermGroup, TranslatedQuery
from dragoman.lexicon.text.tokens import AGAIN, REPEATED


def kept_length(length: int) -> int:
    """The length that survives SmallFloat.intToByte4: exact to 40, then four significant bits above 24."""
    if length < 24:
        return length
    rest = length - 24
    shift = max(0, rest.bit_length() - 4)
    return 24 + (rest >> shift << shift)


class Reference:
    """Scores of all documents; documents without a term do not exist, as in Lucene."""

    def __init__(self, documents: Sequence[Sequence[str]], bm25: BM25) -> None:
        self.frequencies = [Counter([*document, *(AGAIN + term for term in document)]) for document in documents]
        self._df: dict[str, int] = {}
        lengths = [len(document) for document in documents]
        self.count = sum(length > 0 for length in lengths)
        self.average = sum(lengths) / self.count if self.count else 0.0
        self.norms = [bm25.k1 * (1 - bm25.b + bm25.b * kept_length(n) / (self.average or 1)) for n in lengths]

    def df(self, term: str) -> int:
        if term not in self._df:
            self._df[term] = sum(term in frequencies for frequencies in self.frequencies)
        return self._df[term]

    def idf(self, df: float) -> float:
        return math.log(1 + (self.count - df + 0.5) / (df + 0.5))

    def scores(self, query: TranslatedQuery) -> dict[int, float]:
        """Score by position, of the documents that hold a term of the query."""
        terms = {a.term for group in query.groups for a in group.alternatives}
        one = self._structured if query.method != "smt" else self._weighted
        return {
            position: sum(one(group, position) for group in query.groups)
            for position, frequencies in enumerate(self.frequencies)
            if terms & frequencies.keys()
        }

    def attainable(self, query: TranslatedQuery) -> float:
        if query.method != "smt":
            groups = [(group.weight, self._expected_df(group)) for group in query.groups]
            return sum(weight * self.idf(df) for weight, df in groups if df > 0)
        return sum(
            group.weight * a.weight * self.idf(self.df(a.term))
            for group in query.groups
            for a in group.alternatives
            if self.df(a.term)
        )

    def _weights(self, group: TermGroup) -> dict[str, float]:
        weights: dict[str, float] = {}
        for a in group.alternatives:
            weights[a.term] = weights.get(a.term, 0.0) + a.weight
        return {term: min(1.0, weight) for term, weight in weights.items()}

    def _expected_df(self, group: TermGroup) -> float:
        weights = {term: w for term, w in self._weights(group).items() if self.df(term)}
        others = {term: w for term, w in weights.items() if not term.startswith(REPEATED)}
        return min(self.count, sum(w * self.df(term) for term, w in (others or weights).items()))

    def _structured(self, group: TermGroup, position: int) -> float:
        tf = sum(w * self.frequencies[position][term] for term, w in self._weights(group).items())
        if tf == 0:
            return 0.0
        return group.weight * self.idf(self._expected_df(group)) * tf / (tf + self.norms[position])

    def _weighted(self, group: TermGroup, position: int) -> float:
        score = 0.0
        for a in group.alternatives:
            tf = self.frequencies[position][a.term]
            if tf:
                score += group.weight * a.weight * self.idf(self.df(a.term)) * tf / (tf + self.norms[position])
        return score
