"""Phrases that a translation has to have: a generator is led to them token by token, each row by itself.

Tokens that begin or continue a missing phrase get a bonus (Arthur et al. 2016). Numbers in digits come from the given
ones alone. Where generation would end without a phrase, it goes back to the place where the phrase cost least and goes
on from there: a beam of one row for the constraints of Post and Vilar (2018).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Literal

import regex
import torch
from torch import Tensor

PhraseKind = Literal["amount", "name", "term", "hint"]
BONUS: dict[PhraseKind, float] = {"amount": 1.0, "name": 3.0, "term": 3.0, "hint": 2.0}
"""Added to the logit of a token that begins a missing phrase."""
CONTINUED = 6.0
"""Added to the logit of a token that continues one."""

_DIGITS = regex.compile(r"\p{Nd}(?:[\p{Nd}.,]*)$")
_DIGIT = regex.compile(r"\p{Nd}")
_LETTER = regex.compile(r"^[\p{L}\p{M}]")
_WORD = regex.compile(r"^[\p{L}\p{M}\p{Nd}]")


@dataclass(frozen=True, slots=True)
class Phrase:
    """Words that a translation should have once, in any of these forms; of a `hint` it may do without."""

    forms: tuple[str, ...]
    kind: PhraseKind = "term"


def has_phrase(text: str, phrase: Phrase) -> bool:
    """Whether a text has a phrase in one of its forms, as whole words and in any case."""
    return any(_pattern(form).search(text.casefold()) is not None for form in phrase.forms)


@lru_cache(1024)
def _pattern(form: str) -> regex.Pattern[str]:
    edges = r"(?<![\p{L}\p{M}\p{Nd}]|\p{Nd}[.,])", r"(?![\p{L}\p{M}]|[.,]?\p{Nd})"
    return regex.compile(edges[0] + regex.escape(form.casefold()) + edges[1])


class Vocabulary:
    """How texts become tokens, and what each token is by itself."""

    def __init__(self, encode: Callable[[str], list[int]], decode: Callable[[Sequence[int]], str], size: int) -> None:
        self.encode, self.decode, self._size = encode, decode, size

    @cached_property
    def pieces(self) -> list[str]:
        """The text of each token."""
        return [self.decode([token]) for token in range(self._size)]

    @cached_property
    def inner(self) -> list[int]:
        """The tokens that continue a word."""
        return [token for token, piece in enumerate(self.pieces) if _LETTER.match(piece)]

    @cached_property
    def numeric(self) -> list[int]:
        """The tokens with digits."""
        return [token for token, piece in enumerate(self.pieces) if _DIGIT.search(piece)]


@dataclass(frozen=True, slots=True)
class _Form:
    """A form's tokens within a text, and at its beginning."""

    within: tuple[int, ...]
    first: tuple[int, ...]


class Steering:
    """Leads one row to its phrases; nothing of it is shared with other rows."""

    def __init__(self, vocabulary: Vocabulary, phrases: Sequence[Phrase]) -> None:
        self._vocabulary = vocabulary
        self._phrases = [
            (phrase, [_Form(tuple(vocabulary.encode(" " + form)), tuple(vocabulary.encode(form))) for form in phrase.forms])
            for phrase in phrases
        ]
        self._amounts = [form for phrase in phrases if phrase.kind == "amount" for form in phrase.forms]
        self._places: dict[int, tuple[float, int, tuple[int, ...]]] = {}
        """Of each missing phrase the cost of the cheapest place for it, the place, and the tokens to put there."""

    def adjust(self, tokens: Sequence[int], logits: Tensor) -> Tensor:
        """The logits (vocabulary,) of the next token, with bonuses and without numbers that are not given."""
        text = self._vocabulary.decode(tokens)
        adjusted = logits.clone()
        missing = [index for index, (phrase, _) in enumerate(self._phrases) if not has_phrase(text, phrase)]
        self._forbid_numbers(text, missing, adjusted)
        if any(tuple(tokens[-len(form.within) :]) == form.within for _, forms in self._phrases for form in forms):
            adjusted[self._vocabulary.inner] = -torch.inf  # a name is whole: Hamburg, not Hamburgers
        for index in missing:
            phrase, forms = self._phrases[index]
            for form in forms:
                adjusted[form.within[0]] += BONUS[phrase.kind]
                if (reached := _count_reached(tokens, form)) > 0:
                    adjusted[form.within[reached]] += CONTINUED
        return adjusted

    def note(self, tokens: Sequence[int], logits: Tensor, chosen: int) -> None:
        """Keep what it would cost to put missing phrases here, where another token was chosen."""
        if tokens and _WORD.match(self._vocabulary.pieces[chosen]):
            return  # within a word
        highest = float(logits.max())
        for index, (phrase, forms) in enumerate(self._phrases):
            if phrase.kind == "hint":
                continue
            for form in forms:
                ids = form.within if tokens else form.first
                cost = highest - float(logits[ids[0]])
                if index not in self._places or cost < self._places[index][0]:
                    self._places[index] = cost, len(tokens), ids

    def insert(self, tokens: Sequence[int]) -> tuple[int, tuple[int, ...]] | None:
        """Where to go back to and what to put there, if phrases are missing at the end; the leftmost place."""
        text = self._vocabulary.decode(tokens)
        missing = [
            self._places[index]
            for index, (phrase, _) in enumerate(self._phrases)
            if index in self._places and not has_phrase(text, phrase)
        ]
        if not missing:
            return None
        _, place, ids = min(missing, key=lambda kept: kept[1])
        self._places.clear()  # what comes before stays as it is
        return place, ids

    def _forbid_numbers(self, text: str, missing: Sequence[int], logits: Tensor) -> None:
        """Forbid tokens with digits, but for those that begin or continue a number that is given and still missing."""
        begun = _DIGITS.search(text)
        tail = begun[0] if begun else ""
        complete = not tail or tail.rstrip(".,") in self._amounts
        allowed = set()
        for index in missing:
            phrase, _ = self._phrases[index]
            for form in phrase.forms if phrase.kind == "amount" else ():
                if form.startswith(tail) and form != tail:
                    allowed.add(self._vocabulary.encode(form[len(tail) :])[0])
                    if not tail:
                        allowed.add(self._vocabulary.encode(" " + form)[0])
        places = sorted(allowed)
        kept = logits[places].clone()
        if complete or not places:
            logits[self._vocabulary.numeric] = -torch.inf
        else:
            logits.fill_(-torch.inf)
        logits[places] = kept


def _count_reached(tokens: Sequence[int], form: _Form) -> int:
    """How many tokens of a form the row ends with, without all of them."""
    for count in range(min(len(form.within) - 1, len(tokens)), 0, -1):
        if tuple(tokens[-count:]) == form.within[:count]:
            return count
    return 0
