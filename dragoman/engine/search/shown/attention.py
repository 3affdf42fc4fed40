"""The translation attention of hits: how the tables link the words of a query with those of a document.

Of the matrix M of "Mixed Attention Transformer" (:mod:`dragoman.ranking.attention`) it is the block of query words and
document words before rows are normalised: ``weights[i][j]`` is T of query word i and document word j. It follows from
the tables alone, so that a hit of any method has it, reranked or not.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dragoman.deadline import check_each
from dragoman.engine.core.answer import Degraded, significant
from dragoman.engine.core.errors import Unavailable
from dragoman.engine.core.stages import optional
from dragoman.engine.query.analysed_text import AnalysedText
from dragoman.engine.rerank.references import make_references, readable_part, words_of
from dragoman.engine.search.ranked import RankedDocument, Retrieval
from dragoman.engine.search.response import Attention, AttentionWord, QueryWord
from dragoman.engine.search.room import attention_size, query_word_size
from dragoman.lexicon.text.tokens import Analysis
from dragoman.ranking.attention import Links, Words
from dragoman.ranking.limits import LINKS_OF_DOCUMENT, QUERY_WORDS

STAGE = "attention"


def add_attention(retrieval: Retrieval, analysis: Callable[[str], Analysis]) -> None:
    """Give the hits of a search their attention; null for those for which there is no time."""
    documents = retrieval.documents
    for document in documents:
        document.hit.attention = None
    done = 0
    try:
        with retrieval.stage(STAGE), optional():
            texts = [readable_part(document.whole) for document in documents]
            words = [words_of(text.tokens) for text in check_each(texts)]
            languages = [text.language for text in texts]
            pairs = zip(languages, words, strict=True)
            references = make_references(retrieval.query, pairs, retrieval.snapshot, retrieval.direction, analysis)
            query_words = _query_words(retrieval.query)
            for document, text, words_of_text in check_each(zip(documents, texts, words, strict=True)):
                links = references[text.language].links(words_of_text, LINKS_OF_DOCUMENT)
                document.hit.attention = _attention(retrieval, document, query_words, words_of_text, links)
                _note_limits(retrieval, document, text, links)
                done += 1
    except Unavailable as fault:
        reason = f"hits from rank {done + 1} on have no attention: {fault}"
        retrieval.degraded.append(Degraded.of(STAGE, reason, fault.cause))


def _query_words(query: AnalysedText) -> list[QueryWord]:
    return [
        QueryWord(text=query.text[token.start : token.end], start=token.start, end=token.end)
        for token in query.tokens[:QUERY_WORDS]
    ]


def _attention(
    retrieval: Retrieval, document: RankedDocument, query_words: list[QueryWord], words: Words, links: Links
) -> Attention | None:
    """The rows of query words, with the columns of the document words that are linked; None where it has no room."""
    room, rank = retrieval.room, document.hit.rank
    if query_words and not room.all_or_none(STAGE, rank, query_words, query_word_size):
        return None
    places = np.unique(links.right)
    matrix = np.zeros((len(query_words), len(places)))
    matrix[links.left, np.searchsorted(places, links.right)] = links.weights
    columns = [
        (_document_word(document, words.spans[place]), [significant(weight) for weight in matrix[:, column].tolist()])
        for column, place in check_each(enumerate(places.tolist()), 100)
    ]
    shown = room.fitting(STAGE, rank, columns, lambda column: attention_size(*column))
    return Attention(
        direction=retrieval.direction,
        query_words=query_words,
        document_words=[word for word, _ in shown],
        weights=[[weights[row] for _, weights in shown] for row in range(len(query_words))],
    )


def _document_word(document: RankedDocument, span: tuple[int, int]) -> AttentionWord:
    start, end = span
    before = len(document.whole.text) - len(document.stored.text)
    written = document.whole.text[start:end]
    if start < before:
        return AttentionWord(field="title", start=start, end=end, text=written)
    return AttentionWord(field="text", start=start - before, end=end - before, text=written)


def _note_limits(retrieval: Retrieval, document: RankedDocument, text: AnalysedText, links: Links) -> None:
    if len(text.text) < len(document.whole.text) or not document.stored.complete:
        retrieval.truncated.append(f"{STAGE}: of document {document.stored.id!r} only the beginning was read")
    if len(links.left) >= LINKS_OF_DOCUMENT:
        retrieval.truncated.append(
            f"{STAGE}: of document {document.stored.id!r} only the first {LINKS_OF_DOCUMENT} links are shown"
        )
