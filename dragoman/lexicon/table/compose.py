"""Merging of translation tables; ``index_terms`` converts a table of words to index terms."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from dragoman.lexicon.table.aggregation import ORIGINS, EntryColumns, Floats, Ids, join_parts, strongest
from dragoman.lexicon.table.index_terms import AnalysedTable, analyse, analyse_table
from dragoman.lexicon.table.table import Table
from dragoman.lexicon.table.terms import SortedTerms, TermRecords
from dragoman.lexicon.table.vocabulary import Vocabulary

__all__ = ["AnalysedTable", "Kind", "Member", "analyse", "analyse_table", "merge"]

Kind = Literal["statistical", "glossary"]
"""What a table holds; a glossary outranks."""


@dataclass(frozen=True, slots=True)
class Member:
    """One table of a merge."""

    table: Table
    name: str
    version: int
    kind: Kind = "statistical"
    weight: float = 1.0


def merge(members: Sequence[Member]) -> Table:
    """Merge tables into one; an entry's origin is an index into ``members``.

    ``P(t|s) = sum_k w_k P_k(t|s) / sum_k w_k`` over the members k that have the source term s, and likewise
    ``P(s|t)`` over those that have t. Glossaries take precedence: a term of either language that is in a
    glossary keeps only entries of glossaries, averaged among them. If several members have an entry, its origin
    is the member that contributes most to the sum of both probabilities (the first among equals).

    Raises:
        ValueError: if there is no member or more than 256, languages differ, or a weight is not a positive
            number.
    """
    _check(members)
    first = members[0].table
    if len(members) == 1:
        return first  # a weight counts among several
    source_terms, source_maps = _union([member.table.sources for member in members])
    target_terms, target_maps = _union([member.table.targets for member in members])
    weight_s = _total_weight(members, source_maps, len(source_terms.first))
    weight_t = _total_weight(members, target_maps, len(target_terms.first))
    parts: list[EntryColumns] = []
    for k, member in enumerate(members):
        side = member.table.by_source
        s = source_maps[k][side.owners()]
        t = target_maps[k][side.ids]
        group = int(member.kind == "glossary")
        selected = np.ones(len(s), bool) if group else (weight_s[1][s] == 0) & (weight_t[1][t] == 0)
        s, t = s[selected], t[selected]
        forward = member.weight * side.forward[selected].astype(np.float64) / weight_s[group][s]
        backward = member.weight * side.backward[selected].astype(np.float64) / weight_t[group][t]
        parts.append((s, t, forward, backward, np.full(len(s), k, np.uint8)))
    s, t, forward, backward, origins = strongest(*join_parts(parts))
    return Table.from_records(
        first.source,
        first.target,
        source_terms,
        target_terms,
        s,
        t,
        np.minimum(forward, 1.0),
        np.minimum(backward, 1.0),
        origins,
    )


def _check(members: Sequence[Member]) -> None:
    if not 0 < len(members) <= ORIGINS:
        raise ValueError(f"between 1 and {ORIGINS} tables can be merged, not {len(members)}")
    first = members[0].table
    for member in members:
        table = member.table
        if (table.source, table.target) != (first.source, first.target):
            raise ValueError(
                f"table {member.name} is {table.source} to {table.target}, "
                f"not {first.source} to {first.target} as {members[0].name} is"
            )
        if not (member.weight > 0 and math.isfinite(member.weight)):
            raise ValueError(f"the weight of table {member.name} must be positive, not {member.weight}")


def _union(vocabularies: Sequence[Vocabulary]) -> tuple[SortedTerms, list[Ids]]:
    """All terms, and for each vocabulary the first records of its terms among them."""
    records = TermRecords()
    added = [np.fromiter(map(records.add, terms), np.int32, len(terms)) for terms in vocabularies]
    terms = records.sort()
    return terms, [terms.first[numbers] for numbers in added]


def _total_weight(members: Sequence[Member], maps: Sequence[Ids], terms: int) -> Floats:
    """The total weight of the statistical tables (row 0) and glossaries (row 1) that have each term."""
    weights = np.zeros((2, terms))
    for member, numbers in zip(members, maps, strict=True):
        weights[int(member.kind == "glossary"), numbers] += member.weight
    return weights
