"""A line of an NDJSON upload: its id, its JSON object, and why it is rejected."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, StrictStr

from dragoman.engine.core.errors import MalformedBody, TooLarge
from dragoman.engine.core.json import parse
from dragoman.engine.core.names import ID_CHARS
from dragoman.store.validation import Clean

LineId = Annotated[StrictStr, Field(min_length=1, max_length=ID_CHARS), Clean]
"""What names a line of an upload."""


class LineRejected(ValueError):
    """Why a line cannot be used: the message names the field; ``id`` is the line's where it has one."""

    def __init__(self, reason: str, id: str | None = None) -> None:
        super().__init__(reason)
        self.id = id


def parse_object(line: bytes, depth: int) -> dict[str, Any]:
    """The JSON object of one line.

    Raises:
        LineRejected: not JSON, of too many values, or not an object.
    """
    try:
        fields = parse(line, depth)
    except (MalformedBody, TooLarge) as fault:
        raise LineRejected(str(fault).replace("the body is", "the line is")) from fault
    if not isinstance(fields, dict):
        raise LineRejected("the line is not a JSON object")
    return fields
