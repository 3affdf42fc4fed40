"""What is sent to a worker, checked before anything is computed: whoever sends it may be of another version."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dragoman.engine.core.errors import InvalidRequest
from dragoman.engine.core.limits import DOCUMENTS
from dragoman.engine.models.encoding import PassageText
from dragoman.engine.models.generation import Generate, Prompted
from dragoman.engine.models.loading import LOADERS
from dragoman.engine.models.reading import FindAnswers, JudgeStatement, ReadText
from dragoman.engine.models.scoring import ScoreRequest, SpannedText
from dragoman.engine.models.tagging import TagTexts
from dragoman.engine.models.tasks import Embed, EmbedText, Encode, Load, Score
from dragoman.engine.models.translating import Translate
from dragoman.ranking.attention import Links
from dragoman.service.remote.tasks import Asked, FindWindow, ReadTexts, Window
from dragoman.service.remote.wire import MessageError, unpack

ITEMS = 100_000
"""Most items of a request."""
_SECONDS = 1_000_000.0
_MAX_WEIGHT = 1_000_000
_TAGGERS = ("ner", "pos")
_READERS = ("reader", "statement_reader")
_KINDS = ("query", "passage")
_BRIDGES = ("reasoner", "translator")


def read_request(message: bytes | bytearray) -> Asked:
    """A request to a worker.

    Raises:
        InvalidRequest: it is none; the message names the field.
    """
    try:
        asked = unpack(bytes(message))
    except MessageError as fault:
        raise InvalidRequest(f"the message is not valid; use a worker of the same version: {fault}") from fault
    if not isinstance(asked, Asked) or not isinstance(asked.contents, list):
        raise InvalidRequest("task: there is none")
    if not 0 < len(asked.contents) <= ITEMS:
        raise InvalidRequest(f"contents: {len(asked.contents)} of them; from 1 to {ITEMS} are allowed")
    if asked.seconds is not None:
        _check(_is_figure(asked.seconds) and 0 < asked.seconds <= _SECONDS, "seconds: not a time to wait")
    _check(isinstance(asked.background, bool), "background: not true or false")
    _check(asked.caller is None or isinstance(asked.caller, str), "caller: not a name")
    check_content = _CONTENTS.get(type(asked.task))
    _check(check_content is not None and _is_task(asked.task), "task: not one that a worker does")
    assert check_content is not None
    for index, content in enumerate(asked.contents):
        check_content(content, f"contents[{index}]")
    return asked


def _is_task(task: Any) -> bool:
    if isinstance(task, TagTexts):
        return task.task in _TAGGERS and isinstance(task.query, bool)
    if isinstance(task, ReadTexts):
        return task.model in _READERS
    if isinstance(task, Generate):
        return task.model in _BRIDGES
    if isinstance(task, Load):
        return task.model in LOADERS
    if isinstance(task, Translate):
        return isinstance(task.source, str) and isinstance(task.target, str)
    if isinstance(task, EmbedText):
        return task.kind in _KINDS
    if isinstance(task, Encode | Embed):
        return isinstance(task.long if isinstance(task, Encode) else task.states, bool)
    return True


def _check(holds: bool, message: str) -> None:
    if not holds:
        raise InvalidRequest(message)


def _is_figure(content: Any) -> bool:
    return isinstance(content, int | float) and not isinstance(content, bool) and math.isfinite(content)


def _is_count(content: Any) -> bool:
    return isinstance(content, int) and not isinstance(content, bool) and content >= 0


def _check_text(text: Any, place: str) -> None:
    _check(isinstance(text, str), f"{place}: not a text")
    _check(_is_unicode(text), f"{place}: not valid Unicode")


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return "\0" not in text


def _check_spans(spans: Sequence[tuple[int, int]], text: str, place: str) -> None:
    before = 0
    for index, (start, end) in enumerate(spans):
        if not before <= start <= end <= len(text):
            raise InvalidRequest(f"{place}.spans[{index}]: [{start}, {end}] is no word after the one before")
        before = start


def _check_passage(passage: Any, place: str) -> None:
    _check(isinstance(passage, PassageText), f"{place}: not a passage")
    _check_text(passage.text, f"{place}.text")
    _check_spans(passage.sentences, passage.text, place)


def _check_spanned(text: Any, place: str) -> None:
    _check(isinstance(text, SpannedText), f"{place}: not a text with its words")
    _check_text(text.text, f"{place}.text")
    _check_spans(text.spans, text.text, place)


def _check_score(request: Any, place: str) -> None:
    _check(isinstance(request, ScoreRequest), f"{place}: not a query with documents")
    _check_spanned(request.query, "query")
    documents, links = request.documents, request.links
    _check(isinstance(documents, list) and 0 < len(documents) <= DOCUMENTS, f"documents: not 1 to {DOCUMENTS} of them")
    _check(isinstance(links, list) and len(links) == len(documents), "documents: not each has its links")
    for index, (document, document_links) in enumerate(zip(documents, links, strict=True)):
        _check_spanned(document, f"documents[{index}]")
        _check_links(document_links, len(request.query.spans), len(document.spans), f"documents[{index}]")


def _check_links(links: Any, query_words: int, words: int, place: str) -> None:
    _check(isinstance(links, Links), f"{place}.links: not links")
    columns: list[tuple[Any, Any]] = [(links.left, np.int64), (links.right, np.int64), (links.weights, np.float32)]
    if links.glossary is not None:
        columns.append((links.glossary, np.bool_))
    for column, dtype in columns:
        fits = isinstance(column, np.ndarray) and column.dtype == dtype and column.shape == (len(links.left),)
        _check(fits, f"{place}.links: not as many of each column")
    for column, most in ((links.left, query_words), (links.right, words)):
        _check(bool(((column >= 0) & (column < most)).all()), f"{place}.links: names a word that is not there")
    allowed = np.isfinite(links.weights) & (links.weights >= 0) & (links.weights <= _MAX_WEIGHT)
    _check(bool(allowed.all()), f"{place}.links: a weight is not from 0 to {_MAX_WEIGHT}")


def _check_reading(work: Any, place: str) -> None:
    _check(isinstance(work, FindAnswers | JudgeStatement), f"{place}: not a question or statement")
    _check_text(work.field, f"{place}.field")
    _check_text(work.question if isinstance(work, FindAnswers) else work.statement, work.field)
    if isinstance(work, FindAnswers):
        _check(_is_count(work.count), f"{place}.count: not a number of answers")
    for index, text in enumerate(work.texts):
        _check(isinstance(text, ReadText) and isinstance(text.bilingual, bool), f"{place}.texts[{index}]: not a text")
        _check_text(text.text, f"{place}.texts[{index}]")


def _check_prompt(prompt: Any, place: str) -> None:
    _check(isinstance(prompt, Prompted), f"{place}: not a text to answer")
    for name in ("text", "quoted", "field"):
        _check_text(getattr(prompt, name), f"{place}.{name}")
    _check(prompt.limit is None or _is_count(prompt.limit), f"{place}.limit: not a number of tokens")
    _check(_is_figure(prompt.temperature) and prompt.temperature >= 0, f"{place}.temperature: not one")
    _check(_is_count(prompt.seed), f"{place}.seed: not a whole number")


def _check_window(window: Any, place: str) -> None:
    _check(isinstance(window, Window), f"{place}: not a window")
    _check_text(window.text, f"{place}.text")
    _check(_is_count(window.start) and _is_count(window.tokens), f"{place}: not a place and a number of tokens")


_CONTENTS: dict[type, Callable[[Any, str], None]] = {
    Encode: _check_text,
    TagTexts: _check_text,
    Translate: _check_text,
    Load: _check_text,
    Embed: _check_passage,
    EmbedText: _check_text,
    Score: _check_score,
    Generate: _check_prompt,
    ReadTexts: _check_reading,
    FindWindow: _check_window,
}
"""By task, what checks an item of it."""
