"""What a request options of the list of hits, checked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dragoman.engine.core.errors import InvalidRequest
from dragoman.engine.search.request import FacetField, SearchQuery
from dragoman.indexes.attributes.filters import ENTITIES, FilterFault, check_field
from dragoman.indexes.lucene.listing import SCORE, SortField

MOST_FACETS = 20
MOST_SORTED = 8
"""Fields of an order."""


@dataclass(frozen=True, slots=True)
class ListOptions:
    """What a request options of its list, besides a page of it."""

    facets: tuple[FacetField, ...] = ()
    order: tuple[SortField, ...] = ()
    """By which hits are ordered; empty: by score alone."""
    collapse: str | None = None

    @property
    def any(self) -> bool:
        """Whether more is needed than the first hits."""
        return bool(self.facets or self.order or self.collapse is not None)


def read_list_options(request: SearchQuery) -> ListOptions:
    """
    Raises:
        InvalidRequest: a field is none, or options exclude one another; the message names it.
    """
    facets = _facets(request.facets or ())
    order = _order(request.sort or ())
    if request.collapse is not None:
        _check(request.collapse, "collapse")
    if order and request.rerank:
        raise InvalidRequest("rerank: hits that are sorted by fields are not reranked: leave out one of both")
    return ListOptions(facets, order, request.collapse)


def _facets(facets: Sequence[FacetField]) -> tuple[FacetField, ...]:
    if len(facets) > MOST_FACETS:
        raise InvalidRequest(f"facets: {len(facets)} of them; at most {MOST_FACETS} are allowed")
    for place, facet in enumerate(facets):
        _check(facet.field, f"facets[{place}]")
        if facet.field in [earlier.field for earlier in facets[:place]]:
            raise InvalidRequest(f"facets[{place}]: {facet.field!r} is there twice")
    return tuple(facets)


def _order(sort: Sequence[str]) -> tuple[SortField, ...]:
    """The parts of an order; none where the score alone decides."""
    if len(sort) > MOST_SORTED:
        raise InvalidRequest(f"sort: {len(sort)} fields; at most {MOST_SORTED} are allowed")
    order = []
    for place, name in enumerate(sort):
        part = SortField(name.removeprefix("-"), name.startswith("-"))
        if part.name != SCORE:
            _check(part.name, f"sort[{place}]")
        elif part.descending:
            raise InvalidRequest(f"sort[{place}]: {SCORE} is best first by itself, without '-'")
        order.append(part)
    return () if len(order) == 1 and order[0].name == SCORE else tuple(order)


def _check(field: str, path: str) -> None:
    try:
        check_field(field, path)
    except FilterFault as fault:
        raise InvalidRequest(str(fault)) from fault
    if field == ENTITIES:
        raise InvalidRequest(f"{path}: hits cannot be counted or ordered by names")
