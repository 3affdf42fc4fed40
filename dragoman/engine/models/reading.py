"""Questions and statements read in texts: prepared in windows, which the worker reads, and put together again."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from dragoman.deadline import DeadlinePassed, WorkCancelled
from dragoman.engine.core.errors import InternalError, InvalidRequest, ServiceError
from dragoman.engine.core.priority import wait_limit
from dragoman.engine.models.queue.gathering import gather
from dragoman.engine.models.queue.worker import Cancelled
from dragoman.engine.models.readers import Judge, Judgement, ReadTask

if TYPE_CHECKING:
    from dragoman.reasoning.inference import PackedReader, SpanScorer, StatementScorer
    from dragoman.reasoning.question_answering import AnswerExtraction, ContextWindow
    from dragoman.reasoning.spans import Span

logger = logging.getLogger("dragoman")

_QUEUED = 64
"""Windows of one request that are queued at a time."""


@dataclass(frozen=True, slots=True)
class ReadText:
    """A text to read, and whether it is in another language than the question."""

    text: str
    bilingual: bool


@dataclass(frozen=True, slots=True)
class FindAnswers:
    """The work of finding the best ``count`` answers to a question in texts; ``field`` held it, for messages."""

    field: str
    question: str
    texts: Sequence[ReadText]
    count: int


@dataclass(frozen=True, slots=True)
class JudgeStatement:
    """The work of judging a statement by texts; ``field`` held it, for messages."""

    field: str
    statement: str
    texts: Sequence[ReadText]


@dataclass(frozen=True, slots=True)
class AnswerRead:
    """A span of the text at this place among those that were read, and its probability."""

    place: int
    text: str
    start: int
    end: int
    probability: float


@dataclass(frozen=True, slots=True)
class AnswersRead:
    """The best answers, best first, and the probability that there is none."""

    answers: Sequence[AnswerRead]
    none: float


@dataclass(frozen=True, slots=True)
class StatementRead:
    """The probability that a statement is true, and the (text, start, end) that decides, if any does."""

    true: float
    evidence: tuple[int, int, int] | None


class Submits(Protocol):
    """Takes the windows of a request; see :meth:`Worker.submit`."""

    def submit(
        self, task: Any, contents: Sequence[Any], background: bool = False, costs: Sequence[int] | None = None
    ) -> list[Future[Any]]: ...


def find_answers(
    reader: SpanScorer, worker: Submits, seconds: float, work: FindAnswers, cancelled: Cancelled | None
) -> AnswersRead:
    """The best answers, read within ``seconds``.

    Raises:
        InvalidRequest: the question is too long for the reader.
        ServiceError: the worker was full, too slow or failed, or the client disconnected.
    """
    extraction = _extraction(reader, work.field, work.question, work.texts)
    spans = _compute_parts(worker, seconds, ReadTask(), extraction.parts, cancelled)
    best = reader.calibration.rank(extraction.answers(spans, work.count), work.count)
    probabilities, none = reader.calibration.probabilities([answer for _, answer in best], extraction.subwords)
    answers = [
        AnswerRead(place, answer.text, answer.start, answer.end, probability)
        for (place, answer), probability in zip(best, probabilities, strict=True)
    ]
    return AnswersRead(answers, none)


def judge_statement(
    reader: StatementScorer, worker: Submits, seconds: float, work: JudgeStatement, cancelled: Cancelled | None
) -> StatementRead | None:
    """Whether a statement is true; None where there is nothing to read. Raises as :func:`find_answers`.

    Of a long text or of several, that window decides whose best sentence speaks most clearly of the statement; its
    score is compared with that of there being no such sentence.
    """
    extraction = _extraction(reader, work.field, work.statement, work.texts)
    judgements: list[Judgement] = _compute_parts(worker, seconds, Judge(), extraction.parts, cancelled)
    if not judgements:
        return None
    place = max(range(len(judgements)), key=lambda index: _strength(judgements[index]))
    true = reader.probability(judgements[place].logit)
    if _strength(judgements[place]) <= 0:
        return StatementRead(true, None)
    only: list[list[Span]] = [
        judgement.evidence if index == place else [] for index, judgement in enumerate(judgements)
    ]
    decisive = [
        (text, answer.start, answer.end)
        for text, answers in enumerate(extraction.answers(only, 1))
        for answer in answers
    ]
    return StatementRead(true, decisive[0] if decisive else None)


def _strength(judgement: Judgement) -> float:
    """By how much the best sentence is more likely to decide than none."""
    return judgement.evidence[0].score if judgement.evidence else float("-inf")


def _extraction(reader: PackedReader, field: str, question: str, texts: Sequence[ReadText]) -> AnswerExtraction:
    from dragoman.reasoning.question_answering import AnswerExtraction, Request

    try:
        return AnswerExtraction(reader.encoder, [Request(question, text.text, text.bilingual) for text in texts])
    except ValueError as fault:
        raise InvalidRequest(f"{field}: {fault}") from fault


def _compute_parts(
    worker: Submits, seconds: float, task: Any, parts: Sequence[ContextWindow], cancelled: Cancelled | None
) -> list[Any]:
    """What the worker finds in each part; a long text's are queued a few at a time, so that others are not refused."""
    until = time.monotonic() + wait_limit(seconds)
    results: list[Any] = []
    for start in range(0, len(parts), _QUEUED):
        windows = parts[start : start + _QUEUED]
        futures = worker.submit(task, windows, costs=[len(part.row.ids) for part in windows])
        try:
            results += gather(futures, max(0.0, until - time.monotonic()), cancelled)
        except (ServiceError, DeadlinePassed, WorkCancelled):
            raise
        except Exception as fault:
            logger.error("the reader failed", exc_info=fault)
            raise InternalError("the reader failed on this text; the service's log has the cause") from fault
    return results
