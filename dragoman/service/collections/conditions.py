"""``ETag`` and ``If-Match``: an entity tag is the generation of what it belongs to."""

from __future__ import annotations

import re
from typing import Annotated

from fastapi import Depends, Header

from dragoman.engine.core.errors import InvalidRequest

_TAG = re.compile(r'(?:W/)?(?:"([0-9]{1,18})"|([0-9]{1,18}))', re.ASCII)
"""An entity tag of ours; weak is what a proxy makes of it that packs an answer. Quotes may be left out."""
_LONGEST = 1000


def etag(generation: int) -> dict[str, str]:
    """The header that says of which generation an answer is."""
    return {"ETag": f'"{generation}"'}


def parse_if_match(headers: list[str]) -> frozenset[int] | None:
    """The generations that ``If-Match`` names; None where any will do.

    Raises:
        InvalidRequest: it is no list of entity tags of this service.
    """
    header = ",".join(headers).strip()
    if not headers or header == "*":
        return None
    if len(header) <= _LONGEST:
        tags = [_TAG.fullmatch(tag.strip()) for tag in header.split(",")]
        generations = [int(tag[1] or tag[2]) for tag in tags if tag is not None]
        if len(generations) == len(tags):
            return frozenset(generations)
    raise InvalidRequest('header If-Match: must be a generation such as "7", several separated by commas, or *')


async def _expected_generations(
    if_match: Annotated[
        list[str] | None,
        Header(
            alias="If-Match",
            description="Do this only if what is changed is of this generation, which ETag has; 412 if it is not. That"
            " of a collection says which documents it has: other names and settings do not raise it.",
        ),
    ] = None,
) -> frozenset[int] | None:
    return parse_if_match(if_match or [])


ExpectedDep = Annotated[frozenset[int] | None, Depends(_expected_generations)]
"""The generations that a caller expects; None: any."""
