"""Offsets of answers in UTF-16 code units: a text is read once, however many answers it holds."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.engine.qa import offsets
from dragoman.engine.qa.response import AnswerDocument, QaAnswer, QaResponse
from dragoman.engine.qa.texts import SourceText
from dragoman.engine.query.response import QueryRead
from dragoman.lexicon.text.offsets import Utf16
from tests.support.offsets import cut


def test_each_text_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [
        SourceText(text, "de", AnswerDocument(id=str(place), collection="c", language="de"))
        for place, text in enumerate(("🌋 a 🌋 b 🌋 c", "𠮷 a b 𠮷 c", "nobody asks for this one"))
    ]
    places = [(text, text.text.index(word)) for text in texts[:2] for word in "abc"]
    response = QaResponse(
        request_id="r",
        query=QueryRead(text="q", language="de", detected=False, language_probability=1.0),
        answers=[_answer(text, place) for text, place in places],
        no_answer=0.0,
        found="good",
        model="m",
        degraded=[],
        truncated=[],
    )
    read: list[str] = []
    monkeypatch.setattr(offsets, "Utf16", lambda text: read.append(text) or Utf16(text))
    offsets.count_in_utf16(response, texts)
    assert read == [text.text for text in texts[:2]]
    for (text, place), answer in zip(places, response.answers, strict=True):
        assert cut(text.text, answer.start, answer.end) == text.text[place : place + 1]
        assert answer.sentence_start == answer.start > place


def _answer(text: SourceText, place: int) -> QaAnswer:
    found: dict[str, Any] = {"text": text.text[place], "start": place, "end": place + 1}
    return QaAnswer(**found, score=0.1, sentence=text.text[place], sentence_start=place, document=text.document)
