"""What is to be changed in a document."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pydantic import ConfigDict, Field

from dragoman.engine.core.errors import InvalidRequest, TooLarge
from dragoman.store.documents.info import DocumentInfo, document_line
from dragoman.store.documents.line import Metadata, Title, check_metadata
from dragoman.store.validation import Body, LanguageCode, NotBlank


class DocumentPatch(Body):
    """What is to be changed in a document; what is left out stays."""

    model_config = ConfigDict(extra="forbid")

    title: Title = Field(default=None, description="Null, or an empty one: the document has none any more.")
    text: NotBlank = Field(default_factory=str)
    language: LanguageCode = Field(default_factory=str, description="ISO 639-1.")
    metadata: Metadata = Field(
        default=None,
        description="Merged with what is there, on all levels; null in place of a value deletes its name, in place of"
        " the whole all of it.",
    )

    def apply(self, document: DocumentInfo, line_bytes: int) -> DocumentInfo:
        """The document with the changes; it can be exported as a line of at most ``line_bytes``.

        Raises:
            InvalidRequest: its metadata would have too many values.
            TooLarge: it would be longer.
        """
        fields: dict[str, Any] = {name: getattr(self, name) for name in self.model_fields_set}
        if (change := fields.get("metadata")) is not None:
            merged = merge(document.metadata or {}, change)
            try:
                fields["metadata"] = check_metadata(merged) or None
            except ValueError as fault:
                raise InvalidRequest(f"metadata: {fault}") from fault
        changed = replace(document, **fields)
        size = len(document_line(changed))
        if size > line_bytes and size > len(document_line(document)):
            raise TooLarge(f"the document would take {size} bytes as a line of an import, which may have {line_bytes}")
        return changed


def merge(present: Mapping[str, Any], change: Mapping[str, Any]) -> dict[str, Any]:
    """An object changed as RFC 7396 (JSON Merge Patch) says: names with null are deleted, objects are merged."""
    merged = dict(present)
    for name, content in change.items():
        if content is None:
            merged.pop(name, None)
        elif isinstance(content, dict):
            inner = merged.get(name)
            merged[name] = merge(inner if isinstance(inner, dict) else {}, content)
        else:
            merged[name] = content
    return merged
