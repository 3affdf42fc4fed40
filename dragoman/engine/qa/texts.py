"""What is read, and for what."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dragoman.engine.models.reading import ReadText
from dragoman.engine.qa.response import AnswerDocument
from dragoman.engine.search.shown.glosses import Glosses
from dragoman.lexicon.text.passages import sentences


@dataclass(frozen=True)
class SourceText:
    """A text to read, its language, and the document it is of."""

    text: str
    language: str
    document: AnswerDocument | None = None


@dataclass(frozen=True)
class Question:
    """A question or statement, the field that held it, its language, and what makes glosses where they are wanted."""

    field: str
    text: str
    language: str
    glosses: Glosses | None


def read_texts(question: Question, texts: Sequence[SourceText]) -> list[ReadText]:
    """The texts as a reader takes them."""
    return [ReadText(text.text, text.language != question.language) for text in texts]


def sentence_around(text: str, start: int, end: int) -> tuple[int, int]:
    """From the beginning of the sentence that a span begins in to the end of the one that it ends in."""
    touched = [span for span in sentences(text) if span[0] < end and start < span[1]]
    return (min(touched[0][0], start), max(touched[-1][1], end)) if touched else (start, end)
