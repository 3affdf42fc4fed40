"""Questions: the spans of texts that answer them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dragoman.engine.models.models import Models
from dragoman.engine.models.readers import Kind, ReadTask
from dragoman.engine.models.worker import Cancelled
from dragoman.engine.qa.response import QaAnswer, QaResponse
from dragoman.engine.qa.texts import Question, SourceText, compute_parts, reading_of, sentence_around
from dragoman.engine.search.glosses import Glosses
from dragoman.engine.settings import Settings

if TYPE_CHECKING:
    from dragoman.reasoning.inference import SpanScorer
    from dragoman.reasoning.question_answering import Answer

ANSWERS = 3


class Answers:
    """Finds answers by the reader of answers."""

    kind: Kind = "answers"

    def __init__(self, models: Models, settings: Settings) -> None:
        self._models, self._settings = models, settings

    def reader(self, cancelled: Cancelled | None) -> SpanScorer:
        """The reader; see :meth:`Models.reader`."""
        return self._models.reader(cancelled)

    def response(self, **common: Any) -> QaResponse:
        """A response without answers."""
        return QaResponse(answers=[], **common)

    def fill(
        self,
        response: Any,
        reader: Any,
        question: Question,
        texts: Sequence[SourceText],
        cancelled: Cancelled | None,
    ) -> None:
        """Put the best answers and the probability of none into a response."""
        reading = reading_of(reader, question, texts)
        spans = compute_parts(self._models, self._settings, ReadTask(), reading.parts, cancelled)
        best = reader.calibration.rank(reading.answers(spans, ANSWERS), ANSWERS)
        probabilities, none = reader.calibration.probabilities([answer for _, answer in best], reading.subwords)
        response.answers = [
            _answer(answer, texts[place], score, question.glosses)
            for (place, answer), score in zip(best, probabilities, strict=True)
        ]
        response.no_answer = none


def _answer(answer: Answer, text: SourceText, score: float, glosses: Glosses | None) -> QaAnswer:
    start, end = sentence_around(text.text, answer.start, answer.end)
    sentence = text.text[start:end]
    shown_answer = QaAnswer(
        text=answer.text,
        start=answer.start,
        end=answer.end,
        score=score,
        sentence=sentence,
        sentence_start=start,
    )
    if glosses is not None:
        shown_answer.gloss = glosses.of_text(sentence, text.language, start)
    if text.document is not None:
        shown_answer.document = text.document
    return shown_answer
