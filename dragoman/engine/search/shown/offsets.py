"""The offsets of hits in UTF-16 code units, for clients whose strings are made of them."""

from __future__ import annotations

from collections.abc import Iterator

from dragoman.deadline import check_each
from dragoman.engine.core.errors import Unavailable
from dragoman.engine.indexing.stored_text import PIECE, StoredText
from dragoman.engine.search.ranked import RankedDocument, Retrieval
from dragoman.engine.search.response import AttentionWord, Entity, Gloss, Highlight
from dragoman.lexicon.text.offsets import Utf16

FieldSpan = Highlight | Gloss | Entity | AttentionWord


def count_in_utf16(retrieval: Retrieval) -> None:
    """Count all offsets of the hits of a search in code units; once, when nothing reads them as code points any more.

    Raises:
        Unavailable: a long document was replaced meanwhile, so that its text before a snippet is not known.
    """
    attentions = [document.hit.attention for document in retrieval.documents if document.hit.attention]
    query_words = {id(word): word for attention in attentions for word in attention.query_words}  # which hits share
    Utf16(retrieval.request.query).count(query_words.values())
    for document in check_each(retrieval.documents):
        _count_hit(document)


def _count_hit(document: RankedDocument) -> None:
    hit, stored = document.hit, document.stored
    spans: list[FieldSpan] = [*hit.highlights, *(hit.gloss or ()), *(hit.entities or ())]
    if hit.attention:
        spans += hit.attention.document_words
    in_text, snippets = [span for span in spans if span.field == "text"], hit.snippets or []
    Utf16(stored.title or "").count(span for span in spans if span.field == "title")
    end = max([hit.snippet_start, *(span.end for span in in_text), *(snippet.start for snippet in snippets)])
    text = Utf16(*_beginning(stored, end))
    text.count(in_text)
    hit.snippet_start = text.of(hit.snippet_start)
    for snippet in snippets:
        snippet.start = text.of(snippet.start)
    if hit.snippet_translation:
        Utf16(hit.snippet).count(sentence.source for sentence in hit.snippet_translation.sentences)


def _beginning(stored: StoredText, end: int) -> Iterator[str]:
    """The text of a document up to a place, in pieces."""
    reached = 0
    for start, piece in stored.pieces(PIECE):
        if start >= end:
            return
        yield piece[: end - start]
        reached = start + len(piece)
    if reached < end:
        raise Unavailable(f"document {stored.id!r} was replaced while it was searched; search again")
