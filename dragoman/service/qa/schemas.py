"""Request and response bodies of ``/v1/qa``."""

from __future__ import annotations

from typing import Self

from pydantic import BaseModel, ConfigDict, Field, StrictBool, model_validator

from dragoman.engine.core.limits import QUERY_CHARS, TEXT_CHARS
from dragoman.engine.qa.request import QaQuery
from dragoman.store.validation import Body, FilterObject, LanguageCode, Names, NotBlank, Offsets, ReaderLanguages


class QaRequest(Body):
    """A question or a statement, and where to look: a context, or collections; all of them where neither is given."""

    model_config = ConfigDict(extra="forbid")

    question: NotBlank | None = Field(
        default=None,
        max_length=QUERY_CHARS,
        description="A question, by default up to 10,000 characters.",
        examples=["When did it erupt?"],
    )
    statement: NotBlank | None = Field(
        default=None,
        max_length=QUERY_CHARS,
        description="A statement to judge instead, by default up to 10,000 characters: true or false by the text, or"
        " unknown where it neither says nor denies it, or the reader is not sure.",
    )
    context: NotBlank | None = Field(
        default=None,
        max_length=TEXT_CHARS,
        description="The text that may hold the answer, by default up to 100,000 characters.",
    )
    collections: Names | None = Field(
        default=None,
        description="Collections whose best documents for the question are read; all of them when it and context are"
        " left out.",
    )
    filter: FilterObject | None = Field(
        default=None,
        description="Only documents whose fields match, as in search; not for a context.",
        examples=[{"year": {"$gte": 2020}}],
    )
    question_language: LanguageCode | None = Field(
        default=None, description="ISO 639-1 code of the question or statement; detected when left out."
    )
    context_language: LanguageCode | None = Field(
        default=None, description="ISO 639-1 code of the context; detected when left out. Not for collections."
    )
    reader_languages: ReaderLanguages | None = Field(
        default=None,
        description="Languages of those who ask: a short text that may be in one of them or in another language is"
        " taken for theirs. When left out, DRAGOMAN_READER_LANGUAGES or else the header Accept-Language.",
        examples=[["en"]],
    )
    gloss: StrictBool | None = Field(
        default=None,
        description="Whether to add to answers and passages the translations of their words into the question's"
        " language, as in search. When left out, answers and evidence in another language have them, passages have"
        " not.",
    )
    translate: StrictBool = Field(
        default=False,
        description="Whether to add to answers their sentences in the question's language, each of them checked; not"
        " for statements.",
    )
    offsets: Offsets = "codepoint"

    @property
    def asked(self) -> str:
        """The question or the statement."""
        return self.question or self.statement or ""

    def as_query(self) -> QaQuery:
        """What the engine is asked."""
        return QaQuery(**{name: getattr(self, name) for name in QaRequest.model_fields})

    @model_validator(mode="after")
    def _check_alternatives(self) -> Self:
        if (self.question is None) == (self.statement is None):
            raise ValueError("give either question or statement" + (", not both" if self.question else ""))
        if self.context is not None and self.collections is not None:
            raise ValueError("give either context or collections, not both")
        if self.context is not None and self.filter is not None:
            raise ValueError("filter: there is a context; only documents are filtered")
        if self.context is None and self.context_language is not None:
            raise ValueError("context_language: there is no context; documents have their own languages")
        return self


class ConfiguredReader(BaseModel):
    """The readers of this service."""

    model: str | None = Field(description="The name of the folder of that of answers; null if the service has none.")
    advice: str | None = Field(default=None, description="How to get one; only where there is none.")
    statements: str | None = Field(description="The name of the folder of that of statements; null if there is none.")
