"""How the body of an import of documents is written: by its media type, or as the request names it."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import Request
from pydantic import BaseModel, ConfigDict, Field

from dragoman.service.http.bodies import NDJSON_TYPES, check_media_type, content_gzip
from dragoman.store.collections.importing import ImportForm
from dragoman.store.documents.formats.mapping import MAPPING_CHARS, FieldMapping
from dragoman.store.validation import Name

Format = Literal["ndjson", "json", "csv", "tsv", "parquet", "trec"]

_TYPES: dict[str, Format] = {
    **dict.fromkeys(NDJSON_TYPES, "ndjson"),
    "application/json": "json",
    "text/csv": "csv",
    "application/csv": "csv",
    "text/tab-separated-values": "tsv",
    "application/vnd.apache.parquet": "parquet",
    "application/x-parquet": "parquet",
    "application/x-trec-docs": "trec",
}
_EXPECTED = "NDJSON (Content-Type: application/x-ndjson), or in another format, which its type or format= names"


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

    def read_form(self, request: Request) -> ImportForm:
        """
        Raises:
            UnsupportedMedia: the media type is none of documents.
            InvalidRequest: the mapping is none.
        """
        check_media_type(request, tuple(_TYPES), _EXPECTED)
        sent = request.headers.get("content-type", "").split(";")[0].strip().lower()
        return ImportForm(
            self.format or _TYPES.get(sent, "json"),  # what ends with +json
            content_gzip(request),
            FieldMapping(self.map),
            self.fingerprint,
        )


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
