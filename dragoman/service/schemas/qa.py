"""Request and response bodies of ``/v1/qa``."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, StrictBool, model_validator

from dragoman.engine.core.limits import QUERY_CHARS, TEXT_CHARS
from dragoman.service.core.validation import Body, LanguageCode, Names, NotBlank, ReaderLanguages
from dragoman.service.schemas.search import Degraded, ExplainedHit, Gloss, Hit, QueryRead


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
        description="A statement to judge instead, by default up to 10,000 characters; what the text does not say is"
        " false.",
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
    gloss: StrictBool = Field(
        default=False,
        description="Whether to add to answers and passages the translations of their words into the question's"
        " language, as in search.",
    )

    @property
    def asked(self) -> str:
        """The question or the statement."""
        return self.question or self.statement or ""

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if (self.question is None) == (self.statement is None):
            raise ValueError("give either question or statement" + (", not both" if self.question else ""))
        if self.context is not None and self.collections is not None:
            raise ValueError("give either context or collections, not both")
        if self.context is None and self.context_language is not None:
            raise ValueError("context_language: there is no context; documents have their own languages")
        return self


class ConfiguredReader(BaseModel):
    """The readers of this service."""

    model: str | None = Field(description="The name of the folder of that of answers; null if the service has none.")
    advice: str | None = Field(default=None, description="How to get one; only where there is none.")
    statements: str | None = Field(description="The name of the folder of that of statements; null if there is none.")


class AnswerDocument(BaseModel):
    """The document that holds an answer."""

    id: str
    collection: str
    language: str

    @classmethod
    def of(cls, hit: Hit) -> Self:
        """The document of a hit."""
        return cls(id=hit.id, collection=hit.collection, language=hit.language)


class QaAnswer(BaseModel):
    """An answer: ``text`` is ``[start:end]`` of the context, or of the document's text, in code points."""

    text: str
    start: int
    end: int
    score: float = Field(
        description="The probability that this is the answer; those of all answers and no_answer add up to 1 at"
        " most, and the rest is that of another part of the text."
    )
    sentence: str = Field(description="The sentence that holds it; several if it does not lie within one.")
    sentence_start: int = Field(description="Where the sentence begins in the same text, in code points.")
    document: AnswerDocument | None = Field(default=None, description="Only where documents were searched for.")
    gloss: list[Gloss] | None = Field(
        default=None,
        description="Only if requested: the content words of the sentence that the tables have, in their order.",
    )


class QaResponse(BaseModel):
    """The answers of a question, best first, which do not overlap."""

    request_id: str
    query: QueryRead = Field(description="The question as it was understood.")
    answers: list[QaAnswer]
    no_answer: float | None = Field(
        default=None,
        description="The probability that nothing that was read answers the question, 1 where nothing was found; left"
        " out where the reader failed.",
    )
    model: str = Field(description="The reader that answered.")
    passages: list[ExplainedHit | Hit] | None = Field(
        default=None, description="The hits that were found for the question, as in search; not with a context."
    )
    degraded: list[Degraded]
    truncated: list[str] = Field(description="What was read only in part, and what search cut.")


class Evidence(BaseModel):
    """The sentence that decides a statement: ``[start:end]`` of the context, or of the document's text."""

    text: str
    start: int
    end: int
    document: AnswerDocument | None = Field(default=None, description="Only where documents were searched for.")
    gloss: list[Gloss] | None = Field(
        default=None,
        description="Only if requested: the content words of the sentence that the tables have, in their order.",
    )


class StatementResponse(BaseModel):
    """Whether a statement is true."""

    request_id: str
    query: QueryRead = Field(description="The statement as it was understood.")
    label: Literal["true", "false"] | None = Field(default=None, description="Left out where nothing was read.")
    probability: float | None = Field(default=None, description="The probability that the label is right.")
    evidence: Evidence | None = Field(default=None, description="Left out where no sentence of the text decides.")
    model: str = Field(description="The reader that judged.")
    passages: list[ExplainedHit | Hit] | None = Field(
        default=None, description="The hits that were found for the statement, as in search; not with a context."
    )
    degraded: list[Degraded]
    truncated: list[str] = Field(description="What was read only in part, and what search cut.")
