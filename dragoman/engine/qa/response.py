"""What the readers answer: spans of texts, judgements of statements, and what the LLM says."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, Self

from dragoman.engine.checking.response import CheckedTranslation
from dragoman.engine.core.answer import Answer, Degraded, left_out
from dragoman.engine.query.response import QueryRead
from dragoman.engine.search.response import Found, Gloss, Hit


@dataclass(slots=True, kw_only=True)
class AnswerDocument(Answer):
    """The document that holds an answer."""

    id: str
    collection: str
    language: str

    @classmethod
    def of(cls, hit: Hit) -> Self:
        """The document of a hit."""
        return cls(id=hit.id, collection=hit.collection, language=hit.language)


@dataclass(slots=True, kw_only=True)
class QaAnswer(Answer):
    """An answer: ``text`` is ``[start:end]`` of the context, or of the document's text.

    Offsets are code points unless the request's ``offsets`` says UTF-16 code units.
    """

    text: str
    start: int
    end: int
    score: float
    """The probability that this is the answer; those of all answers and no_answer add up to 1 at most, and the rest
    is that of another part of the text."""
    sentence: str
    """The sentence that holds it; several if it does not lie within one."""
    sentence_start: int
    """Where the sentence begins in the same text."""
    document: AnswerDocument | None = field(default_factory=left_out)
    """Only where documents were searched for."""
    gloss: list[Gloss] | None = field(default_factory=left_out)
    """The content words of the sentence that the tables have, in their order: in another language than the question, if
    requested, or where the translation lacks a sentence."""
    translation: CheckedTranslation | None = field(default_factory=left_out)
    """Only if requested: `sentence` in the question's language, each of its sentences checked; null if it already is
    in that language, or if it could not be translated, which `degraded` reports."""


@dataclass(slots=True, kw_only=True)
class QaResponse(Answer):
    """The answers of a question, best first, which do not overlap."""

    request_id: str
    query: QueryRead
    """The question as it was understood."""
    answers: list[QaAnswer]
    no_answer: float | None
    """The probability that nothing that was read answers the question, 1 where nothing was found; null where the
    reader failed, which `degraded` reports."""
    found: Found | None
    """Whether there is an answer: `good`, one that is more probable than that there is none; `weak`, only less probable
    ones; or `none`: no answers, or no passages that are about it. Null where the reader failed."""
    model: str
    """The reader that answered."""
    passages: list[Hit] | None = field(default_factory=left_out)
    """The hits that were found for the question, as in search; not with a context."""
    degraded: list[Degraded]
    truncated: list[str]
    """What was read only in part, and what search cut."""

    def judge_answers(self, passages: Found = "good") -> None:
        """Say whether there is an answer, where ``passages`` is what search found for the question."""
        likely = max((answer.score for answer in self.answers), default=0.0) >= (self.no_answer or 0.0)
        self.found = "none" if passages == "none" or not self.answers else "good" if likely else "weak"


@dataclass(slots=True, kw_only=True)
class Evidence(Answer):
    """The sentence that decides a statement: ``[start:end]`` of the context, or of the document's text."""

    text: str
    start: int
    end: int
    document: AnswerDocument | None = field(default_factory=left_out)
    """Only where documents were searched for."""
    gloss: list[Gloss] | None = field(default_factory=left_out)
    """The content words of the sentence that the tables have, in their order: in another language than the question,
    or if requested."""


@dataclass(slots=True, kw_only=True)
class StatementResponse(Answer):
    """Whether a text says or denies a statement."""

    request_id: str
    query: QueryRead
    """The statement as it was understood."""
    label: Literal["true", "false", "unknown"]
    """``unknown`` where the text neither says nor denies it, the reader is not sure, or nothing was read."""
    probability: float | None
    """The probability that the label is right; of ``unknown`` the probability that the text says neither, which may be
    small where the reader is not sure. Null where nothing was found, or the reader failed, which `degraded` reports."""
    evidence: Evidence | None = field(default_factory=left_out)
    """Left out where no sentence of the text decides, as of what is unknown."""
    model: str
    """The reader that judged."""
    passages: list[Hit] | None = field(default_factory=left_out)
    """The hits that were found for the statement, as in search; not with a context."""
    degraded: list[Degraded]
    truncated: list[str]
    """What was read only in part, and what search cut."""


@dataclass(slots=True, kw_only=True)
class Usage(Answer):
    """What the request cost."""

    prompt_tokens: int
    """Tokens that the LLM read, with those that the bridge made."""
    completion_tokens: int
    total_tokens: int


@dataclass(slots=True, kw_only=True)
class ReasonResponse(Answer):
    """What the LLM answered."""

    request_id: str
    query: QueryRead
    """The question as it was understood."""
    answer: str
    """The last part of what was generated: what `The answer is` names, or a sentence."""
    reasoning: str
    """What was generated before it."""
    documents: list[AnswerDocument] | None = field(default_factory=left_out)
    """The documents that were quoted, in their order, used or not; only with collections."""
    passages: list[Hit] | None = field(default_factory=left_out)
    """The hits that were found for the question, as in search; only with collections."""
    model: str
    """The bridge that answered, and what it can do."""
    usage: Usage
    degraded: list[Degraded]
    truncated: list[str]
    """What was quoted only in part, what search cut, and a cut-off answer."""
