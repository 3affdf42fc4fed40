"""Phrases that a translation has to have: a generator is led to them token by token, each row by itself.

Tokens that begin or continue a missing phrase get a bonus (Arthur et al. 2016). Where generation would end without a
phrase, a row of its own goes back to the place where the phrase costs least and goes on from there; a beam is made to
write it. That is the bank of constraints of Post and Vilar (2018) with one row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Literal

import regex

__all__ = ["Phrase", "PhraseKind", "Vocabulary", "has_phrase"]

PhraseKind = Literal["amount", "name", "term", "hint"]

_DIGIT = regex.compile(r"\p{Nd}")
_LETTER = regex.compile(r"^[\p{L}\p{M}]")


@dataclass(frozen=True, slots=True)
class Phrase:
    """Words that a translation should have, in any of these forms; of a `hint` it may do without."""

    forms: tuple[str, ...]
    kind: PhraseKind = "term"


def has_phrase(text: str, phrase: Phrase) -> bool:
    """Whether a text has a phrase in one of its forms, as whole words and in any case."""
    folded = text.casefold()
    return any(_pattern(form).search(folded) is not None for form in phrase.forms)


@lru_cache(4096)
def _pattern(form: str) -> regex.Pattern[str]:
    before, after = r"(?<![\p{L}\p{M}\p{Nd}]|\p{Nd}[.,:])", r"(?![\p{L}\p{M}]|[.,:]?\p{Nd})"
    return regex.compile(before + regex.escape(form.casefold()) + after)


class Vocabulary:
    """How a generator's texts become tokens, and what each token writes."""

    def __init__(
        self,
        encode: Callable[[str], Sequence[int]],
        decode: Callable[[Sequence[int]], str],
        pieces: Callable[[], Sequence[str]],
    ) -> None:
        """``pieces`` are the texts of all tokens; that of a token which begins a word begins with a space."""
        self.encode, self.decode, self._pieces = encode, decode, pieces

    @cached_property
    def pieces(self) -> Sequence[str]:
        """The text of each token."""
        return self._pieces()

    def piece(self, token: int) -> str:
        """The text of a token; empty for one of the model's that the tokenizer has not."""
        return self.pieces[token] if token < len(self.pieces) else ""

    @cached_property
    def numeric(self) -> list[int]:
        """The tokens with digits."""
        return [token for token, piece in enumerate(self.pieces) if _DIGIT.search(piece)]

    @cached_property
    def commas(self) -> list[int]:
        """The tokens that are a comma."""
        return [token for token, piece in enumerate(self.pieces) if piece == ","]

    @cached_property
    def inner(self) -> list[int]:
        """The tokens that continue a word."""
        return [token for token, piece in enumerate(self.pieces) if _LETTER.match(piece)]
