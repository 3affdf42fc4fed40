"""Questions: the spans of texts that answer them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dragoman.engine.models.models import Models
from dragoman.engine.models.queue.worker import Cancelled
from dragoman.engine.models.readers import Kind, ReaderInfo
from dragoman.engine.models.reading import AnswerRead, FindAnswers
from dragoman.engine.qa.response import QaAnswer, QaResponse
from dragoman.engine.qa.texts import Question, SourceText, read_texts, sentence_around

ANSWERS = 3


class Answers:
    """Finds answers by the reader of answers."""

    kind: Kind = "answers"

    def __init__(self, models: Models) -> None:
        self._models = models

    def reader(self, cancelled: Cancelled | None) -> ReaderInfo:
        """The reader; see :meth:`Models.reader`."""
        return self._models.reader(cancelled)

    def response(self, **common: Any) -> QaResponse:
        """A response without answers."""
        return QaResponse(answers=[], no_answer=None, found=None, **common)

    def fill(self, response: Any, question: Question, texts: Sequence[SourceText], cancelled: Cancelled | None) -> None:
        """Put the best answers and the probability of none into a response."""
        work = FindAnswers(question.field, question.text, read_texts(question, texts), ANSWERS)
        answers = self._models.find_answers(work, cancelled)
        response.answers = [_answer(answer, texts[answer.place], question) for answer in answers.answers]
        response.no_answer = answers.none


def _answer(answer: AnswerRead, text: SourceText, question: Question) -> QaAnswer:
    start, end = sentence_around(text.text, answer.start, answer.end)
    sentence = text.text[start:end]
    shown_answer = QaAnswer(
        text=answer.text,
        start=answer.start,
        end=answer.end,
        score=answer.probability,
        sentence=sentence,
        sentence_start=start,
    )
    if (gloss := question.gloss(text, start, end)) is not None:
        shown_answer.gloss = gloss
    if text.document is not None:
        shown_answer.document = text.document
    return shown_answer
