"""Statements: whether a text says or denies them, and the sentence that decides."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from dragoman.engine.core.answer import Degraded
from dragoman.engine.core.errors import Unavailable
from dragoman.engine.models.models import Models
from dragoman.engine.models.queue.worker import Cancelled
from dragoman.engine.models.readers import Kind, ReaderInfo, reader_place, world_of
from dragoman.engine.models.reading import JudgeStatement
from dragoman.engine.qa.judging.judge import Judge, decide
from dragoman.engine.qa.judging.weights import Weights, load_weights
from dragoman.engine.qa.judging.words import Linker
from dragoman.engine.qa.response import Evidence, StatementResponse
from dragoman.engine.qa.texts import Question, SourceText, read_texts, sentence_around
from dragoman.engine.settings import Settings
from dragoman.lexicon.text.tokens import Analysis

RULES_ALONE = "rules alone judged: the encoder has no states of subwords to compare"


class Statements:
    """Judges statements in an open world; or in a closed one, by a reader that was trained on theories."""

    kind: Kind = "statements"

    def __init__(self, models: Models, analysis: Callable[[str], Analysis], settings: Settings) -> None:
        self._models, self._analysis, self._settings = models, analysis, settings
        self._judge = Judge(models, settings.worker.worker_seconds)

    def reader(self, cancelled: Cancelled | None) -> ReaderInfo:
        """What judges; see :meth:`Models.statement_reader`."""
        place = reader_place(self._settings, "statements")
        if world_of(place) == "closed":
            return self._models.statement_reader(cancelled)
        weights = _load_weights(place)
        return ReaderInfo(weights.name, weights.languages)

    def response(self, **common: Any) -> StatementResponse:
        """A response before anything is read."""
        return StatementResponse(label="unknown", probability=None, **common)

    def fill(self, response: Any, question: Question, texts: Sequence[SourceText], cancelled: Cancelled | None) -> None:
        """Put label, probability and the deciding sentence into a response."""
        place = reader_place(self._settings, "statements")
        if world_of(place) == "closed":
            self._fill_in_closed_world(response, question, texts, cancelled)
            return
        linker = Linker(self._analysis, question.snapshot)
        comparison = self._judge.compare(question.text, question.language, texts, linker, cancelled)
        if comparison.rules_alone:
            response.degraded.append(Degraded.of("qa", RULES_ALONE, "encoder"))
        verdict = decide(comparison, _load_weights(place))
        response.label, response.probability = verdict.label, verdict.probability
        if verdict.sentence is not None:
            sentence = verdict.sentence
            response.evidence = _evidence(question, texts[sentence.text], sentence.start, sentence.end)

    def _fill_in_closed_world(
        self, response: Any, question: Question, texts: Sequence[SourceText], cancelled: Cancelled | None
    ) -> None:
        work = JudgeStatement(question.field, question.text, read_texts(question, texts))
        judgement = self._models.judge_statement(work, cancelled)
        if judgement is None:
            return
        true = judgement.true
        response.label, response.probability = ("true", true) if true >= 0.5 else ("false", 1 - true)
        if judgement.evidence is not None:
            place, start, end = judgement.evidence
            text = texts[place]
            response.evidence = _evidence(question, text, *sentence_around(text.text, start, end))


def _evidence(question: Question, text: SourceText, start: int, end: int) -> Evidence:
    evidence = Evidence(text=text.text[start:end], start=start, end=end)
    if (gloss := question.gloss(text, start, end)) is not None:
        evidence.gloss = gloss
    if text.document is not None:
        evidence.document = text.document
    return evidence


@lru_cache(maxsize=8)
def _load_weights(place: Path) -> Weights:
    try:
        return load_weights(place)
    except ValueError as fault:
        raise Unavailable(f"the reader of statements cannot be loaded: {fault}") from fault
