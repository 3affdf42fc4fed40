"""Statements: whether they are true by a text, and the sentence that decides."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dragoman.engine.models.models import Models
from dragoman.engine.models.readers import Judge, Judgement, Kind
from dragoman.engine.models.worker import Cancelled
from dragoman.engine.qa.response import Evidence, StatementResponse
from dragoman.engine.qa.texts import Question, SourceText, compute_parts, reading_of, sentence_around
from dragoman.engine.settings import Settings

if TYPE_CHECKING:
    from dragoman.reasoning.inference import StatementScorer


class Statements:
    """Judges by the reader of statements.

    Of a long text or of several, that window decides whose best sentence speaks most clearly of the statement; its
    score is compared with that of there being no such sentence.
    """

    kind: Kind = "statements"

    def __init__(self, models: Models, settings: Settings) -> None:
        self._models, self._settings = models, settings

    def reader(self, cancelled: Cancelled | None) -> StatementScorer:
        """The reader; see :meth:`Models.statement_reader`."""
        return self._models.statement_reader(cancelled)

    def response(self, **common: Any) -> StatementResponse:
        """A response without a label."""
        return StatementResponse(**common)

    def fill(
        self,
        response: Any,
        reader: Any,
        question: Question,
        texts: Sequence[SourceText],
        cancelled: Cancelled | None,
    ) -> None:
        """Put label, probability and the deciding sentence into a response."""
        reading = reading_of(reader, question, texts)
        judgements: list[Judgement] = compute_parts(self._models, self._settings, Judge(), reading.parts, cancelled)
        if not judgements:
            return
        place = max(range(len(judgements)), key=lambda index: _strength(judgements[index]))
        true = reader.probability(judgements[place].logit)
        response.label, response.probability = ("true", true) if true >= 0.5 else ("false", 1 - true)
        if _strength(judgements[place]) <= 0:
            return
        only = [judgement.evidence if index == place else [] for index, judgement in enumerate(judgements)]
        for text, decides in zip(texts, reading.answers(only, 1), strict=True):
            for answer in decides:
                start, end = sentence_around(text.text, answer.start, answer.end)
                response.evidence = Evidence(text=text.text[start:end], start=start, end=end)
                if question.glosses is not None:
                    response.evidence.gloss = question.glosses.of_text(text.text[start:end], text.language, start)
                if text.document is not None:
                    response.evidence.document = text.document


def _strength(judgement: Judgement) -> float:
    """By how much the best sentence is more likely to decide than none."""
    return judgement.evidence[0].score if judgement.evidence else float("-inf")
