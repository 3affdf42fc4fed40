"""Statements: whether they are true by a text, and the sentence that decides."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dragoman.engine.models.models import Models
from dragoman.engine.models.queue.worker import Cancelled
from dragoman.engine.models.readers import Kind, ReaderInfo
from dragoman.engine.models.reading import JudgeStatement
from dragoman.engine.qa.response import Evidence, StatementResponse
from dragoman.engine.qa.texts import Question, SourceText, read_texts, sentence_around


class Statements:
    """Judges by the reader of statements."""

    kind: Kind = "statements"

    def __init__(self, models: Models) -> None:
        self._models = models

    def reader(self, cancelled: Cancelled | None) -> ReaderInfo:
        """The reader; see :meth:`Models.statement_reader`."""
        return self._models.statement_reader(cancelled)

    def response(self, **common: Any) -> StatementResponse:
        """A response without a label."""
        return StatementResponse(**common)

    def fill(self, response: Any, question: Question, texts: Sequence[SourceText], cancelled: Cancelled | None) -> None:
        """Put label, probability and the deciding sentence into a response."""
        work = JudgeStatement(question.field, question.text, read_texts(question, texts))
        judgement = self._models.judge_statement(work, cancelled)
        if judgement is None:
            return
        true = judgement.true
        response.label, response.probability = ("true", true) if true >= 0.5 else ("false", 1 - true)
        if judgement.evidence is None:
            return
        place, start, end = judgement.evidence
        text = texts[place]
        start, end = sentence_around(text.text, start, end)
        response.evidence = Evidence(text=text.text[start:end], start=start, end=end)
        if question.glosses is not None:
            response.evidence.gloss = question.glosses.of_text(text.text[start:end], text.language, start)
        if text.document is not None:
            response.evidence.document = text.document
