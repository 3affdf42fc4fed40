"""The request body of ``POST /v1/read``."""

from __future__ import annotations

from typing import Self

from pydantic import ConfigDict, Field, model_validator

from dragoman.engine.core.limits import QUERY_CHARS
from dragoman.engine.core.names import ID_CHARS
from dragoman.engine.read.request import ReadQuery
from dragoman.store.validation import Body, LanguageCode, Name, Names, NotBlank, Offsets, Text


class ReadRequest(Body):
    """A document, and the language of who reads it."""

    model_config = ConfigDict(extra="forbid")

    collection: Name = Field(description="The collection, by its name or an alias.", examples=["news_de"])
    id: Text = Field(min_length=1, max_length=ID_CHARS, description="The document's id.")
    query: NotBlank | None = Field(
        default=None,
        min_length=1,
        max_length=QUERY_CHARS,
        description="What all matches of are wanted, by default up to 10,000 characters.",
        examples=["volcano eruption and ash"],
    )
    query_language: LanguageCode | None = Field(
        default=None, description="ISO 639-1 code; detected when left out: rather the reader's than another."
    )
    reader_language: LanguageCode = Field(description="ISO 639-1 code of the glosses.", examples=["en"])
    tables: Names | None = Field(
        default=None,
        description="Translation tables to use: `name` for the active version, `name@3` for any that is there. All"
        " active ones when left out.",
    )
    offsets: Offsets = "codepoint"

    @model_validator(mode="after")
    def _check_query_language(self) -> Self:
        if self.query is None and self.query_language is not None:
            raise ValueError("query_language: there is no query")
        return self

    def as_query(self) -> ReadQuery:
        """What the engine is asked."""
        return ReadQuery(**{name: getattr(self, name) for name in type(self).model_fields})
