"""Extractive question answering: a question and a text of any length in, its best spans out, without truncation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import regex
import torch
from torch import Tensor

from dragoman.backbone.encoder import Encoder
from dragoman.backbone.padding import batches
from dragoman.backbone.tokenizer import Encoded
from dragoman.reasoning.spans import Span, SpanReader, best_spans
from dragoman.reasoning.structured_attention import joined_masks, structured_masks
from dragoman.reasoning.structured_encoder import QuestionRow, languages_of, row_of
from dragoman.reasoning.windows import windows

TOKENS_AT_ONCE = 4_096
ANSWERS = 3
_GRAPHEME = 64
"""Code points around a span that are looked at for the borders of its first and last grapheme."""
LEAST_ROOM = 4
"""One part in this many of a row is for the context at least."""


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

    def scores(self, rows: Sequence[QuestionRow], bilingual: Sequence[bool]) -> list[Tensor]:
        """Scores (L, 2) of each row, -inf outside of contexts and the first position."""


class PaddedScorer:
    """Scores by the trained modules themselves, as in training."""

    def __init__(self, model: SpanReader, structured: bool) -> None:
        self.encoder, self._model, self._structured = model.encoder.encoder, model, structured

    def scores(self, rows: Sequence[QuestionRow], bilingual: Sequence[bool]) -> list[Tensor]:
        masks = None
        device = self._model.head.weight.device
        if self._structured and any(bilingual):
            languages = languages_of(rows, max(len(row.ids) for row in rows), device)
            plain = torch.tensor([not across for across in bilingual], device=device)
            masks = joined_masks(plain, structured_masks(languages), languages)
        with torch.inference_mode():
            scores = self._model(rows, masks)
        return [row_scores[: len(row.ids)] for row_scores, row in zip(scores, rows, strict=True)]


@dataclass(frozen=True)
class Request:
    """A question, a text that may answer it, and whether they are in two languages."""

    question: str
    context: str
    bilingual: bool


@dataclass(frozen=True)
class ContextWindow:
    """A window of a request's context in a row, which begins at the subword `start` of the context."""

    request: int
    row: QuestionRow
    start: int
    bilingual: bool


class AnswerExtraction:
    """Requests as rows, and answers from the spans of these."""

    def __init__(self, encoder: Encoder, requests: Sequence[Request]) -> None:
        """A context that is too long for a row is read in windows that overlap.

        Raises:
            ValueError: if a question takes more than three quarters of a row.
        """
        self._requests = requests
        self._contexts = _contexts(encoder, [request.context for request in requests])
        questions = encoder.subwords([request.question for request in requests])
        self.parts: list[ContextWindow] = []
        for index, (question, context) in enumerate(zip(questions, self._contexts, strict=True)):
            room = room_beside(encoder, len(question.ids))
            bilingual = requests[index].bilingual
            for start, end in windows(len(context.ids), room) if context.ids else ():
                row = row_of(encoder, context.ids[start:end], question.ids)
                self.parts.append(ContextWindow(index, row, start, bilingual))

    @property
    def subwords(self) -> int:
        """Of all contexts."""
        return sum(len(context.ids) for context in self._contexts)

    def answers(self, spans: Sequence[Sequence[Span]], count: int = ANSWERS) -> list[list[Answer]]:
        """The best `count` answers of each request, best first, from the spans of each part; they do not overlap."""
        by_request: list[list[Answer]] = [[] for _ in self._requests]
        for part, window_spans in zip(self.parts, spans, strict=True):
            text, offsets = self._requests[part.request].context, self._contexts[part.request].offsets
            shift = part.start - part.row.first
            for span in window_spans:
                start, end = offsets[span.start + shift][0], offsets[span.end + shift][1]
                if answer := text[start:end].strip():  # a subword may stand for white space alone
                    start = text.index(answer, start)
                    start, end = whole_graphemes(text, start, start + len(answer))
                    by_request[part.request].append(Answer(text[start:end], start, end, span.score))
        return [_best(answers, count) for answers in by_request]


def whole_graphemes(text: str, start: int, end: int) -> tuple[int, int]:
    """The span with both ends moved outwards to borders of graphemes: a subword may end before a combining mark."""
    first = max(0, start - _GRAPHEME)
    for cluster in regex.finditer(r"\X", text[first : end + _GRAPHEME]):
        begin, finish = first + cluster.start(), first + cluster.end()
        if begin < start < finish:
            start = begin
        if begin < end < finish:
            end = finish
    return start, end


def room_beside(encoder: Encoder, question: int) -> int:
    """How many subwords of a context fit into a row with a question of that many.

    Raises:
        ValueError: if that is less than a quarter of the row: the windows would be many, and hardly overlap.
    """
    room = encoder.max_length - len(row_of(encoder, [], [0] * question).ids)
    most = question + room - encoder.max_length // LEAST_ROOM
    if question > most:
        raise ValueError(f"{question} subwords; at most {most} can be read")
    return room


def spans_of(scorer: Scorer, parts: Sequence[ContextWindow], count: int = ANSWERS) -> list[list[Span]]:
    """The best `count` spans of each part, computed in one batch."""
    scores = scorer.scores([part.row for part in parts], [part.bilingual for part in parts])
    return [best_spans(row_scores, part.row, count) for row_scores, part in zip(scores, parts, strict=True)]


def answer_requests(
    scorer: Scorer, requests: Sequence[Request], count: int = ANSWERS, tokens: int = TOKENS_AT_ONCE
) -> list[list[Answer]]:
    """The best `count` answers of each request, in passes of at most `tokens` subwords; see :class:`AnswerExtraction`.

    Raises:
        ValueError: if a question takes more than three quarters of a row.
    """
    extraction = AnswerExtraction(scorer.encoder, requests)
    spans: list[list[Span]] = [[] for _ in extraction.parts]
    for batch in batches([len(part.row.ids) for part in extraction.parts], tokens):
        batch_spans = spans_of(scorer, [extraction.parts[index] for index in batch], count)
        for index, window_spans in zip(batch, batch_spans, strict=True):
            spans[index] = window_spans
    return extraction.answers(spans, count)


def _contexts(encoder: Encoder, contexts: Sequence[str]) -> list[Encoded]:
    """The subwords of contexts, each different one tokenized once."""
    places = {context: index for index, context in enumerate(dict.fromkeys(contexts))}
    encoded = encoder.subwords(list(places))
    return [encoded[places[context]] for context in contexts]


def _best(answers: Sequence[Answer], count: int) -> list[Answer]:
    """The best answers that do not overlap a better one; neighbouring windows find the same answers."""
    best: list[Answer] = []
    for answer in sorted(answers, key=lambda candidate: (-candidate.score, candidate.start, candidate.end)):
        if len(best) < count and all(answer.end <= other.start or other.end <= answer.start for other in best):
            best.append(answer)
    return best


@dataclass(frozen=True)
class Calibration:
    """Turns scores into probabilities: of any answer by a logistic function, and of each among the best by softmax.

    More text has a better best span that is wrong, so the probability of an answer falls with the logarithm of how
    many times longer than `length` subwords it is. `other` is the score of another part of the text than the best ones;
    None: there is none. Of texts that search ranked, an answer scores `per_rank` less for each text before its own.
    """

    slope: float = 1.0
    offset: float = 0.0
    temperature: float = 1.0
    other: float | None = None
    per_length: float = 0.0
    length: float = 1.0
    per_rank: float = 0.0

    def rank(self, answers: Sequence[Sequence[Answer]], count: int = ANSWERS) -> list[tuple[int, Answer]]:
        """The best `count` answers of texts that search ranked, best first, each with its text's number from 0."""
        ranked = [
            (place, replace(answer, score=answer.score - self.per_rank * place))
            for place, text_answers in enumerate(answers)
            for answer in text_answers
        ]
        return sorted(ranked, key=lambda pair: -pair[1].score)[:count]

    def probabilities(self, answers: Sequence[Answer], subwords: int) -> tuple[list[float], float]:
        """The probability of each of the best answers of a text of `subwords`, and that there is none.

        What is left to 1 is the probability that another part of the text answers.
        """
        if not answers:
            return [], 1.0
        best = max(answer.score for answer in answers)
        logit = self.slope * best - self.per_length * log_length(subwords, self.length) + self.offset
        answered = 1 / (1 + math.exp(-max(-60.0, min(60.0, logit))))
        highest = best if self.other is None else max(best, self.other)
        weights = [math.exp((answer.score - highest) / self.temperature) for answer in answers]
        total = sum(weights) + (0.0 if self.other is None else math.exp((self.other - highest) / self.temperature))
        return [answered * weight / total for weight in weights], 1 - answered


def log_length(subwords: int, length: float) -> float:
    """The logarithm of how many times longer than `length` a text is; 0 for shorter ones."""
    return math.log(max(1.0, subwords / length))
