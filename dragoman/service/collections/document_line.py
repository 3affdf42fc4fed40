"""One line of an NDJSON upload of documents, checked."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictStr,
    TypeAdapter,
    ValidationError,
)

from dragoman.service.core.json import check_value, count_values
from dragoman.service.core.line import LineId, LineRejected, parse_object
from dragoman.service.core.validation import Body, Clean, LanguageCode, NotBlank, describe

TITLE_CHARS = 10_000
"""Longest title, characters."""
METADATA_VALUES = 10_000
"""Most values in a document's metadata, all levels and the names of fields counted."""


def _check_address(id: str) -> str:
    if id in (".", ".."):
        raise ValueError(f"{id!r} cannot be part of an address")
    return id


def _check_value(value: Any) -> Any:
    check_value(value)
    if (values := count_values(value)) > METADATA_VALUES:
        raise ValueError(f"holds {values} values and names of fields; at most {METADATA_VALUES} are allowed")
    return value


DocumentId = Annotated[LineId, AfterValidator(_check_address)]

_ID: TypeAdapter[str] = TypeAdapter(DocumentId)


class DocumentLine(Body):
    """A document as uploaded; ``language`` is None where the collection's is meant."""

    model_config = ConfigDict(extra="forbid")

    id: DocumentId
    text: NotBlank
    title: Annotated[
        Annotated[StrictStr, Field(max_length=TITLE_CHARS), Clean] | None, AfterValidator(lambda title: title or None)
    ] = None
    language: LanguageCode | None = None
    metadata: Annotated[
        Annotated[dict[str, Any], Field(max_length=METADATA_VALUES)] | None, BeforeValidator(_check_value)
    ] = None


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


def _id_or_none(id: Any) -> str | None:
    """The id if a response can hold it, or None."""
    try:
        return _ID.validate_python(id)
    except ValidationError:
        return None
