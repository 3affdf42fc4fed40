"""What answers say of translations, sentence by sentence."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

from dragoman.checking import Code, Reason, Status
from dragoman.engine.core.answer import Answer, Degraded


@dataclass(slots=True, kw_only=True)
class Place(Answer):
    """A part of a text, in code points, or as the request's ``offsets`` says."""

    start: int
    end: int


@dataclass(slots=True, kw_only=True)
class CheckReason(Answer):
    """Why a sentence is not `ok`."""

    code: Code
    """What does not hold; `coverage`: words of the tables have no translation in the other sentence; `meaning`: it
    seems to say something else, or the encoder that compares meanings is not available; `glossary`: a term of a
    glossary is translated otherwise."""
    source: str | None
    """What stands in the source; null where there is nothing, or all of it is meant."""
    text: str | None
    """What stands in the translation; for `glossary`, what should."""

    @classmethod
    def list_of(cls, reasons: Iterable[Reason]) -> list[Self]:
        """The reasons of a check."""
        return [cls(code=reason.code, source=reason.source, text=reason.text) for reason in reasons]


@dataclass(slots=True, kw_only=True)
class CheckedSentence(Answer):
    """A sentence's translation and what the check of it says."""

    text: str | None
    """The translation; null if it failed: it is not to be shown as one."""
    source: Place
    """The sentence in the source text."""
    status: Status
    """`ok`; `draft`: numbers, names and a glossary's terms hold, other things may not; or `failed`."""
    reasons: list[CheckReason]
    """Empty for `ok`."""


@dataclass(slots=True, kw_only=True)
class CheckedTranslation(Answer):
    """A translated text."""

    text: str
    """The whole text; a sentence that failed stands in it as in the source."""
    sentences: list[CheckedSentence]

    @property
    def withholds(self) -> bool:
        """Whether a sentence failed."""
        return any(sentence.status == "failed" for sentence in self.sentences)


@dataclass(slots=True, kw_only=True)
class AlignedCheck(Answer):
    """Sentences of a text and of its translation that belong together, and what the check of them says."""

    source: Place
    """Empty where the translation adds a sentence."""
    translation: Place
    """Empty where a sentence is not translated."""
    status: Status
    reasons: list[CheckReason]


@dataclass(slots=True, kw_only=True)
class CheckResponse(Answer):
    """A translation's check: that of its worst sentence, and of each."""

    status: Status
    reasons: list[CheckReason]
    """Those of all sentences, in order."""
    sentences: list[AlignedCheck]
    degraded: list[Degraded]
    """Says where meaning was not checked."""
