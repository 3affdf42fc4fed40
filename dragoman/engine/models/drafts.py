"""Several translations of a sentence, of which a checker takes the first good one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from threading import Lock
from typing import Any

from dragoman.backbone.constraints.phrases import Phrase, has_phrase
from dragoman.engine.models.generation import Generating, Prompted


@dataclass(frozen=True, slots=True)
class SourceSentence:
    """A sentence to translate, and what its translations are led to."""

    text: str
    required: tuple[Phrase, ...] = ()
    """Numbers, names and terms that a translation must have."""
    hints: tuple[Phrase, ...] = ()
    """Words that it may have."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A translation, and whether it ended by itself."""

    text: str
    whole: bool = True


@dataclass(frozen=True, slots=True)
class Drafts:
    """The translations of one sentence, those that were asked for least first."""

    drafts: tuple[Draft, ...]

    @property
    def text(self) -> str:
        """The first one."""
        return self.drafts[0].text

    @property
    def whole(self) -> bool:
        """Whether the first one ended by itself."""
        return self.drafts[0].whole


def prompts_of(sentence: SourceSentence) -> Iterator[Prompted]:
    """What a bridge is asked for: with the numbers alone, with names and terms, and with hints."""
    amounts = tuple(phrase for phrase in sentence.required if phrase.kind == "amount")
    distinct = dict.fromkeys((amounts, sentence.required, (*sentence.required, *sentence.hints)))
    for phrases in distinct:
        yield Prompted(sentence.text, field="a sentence is too long to translate", phrases=phrases)


def join_drafts(parts: Sequence[Generating]) -> Generating:
    """The drafts of one sentence as one result, once all are done; those that failed are left out if others did not."""
    joined: Future[Drafts] = Future()
    left, lock = [len(parts)], Lock()

    def note(_: Future[Any]) -> None:
        with lock:
            left[0] -= 1
            if left[0]:
                return
        with suppress(InvalidStateError):  # cancelled meanwhile
            _resolve(joined, [part.future for part in parts])

    for part in parts:
        part.future.add_done_callback(note)
    return Generating(joined, partial(_cancel, parts))


def _resolve(joined: Future[Drafts], futures: Sequence[Future[Any]]) -> None:
    if any(future.cancelled() for future in futures):
        joined.cancel()
        return
    faults = [fault for future in futures if (fault := future.exception()) is not None]
    if len(faults) == len(futures):
        joined.set_exception(faults[0])
        return
    results = [future.result() for future in futures if future.exception() is None]
    drafts = dict.fromkeys(Draft(result.text.strip(), result.whole) for result in results)
    joined.set_result(Drafts(tuple(drafts)))


def _cancel(parts: Sequence[Generating]) -> None:
    for part in parts:
        part.cancel()


def lacks_term(text: str, sentence: SourceSentence) -> bool:
    """Whether a draft lacks a term of the sentence."""
    return any(phrase.kind == "term" and not has_phrase(text, phrase) for phrase in sentence.required)
