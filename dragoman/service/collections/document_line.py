"""One line of an NDJSON upload of documents, checked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dragoman.lexicon.text.languages import check_language
from dragoman.service.core.errors import MalformedBody
from dragoman.service.core.json import check_text, check_value, parse
from dragoman.service.storage.models import ID_CHARS

TITLE_CHARS = 10_000
"""Longest title, characters."""

_FIELDS = ("id", "text", "title", "language", "metadata")


@dataclass(frozen=True, slots=True)
class DocumentLine:
    """A document as uploaded; ``language`` is None where the collection's is meant."""

    id: str
    text: str
    title: str | None
    language: str | None
    metadata: dict[str, Any] | None


class LineRejected(ValueError):
    """Why a line is no document: the message names the field; ``id`` is the document's where it has one."""

    def __init__(self, reason: str, id: str | None = None) -> None:
        super().__init__(reason)
        self.id = id


def parse_document(line: bytes, depth: int) -> DocumentLine:
    """The document of one line.

    Raises:
        LineRejected: not JSON, an unknown, missing or wrong field, or what cannot be stored.
    """
    try:
        value = parse(line, depth)
    except MalformedBody as fault:
        raise LineRejected(str(fault).replace("the body is", "the line is")) from fault
    if not isinstance(value, dict):
        raise LineRejected(f"the line is {_kind(value)}, not an object with 'id' and 'text'")
    known = _id_or_none(value.get("id"))
    try:
        return _document(value)
    except ValueError as fault:
        raise LineRejected(str(fault), known) from fault


def check_id(id: Any) -> str:
    """Return a document id that can be stored.

    Raises:
        ValueError: not a string, empty, too long, ``.`` or ``..``, or with a NUL or lone surrogate.
    """
    if not isinstance(id, str):
        raise ValueError(f"id: must be a string, not {_kind(id)}")
    if not id:
        raise ValueError("id: must not be empty")
    if len(id) > ID_CHARS:
        raise ValueError(f"id: longer than {ID_CHARS} characters")
    if id in (".", ".."):
        raise ValueError(f"id: {id!r} cannot be part of an address")
    return _clean("id", id)


def _document(value: dict[str, Any]) -> DocumentLine:
    if unknown := sorted(key for key in value if key not in _FIELDS):
        raise ValueError(f"unknown field {unknown[0][:60]!r}; the fields are {', '.join(_FIELDS)}")
    for field in ("id", "text"):
        if field not in value:
            raise ValueError(f"{field}: missing")
    id = check_id(value["id"])
    text = _text("text", value["text"])
    if not text.strip():
        raise ValueError("text: must not be empty")
    title = value.get("title")
    if title is not None and len(_text("title", title)) > TITLE_CHARS:
        raise ValueError(f"title: longer than {TITLE_CHARS} characters")
    language = value.get("language")
    if language is not None:
        language = _language(_text("language", language))
    metadata = value.get("metadata")
    if metadata is not None:
        _check_metadata(metadata)
    return DocumentLine(id, text, title or None, language, metadata)


def _language(code: str) -> str:
    try:
        return check_language(code)
    except ValueError as fault:
        raise ValueError(f"language: {fault}") from fault


def _check_metadata(metadata: Any) -> None:
    if not isinstance(metadata, dict):
        raise ValueError(f"metadata: must be an object, not {_kind(metadata)}")
    try:
        check_value(metadata)
    except ValueError as fault:
        raise ValueError(f"metadata: {fault}") from fault


def _text(field: str, value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{field}: must be a string, not {_kind(value)}")
    return _clean(field, value)


def _clean(field: str, value: str) -> str:
    try:
        return check_text(value)
    except ValueError as fault:
        raise ValueError(f"{field}: {fault}") from fault


def _id_or_none(id: Any) -> str | None:
    """The id as it can be told in a response, or None."""
    try:
        return check_id(id)
    except ValueError:
        return None


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    kinds = {dict: "an object", list: "a list", str: "a string", int: "a number", float: "a number"}
    return kinds[type(value)]
