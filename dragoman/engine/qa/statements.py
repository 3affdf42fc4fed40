"""Statements: whether they are true by a text, and the sentence that decides."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dragoman.engine.models.batching import Cancelled
from dragoman.engine.models.models import Models
from dragoman.engine.models.reading import Judge, Judged, Kind
from dragoman.engine.qa.response import Evidence, StatementResponse
from dragoman.engine.qa.texts import Asked, Text, computed, reading_of, sentence_around
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
        asked: Asked,
        texts: Sequence[Text],
        cancelled: Cancelled | None,
    ) -> None:
        """Put label, probability and the deciding sentence into a response."""
        reading = reading_of(reader, asked, texts)
        found: list[Judged] = computed(self._models, self._settings, Judge(), reading.parts, cancelled)
        if not found:
            return
        place = max(range(len(found)), key=lambda number: _strength(found[number]))
        true = reader.probability(found[place].logit)
        response.label, response.probability = ("true", true) if true >= 0.5 else ("false", 1 - true)
        if _strength(found[place]) <= 0:
            return
        only = [one.evidence if number == place else [] for number, one in enumerate(found)]
        for text, decides in zip(texts, reading.answers(only, 1), strict=True):
            for one in decides:
                start, end = sentence_around(text.text, one.start, one.end)
                response.evidence = Evidence(text=text.text[start:end], start=start, end=end)
                if asked.glosses is not None:
                    response.evidence.gloss = asked.glosses.of_text(text.text[start:end], text.language, start)
                if text.document is not None:
                    response.evidence.document = text.document


def _strength(one: Judged) -> float:
    """By how much the best sentence is more likely to decide than none."""
    return one.evidence[0].score if one.evidence else float("-inf")
