"""What is read, and for what."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dragoman.engine.models.reading import ReadText
from dragoman.engine.qa.response import AnswerDocument
from dragoman.engine.search.response import Gloss
from dragoman.engine.search.shown.glosses import Glosses
from dragoman.engine.tables.snapshot import Snapshot
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
    snapshot: Snapshot
    """The tables by which its words are compared with those of texts."""
    glosses_all: bool = False
    """Whether texts in the question's language have glosses too, which are empty, and so have those without tables."""

    def gloss(self, text: SourceText, start: int, end: int) -> list[Gloss] | None:
        """The translations of the words of a part of a text; None where none are wanted, or none can be had."""
        if self.glosses is None:
            return None
        glosses = self.glosses.of_text(text.text[start:end], text.language, start)
        return glosses if glosses or self.glosses_all else None


def read_texts(question: Question, texts: Sequence[SourceText]) -> list[ReadText]:
    """The texts as a reader takes them."""
    return [ReadText(text.text, text.language != question.language) for text in texts]


def sentence_around(text: str, start: int, end: int) -> tuple[int, int]:
    """From the beginning of the sentence that a span begins in to the end of the one that it ends in."""
    touched = [span for span in sentences(text) if span[0] < end and start < span[1]]
    return (min(touched[0][0], start), max(touched[-1][1], end)) if touched else (start, end)
