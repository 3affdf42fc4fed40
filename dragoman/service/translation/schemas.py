"""Request and response bodies of ``/v1/translate``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from dragoman.engine.checking.response import CheckedSentence, CheckedTranslation
from dragoman.engine.core.answer import Degraded, fields_of
from dragoman.engine.core.limits import TEXT_CHARS, TEXTS
from dragoman.engine.models.text_translation import Underway
from dragoman.engine.models.translating import TranslatorInfo
from dragoman.lexicon.text.offsets import Utf16
from dragoman.store.validation import AtFirstFault, Body, LanguageCode, Offsets, Text

Passage = Annotated[Text, Field(max_length=TEXT_CHARS)]
Texts = Annotated[list[Passage], Field(min_length=1, max_length=TEXTS), AtFirstFault]


class TranslateRequest(Body):
    """One or more texts, and the languages to translate from and into."""

    model_config = ConfigDict(extra="forbid")

    text: Passage | None = Field(default=None, description="One text; use texts for several.")
    texts: Texts | None = Field(default=None, description="Several texts, by default up to 100.")
    source: LanguageCode = Field(description="ISO 639-1 code of the texts' language.", examples=["de"])
    target: LanguageCode = Field(description="ISO 639-1 code of the language to translate into.", examples=["en"])
    offsets: Offsets = "codepoint"

    @model_validator(mode="after")
    def _check_alternatives(self) -> Self:
        if (self.text is None) == (self.texts is None):
            raise ValueError("give either text or texts" + ("" if self.text is None else ", not both"))
        return self

    @property
    def all(self) -> list[str]:
        """The texts, from either field."""
        return [self.text] if self.text is not None else list(self.texts or ())


class Quality(BaseModel):
    """How well a translator translates from a language."""

    chrf: float = Field(description="chrF, 0 to 100, of its translations against those of people.")
    measured_on: str = Field(description="The texts that were translated.")

    @classmethod
    def of(cls, measured: Mapping[str, float], source: str, measured_on: str) -> Self | None:
        """What was measured of a language, if it was."""
        return cls(chrf=measured[source], measured_on=measured_on) if source in measured else None


class ConfiguredTranslator(BaseModel):
    """The translator of this service."""

    model: str | None = Field(description="Its folder or name; null if the service has none and does not translate.")
    target: str | None = Field(default=None, description="The only language that it translates into, if there is one.")
    sources: dict[str, Quality | None] | None = Field(
        default=None,
        description="The languages that it translates into `target`, with its quality where that was measured.",
    )
    advice: str | None = Field(default=None, description="How to get a translator, if there is none.")


class TranslateResponse(BaseModel):
    """The translations, in the order of the texts."""

    texts: list[str] = Field(description="The translations; a sentence that failed its check stands as in the source.")
    sentences: list[list[CheckedSentence]] = Field(
        description="The sentences of each text, with what their check says."
    )
    model: str = Field(description="The translator that made them.")
    quality: Quality | None = Field(
        default=None, description="How well it translates from this language; left out where that was not measured."
    )
    truncated: list[int] | None = Field(
        default=None,
        description="Positions, from 0, of texts with a sentence that was cut off because its translation did not end;"
        " left out if there is none.",
    )
    degraded: list[Degraded] | None = Field(
        default=None, description="Why the meaning of translations was not checked; left out where it was."
    )


def as_answer(
    translated: Sequence[CheckedTranslation],
    underway: Sequence[Underway],
    info: TranslatorInfo,
    body: TranslateRequest,
    degraded: Sequence[Degraded],
) -> dict[str, Any]:
    """What :class:`TranslateResponse` describes, without the fields that have nothing to say."""
    quality = Quality.of(info.quality, body.source, info.measured_on)
    if body.offsets == "utf16":
        for text, translation in zip(underway, translated, strict=True):
            Utf16(text.text).count(sentence.source for sentence in translation.sentences)
    cut = [place for place, translation in enumerate(underway) if not translation.whole]
    answer = {
        "texts": [translation.text for translation in translated],
        "sentences": [translation.sentences for translation in translated],
        "model": info.name,
        "quality": None if quality is None else quality.model_dump(),
        "truncated": cut or None,
        "degraded": degraded or None,
    }
    said: dict[str, Any] = fields_of({name: content for name, content in answer.items() if content is not None})
    return said


class CheckRequest(Body):
    """A text and its translation, whoever made it."""

    model_config = ConfigDict(extra="forbid")

    source: LanguageCode = Field(description="ISO 639-1 code of the text's language.", examples=["de"])
    target: LanguageCode = Field(description="ISO 639-1 code of the translation's language.", examples=["en"])
    text: Passage = Field(description="The text; with its translation by default up to 8,000 characters.")
    translation: Passage = Field(description="Its translation; sentences may be split, merged, left out or added.")
    offsets: Offsets = "codepoint"
