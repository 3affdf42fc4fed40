"""T of a query's words and those of documents in several languages, by the tables of one snapshot."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from dragoman.engine.query.analysed_text import AnalysedText
from dragoman.engine.query.links import lexical_links, linked_words
from dragoman.engine.tables.snapshot import Snapshot
from dragoman.lexicon.text.tokens import PART, Analysis, Token
from dragoman.ranking.attention import Direction, TranslationReference, Words
from dragoman.ranking.limits import QUERY_WORDS, readable


def make_references(
    query: AnalysedText,
    documents: Iterable[tuple[str, Words]],
    snapshot: Snapshot,
    direction: Direction,
    analysis: Callable[[str], Analysis],
) -> dict[str, TranslationReference]:
    """T of the query's words by language of the documents, which are given by their languages and words."""
    language, tokens = query.language, query.tokens[:QUERY_WORDS]
    terms: dict[str, set[str]] = {}
    for target, words in documents:
        document_terms = terms.setdefault(target, set())
        document_terms.update(filter(None, words.terms), *words.further.values())
    references: dict[str, TranslationReference] = {}
    for target, document_terms in terms.items():
        view = snapshot.view(language, target)
        words_linked = linked_words(query.text, tokens, language, view)
        references[target] = TranslationReference(
            words_of(words_linked),
            view.analysed if view is not None else None,
            direction=direction,
            glossaries=view.glossaries if view is not None else frozenset(),
            extra=lexical_links(words_linked, target, view, analysis, document_terms) if target != language else None,
        )
    return references


def readable_part(document: AnalysedText) -> AnalysedText:
    """A document, or as much of a very long one as a reranker reads."""
    text = readable(document.text)
    return document if len(text) == len(document.text) else replace(document, text=text)


def words_of(tokens: Sequence[Token]) -> Words:
    """Words as T is of."""
    further = {
        place: tuple(term.removeprefix(PART) for term in token.further)
        for place, token in enumerate(tokens)
        if token.further
    }
    return Words([token.term for token in tokens], [(token.start, token.end) for token in tokens], further)
