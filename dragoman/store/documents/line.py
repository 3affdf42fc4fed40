"""One document of an upload, checked."""

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

from dragoman.engine.core.json import check_value, count_values
from dragoman.store.documents.formats.mapping import FieldMapping, MappingFault
from dragoman.store.line import LineId, LineRejected, parse_object
from dragoman.store.validation import Body, Clean, LanguageCode, NotBlank, describe

TITLE_CHARS = 10_000
"""Longest title, characters."""
METADATA_VALUES = 10_000
"""Most values in a document's metadata, all levels and the names of fields counted."""


def _check_address(id: str) -> str:
    if id in (".", ".."):
        raise ValueError(f"{id!r} cannot be part of an address")
    return id


def check_metadata(metadata: Any) -> Any:
    """
    Raises:
        ValueError: it cannot be stored, or has too many values.
    """
    check_value(metadata)
    if (values := count_values(metadata)) > METADATA_VALUES:
        raise ValueError(f"holds {values} values and names of fields; at most {METADATA_VALUES} are allowed")
    return metadata


DocumentId = Annotated[LineId, AfterValidator(_check_address)]
Title = Annotated[
    Annotated[StrictStr, Field(max_length=TITLE_CHARS), Clean] | None, AfterValidator(lambda title: title or None)
]
Metadata = Annotated[
    Annotated[dict[str, Any], Field(max_length=METADATA_VALUES)] | None, BeforeValidator(check_metadata)
]

_ID: TypeAdapter[str] = TypeAdapter(DocumentId)


class DocumentLine(Body):
    """A document as uploaded. ``language`` and ``metadata`` that are None stay as they were; ``{}`` clears metadata."""

    model_config = ConfigDict(extra="forbid")

    id: DocumentId
    text: NotBlank
    title: Title = None
    language: LanguageCode | None = None
    metadata: Metadata = None


_AS_IT_IS = FieldMapping()


def parse_document(line: bytes, depth: int, mapping: FieldMapping = _AS_IT_IS, table: bool = False) -> DocumentLine:
    """The document of one line, or of one row of a ``table``.

    Raises:
        LineRejected: not JSON, an unknown, missing or wrong field, or what cannot be stored.
    """
    fields = parse_object(line, depth)
    try:
        fields = mapping.apply(fields, table)
    except MappingFault as fault:
        raise LineRejected(str(fault), _id_or_none(fields.get("id"))) from fault
    try:
        return DocumentLine.model_validate(fields)
    except ValidationError as fault:
        raise LineRejected(describe(fault.errors()), _id_or_none(fields.get("id"))) from fault


def _id_or_none(id: Any) -> str | None:
    """The id if a response can hold it, or None."""
    try:
        return _ID.validate_python(id)
    except ValidationError:
        return None
