"""Reading: a question and a text of any length in, the best spans of the text out, in batches without truncation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from dragoman.backbone.encoder import Encoder
from dragoman.backbone.padding import batches
from dragoman.backbone.tokenizer import Encoded
from dragoman.reasoning.spans import SpanReader, best_spans
from dragoman.reasoning.structured_attention import joined_masks, structured_masks
from dragoman.reasoning.structured_encoder import Row, languages_of, row_of
from dragoman.reasoning.windows import windows

TOKENS_AT_ONCE = 4_096
ANSWERS = 3


@dataclass(frozen=True)
class Answer:
    """A span of the text, in code points; `score` is a difference of logits to "no answer"."""

    text: str
    start: int
    end: int
    score: float


class Scorer(Protocol):
    """Computes the scores of beginnings and ends."""

    encoder: Encoder

    def scores(self, rows: Sequence[Row], bilingual: Sequence[bool]) -> list[Tensor]:
        """Scores (L, 2) of each row, -inf outside of contexts and the first position."""


class PaddedScorer:
    """Scores by the trained modules themselves, as in training."""

    def __init__(self, model: SpanReader, structured: bool) -> None:
        self.encoder, self._model, self._structured = model.encoder.encoder, model, structured

    def scores(self, rows: Sequence[Row], bilingual: Sequence[bool]) -> list[Tensor]:
        masks = None
        device = self._model.head.weight.device
        if self._structured and any(bilingual):
            languages = languages_of(rows, max(len(row.ids) for row in rows), device)
            plain = torch.tensor([not one for one in bilingual], device=device)
            masks = joined_masks(plain, structured_masks(languages), languages)
        with torch.inference_mode():
            found = self._model(rows, masks)
        return [own[: len(row.ids)] for own, row in zip(found, rows, strict=True)]


@dataclass(frozen=True)
class _Window:
    """A part of a request's context in a row."""

    request: int
    row: Row
    start: int


def read(
    scorer: Scorer, requests: Sequence[tuple[str, str, bool]], count: int = ANSWERS, tokens: int = TOKENS_AT_ONCE
) -> list[list[Answer]]:
    """The best `count` answers of each request, best first; none overlaps a better one.

    A request is a question, a context, and whether they are in two languages. A context that is too long for a row is
    read in windows that overlap.

    Raises:
        ValueError: if a question leaves no room for its context.
    """
    encoder = scorer.encoder
    questions = encoder.subwords([question for question, _, _ in requests])
    contexts = _contexts(encoder, [context for _, context, _ in requests])
    parts = [
        _Window(number, row_of(encoder, context.ids[start:end], question.ids), start)
        for number, (question, context) in enumerate(zip(questions, contexts, strict=True))
        if context.ids
        for start, end in windows(len(context.ids), encoder.max_length - len(row_of(encoder, [], question.ids).ids))
    ]
    found: list[list[Answer]] = [[] for _ in requests]
    for batch in batches([len(part.row.ids) for part in parts], tokens):
        chosen = [parts[number] for number in batch]
        scores = scorer.scores([part.row for part in chosen], [requests[part.request][2] for part in chosen])
        for part, own in zip(chosen, scores, strict=True):
            text, offsets = requests[part.request][1], contexts[part.request].offsets
            for span in best_spans(own, part.row, count):
                shift = part.start - part.row.first
                start, end = offsets[span.start + shift][0], offsets[span.end + shift][1]
                if answer := text[start:end].strip():  # a subword may stand for white space alone
                    start = text.index(answer, start)
                    found[part.request].append(Answer(answer, start, start + len(answer), span.score))
    return [_best(answers, count) for answers in found]


def _contexts(encoder: Encoder, contexts: Sequence[str]) -> list[Encoded]:
    """The subwords of contexts, each different one tokenized once."""
    places = {context: number for number, context in enumerate(dict.fromkeys(contexts))}
    found = encoder.subwords(list(places))
    return [found[places[context]] for context in contexts]


def _best(answers: Sequence[Answer], count: int) -> list[Answer]:
    """The best answers that do not overlap a better one; neighbouring windows find the same answers."""
    kept: list[Answer] = []
    for answer in sorted(answers, key=lambda one: (-one.score, one.start, one.end)):
        if len(kept) < count and all(answer.end <= one.start or one.end <= answer.start for one in kept):
            kept.append(answer)
    return kept


@dataclass(frozen=True)
class Calibration:
    """Turns scores into probabilities: of any answer by a logistic function, and of each among the best by softmax."""

    slope: float = 1.0
    offset: float = 0.0
    temperature: float = 1.0

    def probabilities(self, answers: Sequence[Answer]) -> tuple[list[float], float]:
        """The probability of each answer, and that there is none."""
        if not answers:
            return [], 1.0
        best = max(one.score for one in answers)
        answered = 1 / (1 + math.exp(-max(-60.0, min(60.0, self.slope * best + self.offset))))
        weights = [math.exp((one.score - best) / self.temperature) for one in answers]
        return [answered * weight / sum(weights) for weight in weights], 1 - answered
