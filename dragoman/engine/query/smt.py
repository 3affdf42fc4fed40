"""The smt translation of a query, by whatever marks its words have where these are often left out."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace

from dragoman.engine.tables.views import PivotView, View
from dragoman.indexes.analysis.languages import analyser
from dragoman.lexicon.query import Alternative, TermGroup, TranslatedQuery
from dragoman.lexicon.smt import smt
from dragoman.lexicon.text.folding import OFTEN_WITHOUT_MARKS, without_marks
from dragoman.lexicon.text.tokens import Token


def translate_smt(
    tokens: Sequence[Token], view: View | PivotView | None, source: str, target: str, aside: Callable[[Token], bool]
) -> TranslatedQuery:
    """As :func:`~dragoman.lexicon.smt.smt`, with the words that a table has without marks, and documents have."""
    table = view.surface if view is not None else None
    if table is not None and source in OFTEN_WITHOUT_MARKS:
        tokens = [token if token.word in table else token._replace(word=without_marks(token.word)) for token in tokens]
    query = smt(tokens, table, aside=aside, sequential=analyser(target).syllables)
    if target not in OFTEN_WITHOUT_MARKS:
        return query
    return replace(query, groups=[_without_marks(group) for group in query.groups])


def _without_marks(group: TermGroup) -> TermGroup:
    weights: dict[tuple[str, int], float] = defaultdict(float)
    for alternative in group.alternatives:
        weights[without_marks(alternative.term), alternative.origin] += alternative.weight
    return replace(
        group, alternatives=[Alternative(term, weight, origin) for (term, origin), weight in weights.items()]
    )
