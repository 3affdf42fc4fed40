"""Lexical links for reranking: matches of query words and document words that are not in the tables.

They follow the first stage: the same word on both sides, and words that sound alike.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial

from dragoman.deadline import check_each
from dragoman.engine.query.translation import identical, is_function_word
from dragoman.engine.tables.views import PivotView, View
from dragoman.indexes.analysis.phonetic_index import PhoneticIndex
from dragoman.lexicon.phrases import by_phrases
from dragoman.lexicon.query import IDENTICAL, alternatives
from dragoman.lexicon.text.function_words import folded_function_words
from dragoman.lexicon.text.tokens import Analysis, Token

MIN_SIMILARITY = 0.7
"""Minimum phonetic similarity; stricter than in a search, because a document has no vocabulary to compare with."""


def linked_words(text: str, tokens: Sequence[Token], language: str, view: View | PivotView | None) -> list[Token]:
    """The words of a query ``text``; words that are not searched, such as function words, have an empty term.

    Each word of a phrase in a glossary has the phrase's term. Function words are not searched, unless they are in such
    a phrase or the query has no other words (see :func:`dragoman.lexicon.query.psq`).
    """
    words = by_phrases(tokens, view.analysed, view.glossaries) if view is not None else list(tokens)
    aside = partial(is_function_word, text, folded_function_words(language), view)
    linked = [
        token._replace(term="") if token.term and " " not in token.term and aside(token) else token
        for token in check_each(words)
    ]
    return linked if any(token.term for token in linked) else words


def lexical_links(
    tokens: Iterable[Token],
    target: str,
    view: View | PivotView | None,
    analysis: Callable[[str], Analysis],
    terms: Collection[str],
) -> dict[str, dict[str, float]]:
    """The weights of query terms for ``terms`` of documents in language ``target``, besides the table, as in ``psq``.

    The result maps a query term to document terms. The same word on both sides has weight 1, unless a glossary
    translates it, or a table translates it and has it as a word of the documents' language. A word without an entry
    has its phonetic similarity to a term as the weight, from :data:`MIN_SIMILARITY` on.
    """
    links: dict[str, dict[str, float]] = {}
    table, glossaries = (view.analysed, view.glossaries) if view is not None else (None, frozenset[int]())
    phonetic: PhoneticIndex | None = None
    for token in check_each({(token.word, token.term): token for token in tokens if token.term}.values()):
        same = identical(analysis, target, token.word)
        direct, translated = alternatives(token.term, same, table, glossaries)
        reached: dict[str, float] = {}
        if not translated:
            phonetic = phonetic or PhoneticIndex(terms)
            similar = phonetic.similar(token.term, MIN_SIMILARITY)
            reached = {term: likeness for term, likeness in similar.items() if term != same}
        reached |= {
            alternative.term: alternative.weight
            for alternative in direct
            if alternative.origin == IDENTICAL and alternative.term in terms
        }
        if reached:
            links.setdefault(token.term, {}).update(reached)
    return links
