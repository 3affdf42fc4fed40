"""What is read and for what, and how it passes through the worker."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dragoman.deadline import DeadlinePassed, WorkCancelled
from dragoman.engine.core.errors import InternalError, InvalidRequest, ServiceError
from dragoman.engine.core.priority import wait_limit
from dragoman.engine.models.gathering import gather
from dragoman.engine.models.models import Models
from dragoman.engine.models.worker import Cancelled
from dragoman.engine.qa.response import AnswerDocument
from dragoman.engine.search.glosses import Glosses
from dragoman.engine.settings import Settings
from dragoman.lexicon.text.passages import sentences

if TYPE_CHECKING:
    from dragoman.reasoning.inference import PackedReader
    from dragoman.reasoning.question_answering import AnswerExtraction, ContextWindow

logger = logging.getLogger("dragoman")

_QUEUED = 64
"""Windows of one request that are queued at a time."""


@dataclass(frozen=True)
class SourceText:
    """A text to read, its language, and the document it is of."""

    text: str
    language: str
    document: AnswerDocument | None = None


@dataclass(frozen=True)
class Question:
    """A question or statement, the field that held it, its language, and what makes glosses where they are wanted."""

    field: str
    text: str
    language: str
    glosses: Glosses | None


def reading_of(reader: PackedReader, question: Question, texts: Sequence[SourceText]) -> AnswerExtraction:
    """The texts in rows.

    Raises:
        InvalidRequest: the question or statement is too long for the reader.
    """
    from dragoman.reasoning.question_answering import AnswerExtraction, Request

    try:
        return AnswerExtraction(
            reader.encoder, [Request(question.text, text.text, text.language != question.language) for text in texts]
        )
    except ValueError as fault:
        raise InvalidRequest(f"{question.field}: {fault}") from fault


def compute_parts(
    models: Models, settings: Settings, task: Any, parts: Sequence[ContextWindow], cancelled: Cancelled | None
) -> list[Any]:
    """What the worker finds in each part; a long text's are queued a few at a time, so that others are not refused.

    Raises:
        ServiceError: the worker was full, too slow or failed, or the client disconnected.
    """
    until = time.monotonic() + wait_limit(settings.worker.worker_seconds)
    results: list[Any] = []
    for start in range(0, len(parts), _QUEUED):
        windows = parts[start : start + _QUEUED]
        futures = models.worker.submit(task, windows, costs=[len(part.row.ids) for part in windows])
        try:
            results += gather(futures, max(0.0, until - time.monotonic()), cancelled)
        except (ServiceError, DeadlinePassed, WorkCancelled):
            raise
        except Exception as fault:
            logger.error("the reader failed", exc_info=fault)
            raise InternalError("the reader failed on this text; the service's log has the cause") from fault
    return results


def sentence_around(text: str, start: int, end: int) -> tuple[int, int]:
    """From the beginning of the sentence that a span begins in to the end of the one that it ends in."""
    touched = [span for span in sentences(text) if span[0] < end and start < span[1]]
    return (min(touched[0][0], start), max(touched[-1][1], end)) if touched else (start, end)
