"""Documents as input rows of the model: passages of equal length, as long as fits with the query."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from dragoman.backbone.encoder import Encoder, Pair
from dragoman.backbone.tokenizer import cut_evenly
from dragoman.ranking.attention import Ints, Links, word_of_pieces
from dragoman.ranking.limits import DOCUMENT_SUBWORDS
from dragoman.ranking.mixed_attention import PassageRow

MIN_PASSAGE_SUBWORDS = 16
"""Subwords of a passage that must fit after a long query is shortened."""


Ids = tuple[int, ...]


class QueryTooLong(ValueError):
    """The query leaves no room for a passage."""


@dataclass(frozen=True)
class TokenizedText:
    """A tokenized text: its subwords, and the word of each (-1 for none)."""

    ids: list[int]
    pieces: Ints


@dataclass(frozen=True)
class Passage:
    """One input row: its document, and the words and links of its matrix M."""

    document: int
    pair: Pair
    row: PassageRow


class ReadPart(NamedTuple):
    """What is read of a query and its documents: the query, whether it was cut, and which documents are truncated."""

    query: TokenizedText
    query_cut: bool
    truncated: list[int]


def tokenize_texts(
    encoder: Encoder, texts: Sequence[str], spans: Sequence[Sequence[tuple[int, int]]]
) -> list[TokenizedText]:
    """Tokenize texts for the model; `spans` are (start, end) of their words."""
    return [
        TokenizedText(encoded.ids, word_of_pieces(word_spans, encoded.offsets))
        for encoded, word_spans in zip(encoder.subwords(texts), spans, strict=True)
    ]


def passages(
    encoder: Encoder, query: TokenizedText, documents: Sequence[TokenizedText], links: Sequence[Links]
) -> Iterator[Passage]:
    """The passages of documents, at least one each, with each document's links to the query.

    Raises:
        QueryTooLong: if the query leaves no room for a passage.
    """
    room = encoder.room_beside(len(query.ids))
    if room < 1:
        raise QueryTooLong(f"the query has {len(query.ids)} subwords, which leaves no room for a passage")
    for index, (document, linked) in enumerate(zip(documents, links, strict=True)):
        start = 0
        for ids in cut_evenly(document.ids[:DOCUMENT_SUBWORDS], room):
            pair, pieces = encoder.pair(query.ids, ids), document.pieces[start : start + len(ids)]
            start += len(ids)
            yield Passage(index, pair, PassageRow(pair.first, query.pieces, pair.second, pieces, linked))


def rows(
    encoder: Encoder, query: TokenizedText, documents: Sequence[TokenizedText], links: Sequence[Links]
) -> list[list[Passage]]:
    """The passages of each document.

    Raises:
        QueryTooLong: if the query leaves no room for a passage.
    """
    passages_by_document: list[list[Passage]] = [[] for _ in documents]
    for passage in passages(encoder, query, documents, links):
        passages_by_document[passage.document].append(passage)
    return passages_by_document


def sides(passage: Passage) -> tuple[Ids, Ids]:
    """The subwords of the query and of the passage."""
    row, ids = passage.row, passage.pair.ids
    query, passage_ids = ids[row.first :][: len(row.query)], ids[row.second :][: len(row.passage)]
    return tuple(query), tuple(passage_ids)


def shorten_query(encoder: Encoder, query: TokenizedText) -> TokenizedText:
    """The query, cut so that a passage fits."""
    length = len(query.ids)
    while length and encoder.room_beside(length) < MIN_PASSAGE_SUBWORDS:
        length -= 1
    return query if length == len(query.ids) else TokenizedText(query.ids[:length], query.pieces[:length])


def is_truncated(document: TokenizedText) -> bool:
    """Whether only the beginning of a document is read."""
    return len(document.ids) > DOCUMENT_SUBWORDS


def read_part(encoder: Encoder, query: TokenizedText, documents: Sequence[TokenizedText]) -> ReadPart:
    """What is read where documents are split into passages."""
    shorter = shorten_query(encoder, query)
    truncated = [index for index, document in enumerate(documents) if is_truncated(document)]
    return ReadPart(shorter, shorter is not query, truncated)
