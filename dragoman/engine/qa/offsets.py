"""The offsets of answers and evidence in UTF-16 code units; those of passages are counted where they are searched."""

from __future__ import annotations

from collections.abc import Sequence

from dragoman.engine.qa.response import Evidence, QaAnswer, QaResponse, StatementResponse
from dragoman.engine.qa.texts import SourceText
from dragoman.lexicon.text.offsets import Utf16


def count_in_utf16(response: QaResponse | StatementResponse, texts: Sequence[SourceText]) -> None:
    """Count the places in the texts that were read in code units; once, when the response is complete."""
    counting = _Counting(texts)
    if isinstance(response, StatementResponse):
        if response.evidence:
            counting.count(response.evidence)
        return
    for answer in response.answers:
        answer.sentence_start = counting.count(answer).of(answer.sentence_start)
        if answer.translation:
            Utf16(answer.sentence).count(sentence.source for sentence in answer.translation.sentences)


class _Counting:
    """Counts in texts, each of which is read once, however many answers are in it."""

    def __init__(self, texts: Sequence[SourceText]) -> None:
        self._texts = texts
        self._read: dict[int, Utf16] = {}

    def count(self, part: QaAnswer | Evidence) -> Utf16:
        """Count where a part of a text and its glosses are; returns what counts in that text."""
        document = part.document or None
        place = next(place for place, text in enumerate(self._texts) if text.document is document)
        if place not in self._read:
            self._read[place] = Utf16(self._texts[place].text)
        self._read[place].count([part, *(part.gloss or ())])
        return self._read[place]
