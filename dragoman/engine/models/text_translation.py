"""Translates texts and snippets sentence by sentence, through the worker."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

import regex

from dragoman.engine.core.answer import Degraded
from dragoman.engine.core.errors import ClientDisconnected, InvalidRequest, ServiceError
from dragoman.engine.core.priority import wait_limit
from dragoman.engine.models.drafts import SourceSentence
from dragoman.engine.models.generation import Generating
from dragoman.engine.models.models import Models
from dragoman.engine.models.queue.worker import Cancelled
from dragoman.engine.models.translating import TranslatorInfo, translator_place
from dragoman.engine.settings import Settings
from dragoman.lexicon.text.passages import Span, sentences

SENTENCE_LENGTH = 300
"""The longest sentence to translate whole, in code points; see :func:`dragoman.lexicon.text.passages.sentences`."""

STAGE = "translate_snippets"

_UNSPACED = frozenset({"zh", "ja", "th", "lo", "km", "my"})
_LETTER = regex.compile(r"\p{L}")
_POLL_SECONDS = 0.2


@dataclass(frozen=True, slots=True)
class Underway:
    """A text that is being translated, sentence by sentence; None for a sentence without letters."""

    text: str
    target: str
    spans: list[Span]
    sentences: list[Generating | None]

    @property
    def futures(self) -> list[Future[Any] | None]:
        """Those of the sentences."""
        return [None if sentence is None else sentence.future for sentence in self.sentences]

    def check(self) -> None:
        """Raise the exception of a sentence that failed; valid once all futures are done."""
        for future in self.futures:
            if future is not None:
                future.result()

    def join(self, translated: Sequence[str]) -> str:
        """The text made of what its sentences became; white space between them is kept."""
        if not self.spans:
            return self.text
        parts: list[str] = [self.text[: self.spans[0][0]]]
        for place, ((_, end), sentence) in enumerate(zip(self.spans, translated, strict=True)):
            parts.append(sentence)
            if place + 1 < len(self.spans):
                parts.append(_between(self.text[end : self.spans[place + 1][0]], self.target))
        return "".join(parts) + self.text[self.spans[-1][1] :]

    @property
    def whole(self) -> bool:
        """Whether no sentence was cut off because its translation did not end; valid once all futures are done."""
        return all(future is None or future.result().whole for future in self.futures)

    def is_done(self) -> bool:
        return all(future is None or future.done() for future in self.futures)

    def cancel(self) -> None:
        """Compute no more of it."""
        for sentence in self.sentences:
            if sentence is not None:
                sentence.cancel()


FindPhrases = Callable[[Sequence[str], str, str], list[SourceSentence]]
"""What the translations of sentences from one language into another are led to."""


class Translations:
    """Translates texts and search snippets. Safe from any thread."""

    def __init__(self, models: Models, settings: Settings, find_phrases: FindPhrases | None = None) -> None:
        """``find_phrases`` says what translations are led to; without it they are led to nothing."""
        self._models = models
        self._settings = settings
        self._find_phrases = find_phrases

    def check_configured(self) -> None:
        """Raise :class:`NotInstalled` if this service has no translator; the message says how to name one."""
        translator_place(self._settings)

    @property
    def doubtful(self) -> bool:
        """Whether the translator is a bridge: most of its fluent sentences are wrong."""
        info: TranslatorInfo | None = self._models.description("translator")
        return info is not None and info.bridge

    def check(self, texts: Sequence[str]) -> None:
        """Raise :class:`InvalidRequest` if these texts exceed the limits of one request."""
        limits = self._settings.translation
        if len(texts) > limits.translate_texts:
            raise InvalidRequest(f"texts: {len(texts)} of them; at most {limits.translate_texts} are allowed")
        if (chars := sum(map(len, texts))) > limits.translate_chars:
            raise InvalidRequest(
                f"texts: {chars} characters together; at most {limits.translate_chars} are allowed in a request"
            )

    def begin(self, texts: Sequence[str], source: str, target: str) -> list[Underway]:
        """Queue the sentences of texts, all of them or none.

        Raises:
            InvalidRequest: a sentence is too long for the translator.
            TooManyRequests: the worker's queue is full.
        """
        spans_of_texts = [sentences(text, SENTENCE_LENGTH) for text in texts]
        pieces = [text[start:end] for text, spans in zip(texts, spans_of_texts, strict=True) for start, end in spans]
        request = [piece for piece in pieces if _LETTER.search(piece)]
        if self._find_phrases is None:
            asked = [SourceSentence(piece) for piece in request]
        else:
            asked = self._find_phrases(request, source, target)
        translations = iter(self._models.translate(source, target, asked))
        underway = []
        for text, spans in zip(texts, spans_of_texts, strict=True):
            lettered = [_LETTER.search(text[start:end]) is not None for start, end in spans]
            underway.append(
                Underway(text, target, spans, [next(translations) if has_letters else None for has_letters in lettered])
            )
        return underway

    def snippets(
        self,
        snippets: Sequence[tuple[str, str]],
        target: str,
        cancelled: Cancelled | None = None,
        stage: str = STAGE,
        noun: str = "snippet",
    ) -> tuple[list[Underway | None], list[Degraded]]:
        """Finished translations of (language, snippet) pairs into ``target``, and the reasons for missing ones.

        A snippet that is in ``target`` already gets None without a reason. Reasons are of ``stage`` and call a snippet
        what ``noun`` says.
        """
        translated: list[Underway | None] = [None] * len(snippets)
        foreign = sorted({language for language, _ in snippets} - {target})
        if not foreign:
            return translated, []
        try:
            info = self._models.translator(cancelled)
        except ClientDisconnected:
            raise
        except ServiceError as fault:
            return translated, [Degraded.of(stage, f"no {noun} was translated: {fault}", fault.cause)]
        degraded: list[Degraded] = []
        underway: dict[int, Underway] = {}
        for language in foreign:
            places = [place for place, (of, _) in enumerate(snippets) if of == language]
            try:
                info.check(language, target)
                begun = self.begin([snippets[place][1] for place in places], language, target)
            except ServiceError as fault:
                degraded.append(Degraded.of(stage, _untranslated_reason(noun, language, target, fault), fault.cause))
                continue
            underway.update(zip(places, begun, strict=True))
        try:
            self._wait(list(underway.values()), cancelled)
        except ClientDisconnected:
            for translation in underway.values():
                translation.cancel()
            raise
        reasons: Counter[str] = Counter()
        for place, translation in underway.items():
            try:
                if translation.is_done():
                    translation.check()
                    translated[place] = translation
                else:
                    reasons[
                        f"not translated: not within {self._settings.translation.translate_snippets_seconds:g} seconds"
                    ] += 1
                if translated[place] is not None and not translation.whole:
                    reasons["cut off, because the translation did not end"] += 1
            except InvalidRequest as fault:
                reasons[f"not translated: {_untranslated_reason(noun, snippets[place][0], target, fault)}"] += 1
            except Exception:
                reasons["not translated: the translator failed"] += 1
            translation.cancel()
        degraded.extend(
            Degraded.of(stage, f"{count} of {len(underway)} {noun}s were {reason}", "partial")
            for reason, count in reasons.items()
        )
        return translated, degraded

    def _wait(self, underway: Sequence[Underway], cancelled: Cancelled | None) -> None:
        until = time.monotonic() + wait_limit(self._settings.translation.translate_snippets_seconds)
        for translation in underway:
            for future in translation.futures:
                while future is not None and not future.done() and time.monotonic() < until:
                    if cancelled is not None and cancelled():
                        raise ClientDisconnected("the client disconnected")
                    _wait_for(future, min(_POLL_SECONDS, until - time.monotonic()))


def _wait_for(future: Future[Any], seconds: float) -> None:
    from concurrent.futures import wait

    wait([future], max(0.0, seconds))


def _between(space: str, target: str) -> str:
    if not space:
        return "" if target in _UNSPACED else " "
    return "" if space == " " and target in _UNSPACED else space


def _untranslated_reason(noun: str, language: str, target: str, fault: ServiceError) -> str:
    return f"{noun}s in {language} were not translated into {target}: {fault}"
