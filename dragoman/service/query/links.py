"""Words of a query as reranking links them to documents: what the first stage does beside the tables, for one text."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from functools import partial

from dragoman.indexes.analysis.function_words import function_words
from dragoman.indexes.analysis.phonetic import PhoneticIndex
from dragoman.lexicon.query import IDENTICAL, alternatives, by_phrases
from dragoman.lexicon.text.tokens import Analysis, Token
from dragoman.service.query.translation import identical, is_function_word
from dragoman.service.tables.snapshot import View

LEAST_ALIKE = 0.7
"""A document is not a collection whose names are known: a word must sound more alike than in a search."""


def linked_words(text: str, tokens: Sequence[Token], language: str, view: View | None) -> list[Token]:
    """The words of a query ``text``, those that are not searched without a term, as stop words are.

    Each word of a phrase that a glossary knows has the phrase's term. Function words are not searched, unless they
    are in such a phrase or there are no others (see :func:`dragoman.lexicon.query.psq`).
    """
    words = by_phrases(tokens, view.analysed, view.glossaries) if view is not None else list(tokens)
    aside = partial(is_function_word, text, function_words(language), view)
    found = [replace(one, term="") if one.term and " " not in one.term and aside(one) else one for one in words]
    return found if any(token.term for token in found) else words


def lexical_links(
    tokens: Iterable[Token],
    target: str,
    view: View | None,
    analysis: Callable[[str], Analysis],
    terms: Collection[str],
) -> dict[str, dict[str, float]]:
    """What links words of queries to ``terms`` of documents in language ``target`` beside the table, as in ``psq``.

    By the query's term: the word itself as a word of the documents counts 1, unless a table translates it and knows
    that as a word of theirs, or a glossary translates it; a word without an entry counts for a term as much as it
    sounds like that, from :data:`LEAST_ALIKE`.
    """
    found: dict[str, dict[str, float]] = {}
    table, glossaries = (view.analysed, view.glossaries) if view is not None else (None, frozenset[int]())
    phonetic: PhoneticIndex | None = None
    for token in {(token.word, token.term): token for token in tokens if token.term}.values():
        same = identical(analysis, target, token.word)
        direct, known = alternatives(token.term, same, table, glossaries)
        reached: dict[str, float] = {}
        if not known:
            phonetic = phonetic or PhoneticIndex(terms)
            similar = phonetic.similar(token.term, LEAST_ALIKE)
            reached = {term: likeness for term, likeness in similar.items() if term != same}
        reached |= {one.term: one.weight for one in direct if one.origin == IDENTICAL and one.term in terms}
        if reached:
            found.setdefault(token.term, {}).update(reached)
    return found
