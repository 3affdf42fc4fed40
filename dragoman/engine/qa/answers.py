"""Questions: the spans of texts that answer them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dragoman.engine.models.batching import Cancelled
from dragoman.engine.models.models import Models
from dragoman.engine.models.reading import Kind, Read
from dragoman.engine.qa.response import QaAnswer, QaResponse
from dragoman.engine.qa.texts import Asked, Text, computed, reading_of, sentence_around
from dragoman.engine.search.gloss import Glosses
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
        asked: Asked,
        texts: Sequence[Text],
        cancelled: Cancelled | None,
    ) -> None:
        """Put the best answers and the probability of none into a response."""
        reading = reading_of(reader, asked, texts)
        spans = computed(self._models, self._settings, Read(), reading.parts, cancelled)
        best = reader.calibration.rank(reading.answers(spans, ANSWERS), ANSWERS)
        probabilities, none = reader.calibration.probabilities([answer for _, answer in best], reading.subwords)
        response.answers = [
            _answer(answer, texts[place], score, asked.glosses)
            for (place, answer), score in zip(best, probabilities, strict=True)
        ]
        response.no_answer = none


def _answer(answer: Answer, text: Text, score: float, glosses: Glosses | None) -> QaAnswer:
    start, end = sentence_around(text.text, answer.start, answer.end)
    sentence = text.text[start:end]
    made = QaAnswer(
        text=answer.text,
        start=answer.start,
        end=answer.end,
        score=score,
        sentence=sentence,
        sentence_start=start,
    )
    if glosses is not None:
        made.gloss = glosses.of_text(sentence, text.language, start)
    if text.document is not None:
        made.document = text.document
    return made
