"""Request and response bodies of ``/v1/tag``."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from dragoman.engine.core.answer import Degraded
from dragoman.engine.core.limits import TEXT_CHARS, TEXTS
from dragoman.store.validation import AtFirstFault, Body, LanguageCode, Offsets, Text

Passage = Annotated[Text, Field(max_length=TEXT_CHARS)]
Texts = Annotated[list[Passage], Field(min_length=1, max_length=TEXTS), AtFirstFault]


class TagRequest(Body):
    """Texts, and what is to be found in them."""

    model_config = ConfigDict(extra="forbid")

    texts: Texts = Field(description="Texts in any languages, by default up to 1,000.")
    language: LanguageCode | None = Field(
        default=None,
        description="ISO 639-1 code of the texts' language. Tagging needs none; one that the tagger did not learn from"
        " is named in `degraded`.",
    )
    task: Literal["ner", "pos"] = Field(
        description="ner: names of persons, places and organisations, and others; pos: the part of speech of each word."
    )
    offsets: Offsets = "codepoint"


class Tagged(BaseModel):
    """A part of a text with its label."""

    text: str
    start: int = Field(description="Of its first character, in code points, or as `offsets` says.")
    end: int = Field(description="After its last character, in the same.")
    label: str = Field(description="ner: PER, LOC, ORG or MISC; pos: a tag of Universal Dependencies.")
    score: float = Field(description="The probability of the label, 0 to 1; of several words the least.")


class TagResponse(BaseModel):
    """The tags of each text, in the order of the texts."""

    results: list[list[Tagged]]
    model: str = Field(description="The tagger that found them.")
    degraded: list[Degraded] | None = Field(
        default=None, description="Why the tags may be worse than usual; left out if there is no reason."
    )


class ConfiguredTaggers(BaseModel):
    """The taggers of this service."""

    ner: str | None = Field(description="The tagger of names; null if there is none.")
    pos: str | None = Field(description="The tagger of parts of speech; null if there is none.")
    advice: str | None = Field(default=None, description="How to get the one that is missing.")
