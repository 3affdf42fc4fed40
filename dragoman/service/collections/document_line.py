"""One line of an NDJSON upload of documents, checked."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictStr,
    TypeAdapter,
    ValidationError,
)

from dragoman.service.core.errors import MalformedBody
from dragoman.service.core.json import check_value, parse
from dragoman.service.core.validation import Clean, LanguageCode, NotBlank, describe
from dragoman.service.storage.models import ID_CHARS

TITLE_CHARS = 10_000
"""Longest title, characters."""


class LineRejected(ValueError):
    """Why a line cannot be used: the message names the field; ``id`` is the line's where it has one."""

    def __init__(self, reason: str, id: str | None = None) -> None:
        super().__init__(reason)
        self.id = id


def _check_address(id: str) -> str:
    if id in (".", ".."):
        raise ValueError(f"{id!r} cannot be part of an address")
    return id


def _check_value(value: Any) -> Any:
    check_value(value)
    return value


LineId = Annotated[StrictStr, Field(min_length=1, max_length=ID_CHARS), Clean]
"""What names a line of an upload."""

DocumentId = Annotated[LineId, AfterValidator(_check_address)]

_ID: TypeAdapter[str] = TypeAdapter(DocumentId)


class DocumentLine(BaseModel):
    """A document as uploaded; ``language`` is None where the collection's is meant."""

    model_config = ConfigDict(extra="forbid")

    id: DocumentId
    text: NotBlank
    title: Annotated[
        Annotated[StrictStr, Field(max_length=TITLE_CHARS), Clean] | None, AfterValidator(lambda title: title or None)
    ] = None
    language: LanguageCode | None = None
    metadata: Annotated[dict[str, Any] | None, BeforeValidator(_check_value)] = None


def parse_document(line: bytes, depth: int) -> DocumentLine:
    """The document of one line.

    Raises:
        LineRejected: not JSON, an unknown, missing or wrong field, or what cannot be stored.
    """
    value = parse_object(line, depth)
    try:
        return DocumentLine.model_validate(value)
    except ValidationError as fault:
        raise LineRejected(describe(fault.errors()), _id_or_none(value.get("id"))) from fault


def parse_object(line: bytes, depth: int) -> dict[str, Any]:
    """The JSON object of one line.

    Raises:
        LineRejected: not JSON, or another value.
    """
    try:
        value = parse(line, depth)
    except MalformedBody as fault:
        raise LineRejected(str(fault).replace("the body is", "the line is")) from fault
    if not isinstance(value, dict):
        raise LineRejected("the line is not a JSON object")
    return value


def _id_or_none(id: Any) -> str | None:
    """The id if a response can hold it, or None."""
    try:
        return _ID.validate_python(id)
    except ValidationError:
        return None
