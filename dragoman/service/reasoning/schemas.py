"""Request and response bodies of ``/v1/reason``."""

from __future__ import annotations

from typing import Self

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictFloat, StrictInt, model_validator

from dragoman.engine.core.limits import QUERY_CHARS
from dragoman.engine.qa.request import ReasonQuery
from dragoman.store.validation import Body, FilterObject, LanguageCode, Names, NotBlank, Offsets


class ReasonRequest(Body):
    """A question for the LLM, which the bridge reads to it."""

    model_config = ConfigDict(extra="forbid")

    question: NotBlank = Field(
        max_length=QUERY_CHARS,
        description="A question or problem, in a language of the model.",
        examples=["Anna hat 3 Äpfel und kauft 4."],
    )
    language: LanguageCode | None = Field(default=None, description="ISO 639-1 code; detected when left out.")
    collections: Names | None = Field(
        default=None, description="Collections whose best documents for the question are quoted to the LLM."
    )
    filter: FilterObject | None = Field(
        default=None,
        description="Only documents whose fields match, as in search; needs `collections`.",
        examples=[{"year": {"$gte": 2020}}],
    )
    max_tokens: StrictInt | None = Field(
        default=None, gt=0, description="Most tokens of the answer; default: 256, or the service's limit."
    )
    temperature: StrictFloat = Field(
        default=0.0, ge=0, le=2, allow_inf_nan=False, description="0 takes the likeliest token; else tokens are drawn."
    )
    offsets: Offsets = "codepoint"
    stream: StrictBool = Field(default=False, description="Whether to answer by server-sent events.")

    @model_validator(mode="after")
    def _check_filter(self) -> Self:
        if self.filter is not None and self.collections is None:
            raise ValueError("filter: needs collections, whose documents it filters")
        return self

    def as_query(self) -> ReasonQuery:
        """What the engine is asked."""
        return ReasonQuery(**{name: getattr(self, name) for name in type(self).model_fields if name != "stream"})


class ConfiguredReasoner(BaseModel):
    """The model of this service that reasons."""

    model: str | None = Field(description="The name of its folder; null if the service has none.")
    advice: str | None = Field(default=None, description="How to get one; only where there is none.")
