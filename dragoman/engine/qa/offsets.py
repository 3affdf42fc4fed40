"""The offsets of answers and evidence in UTF-16 code units; those of passages are counted where they are searched."""

from __future__ import annotations

from collections.abc import Sequence

from dragoman.engine.qa.response import AnswerDocument, Evidence, QaAnswer, QaResponse, StatementResponse
from dragoman.engine.qa.texts import SourceText
from dragoman.lexicon.text.offsets import Utf16


def count_in_utf16(response: QaResponse | StatementResponse, texts: Sequence[SourceText]) -> None:
    """Count the places in the texts that were read in code units; once, when the response is complete."""
    if isinstance(response, StatementResponse):
        if response.evidence:
            _count(response.evidence, texts)
        return
    for answer in response.answers:
        answer.sentence_start = _count(answer, texts).of(answer.sentence_start)
        if answer.translation:
            Utf16(answer.sentence).count(sentence.source for sentence in answer.translation.sentences)


def _count(part: QaAnswer | Evidence, texts: Sequence[SourceText]) -> Utf16:
    """Count where a part of a text and its glosses are; returns what counts in that text."""
    in_text = Utf16(_text_of(part.document or None, texts))
    in_text.count([part, *(part.gloss or ())])
    return in_text


def _text_of(document: AnswerDocument | None, texts: Sequence[SourceText]) -> str:
    """The text that was read of a document, or the one context."""
    return next(text.text for text in texts if text.document is document)
