"""What the worker computes with readers: spans of texts that answer questions, and whether statements are true."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeVar

from dragoman.backbone.pretrained.packages import E5_SMALL
from dragoman.engine.core.errors import InternalError, NotInstalled
from dragoman.engine.settings import Settings
from dragoman.reasoning.shipped import find_shipped

if TYPE_CHECKING:
    from dragoman.reasoning.inference import SpanScorer, StatementScorer
    from dragoman.reasoning.question_answering import ContextWindow
    from dragoman.reasoning.spans import Span

THEORIES = "theories"
"""The setting of the package's reader of statements that judges in a closed world: what is not said is false."""
OFF = "off"
"""The setting of a reader that is not wanted."""
Kind = Literal["answers", "statements"]
World = Literal["open", "closed"]
_SHIPPED = {"answers": "answers", "statements": "judge"}
_CLOSED = "statements"
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ReaderInfo:
    """A reader's name, and the languages of the examples that it learned from; none if it does not say."""

    name: str
    languages: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class ReadTask:
    """The task of finding answers in windows of texts (:class:`ContextWindow`); a result is a window's best spans."""


@dataclass(frozen=True, slots=True)
class Judge:
    """The task of judging statements by windows of texts (:class:`ContextWindow`); a result is a :class:`Judgement`."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """The logit of "true" by a window, and the part of it that decides."""

    logit: float
    evidence: list[Span]


def reader_place(settings: Settings, kind: Kind) -> Path:
    """The folder of a reader: the configured one, or that of the package.

    Raises:
        NotInstalled: it is off, or none is configured and none comes with this installation.
    """
    configured = settings.models.reader if kind == "answers" else settings.models.statement_reader
    variable = "DRAGOMAN_READER" if kind == "answers" else "DRAGOMAN_STATEMENT_READER"
    if configured == OFF:
        raise NotInstalled(f"the reader of {kind} is off: {variable} can name the folder of one")
    if configured == THEORIES and kind == "statements" and (theories := find_shipped(_CLOSED)) is not None:
        return theories
    if configured is not None:
        return Path(configured)
    package_folder = find_shipped(_SHIPPED[kind])
    if package_folder is None or E5_SMALL.find([settings.store.models_dir]) is None:
        raise NotInstalled(
            f"there is no reader of {kind}: {E5_SMALL.install}, or set {variable} to the folder of a model"
            " that `dragoman train qa` made"
        )
    return package_folder


def world_of(place: Path) -> World:
    """The world of a reader of statements: ``closed`` where what a text does not say is false.

    That of readers that `dragoman train qa` made is closed, as their theories are, and so is one that cannot be read:
    loading it says what is wrong.
    """
    try:
        about = json.loads((place / "config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return "closed"
    return "open" if isinstance(about, dict) and about.get("world") == "open" else "closed"


def load_reader(settings: Settings) -> SpanScorer:
    """The reader of answers.

    Raises:
        NotInstalled: there is none.
        CheckpointError: it cannot be loaded.
    """
    place = reader_place(settings, "answers")
    from dragoman.reasoning.inference import SpanScorer

    return SpanScorer(place, settings.models.device)


def load_statement_reader(settings: Settings) -> StatementScorer:
    """The reader of statements.

    Raises:
        NotInstalled: there is none.
        CheckpointError: it cannot be loaded.
    """
    place = reader_place(settings, "statements")
    from dragoman.reasoning.inference import StatementScorer

    return StatementScorer(place, settings.models.device)


def find_spans(scorer: SpanScorer, parts: Sequence[ContextWindow]) -> list[list[Span] | Exception]:
    """The best spans of each part."""
    from dragoman.reasoning.question_answering import spans_of

    fault = InternalError("the reader's score of a text is not a number")
    spans_of_parts = _in_passes(lambda some: spans_of(scorer, some), parts, scorer.tokens_at_once)
    return [
        part_spans if all(math.isfinite(span.score) for span in part_spans) else fault for part_spans in spans_of_parts
    ]


def judge_statements(scorer: StatementScorer, parts: Sequence[ContextWindow]) -> list[Judgement | Exception]:
    """What each part says of its statement."""
    from dragoman.reasoning.spans import best_spans

    fault = InternalError("the reader's score of a text is not a number")
    judgements: list[Judgement | Exception] = []
    scored = _in_passes(
        lambda some: scorer.judge([part.row for part in some], [part.bilingual for part in some]),
        parts,
        scorer.tokens_at_once,
    )
    for scores, part in zip(scored, parts, strict=True):
        evidence = best_spans(scores.scores, part.row, 1)
        logits = [scores.logit, *(span.score for span in evidence)]
        judgements.append(Judgement(scores.logit, evidence) if all(map(math.isfinite, logits)) else fault)
    return judgements


def _in_passes(
    compute: Callable[[Sequence[ContextWindow]], Sequence[T]], parts: Sequence[ContextWindow], tokens: int
) -> list[T]:
    """What is computed of each part, in passes of so many subwords, between which what is urgent gets its turn."""
    from dragoman.backbone.padding import batches

    results: dict[int, T] = {}
    for batch in batches([len(part.row.ids) for part in parts], tokens):
        results.update(zip(batch, compute([parts[index] for index in batch]), strict=True))
    return [results[index] for index in range(len(parts))]
