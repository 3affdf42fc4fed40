"""Documents as the rows that the model reads: equal passages, each as long as the model reads beside the query."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dragoman.backbone.encoder import Encoder, Pair
from dragoman.backbone.tokenizer import cut
from dragoman.ranking.attention import Ints, Links, word_of_pieces
from dragoman.ranking.limits import DOCUMENT_SUBWORDS
from dragoman.ranking.mixing import Row

LEAST_ROOM = 16
"""Subwords of a passage for which a long query leaves room."""


class QueryTooLong(ValueError):
    """A query that leaves no room for a passage beside it."""


@dataclass(frozen=True)
class Read:
    """A text as the model reads it: its subwords, and the word that each lies in (-1: none)."""

    ids: list[int]
    pieces: Ints


@dataclass(frozen=True)
class Passage:
    """One row to be read: of which document, and its matrix M's words and links."""

    document: int
    pair: Pair
    row: Row


def read(encoder: Encoder, texts: Sequence[str], spans: Sequence[Sequence[tuple[int, int]]]) -> list[Read]:
    """Texts in the model's subwords; `spans` are (start, end) of their words."""
    return [
        Read(found.ids, word_of_pieces(own, found.offsets))
        for found, own in zip(encoder.subwords(texts), spans, strict=True)
    ]


def passages(encoder: Encoder, query: Read, documents: Sequence[Read], links: Sequence[Links]) -> Iterator[Passage]:
    """The rows that stand for documents, at least one each, with each document's links to the query.

    Raises:
        QueryTooLong: there is no room for a passage beside the query.
    """
    room = encoder.room_beside(len(query.ids))
    if room < 1:
        raise QueryTooLong(f"the query has {len(query.ids)} subwords, which leaves no room for a passage beside it")
    for number, (document, linked) in enumerate(zip(documents, links, strict=True)):
        start = 0
        for ids in cut(document.ids[:DOCUMENT_SUBWORDS], room):
            pair, pieces = encoder.pair(query.ids, ids), document.pieces[start : start + len(ids)]
            start += len(ids)
            yield Passage(number, pair, Row(pair.first, query.pieces, pair.second, pieces, linked))


def shortened(encoder: Encoder, query: Read) -> Read:
    """As much of a query as leaves room for a passage beside it; the query itself where that is all of it."""
    length = len(query.ids)
    while length and encoder.room_beside(length) < LEAST_ROOM:
        length -= 1
    return query if length == len(query.ids) else Read(query.ids[:length], query.pieces[:length])


def truncated(document: Read) -> bool:
    """Whether a document is longer than what is read of it."""
    return len(document.ids) > DOCUMENT_SUBWORDS
