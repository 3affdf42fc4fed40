"""How the body of an import of documents is written: by its media type, or as the request names it."""

from __future__ import annotations

from email.message import Message
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from dragoman.store.collections.importing import ImportForm
from dragoman.store.documents.formats.charset import check_encoding
from dragoman.store.documents.formats.mapping import MAPPING_CHARS, FieldMapping
from dragoman.store.validation import Name

Format = Literal["ndjson", "json", "csv", "tsv", "parquet", "trec"]

_FORMATS: dict[str, Format] = {
    "application/json": "json",
    "text/csv": "csv",
    "application/csv": "csv",
    "text/tab-separated-values": "tsv",
    "application/vnd.apache.parquet": "parquet",
    "application/x-parquet": "parquet",
    "application/x-trec-docs": "trec",
}
MEDIA_TYPES = tuple(_FORMATS)
"""Beside those of NDJSON."""
EXPECTED = "NDJSON (Content-Type: application/x-ndjson), or in another format, which its type or format= names"


class ImportParameters(BaseModel):
    """How a body of documents is written."""

    model_config = ConfigDict(extra="ignore")

    format: Format | None = Field(None, description="What the body is, whatever its media type says.")
    map: Annotated[str, Field(max_length=MAPPING_CHARS)] | None = Field(
        None,
        description="Which fields or columns are which, such as id=docid,text=body,metadata.year:number=year; -=NAME"
        " leaves one out, metadata=* makes metadata of all others.",
    )

    fingerprint: Name | None = Field(
        None, description="The name in the metadata that gets a mark which near copies of a text share: see `collapse`."
    )

    def read_form(self, media_type: str, gzip: bool) -> ImportForm:
        """The form of a body of this media type, which has to be packed with ``gzip``.

        Raises:
            InvalidRequest: the mapping is none.
            UnsupportedMedia: there is no encoding as the media type names.
        """
        sent = media_type.split(";")[0].strip().lower()
        format = self.format or _FORMATS.get(sent, "json" if sent.endswith("+json") else "ndjson")
        header = Message()
        header["content-type"] = media_type
        if (encoding := header.get_content_charset()) is not None:
            check_encoding(encoding)
        return ImportForm(format, gzip, FieldMapping(self.map), self.fingerprint, encoding)


_BINARY = {"schema": {"type": "string", "format": "binary"}}


def describe_body(line_schema: dict[str, Any]) -> dict[str, Any]:
    """The body in OpenAPI, of lines that have this schema."""
    return {
        "requestBody": {
            "required": True,
            "description": "Documents: JSON objects, one per line or in an array, a table with a header, or TREC;"
            " plain, or gzip with or without Content-Encoding: gzip.",
            "content": {
                "application/x-ndjson": {"schema": line_schema},
                "application/json": {"schema": {"type": "array", "items": line_schema}},
                "text/csv": {"schema": {"type": "string"}},
                "text/tab-separated-values": {"schema": {"type": "string"}},
                "application/vnd.apache.parquet": _BINARY,
                "application/x-trec-docs": {"schema": {"type": "string"}},
            },
        }
    }
