"""Documents as input rows of the model: passages of equal length, as long as fits with the query."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dragoman.backbone.encoder import Encoder, Pair
from dragoman.backbone.tokenizer import cut
from dragoman.ranking.attention import Ints, Links, word_of_pieces
from dragoman.ranking.limits import DOCUMENT_SUBWORDS
from dragoman.ranking.mixed_attention import Row

MIN_PASSAGE_SUBWORDS = 16
"""Subwords of a passage that must fit after a long query is shortened."""


Ids = tuple[int, ...]


class QueryTooLong(ValueError):
    """The query leaves no room for a passage."""


@dataclass(frozen=True)
class Read:
    """A tokenized text: its subwords, and the word of each (-1 for none)."""

    ids: list[int]
    pieces: Ints


@dataclass(frozen=True)
class Passage:
    """One input row: its document, and the words and links of its matrix M."""

    document: int
    pair: Pair
    row: Row


def read(encoder: Encoder, texts: Sequence[str], spans: Sequence[Sequence[tuple[int, int]]]) -> list[Read]:
    """Tokenize texts for the model; `spans` are (start, end) of their words."""
    return [
        Read(found.ids, word_of_pieces(own, found.offsets))
        for found, own in zip(encoder.subwords(texts), spans, strict=True)
    ]


def passages(encoder: Encoder, query: Read, documents: Sequence[Read], links: Sequence[Links]) -> Iterator[Passage]:
    """The passages of documents, at least one each, with each document's links to the query.

    Raises:
        QueryTooLong: if the query leaves no room for a passage.
    """
    room = encoder.room_beside(len(query.ids))
    if room < 1:
        raise QueryTooLong(f"the query has {len(query.ids)} subwords, which leaves no room for a passage")
    for number, (document, linked) in enumerate(zip(documents, links, strict=True)):
        start = 0
        for ids in cut(document.ids[:DOCUMENT_SUBWORDS], room):
            pair, pieces = encoder.pair(query.ids, ids), document.pieces[start : start + len(ids)]
            start += len(ids)
            yield Passage(number, pair, Row(pair.first, query.pieces, pair.second, pieces, linked))


def rows(encoder: Encoder, query: Read, documents: Sequence[Read], links: Sequence[Links]) -> list[list[Passage]]:
    """The passages of each document.

    Raises:
        QueryTooLong: if the query leaves no room for a passage.
    """
    found: list[list[Passage]] = [[] for _ in documents]
    for passage in passages(encoder, query, documents, links):
        found[passage.document].append(passage)
    return found


def sides(passage: Passage) -> tuple[Ids, Ids]:
    """The subwords of the query and of the passage."""
    row, ids = passage.row, passage.pair.ids
    query, own = ids[row.first :][: len(row.query)], ids[row.second :][: len(row.passage)]
    return tuple(query), tuple(own)


def shortened(encoder: Encoder, query: Read) -> Read:
    """The query, cut so that a passage fits."""
    length = len(query.ids)
    while length and encoder.room_beside(length) < MIN_PASSAGE_SUBWORDS:
        length -= 1
    return query if length == len(query.ids) else Read(query.ids[:length], query.pieces[:length])


def truncated(document: Read) -> bool:
    """Whether only the beginning of a document is read."""
    return len(document.ids) > DOCUMENT_SUBWORDS
