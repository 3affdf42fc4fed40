"""What all documents that a query matches have in common, and orders by fields, as ``dragoman.Matches`` answers."""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dragoman.indexes.attributes.filters import index_fields
from dragoman.indexes.attributes.values import first_and_last
from dragoman.indexes.lucene.queries import PreparedQuery
from dragoman.indexes.shard_group import Unsearched

__all__ = [
    "SCORE",
    "Matched",
    "Row",
    "SortField",
    "Values",
    "ask_matches",
    "ask_values",
    "in_order",
    "join_matched",
    "sort_values",
]

SCORE = "_score"
Values = list[list[bytes]]
"""Of one document for each field its values, encoded (:mod:`dragoman.indexes.attributes.values`)."""


class SortField(NamedTuple):
    """A part of an order: a field, or the score, of which the greatest is the first."""

    name: str
    descending: bool = False


class Row(NamedTuple):
    """A document in an order: its score, and for each field of the order its least or greatest encoded."""

    key: int
    score: float
    values: tuple[bytes | None, ...]


class Matched(NamedTuple):
    """The documents that a query matches: how many, the values of their fields, and the first ones of an order."""

    total: int
    facets: list[Counter[bytes]]
    """For each field, how many documents have each encoded."""
    cut: frozenset[int]
    """The fields that have more values than these, by their places."""
    rows: list[Row]
    """The first ``k`` and some more, in no order."""
    unsearched: tuple[Unsearched, ...] = ()


def ask_matches(
    searcher: Any,
    query: PreparedQuery,
    numbers: NDArray[np.int64],
    facets: Sequence[str],
    order: Sequence[SortField],
    k: int,
    version: int = 0,
) -> Matched:
    """What a part of an index answers; ``numbers`` are the statistics of the whole one, ``version`` of a snapshot."""
    shapes = "\n".join([" ".join(_names(name)) for name in facets])
    orders = "\n".join([_order(part) for part in order])
    answer = str(searcher.matches(version, *query[1:-1], numbers, query.filter, shapes, orders, k)).split("\n")
    counted = 2 + int(answer[1])
    counts: list[Counter[bytes]] = [Counter() for _ in facets]
    cut = set()
    for line in answer[2:counted]:
        place, *encoded = line.split(" ")
        if encoded:
            counts[int(place)][bytes.fromhex(encoded[0])] = int(encoded[1])
        else:
            cut.add(int(place))
    return Matched(int(answer[0]), counts, frozenset(cut), [_row(line) for line in answer[counted:]])


def ask_values(searcher: Any, fields: Sequence[str], keys: Sequence[int]) -> list[Values]:
    """The values of fields of the documents with some keys; none of those that are not there."""
    if not len(keys):
        return []
    names = "\n".join([" ".join(_names(name)) for name in fields])
    lines = str(searcher.values(names, np.array(keys, np.int64))).split("\n")
    return [
        [[] if cell == "-" else [bytes.fromhex(encoded) for encoded in cell.split(",")] for cell in line.split(" ")]
        for line in lines
    ]


def join_matched(parts: Sequence[Matched], unsearched: tuple[Unsearched, ...] = ()) -> Matched:
    """What several indexes answer together."""
    counts: list[Counter[bytes]] = [
        sum(of_field, Counter()) for of_field in zip(*(part.facets for part in parts), strict=True)
    ]
    return Matched(
        sum(part.total for part in parts),
        counts,
        frozenset().union(*(part.cut for part in parts)),
        [row for part in parts for row in part.rows],
        unsearched + tuple(entry for part in parts for entry in part.unsearched),
    )


def in_order(rows: Sequence[Row], order: Sequence[SortField]) -> list[Row]:
    """Documents by the fields of an order; those without a encoded last, ties by ascending key."""
    ordered = sorted(rows, key=lambda row: row.key)
    places = {part: place for place, part in enumerate(part for part in order if part.name != SCORE)}
    for part in reversed(order):
        if part.name == SCORE:
            ordered.sort(key=lambda row: -row.score)
            continue
        place = places[part]
        present = [row for row in ordered if row.values[place] is not None]
        present.sort(key=lambda row: row.values[place] or b"", reverse=part.descending)
        ordered = present + [row for row in ordered if row.values[place] is None]
    return ordered


def sort_values(values: Values, order: Sequence[SortField]) -> tuple[bytes | None, ...]:
    """The encoded of each field by which a document is ordered."""
    fields = [part for part in order if part.name != SCORE]
    chosen = (first_and_last(of_field) for of_field in values)
    return tuple(pair and pair[part.descending] for part, pair in zip(fields, chosen, strict=True))


def _names(field: str) -> list[str]:
    return [name.encode().hex() for name in index_fields(field)]


def _order(part: SortField) -> str:
    if part.name == SCORE:
        return "="
    return ("-" if part.descending else "+") + " ".join(_names(part.name))


def _row(line: str) -> Row:
    key, bits, *values = line.split(" ")
    (score,) = struct.unpack(">f", int(bits).to_bytes(4, "big"))
    return Row(int(key), score, tuple(None if encoded == "-" else bytes.fromhex(encoded) for encoded in values))
