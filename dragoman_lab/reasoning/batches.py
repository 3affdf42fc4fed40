"""Batches of examples as rows: questions or statements over windows of their contexts that hold their answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from dragoman.backbone.encoder import Encoder
from dragoman.reasoning.question_answering import LEAST_ROOM
from dragoman.reasoning.spans import LONGEST
from dragoman.reasoning.structured_encoder import QuestionRow, row_of
from dragoman.reasoning.windows import windows
from dragoman_lab.backbone.corpus import Position
from dragoman_lab.backbone.loop import Source
from dragoman_lab.reasoning.examples import Example

ANSWERED = 0.9
"""The share of windows with an answer, where a context has windows without one too."""
_NEIGHBOURS = 16
"""A batch is drawn from this many times its examples, which are alike in length."""


class BatchSettings(Protocol):
    """What decides the sizes of batches, and which they are."""

    @property
    def length(self) -> int:
        """Subwords of the longest row."""

    @property
    def tokens(self) -> int:
        """The most padded subwords of a batch."""

    @property
    def seed(self) -> int:
        """Of the choice of examples."""


@dataclass(frozen=True)
class TokenizedExample:
    """An example as subwords; `answers` are the first and last subword of each answer in the context."""

    question: Sequence[int]
    context: Sequence[int]
    answers: list[tuple[int, int]]
    bilingual: bool
    answers_known: bool = True
    label: bool | None = None
    depth: int | None = None

    @property
    def length(self) -> int:
        return len(self.question) + len(self.context)


@dataclass(frozen=True)
class RowBatch:
    """Rows with the positions of the beginnings and ends of their answers; (0, 0) where there is none."""

    rows: list[QuestionRow]
    answers: list[list[tuple[int, int]]]
    bilingual: bool
    answers_known: list[bool]
    """Whether the answers of a row are known."""
    labels: list[bool | None]
    """Whether a row's statement is true; None for a question."""

    @property
    def tokens(self) -> int:
        return sum(len(row.ids) for row in self.rows)


def tokenize(encoder: Encoder, examples: Sequence[Example], longest: int = LONGEST) -> list[TokenizedExample]:
    """Examples as subwords; answers without subwords of their own, or with more than `longest`, are left out.

    So are examples that have such answers alone.
    """
    questions = encoder.subwords([example.question for example in examples])
    different = {context: index for index, context in enumerate(dict.fromkeys(example.context for example in examples))}
    contexts = encoder.subwords(list(different))
    usable = []
    for example, question in zip(examples, questions, strict=True):
        context = contexts[different[example.context]]
        ends = np.array([end for _, end in context.offsets])
        starts = np.array([start for start, _ in context.offsets])
        answers = []
        for start, end in example.answers:
            first, last = int(np.searchsorted(ends, start, "right")), int(np.searchsorted(starts, end)) - 1
            if first <= last < first + longest:
                answers.append((first, last))
        if answers or not example.answers:
            ids = (np.array(question.ids, np.int32), np.array(context.ids, np.int32))
            about = (answers, example.bilingual, example.known, example.label, example.depth)
            usable.append(TokenizedExample(*ids, *about))  # type: ignore[arg-type]
    return usable


def source_of(
    examples: Sequence[TokenizedExample], encoder: Encoder, config: BatchSettings, checksum: str
) -> Source[RowBatch]:
    """Batches of examples of like length, all in one language or all in two, in rows of at most `config.length`."""
    kinds = [
        sorted(
            (index for index, example in enumerate(examples) if example.bilingual == bilingual),
            key=lambda n: examples[n].length,
        )
        for bilingual in (False, True)
    ]

    def draw(start: Position) -> Iterator[tuple[Position, RowBatch]]:
        turn = start.round
        while True:
            noise = np.random.default_rng([config.seed, turn])
            anchor = int(noise.integers(len(examples)))
            order = kinds[anchor >= len(kinds[0])]
            anchor -= len(kinds[0]) if anchor >= len(kinds[0]) else 0
            count = config.tokens // min(config.length, examples[order[anchor]].length + 4)
            chosen = [examples[place] for place in draw_alike(order, anchor, count, noise)]
            turn += 1
            yield Position(turn), _batch(chosen, encoder, config, noise)

    return Source(checksum, draw)


def draw_alike(order: Sequence[int], anchor: int, count: int, noise: np.random.Generator) -> list[int]:
    """So many numbers, but at least one, drawn from those around a place of `order`, which is by length."""
    count = max(1, count)
    begin = max(0, min(anchor - count * _NEIGHBOURS // 2, len(order) - count * _NEIGHBOURS))
    near = order[begin : begin + count * _NEIGHBOURS]
    return [int(place) for place in noise.choice(near, min(count, len(near)), replace=False)]


def _batch(
    chosen: Sequence[TokenizedExample], encoder: Encoder, config: BatchSettings, noise: np.random.Generator
) -> RowBatch:
    rows, answers = [], []
    for example in chosen:
        holding, without = _windows(example, encoder, config)
        among = holding if holding and (not without or noise.random() < ANSWERED) else without
        begin, end = among[int(noise.integers(len(among)))]
        row = row_of(encoder, list(example.context[begin:end]), list(example.question))
        rows.append(row)
        inside = _inside(example.answers, begin, end)
        answers.append([(row.first + first - begin, row.first + last - begin) for first, last in inside] or [(0, 0)])
    answers_known, labels = [example.answers_known for example in chosen], [example.label for example in chosen]
    return RowBatch(rows, answers, chosen[0].bilingual, answers_known, labels)


Window = tuple[int, int]


def _windows(example: TokenizedExample, encoder: Encoder, config: BatchSettings) -> tuple[list[Window], list[Window]]:
    """The windows of a context that hold an answer, and those that touch none; none at all for a long question."""
    room = config.length - len(row_of(encoder, [], list(example.question)).ids)
    if room < config.length // LEAST_ROOM:
        return [], []
    parts = list(windows(len(example.context), room))
    holding = [part for part in parts if _inside(example.answers, *part)]
    without = [
        (begin, end) for begin, end in parts if all(last < begin or end <= first for first, last in example.answers)
    ]
    return holding, without


def is_readable(example: TokenizedExample, encoder: Encoder, config: BatchSettings) -> bool:
    """Whether an example can be learned from: its question leaves room, and a window holds an answer if it has any."""
    holding, without = _windows(example, encoder, config)
    return bool(holding) if example.answers else bool(without)


def _inside(answers: Sequence[tuple[int, int]], begin: int, end: int) -> list[tuple[int, int]]:
    return [(first, last) for first, last in answers if begin <= first and last < end]
