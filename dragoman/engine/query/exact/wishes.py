"""What a request requires and excludes, by its fields and by the syntax of its query."""

from __future__ import annotations

from collections.abc import Sequence

from dragoman.engine.core.errors import InvalidRequest
from dragoman.engine.query.exact.pattern import Wish
from dragoman.engine.query.exact.syntax import LONGEST, parse

MOST = 50
"""The required and excluded texts of a request."""


def read_wishes(query: str, must: Sequence[str], must_not: Sequence[str], *, simple: bool) -> tuple[str, list[Wish]]:
    """What is ranked by, as long as the query, and what documents must hold and must not.

    Raises:
        InvalidRequest: there are too many, one is too long, or nothing is left to rank by.
    """
    wishes = [Wish(f"must[{place}]", text) for place, text in enumerate(must)]
    wishes += [Wish(f"must_not[{place}]", text, excluded=True) for place, text in enumerate(must_not)]
    ranked = query
    if simple:
        ranked, required, excluded = parse(query)
        wishes += [Wish("query", text) for text in required]
        wishes += [Wish("query", text, excluded=True) for text in excluded]
        if excluded and not any(map(str.isalnum, ranked)):
            raise InvalidRequest("query: everything in it is excluded, so there is nothing to rank by")
    for wish in wishes:
        if len(wish.text) > LONGEST:
            raise InvalidRequest(f"{wish.path}: {len(wish.text)} characters; at most {LONGEST} are allowed")
    if len(wishes) > MOST:
        field = wishes[MOST].path.partition("[")[0]
        raise InvalidRequest(f"{field}: {len(wishes)} required and excluded texts; at most {MOST} are allowed")
    return ranked, wishes
