"""What ``GET /v1/suggest`` is asked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

from dragoman.engine.core.errors import InvalidRequest
from dragoman.engine.core.limits import NAMES
from dragoman.engine.suggest.service import MOST_CHARS
from dragoman.store.validation import Name, NotBlank

Typed = Annotated[NotBlank, Field(max_length=MOST_CHARS)]
NameLists = Annotated[list[Name], Field(max_length=NAMES)]


def split_names(listed: Sequence[str] | None) -> list[str] | None:
    """The names of collections, which may be repeated or by commas; None where the parameter is left out.

    Raises:
        InvalidRequest: it is there and names none.
    """
    if listed is None:
        return None
    names = [name for part in listed for name in part.split(",") if name]
    if not names:
        raise InvalidRequest("collections: no name is given; leave it out to ask all of them")
    return names
